"""Random rules of the whole language, and random traces of two lives for them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.error_model.ordering import OrderingRule
from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.figures import settings_of

NAMES = {
    "Alpha": EventPattern(kinds=("a",)),
    "Marked": EventPattern(kinds=("a", "b", "c"), where={"mark": True}),
}
PATTERNS = (
    "absence",
    "existence",
    "exactly_one",
    "universality",
    "precedence",
    "response",
    "last",
    "sequence",
    "increasing",
    "at_most",
    "automaton",
)
#: What lookups find: a run whose turns may take two steps, and tools with a timeout.
SETTINGS = settings_of(
    scenario_of(
        {
            "id": "tests/settings",
            "title": "Settings",
            "why": "Rules look figures up in it.",
            "role": "runtime",
            "session": {"budgets": {"steps_max": 2}},
            "tools": [{"name": "x", "timeout": "2ns"}, {"name": "y", "timeout": "3ns"}],
            "provider": {"latency": "1ns"},
        }
    )
)


def rule(pattern: str, **changes: Any) -> OrderingRule:
    """Return a rule about `a`, with `b` as its other and `a`, `c` as what it is among."""
    values: dict[str, Any] = {"id": "r", "pattern": pattern, "says": "It.", "requirement": "X-1"}
    if pattern == "sequence":
        values["steps"] = [{"kinds": ["a"]}, {"kinds": ["b"]}, {"kinds": ["c"]}]
    elif pattern == "automaton":
        values |= {"states": ["off", "on"], "start": "off"}
        values["moves"] = [
            {"from": "off", "event": {"kinds": ["a"]}, "to": "on"},
            {"from": "on", "event": {"kinds": ["b"]}, "to": "off"},
            {"from": ["off", "on"], "event": {"kinds": ["c"]}},
        ]
    else:
        values["event"] = {"kinds": ["a"]}
    if pattern == "at_most":
        values["limit"] = 1
    if pattern == "increasing":
        values["by"] = "number"
    if pattern in ("precedence", "response"):
        values["other"] = {"kinds": ["b"]}
    if pattern in ("universality", "last"):
        values["among"] = {"kinds": ["a", "c"]}
    return OrderingRule.model_validate(values | changes)


def events_of(*items: tuple[str, str, int]) -> list[TraceEvent]:
    """Return events of (kind, call, time)."""
    return [
        TraceEvent(seq, at_ns, "x", kind, {"call": call})
        for seq, (kind, call, at_ns) in enumerate(items, start=1)
    ]


SETS = st.sampled_from(
    [
        "Alpha",
        {"kinds": ["a"]},
        {"kinds": ["b"]},
        {"kinds": ["a", "b"], "where": {"mark": True}},
        {"kinds": ["c", "b"], "like": {"word": "sm:*:x"}},
        {"event": "Marked", "where": {"word": ["sm:1:x", "y"]}},
        {"kinds": ["c"], "has": ["word"]},
        ["Alpha", {"kinds": ["c"], "where": {"mark": None}}],
    ]
)
APART = st.sampled_from(
    [
        {"after": {"kinds": ["open"]}},
        {"before": {"kinds": ["close"]}},
        {"before": {"kinds": ["close"]}, "until_end": True},
        {"after": {"kinds": ["open"]}, "before": {"kinds": ["close"]}},
        {"after": {"kinds": ["open"]}, "before": {"kinds": ["close"]}, "until_end": True},
        {"after": {"kinds": ["open"]}, "before": {"kinds": ["open", "close"]}},
        {},
    ]
)
OVERLAPPING = st.sampled_from(
    [
        {"after": "Alpha"},
        {"after": {"kinds": ["open", "b"]}, "before": ["Alpha", {"kinds": ["close"]}]},
        {"before": "Marked", "until_end": True},
        {"after": "Marked", "before": "Marked", "until_end": True},
    ]
)


TIMES = st.sampled_from(
    [
        None,
        "1ns",
        "3ns",
        "wait",
        {"of": "wait", "default": "2ns"},
        {"of": "wait", "plus": "-1ns"},
        {"of": "network.round_trip", "plus": "1ns"},
        {"of": "scenario.tools.{word}.timeout", "default": "1ns"},
        "scenario.tools.{word}.timeout",
        "scenario.session.budgets.wall_time",
    ]
)
COUNTS = st.sampled_from(
    [
        0,
        1,
        2,
        {"of": "scenario.session.budgets.steps_max", "plus": -1},
        {"of": "scenario.session.budgets.tokens_max", "default": 1},
        "scenario.session.budgets.tokens_max",
    ]
)
JOINS = st.sampled_from(
    [
        {},
        {"same": ["mark"]},
        {"same": ["tags"]},
        {"same": ["mark", "word"], "optional": ["mark"]},
        {"same": {"word": "tags"}},
        {"same": {"tags": "word", "mark": "mark"}, "optional": ["tags", "mark"]},
        {"same": {"tags": "word"}, "optional": ["word"]},
    ]
)


@st.composite
def automata(draw: st.DrawFn) -> dict[str, Any]:
    """Return the keys of a random automaton, all of whose states can be reached."""
    names = ["s0", "s1", "s2"]
    some = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    moves: list[dict[str, Any]] = draw(
        st.lists(
            st.fixed_dictionaries(
                {"from": some, "event": SETS, "to": st.sampled_from([None, *names])}
            ),
            min_size=1,
            max_size=5,
        )
    )
    reached = {"s0"}
    for _ in names:
        for move in moves:
            reached |= {move["to"]} if reached & {*move["from"]} and move["to"] else set()
    moves = [
        move | {"from": [name for name in move["from"] if name in reached]}
        for move in moves
        if reached & {*move["from"]}
    ]
    ends = draw(st.lists(st.sampled_from(sorted(reached)), max_size=2, unique=True))
    start = {"kinds": ["a"]}
    return {
        "states": sorted(reached),
        "start": "s0",
        "moves": moves or [{"from": "s0", "event": start, "to": "s0"}],
        "ends": ends,
    }


@st.composite
def rules(draw: st.DrawFn, *, bounds: Any) -> OrderingRule:
    """Return a random rule of any pattern, with bounds from `bounds`."""
    pattern = draw(st.sampled_from(PATTERNS))
    scope = dict(draw(bounds))
    lives = ["each", "all", "later"] if "after" in scope else ["each", "all"]
    scope["lives"] = draw(st.sampled_from(lives))
    changes: dict[str, Any] = {
        "scope": scope,
        "per": draw(st.sampled_from([None, "call", ["other_id", "call"]])),
        "report": draw(st.sampled_from(["first", "every"])),
    }
    if pattern == "sequence":
        changes["steps"] = draw(st.lists(SETS, min_size=2, max_size=4))
    elif pattern == "automaton":
        changes |= draw(automata())
    else:
        changes["event"] = draw(SETS)
    if pattern in ("precedence", "response"):
        changes["other"] = draw(SETS)
        changes["no_sooner"] = draw(TIMES)
        changes["within"] = draw(TIMES)
        if (changes["no_sooner"], changes["within"]) == ("3ns", "1ns"):
            changes["no_sooner"] = None
        changes |= draw(JOINS)
        changes["one_to_one"] = draw(st.booleans())
    if pattern in ("sequence", "at_most"):
        changes["same"] = draw(st.sampled_from([[], ["mark"], ["word", "tags"]]))
    if pattern == "at_most":
        looked_up = "after" in scope and draw(st.booleans())
        changes["limit"] = "number" if looked_up else draw(COUNTS)
    if pattern in ("universality", "last"):
        changes["among"] = draw(SETS)
    if pattern == "increasing":
        changes["gap_free"] = draw(st.booleans())
    return rule(pattern, **changes)


@st.composite
def traces(draw: st.DrawFn) -> list[TraceEvent]:
    """Return a random trace of a subject whose process may be killed or started anew."""
    kinds = st.sampled_from(["a", "b", "c", "open", "close"] * 3 + ["crash", "restart"])
    items = draw(st.lists(st.tuples(kinds, st.integers(0, 3)), max_size=16))
    life, at_ns = 1, 0
    events: list[TraceEvent] = []
    for kind, delta_ns in items:
        at_ns += delta_ns
        payload: dict[str, Any] = {"call": draw(st.sampled_from(["1", "2"]))}
        if kind in ("crash", "restart"):
            life += kind == "restart"
            kind, payload = {
                "crash": ("process.crashed", {"life": life}),
                "restart": ("process.started", {"life": life}),
            }[kind]
        else:
            payload["mark"] = draw(st.sampled_from([True, 1, None]))
            payload["word"] = draw(st.sampled_from([None, "sm:1:x", "x", "y"]))
            payload["tags"] = draw(st.sampled_from([None, ["x"], ["x", "y"], "y", []]))
            payload["wait"] = draw(st.sampled_from([0, 1, 2, "3ns", None, True]))
            payload["number"] = draw(st.sampled_from([1, 2, 3, 4, 4.5, None]))
            payload |= draw(st.sampled_from([{}, {}, {"other_id": "3"}, {"call": None}]))
        events.append(TraceEvent(len(events) + 1, at_ns, "x", kind, payload))
    return events
