"""The bytes of a recorded body: what a recorder wrote of them, and out of their compression."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from faultclock.load.located.tree import Place
from faultclock.recordings.exchange import Headers, Oddities, OddityKind, header

#: What is kept of a body that was compressed; an answer of a provider is a hundredth of it.
BODY_MAX = 8_000_000
_DEPTH_MAX = 40


def decompressed(raw: bytes, headers: Headers, oddities: Oddities, place: Place) -> bytes | None:
    """Return `raw` as `content-encoding` says it is; None where that cannot be done.

    A recorder may have decoded the body and kept the header: then the body is what it is.
    """
    said = header(headers, "content-encoding") or ""
    encodings = [word.strip().lower() for word in said.split(",") if word.strip()]
    if not encodings and raw.startswith(b"\x1f\x8b"):
        encodings = ["gzip"]
    for encoding in reversed(encodings):
        if encoding == "identity" or not raw:
            continue
        if _is_plain(raw, encoding):
            message = "content-encoding says that the body is compressed, and it is not"
            oddities.note(OddityKind.COMPRESSED_BODY, place, message)
            continue
        made = _inflated(raw, encoding)
        if made is None:
            message = "the body is compressed in a way that cannot be undone here: it is left out"
            oddities.note(OddityKind.UNREADABLE_BODY, place, message, detail=encoding)
            return None
        oddities.note(OddityKind.COMPRESSED_BODY, place, "the body is recorded compressed")
        raw = made
    return raw


def as_json(body: bytes | None) -> Any:
    """Return the JSON value that a body is, None where it is none or nests too deep to be meant."""
    if not body:
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if depth_within(value, _DEPTH_MAX) else None


def depth_within(value: Any, depth_max: int) -> bool:
    """Return whether a JSON value nests at most `depth_max` deep."""
    level = [value]
    for _ in range(depth_max):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return True
        level = below
    return False


def is_html(body: bytes) -> bool:
    """Return whether a body is a web page, in spite of its headers."""
    start = body[:512].lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def _is_plain(raw: bytes, encoding: str) -> bool:
    if encoding in ("gzip", "x-gzip"):
        return not raw.startswith(b"\x1f\x8b")
    if encoding == "zstd":
        return not raw.startswith(b"\x28\xb5\x2f\xfd")
    return raw.lstrip()[:1] in (b"{", b"[", b"<") or raw.startswith((b"data:", b"event:"))


def _inflated(raw: bytes, encoding: str) -> bytes | None:
    ways: dict[str, Callable[[bytes], bytes]] = {
        "gzip": lambda data: zlib.decompressobj(31).decompress(data, BODY_MAX),
        "x-gzip": lambda data: zlib.decompressobj(31).decompress(data, BODY_MAX),
        "deflate": _deflated,
        "br": _brotli,
        "zstd": _zstd,
    }
    if encoding not in ways:
        return None
    try:
        return ways[encoding](raw)[:BODY_MAX]
    except ImportError:
        return None
    except Exception:  # noqa: BLE001 - three libraries with an exception class each, on rubbish
        return None


def _deflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, BODY_MAX)
    except zlib.error:
        # Some servers send the bare stream, without its zlib frame (RFC 9110, section 8.4.1.2).
        return zlib.decompressobj(-15).decompress(data, BODY_MAX)


# The two below are no part of the standard library of Python 3.11. HTTP clients use these
# libraries where they are installed, so the recording machine of such a body has them.


def _brotli(data: bytes) -> bytes:
    decoder = import_module("brotli").Decompressor()
    return bytes(decoder.process(data))


def _zstd(data: bytes) -> bytes:
    reader = import_module("zstandard").ZstdDecompressor().stream_reader(data)
    return bytes(reader.read(BODY_MAX))


def from_base64(text: str, place: Place, oddities: Oddities) -> bytes | None:
    """Return the bytes of a value that is written as base64, None where it is none."""
    oddities.note(OddityKind.BINARY_VALUE, place, "a value is written as base64")
    try:
        return base64.b64decode(text.encode("ascii", "replace"))
    except ValueError:
        oddities.note(OddityKind.ODD_SHAPE, place, "this is not base64")
        return None
