"""Scenarios are found by id, family, pattern, file and folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import InputError, SourceError, UnknownNameError
from faultclock.load.scenario import find_scenarios, load_scenario, shipped_scenarios


def write(path: Path, id_: str, extra: str = "") -> Path:
    """Write a scenario with the id `id_` to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"id: {id_}\ntitle: A title\nwhy: A reason\n{extra}")
    return path


def ids(*selectors: str) -> list[str]:
    """Return the ids that the selectors select."""
    return [item.scenario.id for item in find_scenarios(selectors)]


def test_every_shipped_scenario_loads_under_the_id_of_its_place() -> None:
    """No selector selects them all, sorted."""
    assert ids() == sorted(shipped_scenarios())
    assert len(ids()) >= 24


def test_a_family_an_id_and_a_pattern_select_shipped_scenarios() -> None:
    """What two selectors select is there once."""
    family = ids("rate-limits")
    assert family
    assert all(id_.startswith("rate-limits/") for id_ in family)
    assert ids(family[0]) == [family[0]]
    assert ids("rate-limits/*", family[0], "rate-limits") == family


def test_a_file_and_a_folder_select_what_lies_there(tmp_path: Path) -> None:
    """Hidden files and files of other kinds are passed over."""
    one = write(tmp_path / "one.yaml", "mine/one")
    write(tmp_path / "deep" / "two.yml", "mine/two")
    write(tmp_path / ".hidden" / "three.yaml", "mine/three")
    (tmp_path / "notes.txt").write_text("no scenario")
    assert ids(str(one)) == ["mine/one"]
    assert ids(str(tmp_path), str(one)) == ["mine/one", "mine/two"]


def test_the_path_is_kept_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay commands name the file by it."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "one.yaml", "mine/one")
    assert [item.path for item in find_scenarios(("./one.yaml",))] == ["./one.yaml"]


def test_below_a_scenarios_folder_the_id_is_the_place(tmp_path: Path) -> None:
    """The problem stands at the id's line."""
    path = write(tmp_path / "scenarios" / "mine" / "one.yaml", "mine/two")
    with pytest.raises(SourceError) as caught:
        load_scenario(path)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (1, 5)
    assert problem.message == "the id is 'mine/two', but the file lies at 'mine/one'"
    assert load_scenario(write(path, "mine/one")).id == "mine/one"


def test_two_files_with_one_id_are_refused(tmp_path: Path) -> None:
    """A report could not tell them apart."""
    write(tmp_path / "a.yaml", "mine/one")
    write(tmp_path / "b.yaml", "mine/one")
    with pytest.raises(InputError, match="two scenarios have the id 'mine/one'"):
        find_scenarios((str(tmp_path),))


def test_the_problems_of_all_files_are_reported_together(tmp_path: Path) -> None:
    """Also across files, nobody mends one message at a time."""
    write(tmp_path / "a.yaml", "mine/a", "zz: 1\n")
    write(tmp_path / "b.yaml", "mine/b", "zz: 1\n")
    with pytest.raises(SourceError) as caught:
        find_scenarios((str(tmp_path),))
    assert [problem.path for problem in caught.value.problems] == [
        str(tmp_path / "a.yaml"),
        str(tmp_path / "b.yaml"),
    ]


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("rate-limit", "did you mean 'rate-limits'"),
        ("rate-limits/retry-after-integr", "did you mean 'rate-limits/retry-after-integer'"),
        ("zzzzzzzz", "known: .*rate-limits"),
        ("", "known: .*rate-limits"),
    ],
)
def test_an_unknown_selector_is_met_with_near_names(selector: str, words: str) -> None:
    """The families when nothing is near: all ids would fill a screen."""
    with pytest.raises(UnknownNameError, match=words):
        find_scenarios((selector,))


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("rate-limits/zz*", "no scenario id matches"),
        ("missing.yaml", "there is no such file"),
        ("a\0b", "unknown scenario"),
    ],
)
def test_a_selector_that_selects_nothing_is_an_input_error(selector: str, words: str) -> None:
    """An empty selection must not look green."""
    with pytest.raises(InputError, match=words):
        find_scenarios((selector,))


def test_a_folder_without_scenarios_is_an_input_error(tmp_path: Path) -> None:
    """The same for a folder."""
    with pytest.raises(InputError, match="lies below this folder"):
        find_scenarios((str(tmp_path),))


def test_an_error_payload_that_the_dialect_lacks_is_told_at_its_place(tmp_path: Path) -> None:
    """The run would otherwise find out in the middle."""
    fault = "{id: x, then: {kind: http_error, status: 429, error: rate_limit_exceded}}"
    path = write(tmp_path / "one.yaml", "mine/one", f"provider:\n  faults:\n    - {fault}\n")
    with pytest.raises(SourceError) as caught:
        load_scenario(path)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (6, 60)
    assert problem.message == "openai-chat has no error payload 'rate_limit_exceded'"
    assert problem.hint == "did you mean `rate_limit_exceeded`?"


def test_an_error_of_a_limit_that_the_dialect_lacks_is_told_at_its_place(tmp_path: Path) -> None:
    """Where it is named, or at the limit whose default it is; a fallback's as well."""
    text = (
        "role: runtime\n"
        "provider:\n"
        "  limits:\n"
        "    quota: {requests: 1, error: insufficient_qota}\n"
        "fallbacks:\n"
        "  - id: second\n"
        "    overload: {percent: 5, until_time: 1m, error: busy}\n"
    )
    with pytest.raises(SourceError) as caught:
        load_scenario(write(tmp_path / "one.yaml", "mine/one", text))
    told = {(item.line, item.message, item.hint) for item in caught.value.problems}
    assert {(line, message) for line, message, _ in told} == {
        (7, "openai-chat has no error payload 'insufficient_qota'"),
        (10, "openai-chat has no error payload 'busy'"),
    }
    assert "did you mean `insufficient_quota`?" in {hint for _, _, hint in told}
    plain = "provider:\n  dialect: http-json\n  limits:\n    tokens: {per_minute: 5}\n"
    with pytest.raises(SourceError) as caught:
        load_scenario(write(tmp_path / "two.yaml", "mine/two", plain))
    (problem,) = caught.value.problems
    assert problem.message == "http-json has no error payload 'rate_limit_tokens'"
    assert problem.hint == "this limit refuses with it: name another one as its `error`"
    assert problem.line == 7


def test_a_name_or_an_address_that_cannot_be_is_told_in_words(tmp_path: Path) -> None:
    """At its own place, without a pattern for a person to read."""
    text = (
        "provider:\n"
        "  endpoint: {base_url: llm.example.com, model: m}\n"
        "  payloads:\n"
        "    My Error: {status: 400, body: {}, source: mine}\n"
    )
    with pytest.raises(SourceError) as caught:
        load_scenario(write(tmp_path / "one.yaml", "mine/one", text))
    told = [(item.line, item.column, item.message, item.hint) for item in caught.value.problems]
    assert told == [
        (
            5,
            24,
            "`base_url` cannot be 'llm.example.com'",
            "write http:// or https://, a host and a path, with no slash at the end",
        ),
        (
            7,
            5,
            "the name 'My Error' cannot be used",
            "use lower-case letters, digits, hyphens and underscores",
        ),
    ]
