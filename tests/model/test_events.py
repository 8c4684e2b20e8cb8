"""The kinds that a scenario may name are those that a trace may hold."""

from __future__ import annotations

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from faultclock.load.resources import fixtures_root
from faultclock.load.trace_file import read_trace
from faultclock.model.events import EVENT_KINDS, payload_type
from tests.architecture.source_tree import PROJECT

#: `record("actor", "kind", …)`, also where the words stand on lines of their own.
_RECORDED = re.compile(r'record\(\s*"[a-z]+",\s*"([a-z]+(?:\.[a-z_]+)?)"')


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
