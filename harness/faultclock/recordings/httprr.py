"""Traces of httprr: each request and its answer as they stood on the wire, one after another.

The format (golang.org/x/oscar/internal/httprr, rr.go, and its copy in github.com/tmc/langchaingo,
internal/httprr, read 2026-11-23): a first line `httprr trace v1`; then for each exchange a line
with two lengths in bytes, and so many bytes of the request, in the form that a proxy gets, and of
the answer.
"""

from __future__ import annotations

import re

from faultclock.load.located.tree import Mapping, Node, Place, Scalar, Sequence
from faultclock.recordings.exchange import Oddities, OddityKind, lowered
from faultclock.recordings.opened import Opened, of_list
from faultclock.recordings.reading import Parts, entry
from faultclock.recordings.wire import answer_on_wire, request_on_wire

_FIRST_LINE = b"httprr trace v1"
_LENGTHS = re.compile(rb"(\d{1,9}) (\d{1,9})\r?\n")
#: More exchanges than a test has; each has a place in the tree.
_RECORDS_MAX = 100_000
#: A client that spoke HTTP/2 has its answers written with that version, in the form of HTTP/1.
_VERSION = re.compile(rb"HTTP/2(?:\.0)? ")


def tree_of_httprr(content: bytes, oddities: Oddities) -> Mapping | None:
    """Return a trace as a table that has a list of its exchanges; None where it is not one."""
    first, newline, _ = content.partition(b"\n")
    if first.rstrip(b"\r") != _FIRST_LINE:
        return None
    start, line = len(first) + len(newline), 2
    found: list[Node] = []
    while start < len(content):
        place = Place(line, 1)
        match = _LENGTHS.match(content, start)
        asked_end = match.end() + int(match[1]) if match is not None else 0
        end = asked_end + int(match[2]) if match is not None else 0
        if match is None or end > len(content) or len(found) >= _RECORDS_MAX:
            message = "the file cannot be read from here on: two lengths and so many bytes"
            oddities.note(OddityKind.CUT_OFF, place, f"{message} are missing")
            break
        answer_line = line + content.count(b"\n", start, asked_end)
        pieces: dict[str, Node] = {
            "request": Scalar(Place(line + 1, 1), content[match.end() : asked_end]),
            "response": Scalar(Place(answer_line, 1), content[asked_end:end]),
        }
        found.append(Mapping(place, pieces))
        line += content.count(b"\n", start, end)
        start = end
    return Mapping(Place(1, 1), {"httprr": Sequence(Place(1, 1), found)})


def httprr(tree: Node) -> Opened | None:
    """Know a trace of httprr."""
    return of_list(entry(tree, "httprr"), _read)


def _read(node: Node, oddities: Oddities) -> Parts:
    del oddities  # What was on the wire leaves nothing to guess.
    sent, came = _bytes(entry(node, "request")), _bytes(entry(node, "response"))
    request = request_on_wire(sent)
    method = None if request is None else request.method
    version = _VERSION.match(came)
    came = came if version is None else b"HTTP/1.1 " + came[version.end() :]
    answer = answer_on_wire(method or "POST", [(0, came), (0, b"")])
    response = entry(node, "response")
    return Parts(
        node=node,
        method=method,
        url=None if request is None else request.url,
        request_headers=() if request is None else lowered(request.headers),
        request_body=None if request is None else request.body,
        status=None if answer is None else float(answer.status),
        response=response,
        headers_node=response,
        response_headers=() if answer is None else lowered(answer.headers),
        response_body=None if answer is None else answer.body,
        body_place=None if response is None else response.place,
        on_wire=True,
    )


def _bytes(node: Node | None) -> bytes:
    return node.value if isinstance(node, Scalar) and isinstance(node.value, bytes) else b""
