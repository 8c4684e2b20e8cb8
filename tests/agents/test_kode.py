"""The KODE SDK reference: what it says and keeps, and every scenario.

`tests/run/test_kill_matrix.py` has the wrong ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.kode import KodeAgent, reference_kode
from faultclock.agents.kode_records import (
    CallRecord,
    ErrorType,
    Left,
    advice,
    cleaned,
    denied_content,
)
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.secrets import SECRET_SHAPE
from faultclock.mutants.registry import MUTANTS
from faultclock.oracle.judge import judge
from faultclock.run.execute import execute
from faultclock.sim.patches import installed
from faultclock.subjects.ports import Surroundings

MINIATURES = {id_: item for id_, item in MUTANTS.items() if item.model == "kode-sdk"}
FINE = (Verdict.PASS, Verdict.NOT_APPLICABLE)
TYPES: tuple[ErrorType, ...] = get_args(ErrorType)


@pytest.fixture(scope="session", autouse=True)
def _patched() -> Iterator[None]:
    """Have the patches installed for this folder's tests, and taken back after them."""
    with installed():
        yield


@cache
def _model() -> ErrorModel:
    return load_error_model("kode-sdk")


@cache
def _scenarios() -> Mapping[str, Scenario]:
    found = (item.scenario for item in find_scenarios(()))
    return {item.id: item for item in found if item.id.startswith("kode-sdk/")}


def _findings(scenario: Scenario) -> tuple[Finding, ...]:
    return judge(_model(), execute(scenario, reference_kode, scenario.seed)).findings


# ---------------------------------------------------------------------- runs


@cache
def _of_reference() -> Mapping[str, tuple[Finding, ...]]:
    return {id_: _findings(item) for id_, item in _scenarios().items()}


def test_the_reference_has_nothing_against_it() -> None:
    """Not even something that proves nothing."""
    bad = [
        (scenario, finding.check, finding.observed)
        for scenario, of_scenario in _of_reference().items()
        for finding in of_scenario
        if finding.verdict not in FINE
    ]
    assert bad == []


def test_each_sentence_is_shown_to_hold_by_each_of_its_checks() -> None:
    """What no scenario exercises is not carried."""
    shown = {
        (finding.requirement, finding.check)
        for of_scenario in _of_reference().values()
        for finding in of_scenario
        if finding.verdict is Verdict.PASS
    }
    wanted = {(item.id, check) for item in _model().requirements for check in item.checks}
    assert sorted(wanted - shown) == []


def test_a_real_bug_is_that_of_its_scenario() -> None:
    """Whoever reads the scenario finds the issue that the miniature has."""
    real = {id_: item for id_, item in MINIATURES.items() if item.origin is not None}
    for item in real.values():
        assert _scenarios()[item.shown_by].origin == item.origin
    assert len(real) >= 12


# ---------------------------------------------------------------------- what it says


class _Host:
    """Keeps the events that it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def event(self, name: str, /, **fields: Any) -> None:
        """Keep one."""
        self.events.append((name, fields))


def test_bookmarks_grow_and_those_of_a_later_process_are_larger() -> None:
    """Whoever was away asks for what came since."""
    host = _Host()
    for resume in (False, True):
        store = _Store({"epoch": 1}, [])
        world = SimpleNamespace(host=host, store=store, session_id="s1", resume=resume, tools=())
        agent = KodeAgent(cast("Surroundings", world))
        asyncio.run(agent.start())
        agent.say("progress", "tool:start", call={})
        agent.monitor_error("warn", "tool", "no", errorType="logical")
    places = [fields["bookmark"]["seq"] for _, fields in host.events]
    assert places == sorted(set(places))
    assert [fields["channel"] for _, fields in host.events[1:3]] == ["progress", "monitor"]


@pytest.mark.parametrize("error_type", TYPES)
def test_advice_differs_by_type_and_by_tool(error_type: ErrorType) -> None:
    """What helps with a path does not help with a schema."""
    others = [advice(item, "fs_read", ("fs_read",)) for item in TYPES if item != error_type]
    assert advice(error_type, "fs_read", ("fs_read",)) not in others
    if error_type in ("runtime", "logical"):
        assert advice(error_type, "fs_read", ()) != advice(error_type, "http_get", ())


@given(st.text(max_size=200))
def test_a_cleaned_message_has_no_secret_and_no_stack_and_is_some_text(text: str) -> None:
    """Whatever a tool throws."""
    found = cleaned(f"{text} sk-abcdefghijkl {text}\nTraceback (most recent call last): x")
    assert found
    assert SECRET_SHAPE.search(found) is None
    assert "Traceback" not in found


def test_a_path_stays_in_a_message() -> None:
    """The guide's own example tells the model one."""
    assert cleaned("File not found: /src/utils/helper.ts") == "File not found: /src/utils/helper.ts"


def test_a_record_keeps_the_trail_of_its_states() -> None:
    """The audit is complete."""
    record = CallRecord(id="c1", name="fs_read")
    record.become("EXECUTING")
    record.become("FAILED")
    record.error = "no"
    assert record.snapshot()["auditTrail"] == ["EXECUTING", "FAILED"]
    assert record.snapshot()["isError"] is True


def test_a_denial_says_who_has_decided() -> None:
    """A policy is not a person."""
    assert "the policy" in denied_content("fs_write", by_policy=True)["error"]
    assert "the user" in denied_content("fs_write", by_policy=False)["error"]


# ---------------------------------------------------------------------- what it keeps


class _Store:
    """A session store that is a pair of lists."""

    def __init__(self, manifest: Mapping[str, Any] | None, journal: list[Any]) -> None:
        self.manifest = manifest
        self.journal = journal

    async def write(self, session: str, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        self.manifest = manifest

    async def read(self, session: str) -> Mapping[str, Any] | None:
        """Return the manifest."""
        return self.manifest

    async def read_journal(self, session: str) -> list[Any]:
        """Return the journal."""
        return self.journal


def _left(manifest: Mapping[str, Any] | None, *journal: Mapping[str, Any]) -> Left:
    store = _Store(manifest, list(journal))
    world = SimpleNamespace(host=None, store=store, session_id="s1")
    return asyncio.run(KodeAgent(cast("Surroundings", world)).restore())


def _asking(*ids: str) -> dict[str, Any]:
    calls = [{"id": id_, "function": {"name": f"tool_{id_}", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "tool_calls": calls}


def test_a_call_without_an_end_is_open() -> None:
    """The one that ended is not, and its result is there."""
    left = _left(
        {"epoch": 3, "messages": [{"role": "user", "content": "before"}]},
        {"user": "go"},
        {"assistant": _asking("a", "b")},
        {"started": "a", "tool": "tool_a"},
        {"ended": "a", "content": {"ok": True}},
    )
    assert (left.epoch, left.was_cut) == (4, True)
    assert left.open_calls == {"b": "tool_b"}
    assert [item["role"] for item in left.messages] == ["user", "user", "assistant", "tool"]


def test_a_session_that_ended_in_good_order_has_nothing_open() -> None:
    """Its journal is empty."""
    left = _left({"epoch": 1, "messages": []})
    assert (left.open_calls, left.was_cut) == ({}, False)


def test_a_session_that_is_not_there_is_refused() -> None:
    """By name."""
    with pytest.raises(Exception, match="there is no session s1"):
        _left(None)
