"""AWS's binary framing against botocore's own parser, whatever is in the messages."""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.wire.aws_event_stream import (
    HeaderValue,
    Message,
    read_messages,
    write_message,
)

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = TEXTS.filter(lambda text: 0 < len(text.encode()) < 256)
VALUES = st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS | st.binary(max_size=40)
MESSAGES = st.builds(Message, st.dictionaries(NAMES, VALUES, max_size=4), st.binary(max_size=60))


def write(message: Message) -> bytes:
    """Return the bytes of a message."""
    return write_message(message.headers, message.payload)


def of_botocore(data: bytes) -> list[tuple[Any, bytes]]:
    """Return headers and payloads of the messages that botocore finds."""
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [(message.headers, message.payload) for message in buffer]


def of_ours(data: bytes) -> list[tuple[dict[str, HeaderValue], bytes]]:
    """Return headers and payloads of the messages that we find."""
    return [(dict(message.headers), message.payload) for message in read_messages(data)]


@given(st.lists(MESSAGES, max_size=4))
def test_botocore_reads_what_we_write_and_so_do_we(messages: list[Message]) -> None:
    """Headers of every type that is written, and any payload."""
    data = b"".join(map(write, messages))
    expected = [(message.headers, message.payload) for message in messages]
    assert of_botocore(data) == of_ours(data) == expected


@given(st.lists(MESSAGES, min_size=1, max_size=3), st.data())
def test_a_cut_stream_has_the_messages_that_are_whole(
    messages: list[Message], data: st.DataObject
) -> None:
    """As many as botocore has at that place."""
    whole = b"".join(map(write, messages))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    assert of_ours(cut) == of_botocore(cut)


@given(MESSAGES, st.data())
def test_a_changed_byte_is_noticed(message: Message, data: st.DataObject) -> None:
    """The checksums cover all of a message."""
    garbled = bytearray(write(message))
    at = data.draw(st.integers(0, len(garbled) - 1))
    garbled[at] ^= data.draw(st.integers(1, 255))
    assert of_ours(bytes(garbled)) == []


@given(st.binary(max_size=120))
def test_rubbish_has_no_messages(data: bytes) -> None:
    """It is no error either."""
    assert of_ours(data) == []


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (2, struct.pack("!b", -3), -3),
        (3, struct.pack("!h", -300), -300),
        (4, struct.pack("!i", 70_000), 70_000),
        (8, struct.pack("!q", 1_767_225_600_000), 1_767_225_600_000),
        (9, bytes(range(16)), bytes(range(16))),
    ],
)
def test_types_that_are_never_written_are_read_all_the_same(
    kind: int, value: bytes, read: HeaderValue
) -> None:
    """Another writer may use the shorter numbers, times and UUIDs."""
    data = framed(b"\x01a" + bytes((kind,)) + value)
    assert of_ours(data) == of_botocore(data) == [({"a": read}, b"payload")]


@pytest.mark.parametrize("header", [b"\x01a\x0a", b"\x09a", b"\x01\xff\x00", b"\x01a\x07\x00\x09x"])
def test_headers_that_are_none_end_the_stream(header: bytes) -> None:
    """An unknown type, a cut name, a name that is no text, a cut value."""
    assert of_ours(framed(header)) == []


def framed(headers: bytes) -> bytes:
    """Return a message with these bytes for headers."""
    lengths = struct.pack("!II", 12 + len(headers) + 7 + 4, len(headers))
    message = lengths + struct.pack("!I", crc32(lengths)) + headers + b"payload"
    return message + struct.pack("!I", crc32(message))
