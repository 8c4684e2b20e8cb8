"""The parts that need no world: waits, messages for each audience, sealing, reading calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.calls import misfit, read_call
from faultclock.agents.stud_cli.persistence import Replay, sealed, tool_message
from faultclock.agents.stud_cli.provider import whole_calls
from faultclock.agents.stud_cli.session import Telling, pair_of, typed, without_internals
from faultclock.agents.waits import wait_s
from faultclock.agents.wire import assistant_message
from faultclock.subjects.ports import Reply, ToolCall, TypedError
from tests.agents.stud_cli.fakes import FakeHost


@given(
    backoff=st.sampled_from(["fixed", "linear", "exponential"]),
    base_s=st.floats(0.001, 1_000),
    failures=st.integers(1, 5_000),
    cap_s=st.floats(0.001, 1_000),
    percent=st.integers(0, 100),
)
def test_a_wait_is_never_longer_than_its_cap_and_jitter(
    backoff: str, base_s: float, failures: int, cap_s: float, percent: int
) -> None:
    """Whatever the schedule, however many failures."""
    wait = wait_s(backoff, base_s, failures, cap_s=cap_s, jitter=percent / 100)
    assert 0 <= wait <= cap_s * (1 + percent / 100) + 1e-9


@pytest.mark.parametrize(
    "message",
    [
        "cannot read /srv/agent/notes.txt",
        "key sk-simulated-0123456789abcdef0123 is wrong",
        'boom\nTraceback (most recent call last):\n  File "x.py", line 3',
        r"no C:\agent\notes.txt",
    ],
)
def test_the_model_sees_nothing_of_the_inside(message: str) -> None:
    """Paths, secrets and stacks are taken out of what it is told."""
    told = without_internals(message)
    for inside in ("/srv", "sk-", "Traceback", "agent", "<secret>"):
        assert inside not in told


def test_an_error_is_audited_once() -> None:
    """The end of a turn adds no second record to that of the attempt."""
    host = FakeHost()
    telling = Telling(host)
    error = TypedError("Session", "StoreUnavailable", "not now")
    telling.failed_attempt(error, 3, {"operation": "write"})
    telling.turn_failed(error, {"turn": "t"})
    assert [item[:3] for item in host.audited] == [("Session", "StoreUnavailable", 3)]
    assert len(host.user) == len(host.model) == 1
    assert "Session" not in host.user[0].replace("session", "")


def test_a_wrapper_keeps_class_and_code() -> None:
    """Those of the origin; the given ones only where it has none."""
    origin = TypedError("Session", "SlotMigrationFailed", "no")
    assert pair_of(typed(origin, ("A", "B"), "wrapped")) == ("Session", "SlotMigrationFailed")
    assert pair_of(typed(ValueError("no"), ("A", "B"), "wrapped")) == ("A", "B")


def test_sealing_leaves_no_call_without_an_answer() -> None:
    """Answers follow their message, in the order of the calls."""
    calls = (ToolCall("a", "{}", "1"), ToolCall("b", "{}", "2"), ToolCall("c", "{}", "3"))
    messages = [assistant_message(Reply("", calls)), tool_message("2", {"value": 1})]
    whole, orphans = sealed(messages, {"3": {"value": 2}}, {"1"})
    assert [item.get("tool_call_id") for item in whole] == [None, "1", "2", "3"]
    assert [(orphan.tool_call, orphan.started) for orphan in orphans] == [("1", True)]
    again, none = sealed(whole, {}, ())
    assert (again, none) == (whole, [])


ENTRIES: list[dict[str, Any]] = [
    {"kind": "turn_started", "turn": "t1", "text": "Go."},
    {
        "kind": "tools_proposed",
        "message": assistant_message(Reply("", (ToolCall("a", "{}", "1"),))),
    },
    {"kind": "tool_started", "tool": "a", "tool_call": "1"},
    {"kind": "tool_ended", "tool_call": "1", "content": {"value": 1}},
]


@given(st.sets(st.sampled_from(range(4))))
def test_an_entry_that_is_there_twice_changes_nothing(twice: set[int]) -> None:
    """A lost acknowledgement makes the runtime write an entry again."""
    entries = [entry for number, entry in enumerate(ENTRIES) for _ in range(1 + (number in twice))]
    (turn,) = Replay.turns(entries)
    messages, orphans = turn.whole()
    assert [item["role"] for item in messages] == ["user", "assistant", "tool"]
    assert orphans == []


def test_an_entry_of_an_unknown_kind_is_left_alone() -> None:
    """Another version of the program may have written it."""
    (turn,) = Replay.turns([{"kind": "later"}, {"kind": "tool_ended", "tool_call": "1"}])
    assert turn.whole() == ([], [])


def test_a_new_turn_does_not_hide_the_one_before_it() -> None:
    """A cancelled turn and the one that a crash cut off are both replayed."""
    second = {**ENTRIES[0], "turn": "t2"}
    cut = {"kind": "tool_started", "tool": "b", "tool_call": "2"}
    turns = Replay.turns([*ENTRIES, second, cut])
    assert [len(turn.whole()[0]) for turn in turns] == [3, 3]
    assert [orphan.tool for orphan in turns[1].whole()[1]] == ["b"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply("", (ToolCall("", "{}", "1"),)),
        Reply("", (ToolCall("a", '{"b', "1"),)),
        Reply("", (ToolCall("a", "{}", "1"), ToolCall("b", "{}", "1"))),
        Reply("", (ToolCall("a", "{}", "1"),), "length"),
    ],
)
def test_calls_that_are_not_whole_are_refused(reply: Reply) -> None:
    """A damaged call must neither be run nor dropped in silence."""
    with pytest.raises(TypedError) as raised:
        whole_calls(reply)
    assert (raised.value.error_class, raised.value.code) == (
        "ProviderCapability",
        "OutputMalformed",
    )


def test_arguments_are_an_object_or_a_misfit() -> None:
    """No arguments at all are none."""
    read = {text: read_call("1", "look", text, ()) for text in ("", '{"a": 1}', "[]", "{")}
    assert [call.arguments for call in read.values()] == [{}, {"a": 1}, {}, {}]
    assert [call.misfit is None for call in read.values()] == [True, True, False, False]


def test_a_misfit_is_told_with_its_place() -> None:
    """The model can correct what it is told."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert misfit({"n": 1}, schema) is None
    assert "$.n" in str(misfit({"n": "x"}, schema))
    assert misfit(object(), {}) is None
