"""Which scenarios fit a target, and what is left out by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultclock.check.battery import battery_for
from faultclock.errors import InputError
from faultclock.load.scenario import find_scenarios
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.run.doctor.fitting import why_left_out
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.registry import load_subject

FAMILIES = ("rate-limits", "provider-transient")


def _ids(scenarios: tuple[Scenario, ...]) -> set[str]:
    return {scenario.id for scenario in scenarios}


def test_a_target_that_never_streams_is_not_asked_for_streams() -> None:
    """A fault in a stream would never be met, so it is left out with its reason."""
    binding = load_subject("reference")
    battery = battery_for(binding, "common", Abilities(streams="never"), FAMILIES)
    streams = {item.what: item for item in battery.left_out}["streams"]
    assert streams.scenarios > 10
    assert streams.why == "the target never asks for a stream"
    found = _ids(battery.scenarios)
    assert "provider-transient/stream-reset" not in found
    assert "rate-limits/quota-on-both-paths" not in found
    # A wrong request is refused alike with and without a stream.
    assert "provider-transient/invalid-request" in found


def test_a_target_that_can_do_everything_is_asked_everything() -> None:
    """Nothing of its dialect is left out."""
    battery = battery_for(load_subject("reference"), "common", Abilities(), FAMILIES)
    assert battery.left_out == ()
    assert "provider-transient/stream-reset" in _ids(battery.scenarios)


def test_a_target_that_always_streams_is_not_asked_for_answers_in_one_piece() -> None:
    """What happens to a plain request alone cannot happen to it."""
    binding = load_subject("reference")
    always = battery_for(binding, "common", Abilities(streams="always"), FAMILIES)
    asked = battery_for(binding, "common", Abilities(), FAMILIES)
    gone = _ids(asked.scenarios) - _ids(always.scenarios)
    assert all(
        any(rule.when.stream is False for rule in scenario.provider.faults)
        for scenario in asked.scenarios
        if scenario.id in gone
    )
    assert "rate-limits/retry-after-integer" in _ids(always.scenarios)


def test_tool_calls_are_left_out_where_no_tools_are_offered() -> None:
    """A model asks for a tool only where it was offered one."""
    battery = battery_for(load_subject("reference"), "common", Abilities(tools=False), FAMILIES)
    assert [item.what for item in battery.left_out] == ["tool calls"]
    assert "provider-transient/healthy-tool-call" not in _ids(battery.scenarios)


@pytest.mark.parametrize(
    ("tools", "own_tools", "fits"), [(True, None, True), (False, None, False), (True, (), False)]
)
def test_an_answer_is_paused_where_tools_of_the_providers_own_may_be_used(
    tools: bool, own_tools: tuple[()] | None, fits: bool
) -> None:
    """Not by a client without tools, and not by an agent whose tools are all its own."""
    binding = replace(load_subject("anthropic"), own_tools=own_tools)
    (paused,) = (it.scenario for it in find_scenarios(("common/answer-paused",)))
    left_out = why_left_out(paused, binding, Abilities(tools=tools))
    assert (left_out is None) is fits
    assert fits or left_out == (
        "paused answers",
        "only tools of the provider's own pause, and none is known",
    )


def test_what_a_runtime_does_not_do_is_left_out_by_name() -> None:
    """A small agent without approvals, sessions and cancels is not asked for any of them."""
    runtime = load_subject("reference-runtime")
    small = Abilities(approvals=False, sessions=False, cancels=False)
    battery = battery_for(runtime, "common", small)
    names = {item.what for item in battery.left_out}
    assert names == {"approvals", "cancels", "situations that need", "resumed sessions"}
    assert not any(item.cancel_rules or item.crash_rules for item in battery.scenarios)
    assert any(item.world.tools for item in battery.scenarios)
    none = battery_for(runtime, "common", Abilities(tools=False))
    assert not any(reply.tool_calls for s in none.scenarios for reply in s.provider.replies)


def test_an_agent_that_the_check_does_not_cancel_is_not_said_to_be_uncancellable() -> None:
    """Its framework may well have a call that can be cancelled, which the check does not make."""
    agent = replace(load_subject("reference-runtime"), own_tools=())
    (cancel,) = (it.scenario for it in find_scenarios(("cancellation/during-backoff",)))
    said = why_left_out(cancel, agent, Abilities(cancels=False))
    assert said == ("cancels", "the check does not cancel this agent")


def test_what_the_api_does_not_have_is_left_out_by_name() -> None:
    """An error that a provider never sends says nothing about its client."""
    binding = replace(load_subject("reference"), dialects=("ollama",))
    battery = battery_for(binding, "common", Abilities(), FAMILIES)
    assert [item.what for item in battery.left_out] == ["errors of other APIs"]
    assert "ollama" in battery.left_out[0].why


def test_scenarios_of_one_document_are_for_its_model() -> None:
    """What a document alone demands is no business of any other model."""
    battery = battery_for(load_subject("reference-runtime"), "common", Abilities(), ["shared"])
    assert all(not item.models or "common" in item.models for item in battery.scenarios)


def test_the_likely_bad_come_first_and_crowds_last() -> None:
    """A person who waits sees a problem soon."""
    scenarios = battery_for(load_subject("reference"), "common", Abilities(), FAMILIES).scenarios
    assert "retry-after" in scenarios[0].id
    assert scenarios[-1].seeds > 1 or sum(task.copies for task in scenarios[-1].tasks) > 3


def test_what_a_tool_makes_of_its_own_failures_is_left_out_by_name() -> None:
    """A failure is played around the function, so nothing may say that its words were judged."""
    runtime = replace(load_subject("reference-runtime"), own_tools=(ToolScript(name="note"),))
    *_, last = battery_for(runtime, "common", Abilities(), ["shared"]).left_out
    assert last.what == "inside your tools"
    assert last.scenarios == 0


def test_what_is_not_judged_of_a_single_tool_is_named() -> None:
    """A tool that asks for some calls only may not look as if its approvals were checked."""
    note, row = ToolScript(name="note"), ("whether note waits for a yes", "it asks sometimes")
    runtime = replace(load_subject("reference-runtime"), own_tools=(note,), unjudged=(row,))
    *_, found, _ = battery_for(runtime, "common", Abilities(), ["shared"]).left_out
    assert (found.what, found.why) == row


def test_what_becomes_of_tools_that_a_function_runs_itself_is_left_out_by_name() -> None:
    """The page may not leave the impression that a retry of the whole turn would have shown."""
    reference = load_subject("reference")
    (row,) = battery_for(reference, "common", Abilities(runs_tools=True), FAMILIES).left_out
    assert row.what == "the tools that your function runs"
    assert row.scenarios == 0


def test_a_tool_that_raises_for_made_up_arguments_is_no_problem_but_left_out() -> None:
    """Whether those arguments are any good is not known, so a crash is no finding."""
    able = Abilities(tool_error="KeyError: 'notes.txt' (at app.py:3)")
    battery = battery_for(load_subject("reference"), "common", able, FAMILIES)
    assert "provider-transient/healthy-tool-call" not in _ids(battery.scenarios)
    (row,) = battery.left_out
    assert row.what == "tool calls"
    assert "app.py:3" in row.why


def test_what_an_agent_would_need_for_other_situations_is_one_row() -> None:
    """With how many situations there are for each of the first, and the rest counted."""
    runtime = replace(load_subject("reference-runtime"), own_tools=(ToolScript(name="note"),))
    left_out = battery_for(runtime, "common", Abilities()).left_out
    (row,) = (item for item in left_out if item.what == "situations that need")
    reasons = dict(reason.split(": ") for reason in row.why.split("; "))
    assert "a tool that needs an approval" in reasons
    assert (len(reasons), list(reasons)[-1][-5:]) == (4, "rarer")
    assert sum(map(int, reasons.values())) == row.scenarios


def test_an_empty_selection_is_refused() -> None:
    """Nothing checked must not look like nothing found."""
    with pytest.raises(InputError, match=r"no situation fits.* is named 'nonsense'"):
        battery_for(load_subject("reference"), "common", Abilities(), ["nonsense"])
