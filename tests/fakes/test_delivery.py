"""Each fault's steps, without a clock: where it cuts, what it claims was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import TypeAdapter

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.delivery import (
    Body,
    End,
    ErrorEvent,
    Fire,
    Start,
    Step,
    Tempo,
    Wait,
    steps_of,
)
from faultclock.model.scenario.fault import Fault

TEMPO = Tempo(think_ns=100, chunk_interval_ns=20)
PLAIN = Answer(status=200, headers=(), chunks=(b'{"a": "bcd"}',), finish_reason="stop", text="bcd")
STREAM = Answer(
    status=200,
    headers=(),
    chunks=(b"role;", b"one;", b"two;", b"finish;"),
    end_marker=b"DONE",
    stream=True,
    chunks_before_finish=3,
    finish_reason="stop",
    text="onetwo",
)
FAULT: TypeAdapter[Any] = TypeAdapter(Fault)


def steps(answer: Answer, **fault: Any) -> list[Step]:
    """Return the steps of `answer` under the fault that a file says like this."""
    event = (b"error;", {"code": "x", "type": None, "message": "m"})
    parsed = FAULT.validate_python(fault) if fault else None
    return list(steps_of(answer, parsed, TEMPO, event))


def body_of(sequence: list[Step]) -> bytes:
    """Return what is sent of the body."""
    return b"".join(step.data for step in sequence if isinstance(step, (Body, ErrorEvent)))


def test_a_plain_answer_waits_once_and_says_its_length() -> None:
    """Think, then everything."""
    assert steps(PLAIN) == [
        Wait(100),
        Start(PLAIN, 12),
        Body(b'{"a": "bcd"}'),
        End("complete", "stop", "bcd"),
    ]


def test_a_stream_waits_between_its_chunks() -> None:
    """The end marker follows the last chunk at once."""
    assert steps(STREAM) == [
        Wait(100),
        Start(STREAM, None),
        Body(b"role;"),
        Wait(20),
        Body(b"one;"),
        Wait(20),
        Body(b"two;"),
        Wait(20),
        Body(b"finish;DONE"),
        End("complete", "stop", "onetwo"),
    ]


@pytest.mark.parametrize("how", ["reset", "eof"])
def test_a_reset_before_the_response_sends_nothing(how: str) -> None:
    """Not even a status line."""
    sequence = steps(STREAM, kind="reset_before_response", how=how)
    assert sequence == [Wait(100), Fire(), End(how)]  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["eof", "reset", "clean_end"])
def test_a_stream_is_cut_after_its_chunks(how: str) -> None:
    """One interval after the last, when the next was due; neither reason nor text was sent."""
    sequence = steps(STREAM, kind="truncate", how=how, after_chunks=2)
    assert sequence[-3:] == [Wait(20), Fire(), End(how)]  # type: ignore[arg-type]
    assert body_of(sequence) == b"role;one;"


def test_a_cut_behind_the_finish_chunk_leaves_only_the_end_marker_out() -> None:
    """Then the finish reason was sent, and the text was not claimed whole."""
    sequence = steps(STREAM, kind="truncate", how="eof", after_chunks=4)
    assert body_of(sequence) == b"role;one;two;finish;"
    assert sequence[-1] == End("eof", "stop")


@pytest.mark.parametrize(("count", "reason"), [(0, None), (1, None), (7, None), (20, None)])
def test_a_body_is_cut_at_the_byte(count: int, reason: str | None) -> None:
    """In a stream chunks keep their pace up to the cut; the head is always sent."""
    sequence = steps(STREAM, kind="truncate", how="reset", after_body_bytes=count)
    assert body_of(sequence) == b"role;one;two;finish;DONE"[:count]
    assert sequence[1] == Start(STREAM, None)
    assert sequence[-1] == End("reset", "stop" if count >= 20 else reason)


def test_a_plain_answer_is_cut_at_the_byte_with_its_full_length_promised() -> None:
    """The client can see that something is missing."""
    sequence = steps(PLAIN, kind="truncate", how="eof", after_body_bytes=5)
    assert sequence == [Wait(100), Start(PLAIN, 12), Body(b'{"a":'), Wait(20), Fire(), End("eof")]


def test_a_stall_before_the_head_is_silence() -> None:
    """For ever, or until it goes on."""
    assert steps(PLAIN, kind="stall") == [Wait(100), Fire(), End("stalled")]
    resumed = steps(PLAIN, kind="stall", resume_after="5s")
    assert resumed == [Wait(100), Fire(), Wait(5_000_000_000), *steps(PLAIN)[1:]]


def test_a_stall_in_a_stream_comes_after_its_chunks() -> None:
    """When it goes on, nothing is missing."""
    forever = steps(STREAM, kind="stall", after_chunks=1)
    assert forever[-3:] == [Body(b"role;"), Fire(), End("stalled")]
    resumed = steps(STREAM, kind="stall", after_chunks=4, resume_after="1s")
    assert resumed[-4:] == [
        Fire(),
        Wait(1_000_000_000),
        Body(b"DONE"),
        End("complete", "stop", "onetwo"),
    ]


@given(st.integers(0, 23))
def test_a_stall_that_ends_loses_nothing(count: int) -> None:
    """Wherever it stops."""
    sequence = steps(STREAM, kind="stall", after_body_bytes=count, resume_after="1s")
    assert body_of(sequence) == b"role;one;two;finish;DONE"
    assert sequence[-1] == End("complete", "stop", "onetwo")


@given(st.integers(0, 11), st.integers(1, 30))
def test_a_corrupt_body_is_no_json_and_has_its_length(at_byte: int, count: int) -> None:
    """Wherever the bytes are overwritten, inside a string or outside."""
    sequence = steps(PLAIN, kind="corrupt_body", at_byte=at_byte, bytes_count=count)
    body = body_of(sequence)
    assert len(body) == 12
    assert body[:at_byte] == b'{"a": "bcd"}'[:at_byte]
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)
    assert sequence[-1] == End("complete")


def test_a_corrupt_stream_keeps_its_pace() -> None:
    """Only the bytes change."""
    sequence = steps(STREAM, kind="corrupt_body", at_byte=4, bytes_count=2)
    assert body_of(sequence) == b"role\x1a\x1ane;two;finish;DONE"
    assert [step for step in sequence if isinstance(step, Wait)] == [Wait(100), *[Wait(20)] * 3]


def test_a_corrupt_event_stream_is_corrupt_in_its_data() -> None:
    """A parser ignores a line with an unknown field, and would lose nothing by it."""
    event = b'event: first\ndata: {"a": 1}\n\n'
    answer = replace(STREAM, chunks=(event, event), end_marker=b"", chunks_before_finish=1)
    sequence = steps(answer, kind="corrupt_body", at_byte=0, bytes_count=4)
    assert body_of(sequence) == b"event: first\ndata: \x1a\x1a\x1a\x1a: 1}\n\n" + event


def test_what_is_corrupt_in_an_event_stream_is_text() -> None:
    """Who passes over an event that cannot be read has not all of the answer then."""
    said = (b'data: {"role": 1}\n\n', b'data: {"say": "one "}\n\n', b'data: {"say": "two"}\n\n')
    answer = replace(STREAM, chunks=said, end_marker=b"", chunks_before_finish=2, text="one two")
    body = body_of(steps(answer, kind="corrupt_body", at_byte=0, bytes_count=1))
    assert body == said[0] + b'data: \x1a"say": "one "}\n\n' + said[2]


def test_a_corrupt_body_is_corrupt_wherever_it_is_said_to_be() -> None:
    """An offset behind the data of a short event falls on the last byte there is."""
    answer = replace(STREAM, chunks=(b"data: 1\n\n",), end_marker=b"", chunks_before_finish=0)
    assert body_of(steps(answer, kind="corrupt_body", at_byte=8)) == b"data: 1\n\x1a"


@given(st.integers(1, 30))
def test_a_slow_drip_is_the_whole_answer_in_steps(size: int) -> None:
    """Each step but the last is full, and one wait lies between two."""
    sequence = steps(STREAM, kind="slow_drip", bytes_per_step=size, every="1s")
    pieces = [step.data for step in sequence if isinstance(step, Body)]
    assert b"".join(pieces) == b"role;one;two;finish;DONE"
    assert {len(piece) for piece in pieces[:-1]} <= {size}
    assert sequence.count(Wait(1_000_000_000)) == len(pieces) - 1
    assert sequence[-1] == End("complete", "stop", "onetwo")


def test_a_stream_error_takes_the_place_of_the_rest() -> None:
    """The message ends properly, without end marker or finish reason."""
    sequence = steps(STREAM, kind="stream_error", after_chunks=2, error="x")
    assert body_of(sequence) == b"role;one;error;"
    assert sequence[-1] == End("complete")
    assert body_of(steps(STREAM, kind="stream_error", after_chunks=0, error="x")) == b"error;"


def test_a_fault_of_the_network_has_no_steps() -> None:
    """It would be our own bug."""
    with pytest.raises(InternalError):
        steps(PLAIN, kind="dns_failure")
