"""Ordering rules: what an event costs, however long the trace, and against the definitions.

All rules of stud-cli for a runtime, and a few in the newer words of the language, are judged over
traces of whole turns. One pass is measured at three lengths; the evaluator that follows the
definitions to the letter (and is what the tests compare with) at lengths at which it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks._table import Row, Size, rows_of
from benchmarks._turns import best_ms
from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.ordering import OrderingRule
from faultclock.model.scenario.scenario import RuntimeScenario
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.figures import settings_of
from faultclock.oracle.rules.patterns import RuleSet
from tests.oracle.brute_force import violated_keys
from tests.oracle.mini_trace import events_of

MODEL = load_error_model("stud-cli")
RULES = tuple(rule for rule in MODEL.ordering if "runtime" in rule.roles)
#: What no shipped rule has yet: joins, figures that are looked up, counts and automata, all of them
#: over the whole trace, so that what they keep in mind grows with it if it can.
_ENDS = ["tool.replied", "tool.raised"]
_PAIR = {"event": {"kinds": ["tool.called"]}, "other": {"kinds": _ENDS}, "per": None}
_STARTED = {"kinds": ["call.started"]}
_RETURNED = {"kinds": ["call.returned"]}
NEW_WORDS = tuple(
    OrderingRule.model_validate({"id": "r", "says": "It.", "requirement": "R-1"} | changes)
    for changes in (
        _PAIR | {"pattern": "response", "same": ["tool_call", "tool"]},
        _PAIR | {"pattern": "response", "same": ["tool_call"], "one_to_one": True},
        _PAIR | {"pattern": "response", "same": ["call"], "optional": ["call"]},
        _PAIR | {"pattern": "response", "within": {"of": "scenario.tools.{tool}.timeout"}},
        {
            "pattern": "precedence",
            "event": {"kinds": _ENDS},
            "other": {"kinds": ["tool.called"]},
            "same": ["tool_call"],
            "within": {"of": "deadline_ns", "default": "5s"},
            "one_to_one": True,
            "per": None,
        },
        {
            "pattern": "at_most",
            "event": {"kinds": ["tool.called"]},
            "same": ["tool_call"],
            "limit": {"of": "scenario.session.budgets.tool_calls_max", "default": 1},
            "per": None,
        },
        {
            "pattern": "automaton",
            "states": ["idle", "busy"],
            "start": "idle",
            "moves": [
                {"from": "idle", "event": _STARTED, "to": "busy"},
                {"from": "busy", "event": _RETURNED, "to": "idle"},
                {"from": "busy", "event": {"kinds": ["http.request", "tool.called"]}},
            ],
            "ends": ["idle", "busy"],
            "per": None,
        },
    )
)
SETTINGS = settings_of(
    RuntimeScenario(id="bench/turns", title="Turns", why="Tools have a timeout.", role="runtime")
)
_TURN = " · ".join(
    (
        "call.started call=turn/{n}",
        "SessionTurnStart call=turn/{n} turn=t{n}",
        *(
            f"{fired} call=turn/{{n}} turn=t{{n}} stage={stage} id={stage}{{n}} error=false"
            for stage in ("RECEIVE_INPUT", "COMPOSE_REQUEST", "SEND_REQUEST")
            for fired in ("StagePreFired", "StagePostFired")
        ),
        "net.connect call=turn/{n} connection=c{n}",
        "net.sent call=turn/{n} connection=c{n}",
        "http.request call=turn/{n} exchange=x{n}",
        "http.response call=turn/{n} exchange=x{n}",
        "net.delivered connection=c{n}",
        "ToolInvocationProposed call=turn/{n} tool=rm tool_call=tc{n}",
        "InteractionRaised call=turn/{n} request=r{n} tool_call=tc{n}",
        "Shown call=turn/{n} interactor=i request=r{n} tool_call=tc{n}",
        "UserApproved call=turn/{n} interactor=i request=r{n} tool_call=tc{n}",
        "InteractionAnswered call=turn/{n} request=r{n} tool_call=tc{n}",
        "Approval call=turn/{n} decision=approve tool_call=tc{n}",
        "ToolInvocationStarted call=turn/{n} tool=rm tool_call=tc{n}",
        "Executed call=turn/{n} tool=rm tool_call=tc{n}",
        "tool.replied call=turn/{n} tool=rm tool_call=tc{n} ok=true",
        "ToolInvocationSucceeded call=turn/{n} tool=rm tool_call=tc{n}",
        "StoreAsked call=turn/{n} session=s1",
        "StoreAcknowledged call=turn/{n} session=s1",
        "SessionPersisted call=turn/{n} session=s1",
        "SessionTurnEnd call=turn/{n} turn=t{n}",
        "call.returned call=turn/{n}",
    )
)


def trace_of(length: int) -> list[TraceEvent]:
    """Return the first `length` events of an endless session of good turns."""
    events: list[TraceEvent] = []
    while len(events) < length:
        number = len(events) + 1
        for event in events_of(_TURN.replace("{n}", str(number))):
            seq = len(events) + 1
            events.append(TraceEvent(seq, seq, event.actor, event.kind, event.payload))
    return events[:length]


def one_pass(events: list[TraceEvent], rules: RuleSet) -> int:
    """Judge `rules` in one pass; return how many violations there are."""
    return sum(len(result.witnesses) for result in rules.evaluate(events, SETTINGS))


def by_definition(events: list[TraceEvent]) -> int:
    """Judge all rules by their definitions; return how many violations there are."""
    return sum(len(violated_keys(rule, events, MODEL.events)) for rule in RULES)


def measure(size: Size) -> Iterator[Row]:
    """Yield what an event costs at each length, and what a trace costs by the definitions."""
    shipped = RuleSet(RULES, MODEL.events)
    traces = {n: trace_of(n) for n in size.of((1_000, 10_000, 100_000), (50, 100))}
    for what, rules in (
        ("of stud-cli", shipped),
        ("in the newer words", RuleSet(NEW_WORDS, MODEL.events)),
    ):
        pieces = {f"events: {n:,}": partial(one_pass, traces[n], rules) for n in traces}
        taken_ms = zip(traces, best_ms(pieces, size).items(), strict=True)
        figures = {name: ms * 1_000 / n for n, (name, ms) in taken_ms}
        case = f"one pass of {len(rules.rules)} rules {what}"
        yield from rows_of(case, "µs an event", figures, next(iter(figures)))
    for length in size.of((250, 500, 1_000), (50,)):
        events = trace_of(length)
        assert one_pass(events, shipped) == by_definition(events)
        ways = {
            "one pass": partial(one_pass, events, shipped),
            "by definition": partial(by_definition, events),
        }
        case = f"rules of stud-cli, {length:,} events"
        yield from rows_of(case, "ms", best_ms(ways, size), "one pass")
