"""The formats that are read, each to the same neutral exchanges, and those that are not.

A table has each format once: its name, how it is known, how it is read. The first that knows a file
reads it. What no reader knows is looked for in a second table, of formats that people have and that
cannot become scenarios, so that the refusal says what it is and what to do instead.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import PurePath

from msgspec import Struct

from faultclock.errors import Problem, SourceError
from faultclock.load.located.tree import RECORDINGS, Node, Place
from faultclock.recordings.cassettes import (
    betamax,
    go_vcr,
    har,
    old_vcrpy,
    our_own,
    ruby_vcr,
    vcrpy,
)
from faultclock.recordings.exchange import Exchange, Oddities, OddityKind, Recording
from faultclock.recordings.httprr import httprr, tree_of_httprr
from faultclock.recordings.inert import parse
from faultclock.recordings.instants import by_start
from faultclock.recordings.opened import Opened, first_of, keys_of
from faultclock.recordings.reading import entry, made
from faultclock.recordings.stubs import nock, wiremock

#: What wrote a file, in words, and what knows it. The narrower stands before the wider.
FORMATS: tuple[tuple[str, Callable[[Node], Opened | None]], ...] = (
    ("a trace of httprr", httprr),
    ("a cassette of Betamax", betamax),
    ("a cassette of VCR (Ruby)", ruby_vcr),
    ("a HAR file", har),
    ("a cassette of faultclock record", our_own),
    ("a cassette of go-vcr", go_vcr),
    ("a cassette of vcrpy", vcrpy),
    ("a recording of nock", nock),
    ("stub mappings of WireMock", wiremock),
    ("a cassette of an old vcrpy", old_vcrpy),
)


class Foreign(Struct, frozen=True, kw_only=True):
    """A format that is not read.

    Attributes:
        start: what its text begins with; None: it is known by its keys.
        keys: groups of keys; a file that has all keys of one, or whose first entry has, is one.
        instead: what to do.
    """

    name: str
    start: re.Pattern[bytes] | None = None
    keys: tuple[frozenset[str], ...] = ()
    instead: str


_NO_WIRE = (
    "it has prompts, answers and durations, and not what went over the wire: record the program"
    " with `faultclock record`, or save a HAR file"
)
NOT_READ: tuple[Foreign, ...] = (
    Foreign(
        name="flows of mitmproxy",
        start=re.compile(
            rb"\d{1,9}:[\s\S]{0,4000}?(?:mitmproxy|client_conn|server_conn|websocket;)"
        ),
        instead="write them as a HAR file: mitmdump -nr FILE --set hardump=incident.har",
    ),
    Foreign(
        name="a recording of nock that is JavaScript",
        start=re.compile(rb"\s*(?:(?:const|let|var|import) [^\n]{0,200}\n\s*){0,20}nock\("),
        instead="record with `output_objects: true`, and write what nock.recorder.play() returns"
        " as JSON",
    ),
    Foreign(
        name="spans of OpenTelemetry",
        keys=(
            frozenset({"resourceSpans"}),
            frozenset({"resource_spans"}),
            frozenset({"spanId", "attributes"}),
            frozenset({"context", "attributes", "start_time"}),
        ),
        instead=_NO_WIRE,
    ),
    Foreign(
        name="an export of LangSmith",
        keys=(
            frozenset({"run_type", "inputs"}),
            frozenset({"runs", "dotted_order"}),
            frozenset({"dotted_order"}),
        ),
        instead=_NO_WIRE,
    ),
    Foreign(
        name="an export of Langfuse",
        keys=(
            frozenset({"observations"}),
            frozenset({"traceId", "type", "startTime"}),
            frozenset({"trace_id", "type", "start_time", "project_id"}),
        ),
        instead=_NO_WIRE,
    ),
    Foreign(
        name="a collection of Postman",
        keys=(frozenset({"info", "item"}),),
        instead="it has requests and no answers: save a HAR file",
    ),
)


def read_recording(content: bytes, path: str) -> Recording:
    """Return the exchanges of a recording and what is odd about it.

    Args:
        path: for messages.

    Raises:
        SourceError: it is no recording, or nothing of it can be read.
    """
    oddities = Oddities()
    content = _unpacked(content, path)
    tree = tree_of_httprr(content, oddities) or _parsed(content, path, oddities)
    name, opened = _opened(tree, path, oddities)
    exchanges: list[Exchange] = []
    oddities.share_out(sorted(node.place for node in opened.entries))
    if not opened.entries:
        message = "there is nothing in this recording"
        oddities.note(OddityKind.EMPTY_RECORDING, opened.place, message)
    for node in opened.entries:
        group = oddities.next_exchange()
        if not getattr(node, "whole", True):
            continue
        parts = opened.read(node, oddities)
        exchange = made(parts, oddities, group)
        if exchange is not None:
            exchanges.append(exchange)
    oddities.next_exchange()
    return Recording(
        name=PurePath(path).name,
        format=name,
        exchanges=tuple(sorted(exchanges, key=by_start)),
        dialect=opened.dialect,
        oddities=oddities,
    )


def _unpacked(content: bytes, path: str) -> bytes:
    """Return a file out of its gzip, in which httprr's traces and HAR files are often kept.

    Raises:
        SourceError: it is too large, or it cannot be unpacked.
    """
    if not content.startswith(b"\x1f\x8b"):
        return content
    unpacking = zlib.decompressobj(31)
    try:
        made_of = unpacking.decompress(content, RECORDINGS.bytes_max)
    except zlib.error:
        raise _refused(path, Place(1, 1), "this gzip file cannot be unpacked") from None
    if unpacking.unconsumed_tail:
        size = f"more than {RECORDINGS.bytes_max:,} bytes"
        raise _refused(path, Place(1, 1), f"unpacked, this gzip file has {size}")
    return made_of


def _parsed(content: bytes, path: str, oddities: Oddities) -> Node:
    for foreign in NOT_READ:
        if foreign.start is not None and foreign.start.match(content[:10_000]):
            raise _foreign(path, Place(1, 1), foreign)
    return parse(content, path, oddities)


def _opened(tree: Node, path: str, oddities: Oddities) -> tuple[str, Opened]:
    """Return the name of the format, and what is in the file.

    Raises:
        SourceError: no reader knows it.
    """
    for name, know in FORMATS:
        opened = know(tree)
        if opened is not None:
            return name, opened
    # Exports are lists, or tables of one list.
    first = first_of(tree)
    inner = first_of(entry(tree, "runs") or entry(tree, "data") or entry(tree, "traces"))
    for foreign in NOT_READ:
        for node in (tree, first, inner):
            if any(keys <= keys_of(node) for keys in foreign.keys):
                raise _foreign(path, tree.place, foreign)
    message, place = "this is not a recording", tree.place
    for oddity in oddities:
        if oddity.kind == OddityKind.CUT_OFF:
            # What would have made it one may stand behind the place where it breaks off.
            message, place = f"{message}: {oddity.message}", oddity.place
    raise _refused(path, place, message)


def _foreign(path: str, place: Place, foreign: Foreign) -> SourceError:
    message = f"this is {foreign.name}, which cannot be read as a recording"
    return _refused(path, place, message, foreign.instead)


def _refused(path: str, place: Place, message: str, hint: str | None = None) -> SourceError:
    known = "one has `interactions` (vcrpy, go-vcr), `http_interactions` (VCR, Betamax) or"
    known += " `log.entries` (HAR), or it is of nock, httprr or WireMock"
    problem = Problem(
        path=path,
        line=place.line,
        column=place.column,
        message=message,
        hint=known if hint is None else hint,
    )
    return SourceError((problem,))
