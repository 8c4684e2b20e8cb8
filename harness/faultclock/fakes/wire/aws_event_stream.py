"""AWS's binary event streams (`application/vnd.amazon.eventstream`), written and read.

A message is a prelude, headers, a payload and a checksum, all numbers big-endian:

    total length (4) | length of the headers (4) | CRC-32 of these eight bytes (4)
    for each header: length of its name (1), name, type (1), value
    payload
    CRC-32 of everything before (4)

The format is the one that botocore 1.44.5 parses (eventstream.py, read 2026-11-21); tests hold both
against each other. Here are bytes alone: what the headers and payloads of an API mean is the
dialect's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from zlib import crc32

from msgspec import Struct

#: What a header says. Times (milliseconds since 1970) are read as numbers, and UUIDs as bytes.
HeaderValue = bool | int | str | bytes

_PRELUDE = struct.Struct("!III")
_CHECKSUM = struct.Struct("!I")
_TRUE, _FALSE, _LONG, _BYTES, _TEXT = 0, 1, 5, 6, 7
#: Types of a fixed size: byte, short, integer, long and timestamp.
_NUMBERS = {
    2: struct.Struct("!b"),
    3: struct.Struct("!h"),
    4: struct.Struct("!i"),
    _LONG: struct.Struct("!q"),
    8: struct.Struct("!q"),
}
_UUID_BYTES = 16
_LENGTH = struct.Struct("!H")


class Message(Struct, frozen=True):
    """One message of a stream."""

    headers: Mapping[str, HeaderValue]
    payload: bytes


def write_message(headers: Mapping[str, HeaderValue], payload: bytes) -> bytes:
    """Return the bytes of one message.

    Args:
        headers: names of at most 255 bytes; texts and bytes of at most 65,535; numbers of 64 bits.
    """
    told = b"".join(_header(name, value) for name, value in headers.items())
    lengths = struct.pack("!II", _PRELUDE.size + len(told) + len(payload) + 4, len(told))
    prelude = lengths + _CHECKSUM.pack(crc32(lengths))
    message = prelude + told + payload
    return message + _CHECKSUM.pack(crc32(message))


def read_messages(body: bytes) -> Iterator[Message]:
    """Yield the messages of a stream, up to the first that is cut or garbled."""
    start = 0
    while len(body) - start >= _PRELUDE.size:
        total, headers_length, checksum = _PRELUDE.unpack_from(body, start)
        headers_at = start + _PRELUDE.size
        payload_at, end = headers_at + headers_length, start + total
        if checksum != crc32(body[start : headers_at - 4]) or not payload_at + 4 <= end <= len(
            body
        ):
            return
        if _CHECKSUM.unpack_from(body, end - 4)[0] != crc32(body[start : end - 4]):
            return
        headers = _headers(body[headers_at:payload_at])
        if headers is None:
            return
        yield Message(MappingProxyType(headers), body[payload_at : end - 4])
        start = end


def _header(name: str, value: HeaderValue) -> bytes:
    encoded = name.encode()
    head = bytes((len(encoded),)) + encoded
    match value:
        case bool():
            return head + bytes((_TRUE if value else _FALSE,))
        case int():
            return head + bytes((_LONG,)) + _NUMBERS[_LONG].pack(value)
        case str():
            text = value.encode()
            return head + bytes((_TEXT,)) + _LENGTH.pack(len(text)) + text
        case bytes():
            return head + bytes((_BYTES,)) + _LENGTH.pack(len(value)) + value


def _headers(data: bytes) -> dict[str, HeaderValue] | None:
    """Return the headers in `data`, None where they are no headers."""
    headers: dict[str, HeaderValue] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name, kind = data[at + 1 : name_end].decode(), data[name_end]
            headers[name], at = _value(kind, data, name_end + 1)
    except (IndexError, KeyError, UnicodeDecodeError, struct.error):
        return None
    return headers if at == len(data) else None


def _value(kind: int, data: bytes, at: int) -> tuple[HeaderValue, int]:
    """Return the value at `at`, and where the next header begins."""
    match kind:
        case 0 | 1:
            return kind == _TRUE, at
        case 6 | 7:
            end = at + _LENGTH.size + _LENGTH.unpack_from(data, at)[0]
            value = data[at + _LENGTH.size : end]
            return value.decode() if kind == _TEXT else value, end
        case 9:
            return data[at : at + _UUID_BYTES], at + _UUID_BYTES
    number: int = _NUMBERS[kind].unpack_from(data, at)[0]
    return number, at + _NUMBERS[kind].size
