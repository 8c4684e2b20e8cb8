"""The kinds that a scenario may name are those that a trace may hold."""

from __future__ import annotations

import re
from string import Formatter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin

import pytest
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from faultclock.load.resources import fixtures_root
from faultclock.load.trace_file import read_trace
from faultclock.model._base import Sha256
from faultclock.model.trace.event_check import check_events
from faultclock.model.trace.event_kinds.kind import LANES
from faultclock.model.trace.event_shapes import Said
from faultclock.model.trace.events import (
    EVENT_KINDS,
    EVENTS,
    describe,
    ends_of,
    lane_of,
    payload_type,
)
from faultclock.model.trace.trace import TraceEvent
from tests.architecture.source_tree import PROJECT

#: `record("actor", "kind", …)`, also where the words stand on lines of their own.
_RECORDED = re.compile(r'record\(\s*(?:\*\()?(?:"[a-z]+",\s*)?"([a-z]+\.[a-z_]+)"')


def test_every_kind_that_is_recorded_can_be_named() -> None:
    """A trigger on a kind that is missing here would be refused for no reason."""
    recorded = {
        kind
        for room in ("sim", "fakes", "run")
        for path in (PROJECT / "harness/faultclock" / room).rglob("*.py")
        for kind in _RECORDED.findall(path.read_text("utf-8"))
    }
    assert len(recorded) > 20
    assert recorded <= EVENT_KINDS


def test_every_kind_of_the_golden_traces_can_be_named() -> None:
    """What is recorded in a roundabout way shows here."""
    for path in (fixtures_root() / "golden-traces").glob("*.jsonl"):
        assert {event.kind for event in read_trace(str(path)).events} <= EVENT_KINDS


def test_a_contract_without_one_of_its_numbers_is_no_contract() -> None:
    """What judges the retries of a tool reads them all."""
    retry = {
        "attempts_max": 3,
        "backoff": "fixed",
        "base_ns": 1,
        "factor": 2,
        "cap_ns": None,
        "jitter_percent": 0,
        "retryable": [],
    }
    whole = TypeAdapter(payload_type("contract.declared"))
    contract = {"name": "order", "gated": False, "retry": retry}
    assert whole.validate_python({"call": None, "contract": contract})
    for name in retry:
        rest = {key: value for key, value in retry.items() if key != name}
        with pytest.raises(ValidationError, match=f"retry.{name}"):
            whole.validate_python({"call": None, "contract": {**contract, "retry": rest}})


def test_the_line_about_an_event_names_fields_of_its_kind() -> None:
    """A template with another name would fail at the first such event."""
    for name, kind in EVENTS.items():
        if isinstance(kind.text, str):
            named = {field for _, field, _, _ in Formatter().parse(kind.text) if field}
            assert named <= set(kind.fields), name
            assert kind.text, name


def test_every_kind_has_a_lane() -> None:
    """Each actor of a kind has a lane, and what a drawing names has a field for it."""
    for name, kind in EVENTS.items():
        assert all(
            lane_of(name, actor) in {*LANES.values(), "calls", "wire"} for actor in kind.actors
        )
        assert kind.named is None or (kind.opens and kind.named in kind.fields), name


def _sample(type_: Any, *, bare: bool) -> Any:
    """Return a value of the type of a field; with as little as it may hold where `bare`."""
    if type_ is Said:
        return None if bare else "said"
    if is_typeddict(type_):
        fields = type_.__annotations__.items()
        return {
            name: _sample(get_args(of)[0] if optional else of, bare=bare)
            for name, of in fields
            if not (optional := get_origin(of) is NotRequired) or not bare
        }
    origin, inside = get_origin(type_), get_args(type_)
    if origin is Annotated:
        return "0" * 64 if type_ == Sha256 else _sample(inside[0], bare=bare)
    if origin is Literal:
        return inside[0]
    if origin in (Union, UnionType):
        return None if bare and NoneType in inside else _sample(inside[0], bare=bare)
    if origin is list:
        return [_sample(inside[0], bare=bare)]
    if origin is dict:
        return {}
    return {str: "text", int: 100, bool: True}[type_]


@pytest.mark.parametrize("bare", [True, False])
def test_every_kind_has_a_line_for_the_least_and_for_the_most_that_it_may_hold(bare: bool) -> None:
    """What an event may lack is missing in the line, too."""
    for seq, (name, kind) in enumerate(EVENTS.items(), 1):
        payload = _sample(payload_type(name), bare=bare)
        event = TraceEvent(seq, 0, kind.actors[0], name, payload)
        check_events([event])
        assert describe(event).strip() == describe(event) != ""


def test_what_begins_something_can_end_and_both_name_it_alike() -> None:
    """The fields that pair two kinds are fields of both."""
    for name, kind in EVENTS.items():
        assert bool(kind.opens) == bool(ends_of(name)), name
        assert set(kind.opens) <= set(kind.fields), name
        belongs_to = kind.closes or kind.part_of
        if belongs_to is not None:
            assert EVENTS[belongs_to].opens, name
            assert set(EVENTS[belongs_to].opens) <= set(kind.fields), name
            assert not kind.opens, name
            assert kind.closes is None or kind.part_of is None, name
