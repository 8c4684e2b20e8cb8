"""Groups of subagents: the turn goes on where the join holds, and ends where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.facts.history import History
from faultclock.oracle.failures.groups import join_violations
from tests.oracle.chain_builder import ChainBuilder
from tests.oracle.small_model import found, judged, small_model
from tests.oracle.turn_builder import error, value

JOINS = [
    {"policy": "all_required", "holds": "all_required", "violation": "Run/Open"},
    {"policy": "allow_optional_failures", "holds": "always"},
    {"policy": "first_success", "holds": "any", "violation": "Run/Open"},
    {"policy": "quorum", "holds": "quorum", "violation": "Run/Open"},
]
MODEL = small_model(joins=[{**rule, "requirement": "SMALL-JOIN"} for rule in JOINS])
TOOLS = (
    {"name": "ls"},
    {"name": "one", "agent": True},
    {"name": "two", "agent": True},
    {"name": "three", "agent": True, "required": False},
)
NAMES = ("one", "two", "three")
BAD = "ToolTerminal/Forbidden"


def group(outcomes: str, *, tell: bool = True, **session: Any) -> ChainBuilder:
    """Return a turn whose subagents came out as the letters say: good, bad, pending, none."""
    built = ChainBuilder(tools=TOOLS, session=session)
    built.turn().wants(*(f"c{place} {name}" for place, name in enumerate(NAMES, 1)))
    for place, (letter, name) in enumerate(zip(outcomes, NAMES, strict=True), 1):
        call = f"c{place}"
        if letter == "p":
            built.calls(call, name)
        elif letter != "n":
            built.runs(call, None if letter == "g" else BAD, tool=name)
        if tell:
            built.tells(call, value() if letter == "g" else error(BAD))
    return built


def goes_on(built: ChainBuilder) -> ChainBuilder:
    """Let the model be asked again, and the turn end well."""
    built.says().ends()
    return built


HELD: dict[str, tuple[str, dict[str, Any]]] = {
    "all required": ("ggb", {}),
    "all": ("ggg", {"join": "all_required"}),
    "failures are allowed": ("bbb", {"join": "allow_optional_failures"}),
    "the first one": ("bgb", {"join": "first_success"}),
    "the first one, while others run": ("gpp", {"join": "first_success"}),
    "a quorum": ("gbg", {"join": "quorum", "quorum": 2}),
    "more than half": ("ggb", {"join": "quorum"}),
}
VIOLATED: dict[str, tuple[str, dict[str, Any]]] = {
    "a required one failed": ("gbg", {}),
    "a required one never began": ("gng", {"join": "all_required"}),
    "a required one failed, others run": ("bpp", {}),
    "none": ("bbb", {"join": "first_success"}),
    "no quorum": ("gbb", {"join": "quorum", "quorum": 2}),
    "no quorum can be": ("bbp", {"join": "quorum"}),
}


@pytest.mark.parametrize("case", HELD)
def test_a_join_that_holds_lets_the_turn_go_on(case: str) -> None:
    """With the results told; a turn that ends all the same is a finding."""
    outcomes, session = HELD[case]
    assert judged(MODEL, goes_on(group(outcomes, **session)), "joins.held") == 1
    assert not any(join_violations(History(group(outcomes, **session).build()), MODEL))
    ended = group(outcomes, **session).results("failed", "Run/Open")
    assert found(MODEL, ended, "joins.held") == [
        "it ended failed with Run/Open, without asking the model again"
    ]


@pytest.mark.parametrize("case", VIOLATED)
def test_a_join_that_does_not_hold_ends_the_turn(case: str) -> None:
    """It may neither go on nor be completed."""
    outcomes, session = VIOLATED[case]
    ended = group(outcomes, **session).results("failed", "Run/Open")
    assert judged(MODEL, ended, "joins.held") == 1
    ((violated, settled),) = join_violations(History(ended.build()), MODEL)
    assert (violated.answer.in_call.id, violated.rule.violation) == ("ask/1", "Run/Open")
    assert settled.seq in {violated.asked_seq, *violated.events}
    on = goes_on(group(outcomes, **session))
    assert found(MODEL, on, "joins.held") == ["the model was asked again, as if it held"]
    completed = group(outcomes, **session).ends()
    assert found(MODEL, completed, "joins.held") == ["the turn ended as completed"]


def test_good_results_are_told() -> None:
    """What a subagent came to is not lost on the way."""
    built = goes_on(group("ggb", tell=False))
    assert found(MODEL, built, "joins.held") == ["it has no result of one, two"]


def test_a_violation_that_the_model_lets_pass_is_no_matter_of_the_join() -> None:
    """What a run does then is said by its consequences."""
    rule = {
        "id": "pass",
        "applies_to": ["Run/Open"],
        "where": {"join": ""},
        "run": "goes_on",
        "requirement": "SMALL-JOIN",
    }
    model = MODEL.model_copy(update={"consequences": small_model(consequences=[rule]).consequences})
    assert judged(model, goes_on(group("gbg")), "joins.held") == 0
    explicit = goes_on(group("gbg", join="all_required"))
    assert found(model, explicit, "joins.held") == ["the model was asked again, as if it held"]


def test_a_failed_subagent_may_end_the_run_by_its_own_policy() -> None:
    """Then the join has no say."""
    built = group("ggb", policies={"subagent": "fail"}).results("failed", "Llm/Auth")
    assert judged(MODEL, built, "joins.held") == 0


def test_what_shows_nothing_earns_nothing() -> None:
    """No group, an open one, a cancelled turn, a crash, an unknown policy, a silent model."""
    silent = {
        "no group": goes_on(ChainBuilder(tools=TOOLS).turn()),
        "pending": group("gpg"),
        "never ended": group("gbg"),
        "cancelled": group("gbg").cancels("turn").ends("Cancellation/TurnCancelled"),
        "crashed": group("gbg").crashes().opens(),
    }
    for built in silent.values():
        assert judged(MODEL, built, "joins.held") == 0
    assert judged(small_model(), goes_on(group("gbg")), "joins.held") == 0
    few = MODEL.model_copy(update={"joins": MODEL.joins[:1]})
    assert judged(few, goes_on(group("gbb", join="quorum", quorum=2)), "joins.held") == 0
