"""A run that has used up a limit does no more, and ends in the state that the model has for it."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.uses import limits_reached
from tests.oracle.chain_builder import ChainBuilder
from tests.oracle.small_model import found, judged, small_model
from tests.oracle.turn_builder import value

LIMITS: tuple[dict[str, Any], ...] = (
    {"limit": "steps", "states": ["failed", "degraded"], "carries": ["Run/Open"]},
    {"limit": "tool_calls", "states": ["failed", "degraded"]},
    {"limit": "tokens", "states": ["failed"]},
    {"limit": "cost", "states": ["failed"]},
    {"limit": "wall_time", "states": ["interrupted"]},
)
MODEL = small_model(limits=[{**rule, "requirement": "SMALL-LIMIT"} for rule in LIMITS])


def rounds(count: int, tokens: int | None = None, **budgets: Any) -> ChainBuilder:
    """Return a turn with limits, in which the model has asked for a tool so often."""
    built = ChainBuilder(session={"budgets": budgets})
    built.turn()
    for number in range(1, count + 1):
        id_ = f"c{number}"
        built.wants(f"{id_} ls", tokens=tokens).runs(id_).tells(id_, value())
    return built


@pytest.mark.parametrize(
    ("state", "pair", "observed"),
    [
        ("failed", "Run/Open", []),
        ("degraded", "Run/Open", []),
        ("failed", "Llm/Auth", ["it ended failed with Llm/Auth"]),
        ("interrupted", "Run/Open", ["it ended interrupted with Run/Open"]),
        ("completed", None, ["it ended completed"]),
    ],
)
def test_the_end_is_as_declared(state: str, pair: str | None, observed: list[str]) -> None:
    """One of the states, with one of the pairs."""
    built = rounds(2, steps_max=2).results(state, pair)
    assert found(MODEL, built, "limits.ends") == observed
    (reached,) = limits_reached(History(built.build()), MODEL)
    assert (reached.call, reached.name, reached.over) == ("ask/1", "steps", None)


def test_an_error_is_a_failed_run() -> None:
    """A runtime may raise instead of returning a result."""
    assert judged(MODEL, rounds(2, steps_max=2).ends("Run/Open"), "limits.ends") == 1


@pytest.mark.parametrize(
    "budgets",
    [
        {"steps_max": 1},
        {"tool_calls_max": 1},
        {"tokens_max": 100},
        {"cost_max_usd": "0.1"},
        {"cost_max_usd": "0.0001", "usd_per_million_tokens": 1},
    ],
)
def test_nothing_happens_beyond_a_limit(budgets: dict[str, Any]) -> None:
    """Whatever is counted, the step after the last one is too much."""
    kept = rounds(1, tokens=100, **budgets).results("failed", "Run/Open")
    assert found(MODEL, kept, "limits.ends") == []
    beyond = rounds(2, tokens=100, **budgets).results("failed", "Run/Open")
    assert len(found(MODEL, beyond, "limits.ends")) == 1
    (reached,) = limits_reached(History(beyond.build()), MODEL)
    assert reached.over is not None
    assert reached.last.seq < reached.over.seq


def test_a_limit_may_be_inexact() -> None:
    """Then only the end counts."""
    rule = {"limit": "steps", "states": ["failed"], "exact": False, "requirement": "SMALL-LIMIT"}
    model = small_model(limits=[rule])
    assert found(model, rounds(3, steps_max=2).results("failed"), "limits.ends") == []
    late = rounds(3, steps_max=2).results("completed")
    assert found(model, late, "limits.ends") == ["it ended completed"]


def test_the_time_of_a_run_interrupts_it() -> None:
    """What is done at the very end of it is done."""
    for after, state, observed in (
        ("10s", "interrupted", []),
        ("10s", "failed", ["it ended failed"]),
        ("9s", "completed", []),
        ("14s", "interrupted", ["it went on beyond it: call.returned"]),
    ):
        built = ChainBuilder(session={"budgets": {"wall_time": "10s"}})
        built.turn().after(after)
        assert found(MODEL, built.results(state), "limits.ends") == observed


def test_turns_are_steps_where_a_model_calls_them_so() -> None:
    """One answer of the model is one turn of an agent."""
    rule = {"limit": "turns", "states": ["failed"], "requirement": "SMALL-LIMIT"}
    model = small_model(limits=[rule])
    assert found(model, rounds(2, steps_max=2).results("completed"), "limits.ends") == [
        "it ended completed"
    ]


WORKFLOW: dict[str, Any] = {
    "iterations_max": 2,
    "nodes": [
        {"id": "code", "do": "program", "role": "coder", "argv": ["codex"]},
        {"id": "test", "do": "command", "role": "tester", "argv": ["npm", "test"]},
    ],
}


def work(count: int, status: int) -> ChainBuilder:
    """Return a turn of a workflow whose tests ended so in each of its rounds."""
    built = ChainBuilder(workflow=WORKFLOW)
    built.turn()
    for number in range(count):
        for place, argv in enumerate((["codex"], ["npm", "test"])):
            run = f"p{2 * number + place + 1}"
            facts = {"program": argv[0], "run": run, "call": built.call}
            built.event("program", "program.started", argv=argv, n=number + 1, means="", **facts)
            ended = status if place else 0
            built.event("program", "program.ended", status=ended, signal="", means="", **facts)
    return built


@pytest.mark.parametrize(
    ("count", "status", "state", "findings"),
    [
        (2, 1, "failed", 0),
        (2, 1, "completed", 1),
        (3, 1, "failed", 1),
        (2, 0, "completed", 0),
        (1, 1, "failed", 0),
    ],
)
def test_the_work_goes_back_to_the_coder_so_often(
    count: int, status: int, state: str, findings: int
) -> None:
    """Rounds of a workflow are its turns."""
    rule = {"limit": "turns", "states": ["failed"], "requirement": "SMALL-LIMIT"}
    built = work(count, status).results(state)
    assert len(found(small_model(limits=[rule]), built, "limits.ends")) == findings


def test_the_failure_of_a_tool_may_end_a_turn_at_its_limit() -> None:
    """Where the document lets a failure end a run, the end is not that of the limit."""
    ends = {"id": "open", "applies_to": ["Run/*"], "run": "ends", "requirement": "SMALL-LIMIT"}
    own = small_model(limits=MODEL.model_dump(mode="json")["limits"], consequences=[ends])
    built = ChainBuilder(session={"budgets": {"steps_max": 1}})
    built.turn().wants("c1 ls").runs("c1", "Tool/Gone").results("failed", "Tool/Gone")
    assert judged(own, built, "limits.ends") == 0
    assert found(MODEL, built, "limits.ends") == ["it ended failed with Tool/Gone"]


def test_what_shows_nothing_earns_nothing() -> None:
    """Enough was left, the work was done, a cancel, a crash, an open end, a silent model."""
    done = rounds(1, steps_max=2)
    done.says().ends()
    limited: dict[str, Any] = {"steps_max": 2}
    for built in (
        rounds(1, **limited).results("failed", "Llm/Auth"),
        done,
        rounds(2, **limited).cancels("turn").ends("Cancellation/TurnCancelled"),
        rounds(2, **limited).crashes().opens(),
    ):
        assert judged(MODEL, built, "limits.ends") == 0
        assert limits_reached(History(built.build()), MODEL) == ()
    assert judged(small_model(), rounds(2, **limited).results("completed"), "limits.ends") == 0


def test_a_trace_that_was_cut_off_blames_nobody() -> None:
    """The end may still have come."""
    built = rounds(2, steps_max=2)
    trace = built.build("watchdog", "too long")
    assert all(not item.over for item in limits_reached(History(trace), MODEL))


def test_a_turn_that_came_to_no_limit_does_not_end_as_if_it_had() -> None:
    """Where the limit is set, and nothing that failed has the same class and code."""
    early = rounds(1, steps_max=2).results("failed", "Run/Open")
    assert found(MODEL, early, "limits.ends") == ["it ended failed with Run/Open, and it had not"]
    failed = ChainBuilder(session={"budgets": {"steps_max": 2}})
    failed.turn().bad(500).results("failed", "Llm/Overload")
    own = small_model(
        limits=[{"limit": "steps", "carries": ["Llm/Overload"], "requirement": "SMALL-LIMIT"}]
    )
    for model, built in (
        (MODEL, rounds(1).results("failed", "Run/Open")),
        (MODEL, rounds(1, steps_max=2).cancels("turn").results("failed", "Run/Open")),
        (own, failed),
    ):
        assert judged(model, built, "limits.ends") == 0


@pytest.mark.parametrize("limit", ["tokens", "cost"])
def test_what_a_turn_has_cost_may_be_its_own_estimate(limit: str) -> None:
    """So it may say that it came to such a limit sooner than the tokens show."""
    rule = {"limit": limit, "carries": ["Run/Open"], "requirement": "SMALL-LIMIT"}
    budgets = {"tokens_max": 1000, "cost_max_usd": "100"}
    built = rounds(1, tokens=10, **budgets).results("failed", "Run/Open")
    assert judged(small_model(limits=[rule]), built, "limits.ends") == 0


def test_of_limits_that_are_reached_at_once_each_may_end_the_turn() -> None:
    """The end of one of them is right, though another one has a class and code for its own."""
    built = rounds(2, steps_max=3, tool_calls_max=2)
    built.wants("c3 ls").results("failed")
    assert judged(MODEL, built, "limits.ends") == 2


@pytest.mark.parametrize(
    ("outcomes", "observed"),
    [
        ((None, None), ["it ended failed with Tool/Gone"]),
        ((None, "Tool/Gone"), []),
        (("Tool/Gone", None), []),
    ],
)
def test_only_a_tool_that_failed_explains_another_end_than_that_of_the_limit(
    outcomes: tuple[str | None, ...], observed: list[str]
) -> None:
    """One of the last calls is enough; where all are good, the limit ended the turn."""
    ends = {"id": "open", "applies_to": ["Run/*"], "run": "ends", "requirement": "SMALL-LIMIT"}
    own = small_model(limits=MODEL.model_dump(mode="json")["limits"], consequences=[ends])
    built = ChainBuilder(session={"budgets": {"steps_max": 1}})
    built.turn().wants("c1 ls", "c2 ls")
    for call, outcome in zip(("c1", "c2"), outcomes, strict=True):
        built.runs(call, outcome)
    assert found(own, built.results("failed", "Tool/Gone"), "limits.ends") == observed


@pytest.mark.parametrize(
    ("state", "observed"), [("failed", []), ("completed", ["it ended completed"])]
)
def test_a_limit_without_a_state_asks_for_any_but_the_good_one(
    state: str, observed: list[str]
) -> None:
    """The document may leave open how such a run is called."""
    own = small_model(limits=[{"limit": "steps", "requirement": "SMALL-LIMIT"}])
    assert found(own, rounds(2, steps_max=2).results(state), "limits.ends") == observed
