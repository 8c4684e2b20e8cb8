"""A rule may name a field that its events can have, at any depth, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.event_paths import unknown_field, unknown_pattern_field
from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.error_model.ordering import OrderingRule

CALLED, SENT = {"kinds": ["tool.called"]}, {"kinds": ["net.sent"]}
NAMES = {"Called": EventPattern(kinds=("tool.called",))}
#: What each pattern needs beside an `event` that is a tool's call.
NEEDS: dict[str, dict[str, Any]] = {
    "existence": {"event": CALLED},
    "response": {"event": CALLED, "other": SENT},
    "precedence": {"event": CALLED, "other": SENT},
    "at_most": {"event": CALLED, "limit": 1},
    "increasing": {"event": CALLED, "by": "life"},
    "sequence": {"steps": [CALLED, SENT]},
}


def problem(pattern: str, **changes: Any) -> str | None:
    """Return what is said of a rule."""
    values = {"id": "r", "pattern": pattern, "says": "It.", "requirement": "X-1", "per": None}
    return unknown_field(OrderingRule.model_validate(values | NEEDS[pattern] | changes), NAMES)


@pytest.mark.parametrize(
    ("kind", "path", "is_there"),
    [
        ("tool.called", "tool", True),
        ("tool.called", "tol", False),
        ("tool.called", "tool.name", False),
        ("tool.called", "arguments.of.any.depth", True),
        ("call.raised", "chain", True),
        ("call.raised", "chain.0", True),
        ("call.raised", "chain.0.class", True),
        ("call.raised", "chain.0.clas", False),
        ("call.raised", "chain.0.class.name", False),
        ("call.raised", "chain.first", False),
        ("call.raised", "chain.first.class", False),
        ("call.returned", "result.code", True),
        ("call.returned", "result.cod", False),
        ("call.returned", "entries.0.x", False),
        ("http.response", "headers.retry-after", True),
        ("http.response", "error.code", True),
        ("http.response", "error.nope", False),
        ("node.replied", "error.kind", True),
        ("contract.declared", "contract.retry.attempts_max", True),
        ("contract.declared", "contract.anything", True),
        ("declared.audit", "record.context.at.any.depth", True),
        ("declared.audit", "record.contxt", False),
        ("declared.event", "fields.turn.id", True),
        ("world.touched", "what_is_counted", True),
        ("failure.seen", "layer", True),
        ("failure.seen", "layr", False),
    ],
)
def test_a_path_leads_as_far_as_the_types_of_its_event(
    kind: str, path: str, is_there: bool
) -> None:
    """Into lists by a number, into objects by a name, and anywhere in what can be anything."""
    said = unknown_pattern_field("Name", EventPattern(kinds=(kind,), has=(path,)))
    assert (said is None) is is_there
    if said is not None:
        assert said.startswith(f"Name: no {kind} has a field '{path}': ")


@pytest.mark.parametrize(
    ("kind", "where", "said"),
    [
        ("http.response", {"status": "401"}, 'is never "401": it is a whole number'),
        ("http.response", {"status": 401}, None),
        ("http.response", {"status": [401, True]}, "is never true: it is a whole number"),
        ("http.response", {"error.code": 5}, None),
        ("policy.decided", {"decision": "denied"}, 'is never "denied": it is "allow" or "deny"'),
        ("policy.decided", {"decision": ["allow", "deny"]}, None),
        ("policy.decided", {"decision": None}, None),
        ("call.raised", {"chain.0.link": "outer"}, None),
        ("call.raised", {"chain.0.link": "outermost"}, 'it is "outer"'),
        ("call.raised", {"chain": "x"}, "it is an object or a list"),
        ("tool.called", {"arguments.any": 1}, None),
        ("world.touched", {"what_is_counted": "three"}, None),
        ("failure.seen", {"layer": 7}, None),
    ],
)
def test_a_value_that_a_field_never_has_is_refused(
    kind: str, where: dict[str, Any], said: str | None
) -> None:
    """A rule about it would hold for everything; the types of the field say what it can be."""
    problem = unknown_pattern_field("N", EventPattern(kinds=(kind,), where=where))
    if said is None:
        assert problem is None
    else:
        assert problem is not None
        assert problem.startswith(f"N: '{next(iter(where))}' of {kind} is never ")
        assert said in problem


def test_one_of_several_kinds_is_enough() -> None:
    """Where none has the field, the sentence names them all, and the nearest field or each."""
    kinds = ("net.sent", "net.eof")
    assert unknown_pattern_field("Name", EventPattern(kinds=kinds, has=("bytes_count",))) is None
    assert unknown_pattern_field("N", EventPattern(kinds=kinds, has=("byte_count",))) == (
        "N: no net.sent or net.eof has a field 'byte_count': write bytes_count"
    )
    assert unknown_pattern_field("N", EventPattern(kinds=kinds, like={"zzz.conn": "x"})) == (
        "N: no net.sent or net.eof has a field 'zzz.conn': there are bytes_count, call, connection"
    )
    mixed = EventPattern(kinds=("net.sent", "world.touched"), where={"what_is_counted": 1})
    assert unknown_pattern_field("N", mixed) is None
    derived = EventPattern(kinds=("attempt.failed", "net.sent"), where={"attempt": 1})
    assert unknown_pattern_field("N", derived) is None


@pytest.mark.parametrize(
    ("pattern", "changes", "field"),
    [
        ("existence", {"event": CALLED | {"where": {"tol": "ls"}}}, "tol"),
        ("existence", {"scope": {"after": SENT | {"has": ["tool"]}}}, "tool"),
        ("existence", {"per": "tol"}, "tol"),
        ("existence", {"per": "bytes_count"}, "bytes_count"),
        ("existence", {"per": ["call", "tol"]}, "tol"),
        ("increasing", {"by": "lif"}, "lif"),
        ("response", {"same": {"bytes_coun": "life"}}, "bytes_coun"),
        ("response", {"same": {"bytes_count": "lif"}}, "lif"),
        ("response", {"same": ["bytes_count"]}, "bytes_count"),
        ("response", {"same": ["tool"]}, "tool"),
        ("precedence", {"same": ["tool"]}, "tool"),
        ("response", {"within": "lif"}, "lif"),
        ("response", {"no_sooner": "lif"}, "lif"),
        ("response", {"no_sooner": "1s", "within": {"of": "lif", "default": "2s"}}, "lif"),
        ("at_most", {"same": ["tol"]}, "tol"),
        ("at_most", {"limit": "bytes_coun", "scope": {"after": SENT}}, "bytes_coun"),
        ("at_most", {"limit": "tool_call", "scope": {"after": SENT}}, "tool_call"),
        ("sequence", {"same": ["tol"]}, "tol"),
        ("sequence", {"same": ["exchange"]}, "exchange"),
    ],
)
def test_every_place_that_names_a_field_is_looked_at(
    pattern: str, changes: dict[str, Any], field: str
) -> None:
    """A field that picks events, joins them, counts by them or bounds them."""
    said = problem(pattern, **changes)
    assert said is not None
    assert said.startswith("r: no ")
    assert f" has a field '{field}': " in said


@pytest.mark.parametrize(
    ("pattern", "changes"),
    [
        ("existence", {"event": "Called"}),
        ("existence", {"event": CALLED | {"where": {"tool": "ls"}}}),
        ("existence", {"per": ["bytes_count", "call"]}),
        ("existence", {"event": ["Called", SENT], "per": "bytes_count"}),
        ("increasing", {}),
        ("response", {"same": {"bytes_count": "life"}}),
        ("response", {"same": ["call"]}),
        ("response", {"within": "life", "no_sooner": "bytes_count"}),
        ("response", {"within": "network.round_trip"}),
        ("at_most", {"same": ["tool"], "limit": "bytes_count", "scope": {"after": SENT}}),
        ("at_most", {"limit": "scenario.session.budgets.steps_max"}),
        ("sequence", {"same": ["tool"]}),
        ("sequence", {"same": ["bytes_count"]}),
    ],
)
def test_a_field_that_its_events_can_have_is_fine(pattern: str, changes: dict[str, Any]) -> None:
    """Of what all events of a rule share the reading, one of them has to have it."""
    assert problem(pattern, **changes) is None


def test_a_key_that_is_no_field_of_any_event_is_named_as_such() -> None:
    """Of several keys one has to be a field of the rule's events, and each one of some event."""
    assert problem("existence", per=["call", "nod"]) == (
        "r: no event has a field 'nod': write node"
    )
    said = problem("existence", per="bytes_count")
    assert said is not None
    assert said.startswith("r: no tool.called has a field 'bytes_count': there are agent, ")
