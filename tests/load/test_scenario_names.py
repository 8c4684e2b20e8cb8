"""A name that leads nowhere is told with its place, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SourceError
from faultclock.load.scenario import load_scenario

HEAD = "id: mine/one\ntitle: A title\nwhy: A reason\n"
RUNTIME = HEAD + "role: runtime\ntools: [{name: write_file, gated: true}]\n"


def problem(tmp_path: Path, text: str) -> str:
    """Return the one problem of a file with `text`."""
    file = tmp_path / "one.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(SourceError) as caught:
        load_scenario(file)
    (found,) = caught.value.problems
    return str(found).partition(".yaml:")[2]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "interactors: [{rules: [{id: a, when: {tool: write_fil}, then: {kind: never}}]}]",
            "there is no tool 'write_fil'",
        ),
        ("session: {mode: allowlist, allowlist: [read]}", "there is no tool 'read'"),
        (
            "session: {entry_stage: a, stages: [{id: a, allowed_tools: [x]}]}",
            "there is no tool 'x'",
        ),
        (
            "store: {rules: [{id: a, when: {task: nope}, then: {kind: unavailable}}]}",
            "there is no task 'nope'",
        ),
        ("cancels: [{id: a, scope: tool, target: x, when: {at: 1s}}]", "there is no tool 'x'"),
        ("cancels: [{id: a, scope: stage, target: x, when: {at: 1s}}]", "there is no stage 'x'"),
        (
            "workflow: {nodes: [{id: a, do: tool, tool: write_fil}]}",
            "there is no tool 'write_fil'",
        ),
        (
            "workflow: {nodes: [{id: a, do: program, argv: [codex]}]}",
            "there is no program 'codex'",
        ),
        (
            "fallbacks: [{id: b, faults: [{id: a, then: "
            "{kind: http_error, status: 500, error: nope}}]}]",
            "openai-chat has no error payload 'nope'",
        ),
    ],
)
def test_a_runtime_is_told_of_nothing_that_is_not_there(
    line: str, words: str, tmp_path: Path
) -> None:
    """A rule that could never be met would only show as an inconclusive run."""
    told = problem(tmp_path, RUNTIME + line + "\n")
    assert told.startswith("6:")
    assert words in told


def test_a_program_that_is_not_to_be_there_is_declared_so(tmp_path: Path) -> None:
    """A name that is only missing in the file is taken for a mistake."""
    node = "workflow: {nodes: [{id: a, do: command, argv: [codxe]}]}\n"
    told = problem(tmp_path, RUNTIME + "programs: [{name: codex}]\n" + node)
    assert "did you mean `codex`?" in told
    assert "`good: {missing: true}`" in told
    file = tmp_path / "two.yaml"
    file.write_text(RUNTIME + "programs: [{name: codxe, good: {missing: true}}]\n" + node)
    assert load_scenario(file).world.programs[0].good.missing


def test_a_stage_to_cancel_may_be_a_node(tmp_path: Path) -> None:
    """Where the workflow has nodes, they are its stages."""
    file = tmp_path / "one.yaml"
    cancel = "cancels: [{id: a, scope: stage, target: code, when: {at: 1s}}]\n"
    file.write_text(RUNTIME + "workflow: {nodes: [{id: code, do: agent}]}\n" + cancel, "utf-8")
    assert load_scenario(file).cancel_rules[0].target == "code"


def test_a_model_of_somebodys_own_may_be_named(tmp_path: Path) -> None:
    """Which models there are is known when one is chosen."""
    file = tmp_path / "one.yaml"
    file.write_text(RUNTIME + "models: [my-own]\n", "utf-8")
    assert load_scenario(file).models == ("my-own",)


@pytest.mark.parametrize("role", ["tool", "extension"])
def test_a_section_of_another_role_is_refused(role: str, tmp_path: Path) -> None:
    """What says nothing must not look as if it did."""
    told = problem(tmp_path, HEAD + f"role: {role}\nsession: {{mode: yolo}}\n")
    assert told.startswith("5:")
    assert f"`session` says nothing to a subject of role {role}" in told


@pytest.mark.parametrize(
    ("role", "line"),
    [
        ("tool", "fallbacks: [{id: second}]"),
        ("provider_adapter", "session: {mode: yolo}"),
        ("session_store", "queue: {}"),
    ],
)
def test_a_section_that_one_role_alone_has_is_refused(role: str, line: str, tmp_path: Path) -> None:
    """The place is its key."""
    tasks = "tasks: [{id: ask, do: read}]\n" if role == "session_store" else ""
    told = problem(tmp_path, HEAD + f"role: {role}\n{line}\n{tasks}")
    assert told.startswith("5:1")
    assert f"{line.partition(':')[0]} is for another role than {role}" in told


def test_a_misspelt_role_is_found_beside_the_sections_that_it_would_allow(tmp_path: Path) -> None:
    """Without a role a file is for a provider adapter, which has no tools."""
    file = tmp_path / "one.yaml"
    file.write_text(HEAD + "rolle: runtime\ntools: [{name: read}]\n", "utf-8")
    with pytest.raises(SourceError) as caught:
        load_scenario(file)
    told = [str(problem).partition(".yaml:")[2] for problem in caught.value.problems]
    assert [line[:2] for line in told] == ["4:", "5:"]
    assert "unknown key `rolle`" in told[0]


@pytest.mark.parametrize(
    "line",
    [
        "cancels: [{id: a, scope: turn, when: {on: {kind: tool.caled}}}]",
        "crashes: [{id: a, on: {kind: tool.caled}}]",
    ],
)
def test_a_trigger_waits_for_an_event_that_there_is(line: str, tmp_path: Path) -> None:
    """A kind that no event has would never come."""
    told = problem(tmp_path, RUNTIME + line + "\n")
    assert told.startswith("6:")
    assert "no event has the kind 'tool.caled'" in told
    assert "did you mean `tool.called`?" in told


def test_a_near_miss_has_a_suggestion(tmp_path: Path) -> None:
    """The usual mistake is a typo."""
    line = "cancels: [{id: a, scope: tool, target: write_fiel, when: {at: 1s}}]\n"
    assert "did you mean `write_file`?" in problem(tmp_path, RUNTIME + line)


def test_a_tool_call_may_be_named_by_the_id_that_the_provider_gives(tmp_path: Path) -> None:
    """Such an id is not in the file."""
    file = tmp_path / "one.yaml"
    cancel = "cancels: [{id: a, scope: tool, target: call_1, when: {at: 1s}}]\n"
    file.write_text(RUNTIME + cancel, "utf-8")
    assert load_scenario(file).cancel_rules[0].target == "call_1"
