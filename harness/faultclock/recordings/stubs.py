"""What stands in for a server in tests: nock's recordings, and the stub mappings of WireMock.

Documents, read 2026-11-23: nock 13 and 14, README, "Recording", and lib/recorder.js
`generateRequestAndResponseObject`; wiremock.org/docs, "Stubbing", "Request matching", "Simulating
faults" and "Stateful behaviour". A stub names no host: its path says which API it is.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from faultclock.load.located.tree import Mapping, Node, Scalar, Sequence, to_data
from faultclock.model.duration import MILLISECOND_NS
from faultclock.recordings.exchange import Oddities, OddityKind, header
from faultclock.recordings.opened import Opened, first_of, keys_of, of_list
from faultclock.recordings.reading import Parts, body_of, entry, headers_of, number_of, text_of

_HEX = re.compile(r"(?:[0-9a-f]{2})+", re.ASCII)
_DEFAULT_PORT = re.compile(r"(?<=^https://)([^/]+):443$|(?<=^http://)([^/]+):80$")
_URLS = ("url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate")
#: What a pattern of a URL has beside the path that it is about.
_OF_PATTERNS = re.compile(r"^\^|\$$|\\(?=[/.?:_-])|\(\\\?.*|\\\?.*|\.[*+]\??")
_STARTED = "Started"
#: How a pattern of a body says what was sent.
_SENT = ("equalToJson", "equalTo", "contains")


def nock(tree: Node) -> Opened | None:
    """Know what nock's recorder writes as objects."""
    known = {"scope", "method", "path"} <= keys_of(first_of(tree))
    return of_list(tree, _nock) if known else None


def wiremock(tree: Node) -> Opened | None:
    """Know stub mappings of WireMock: one, a list of them, or all of a server."""
    stubs = entry(tree, "mappings") or tree
    items: list[Node] = stubs.items if isinstance(stubs, Sequence) else [stubs]
    asked = keys_of(entry(first_of(stubs), "request"))
    if not asked.intersection(_URLS) or "uri" in asked or "://" in _url(items[0]):
        return None
    if "headers" in asked and "body" in asked:
        # An interaction of some cassette, whose URL has lost its host.
        return None
    return Opened(place=stubs.place, entries=tuple(_in_order(items)), read=_wiremock)


# ---------------------------------------------------------------------- nock


def _nock(node: Node, oddities: Oddities) -> Parts:
    scope = _DEFAULT_PORT.sub(
        lambda match: match[1] or match[2], text_of(entry(node, "scope")) or ""
    )
    path = text_of(entry(node, "path")) or ""
    headers_node = entry(node, "rawHeaders") or entry(node, "headers")
    answer = entry(node, "response")
    return Parts(
        node=node,
        method=text_of(entry(node, "method")),
        url=f"{scope}{path}" if scope else None,
        request_headers=headers_of(entry(node, "reqheaders"), oddities),
        request_body=_said(entry(node, "body"), oddities),
        status=number_of(entry(node, "status")),
        response=node,
        headers_node=headers_node,
        response_headers=headers_of(_paired(headers_node), oddities),
        response_body=_said(answer, oddities, coded=_is_coded(node, headers_node)),
        body_place=None if answer is None else answer.place,
        on_wire=False,
    )


def _is_coded(node: Node, headers_node: Node | None) -> bool:
    """Return whether an answer is written in hexadecimal digits."""
    headers = headers_of(_paired(headers_node), Oddities())
    return (
        text_of(entry(node, "responseIsBinary")) == "true"
        or header(headers, "content-encoding") is not None
    )


def _paired(node: Node | None) -> Node | None:
    """Return headers that stand in one list, name and value in turn, as a list of pairs."""
    if not isinstance(node, Sequence) or not all(isinstance(item, Scalar) for item in node.items):
        return node
    pairs = zip(node.items[::2], node.items[1::2], strict=False)
    return Sequence(node.place, [Sequence(name.place, [name, value]) for name, value in pairs])


def _said(node: Node | None, oddities: Oddities, *, coded: bool = False) -> bytes | None:
    """Return a body: a text, a JSON value, or hexadecimal digits of one in pieces."""
    if node is None:
        return None
    value = to_data(node)
    pieces = [value] if isinstance(value, str) else value
    if coded and isinstance(pieces, list) and all(_is_hex(piece) for piece in pieces):
        return b"".join(binascii.unhexlify(piece) for piece in pieces)
    if isinstance(value, (dict, list)):
        message = "the body is written as a parsed value: its white space is not the wire's"
        oddities.note(OddityKind.PARSED_BODY, node.place, message)
        return _dumped(value)
    return (text_of(node) or "").encode("utf-8", "replace")


def _is_hex(value: Any) -> bool:
    return isinstance(value, str) and _HEX.fullmatch(value) is not None


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=repr).encode("utf-8", "replace")


# ---------------------------------------------------------------------- WireMock


def _wiremock(node: Node, oddities: Oddities) -> Parts:
    request, response = entry(node, "request"), entry(node, "response")
    method = text_of(entry(request, "method")) or "ANY"
    headers_node = entry(response, "headers")
    delay_ms = number_of(entry(response, "fixedDelayMilliseconds"))
    body, place = _stubbed(response, oddities)
    failure = text_of(entry(response, "fault"))
    status = number_of(entry(response, "status"))
    answers = isinstance(response, Mapping) and "proxyBaseUrl" not in response.values
    sent = headers_of(_matched(entry(request, "headers")), oddities)
    return Parts(
        node=node,
        method="POST" if method == "ANY" else method,
        url=f"http://{header(sent, 'host') or 'localhost'}{_url(node)}",
        request_headers=sent,
        request_body=_asked(entry(request, "bodyPatterns"), oddities),
        status=None if failure is not None or not answers else 200.0 if status is None else status,
        response=response,
        headers_node=headers_node,
        response_headers=headers_of(headers_node, oddities),
        response_body=body,
        body_place=place,
        on_wire=False,
        failure=failure,
        wait_ns=int(delay_ms * MILLISECOND_NS) if delay_ms and 0 < delay_ms < 1e9 else None,
    )


def _in_order(stubs: list[Node]) -> Iterator[Node]:
    """Yield stubs as they were recorded, and those of one scenario state by state."""
    numbers = {id(stub): number_of(entry(stub, "insertionIndex")) for stub in stubs}
    if all(number is not None for number in numbers.values()):
        stubs = sorted(stubs, key=lambda stub: numbers[id(stub)] or 0.0)
    groups: dict[str, list[Node]] = {}
    for place, stub in enumerate(stubs):
        name = text_of(entry(stub, "scenarioName"))
        groups.setdefault(f"/{place}" if name is None else f" {name}", []).append(stub)
    for group in groups.values():
        yield from _state_by_state(group) if len(group) > 1 else group


def _state_by_state(stubs: list[Node]) -> Iterator[Node]:
    left: dict[str, list[Node]] = {}
    for stub in stubs:
        left.setdefault(text_of(entry(stub, "requiredScenarioState")) or _STARTED, []).append(stub)
    state: str | None = _STARTED
    while state is not None and state in left:
        here = left.pop(state)
        yield from here
        states = (text_of(entry(stub, "newScenarioState")) for stub in here)
        state = next((name for name in states if name is not None), None)
    for others in left.values():
        yield from others


def _url(stub: Node) -> str:
    """Return the path that a stub is about; of a pattern that which is no pattern in it."""
    request = entry(stub, "request")
    for name in _URLS:
        text = text_of(entry(request, name))
        if text is not None:
            path = _OF_PATTERNS.sub("", text) if "attern" in name else text
            return path if path.startswith("/") or "://" in path else f"/{path}"
    return ""


def _matched(node: Node | None) -> Node | None:
    """Return the headers that a stub wants to see with the values that it wants."""
    if not isinstance(node, Mapping):
        return None
    wanted: dict[str, Node] = {}
    for name, given in node.values.items():
        value = entry(given, "equalTo") or entry(given, "contains")
        if value is not None:
            wanted[name] = value
    return Mapping(node.place, wanted)


def _asked(node: Node | None, oddities: Oddities) -> bytes | None:
    """Return the body that a stub wants to see, None where it says none whole."""
    for pattern in node.items if isinstance(node, Sequence) else ():
        for name in _SENT:
            given = entry(pattern, name)
            if given is not None:
                return _said(given, oddities)
    return None


def _stubbed(response: Node | None, oddities: Oddities) -> tuple[bytes | None, Any]:
    """Return the body of an answer and where it stands."""
    parsed = entry(response, "jsonBody")
    if parsed is not None:
        return _dumped(to_data(parsed)), parsed.place
    coded = entry(response, "base64Body")
    if coded is not None:
        owner = Mapping(coded.place, {"body": Mapping(coded.place, {"base64_string": coded})})
        return body_of(owner, oddities)[0], coded.place
    elsewhere = entry(response, "bodyFileName")
    if elsewhere is not None:
        message = "the body stands in another file (bodyFileName), and is not read: write it here"
        oddities.note(OddityKind.MISSING_BODY, elsewhere.place, f"{message} as `body`")
        return None, elsewhere.place
    body = entry(response, "body")
    return _said(body, oddities), None if body is None else body.place
