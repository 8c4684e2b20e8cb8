"""What a foreign log can show: each golden log by its model, and how little of a rule is enough."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.load.foreign.log import foreign_trace, read_foreign_log
from faultclock.load.foreign.map import load_foreign_map
from faultclock.load.trace_file import read_trace
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.error_model.ordering import OrderingRule, Pattern
from faultclock.model.foreign_map import ForeignLog, ForeignMap
from faultclock.model.report.finding import Finding, Verdict, verdict_of
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.checks.run.foreign import as_seen
from faultclock.oracle.judge import judge
from faultclock.oracle.rules.patterns import evaluate
from tests.load.foreign_logs import BAD, CUT, GOOD, ROOT, map_of

GOLDEN = sorted((ROOT.parent / "golden-traces").glob("*.jsonl"))


@cache
def model_of(id_: str) -> ErrorModel:
    """Return a shipped model; many tests share one."""
    return load_error_model(id_)


@cache
def map_called(id_: str) -> ForeignMap:
    """Return a shipped map."""
    return load_foreign_map(id_)


def findings(log: str, *, complete: bool = False, model: str | None = None) -> list[Finding]:
    """Return what a golden log comes to."""
    map_ = map_called(map_of(log))
    trace = read_foreign_log(ROOT / f"{log}.jsonl", map_, complete=complete)
    return list(judge(model_of(model or map_.model), trace).findings)


@pytest.mark.parametrize("log", GOOD)
def test_a_good_log_passes(log: str) -> None:
    """With as many requirements exercised as the table says, and nothing that is not a pass."""
    found = findings(log)
    assert {item.verdict for item in found} == {Verdict.PASS, Verdict.NOT_APPLICABLE}
    assert verdict_of(tuple(found)) is Verdict.PASS
    exercised = {item.requirement for item in found if item.verdict is Verdict.PASS} - {None}
    assert len(exercised) >= GOOD[log], sorted(map(str, exercised))


@pytest.mark.parametrize("log", BAD)
def test_a_bad_log_fails_what_it_is_bad_at(log: str) -> None:
    """The named checks with the requirements that they cite, and no other."""
    found = [
        item
        for item in findings(log, complete=True)
        if item.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE)
    ]
    assert {item.check: item.requirement for item in found} == BAD[log]
    for item in found:
        assert item.verdict in (Verdict.FAIL, Verdict.WARN)
        assert "of the log)" in item.observed


@pytest.mark.parametrize("log", CUT)
def test_a_log_that_was_cut_proves_nothing(log: str) -> None:
    """Nothing passes and nothing fails."""
    found = findings(log)
    assert verdict_of(tuple(found)) is Verdict.INCONCLUSIVE
    assert {item.verdict for item in found} <= {Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize("log", CUT)
def test_somebody_who_vouches_for_it_has_it_judged(log: str) -> None:
    """Then a run without an end is a finding, by the model's own sentence."""
    found = findings(log, complete=True)
    assert any(item.verdict is Verdict.FAIL and item.requirement for item in found)


@pytest.mark.parametrize("log", [next(iter(GOOD)), next(iter(BAD))])
@pytest.mark.parametrize("model", model_ids())
def test_any_model_may_judge_any_log(log: str, model: str) -> None:
    """What it has no word for is not applicable, and says so."""
    for item in findings(log, complete=True, model=model):
        assert item.verdict is not Verdict.NOT_APPLICABLE or item.reason


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem.partition(".")[0] for path in GOLDEN])
@pytest.mark.parametrize("model", model_ids())
def test_a_stored_trace_of_ours_may_be_judged_by_any_model(path: Any, model: str) -> None:
    """There is a finding for each of its checks, and none of them fails to come to one."""
    found = judge(model_of(model), read_trace(path)).findings
    assert {item.check for item in found if item.check.startswith("evidence.")}
    assert all(item.reason for item in found if item.verdict is Verdict.NOT_APPLICABLE)


def test_the_golden_traces_pass_their_own_model_again() -> None:
    """As they did when they were recorded."""
    for path in GOLDEN:
        assert verdict_of(judge(model_of("stud-cli"), read_trace(path)).findings) is Verdict.PASS


@pytest.mark.parametrize("log", GOOD)
def test_every_check_that_needs_the_world_is_not_applicable(log: str) -> None:
    """And says what is missing; of failures, waits and requests a log shows nothing."""
    for item in findings(log):
        if item.check.startswith(("failures.", "backoff.wait", "chain.", "breaker.", "tools.")):
            assert item.verdict is Verdict.NOT_APPLICABLE
            assert "what the world observed" in item.reason


@given(data=st.data(), log=st.sampled_from([*GOOD, *BAD]), complete=st.booleans())
@settings(max_examples=60)
def test_a_log_with_gaps_and_echoes_is_judged_all_the_same(
    data: st.DataObject, log: str, complete: bool
) -> None:
    """Whatever is missing or there twice: each finding has its reason or its events."""
    lines = (ROOT / f"{log}.jsonl").read_text("utf-8").splitlines()
    chosen = st.lists(st.integers(0, len(lines) - 1), min_size=1, max_size=2 * len(lines))
    content = "\n".join(lines[index] for index in sorted(data.draw(chosen))).encode()
    map_ = map_called(map_of(log))
    trace = foreign_trace(content, "log", map_, complete=complete)
    found = judge(model_of(map_.model), trace).findings
    assert found == judge(model_of(map_.model), trace).findings
    cut = trace.footer.ending == "log_cut"
    for item in found:
        assert item.verdict is not Verdict.INCONCLUSIVE or cut
        assert item.reason or item.judged
        assert cut or item.verdict is not Verdict.FAIL or "of the log)" in item.observed


def test_ids_are_unique_within_a_run_and_nowhere_else() -> None:
    """Two runs of one workflow have the same nodes; one of them that fails twice is found."""
    lines = (ROOT / "relavium/good-two-runs-of-one-workflow.jsonl").read_text("utf-8").splitlines()
    again = json.loads(lines[5])
    assert again["type"] == "node:failed"
    content = "\n".join([*lines[:6], *([json.dumps({**again, "sequenceNumber": 3})]), *lines[6:]])
    trace = foreign_trace(content.encode(), "log", map_called("relavium"), complete=True)
    failed = {
        item.check
        for item in judge(model_of("relavium"), trace).findings
        if item.verdict is Verdict.FAIL
    }
    assert "ordering.node-ends-once" in failed


# ---------------------------------------------------------------- what is left of a rule

EVENTS = {
    "A": EventPattern(kinds=("declared.event",), where={"name": "a"}),
    "B": EventPattern(kinds=("declared.event",), where={"name": "b"}),
    "Gone": EventPattern(kinds=("declared.event",), where={"name": "gone"}),
    "World": EventPattern(kinds=("tool.called",)),
    "Mixed": EventPattern(kinds=("call.started", "tool.called")),
    "Ended": EventPattern(kinds=("call.returned", "call.raised")),
}


def log_with(**changes: Any) -> ForeignLog:
    """Return a log that can show the events a and b."""
    known: dict[str, Any] = {
        "map": "m",
        "log_sha256": "",
        "lines": 1,
        "kinds": ("call.raised", "call.returned", "call.started", "declared.event"),
        "names": ("a", "b"),
        "timed": False,
    }
    return ForeignLog(**{**known, **changes})


def seen(log: ForeignLog | None = None, **rule: Any) -> OrderingRule | str:
    """Return what is left of a rule."""
    whole = {"id": "r", "says": "s", "requirement": "R-1", **rule}
    checked = OrderingRule.model_validate_json(json.dumps(whole), strict=True)
    return as_seen(checked, EVENTS, log or log_with())


def test_a_rule_of_which_all_can_be_seen_stays_as_it_is() -> None:
    """Nothing is taken away where nothing is missing."""
    left = seen(pattern="precedence", event="A", other="B")
    assert isinstance(left, OrderingRule)
    assert (left.event, left.other) == ("A", "B")


def test_of_a_prohibition_what_can_be_seen_is_left() -> None:
    """Whoever breaks that part breaks the whole."""
    left = seen(pattern="absence", event=["A", "World", "Mixed"], scope={"after": ["B", "World"]})
    assert isinstance(left, OrderingRule)
    assert left.event == ("A", EventPattern(kinds=("call.started",)))
    assert left.scope.after == "B"


@pytest.mark.parametrize(
    "rule",
    [
        {"pattern": "precedence", "event": "A", "other": ["B", "World"]},
        {"pattern": "response", "event": "A", "other": ["B", "World"]},
        {"pattern": "existence", "event": ["B", "World"], "scope": {"after": "A"}},
        {"pattern": "exactly_one", "event": ["B", "World"], "scope": {"after": "A"}},
        {"pattern": "last", "event": ["B", "World"], "among": "A"},
        {"pattern": "existence", "event": "A", "scope": {"before": ["B", "World"]}},
        {"pattern": "increasing", "event": ["A", "World"], "by": "n", "gap_free": True},
        {"pattern": "absence", "event": "World"},
        {"pattern": "absence", "event": "A", "scope": {"after": "World"}},
        {"pattern": "precedence", "event": "A", "other": "B", "scope": {"after": ["A", "World"]}},
        {"pattern": "existence", "event": "A", "scope": {"after": ["B", "World"]}},
        {"pattern": "absence", "event": "A", "scope": {"after": "B", "before": "World"}},
        {"pattern": "absence", "event": "A", "when": "World"},
        {"pattern": "absence", "event": "A", "unless": "World"},
        {"pattern": "sequence", "steps": ["A", "World"]},
    ],
)
def test_what_can_be_fulfilled_unseen_is_not_judged(rule: dict[str, Any]) -> None:
    """A violation in what is left would be none of the whole rule."""
    left = seen(**rule)
    assert isinstance(left, str)
    assert "tool.called" in left


def test_of_a_sequence_two_steps_are_enough() -> None:
    """What lies between them may be unseen."""
    left = seen(pattern="sequence", steps=["A", "World", "B"])
    assert isinstance(left, OrderingRule)
    assert left.steps == ("A", "B")


@pytest.mark.parametrize(
    "rule", [{"unless": "World"}, {"scope": {"after": "B", "before": "World"}}]
)
def test_a_sign_excuses_and_proves_nothing(rule: dict[str, Any]) -> None:
    """It stands for what would end or suspend a prohibition, and for nothing else."""
    log = log_with(signs=("tool.called",))
    left = seen(log, pattern="absence", event="A", **rule)
    assert isinstance(left, OrderingRule)
    sign = EventPattern(kinds=("declared.sign",), where={"of": "tool.called"})
    assert (sign,) in (left.unless, left.scope.before)
    assert isinstance(seen(log, pattern="absence", event="A", when="World"), str)
    assert isinstance(seen(log, pattern="precedence", event="A", other="World"), str)


def test_an_event_that_nobody_names_may_not_be_missed() -> None:
    """A log without it, by a map without it, cannot show that it did not happen."""
    left = seen(pattern="response", event="A", other="Gone")
    assert isinstance(left, str)
    assert "neither the log nor its map has an event 'gone'" in left


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("declared.event", ("a", "gone")),
        ("declared.event", ("gone", "a")),
        ("declared.audit_event", "gone"),
        ("declared.audit_event", ("r", "gone")),
    ],
)
def test_each_name_of_an_event_or_a_record_has_to_be_known(kind: str, named: Any) -> None:
    """Events and records have names of their own; a record of the name of an event is none."""
    log = log_with(kinds=("declared.audit_event", "declared.event"), records=("r",))
    other = EventPattern(kinds=(kind,), where={"name": named})
    rule = OrderingRule(
        id="r", says="s", requirement="R-1", pattern="response", event="A", other=other
    )
    left = as_seen(rule, EVENTS, log)
    assert isinstance(left, str)
    assert "has an event 'gone'" in left
    known = other.model_copy(update={"where": {"name": "a" if kind.endswith(".event") else "r"}})
    whole = rule.model_copy(update={"other": known})
    assert isinstance(as_seen(whole, EVENTS, log), OrderingRule)


def test_times_are_needed_where_a_rule_measures() -> None:
    """And only there."""
    rule: dict[str, Any] = {"pattern": "response", "event": "A", "other": "B", "within": "1s"}
    assert seen(**rule) == "the events of the log have no times"
    assert isinstance(seen(log_with(timed=True), **rule), OrderingRule)


def test_whether_calls_end_is_judged_where_the_log_is_complete() -> None:
    """Else a run without an end may have been cut, and one with an end shows nothing new."""
    rule: dict[str, Any] = {"pattern": "exactly_one", "event": "Ended", "scope": {"after": "A"}}
    left = seen(**rule)
    assert isinstance(left, str)
    assert "--complete" in left
    assert isinstance(seen(log_with(complete=True), **rule), OrderingRule)


# ---------------------------------------------------------------- a part that fails is a whole

NAMES = ("A", "B", "C", "World", "Net", "Mixed")
WIDE = {
    **{
        name: EventPattern(kinds=("declared.event",), where={"name": name.lower()})
        for name in "ABC"
    },
    "World": EventPattern(kinds=("tool.called",)),
    "Net": EventPattern(kinds=("net.sent",)),
    "Mixed": EventPattern(kinds=("call.started", "tool.called")),
}
HAPPENINGS = (
    ("declared.event", "a"),
    ("declared.event", "b"),
    ("declared.event", "c"),
    ("tool.called", None),
    ("net.sent", None),
    ("call.started", None),
)


def any_rule(chance: random.Random) -> OrderingRule:
    """Return any rule about the events of WIDE."""

    def ref() -> tuple[str, ...]:
        return tuple(chance.sample(NAMES, chance.choice([1, 1, 2])))

    pattern = chance.choice(get_args(Pattern))
    rule: dict[str, Any] = {"id": "r", "says": "s", "requirement": "R-1", "pattern": pattern}
    if pattern == "sequence":
        rule["steps"] = tuple(ref() for _ in range(chance.choice([2, 3])))
    elif pattern == "automaton":
        rule |= {"states": ("off", "on"), "start": "off", "ends": chance.choice([(), ("off",)])}
        rule["moves"] = (
            {"from": "off", "event": ref(), "to": "on"},
            {"from": "on", "event": ref(), "to": "off"},
        )
    else:
        rule["event"] = ref()
    if pattern in ("precedence", "response"):
        rule["other"] = ref()
        rule |= {"same": chance.choice([(), ("n",)]), "one_to_one": chance.random() < 0.3}
    if pattern == "at_most":
        rule["limit"] = chance.choice([0, 1, 2, {"of": "n", "default": 1}])
    if pattern in ("universality", "last"):
        rule["among"] = ref()
    if pattern == "increasing":
        rule |= {"by": "n", "gap_free": chance.random() < 0.5}
    for guard in ("when", "unless"):
        rule[guard] = ref() if chance.random() < 0.15 else None
    rule["per"] = chance.choice(["call", None])
    looked_up = isinstance(rule.get("limit"), dict)
    rule["scope"] = {
        "after": ref() if looked_up or chance.random() < 0.6 else None,
        "before": ref() if chance.random() < 0.4 else None,
        "until_end": chance.random() < 0.5,
    }
    return OrderingRule(**rule)


def any_events(chance: random.Random) -> tuple[TraceEvent, ...]:
    """Return a few events of two calls, some of which no log shows."""
    events = []
    for seq in range(1, chance.randint(2, 8)):
        kind, name = chance.choice(HAPPENINGS)
        payload = {"name": name, "call": chance.choice("xxy"), "n": chance.randint(0, 4)}
        events.append(TraceEvent(seq, seq, "world", kind, payload))
    return tuple(events)


def test_what_fails_in_the_part_that_a_log_shows_fails_in_the_whole() -> None:
    """Whatever else happened that the log does not have: no finding is made by not seeing it."""
    # Hypothesis prefers what is small, and what goes wrong here takes four different events.
    chance = random.Random(17)
    log = log_with(names=("a", "b", "c"), complete=True)
    failed = 0
    for _ in range(4000):
        rule = any_rule(chance)
        left = as_seen(rule, WIDE, log)
        if isinstance(left, str):
            continue
        for _ in range(10):
            events = any_events(chance)
            shown = tuple(event for event in events if event.kind in log.kinds)
            if evaluate(left, shown, WIDE).witnesses:
                failed += 1
                assert evaluate(rule, events, WIDE).witnesses, (rule, events)
    assert failed > 1000
