"""What the readers of all formats share: values out of nodes, and an Exchange out of them.

What a recorder left out or wrote in another shape is noted, never an exception.
"""

from __future__ import annotations

import json
import math
import re
from email.utils import parsedate_to_datetime

from msgspec import Struct

from faultclock.load.located.tree import Mapping, Node, Place, Scalar, Sequence, to_data
from faultclock.recordings.bodies import as_json, decompressed, from_base64, is_html
from faultclock.recordings.exchange import (
    Exchange,
    Headers,
    Instants,
    Oddities,
    OddityKind,
    header,
)

#: Answers without a body say nothing to a client of a model (RFC 9110, 15.3.5, 15.3.6, 15.4.5).
_WITHOUT_A_BODY = frozenset({204, 205, 304})
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
#: Headers that may well come more than once.
_LISTS = frozenset({"set-cookie", "vary", "via", "link", "server-timing", "cache-control"})
#: From the year 1990 to 2100: a clock that says anything else is none.
_TIMES_S = (631_152_000.0, 4_102_444_800.0)


def entry(node: Node | None, key: str) -> Node | None:
    """Return what stands under `key`, None where there is nothing, or no table."""
    return node.values.get(key) if isinstance(node, Mapping) else None


def text_of(node: Node | None) -> str | None:
    """Return a scalar as a text, None where there is none."""
    if not isinstance(node, Scalar) or node.value is None:
        return None
    if isinstance(node.value, bytes):
        return node.value.decode("utf-8", "replace")
    if isinstance(node.value, str):
        return node.value
    if node.written is not None:
        return node.written
    return str(node.value).lower() if isinstance(node.value, bool) else str(node.value)


def number_of(node: Node | None) -> float | None:
    """Return a finite number, also one that is written as a text; None where there is none."""
    text = text_of(node)
    try:
        value = float(text) if text is not None and len(text) < 40 else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def headers_of(node: Node | None, oddities: Oddities) -> Headers:
    """Return headers: a table of texts or lists, or a list of `name` and `value`."""
    found: list[tuple[str, Node]] = []
    if isinstance(node, Mapping):
        found = list(node.values.items())
    elif isinstance(node, Sequence):
        for item in node.items:
            name: str | None
            value: Node | None
            if isinstance(item, Mapping):
                name, value = text_of(entry(item, "name")), entry(item, "value")
            elif isinstance(item, Sequence) and len(item.items) == 2:
                name, value = text_of(item.items[0]), item.items[1]
            else:
                name, value = None, None
            if name is not None and value is not None:
                found.append((name, value))
            else:
                message = "a header is neither a pair nor a name with a value"
                oddities.note(OddityKind.ODD_SHAPE, item.place, message)
    elif node is not None and text_of(node) is not None:
        oddities.note(OddityKind.ODD_SHAPE, node.place, "headers are written as one text")
    headers: list[tuple[str, str]] = []
    for key, given in found:
        lower = key.strip().lower()
        values = given.items if isinstance(given, Sequence) else [given]
        if (len(values) > 1 or any(lower == known for known, _ in headers)) and (
            lower not in _LISTS
        ):
            message = "a header stands more than once: its first value counts"
            oddities.note(OddityKind.DUPLICATE_HEADER, given.place, message)
        for one in values:
            text = text_of(one)
            if text is not None and lower:
                headers.append((lower, _CONTROL.sub(" ", text).strip()))
    return tuple(headers)


def body_of(owner: Node | None, oddities: Oddities) -> tuple[bytes | None, bool]:
    """Return the body of a request or an answer, and whether it is as it was on the wire.

    Args:
        owner: the table that has a `body` (a text, or `string`, or `base64_string`), a
            `parsed_body`, or a `content`.
    """
    parsed = entry(owner, "parsed_body")
    if parsed is not None and not (isinstance(parsed, Scalar) and parsed.value is None):
        message = "the body is written as a parsed value: its white space is not the wire's"
        oddities.note(OddityKind.PARSED_BODY, parsed.place, message)
        value = to_data(parsed)
        if isinstance(value, (str, bytes)):
            return _bytes(value), False
        return _bytes(json.dumps(value, ensure_ascii=False, default=_text_of_bytes)), False
    node = entry(owner, "body")
    if node is None:
        node = entry(owner, "content")
    if isinstance(node, Mapping):
        coded = entry(node, "base64_string")
        if coded is not None:
            return from_base64(text_of(coded) or "", coded.place, oddities), True
        node = node.values.get("string")
    if isinstance(node, (Mapping, Sequence)):
        oddities.note(OddityKind.ODD_SHAPE, node.place, "the body is a collection, and is left out")
        return None, True
    if isinstance(node, Scalar) and isinstance(node.value, bytes):
        return node.value, True
    text = text_of(node)
    return (None if text is None else _bytes(text)), True


def date_s(text: str | None) -> float | None:
    """Return the Unix time of an HTTP-date, None where it is none."""
    if text is None or len(text) > 60:
        return None
    try:
        value = parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    return value if _TIMES_S[0] < value < _TIMES_S[1] else None


class Parts(Struct, frozen=True, kw_only=True):
    """What a reader found of one exchange.

    Attributes:
        on_wire: whether the body is as long as it was on the wire.
        plain: whether the recorder has undone all compression.
        fields: of a form that was sent, where the recorder took it apart.
        recorded_at_s: Unix time that the recorder adds, if it does.
    """

    node: Node
    method: str | None
    url: str | None
    request_headers: Headers
    request_body: bytes | None
    status: float | None
    response: Node | None
    headers_node: Node | None
    response_headers: Headers
    response_body: bytes | None
    body_place: Place | None
    on_wire: bool
    plain: bool = False
    fields: Headers = ()
    failure: str | None = None
    recorded_at_s: float | None = None
    exact: bool = False
    wait_ns: int | None = None
    receive_ns: int | None = None
    instants: Instants | None = None


def made(parts: Parts, oddities: Oddities, group: int) -> Exchange | None:
    """Return the Exchange, with what is odd about it noted; None where it names no request."""
    place = parts.node.place
    if not parts.url or not parts.method:
        message = "this names no method and URL, so it is left out"
        oddities.note(OddityKind.ODD_SHAPE, place, message)
        return None
    where = parts.response.place if parts.response is not None else place
    headers_place = parts.headers_node.place if parts.headers_node is not None else where
    body_place = parts.body_place or where
    status = _status(parts, where, oddities)
    body = parts.response_body
    answered = date_s(header(parts.response_headers, "date"))
    if status is not None:
        if not parts.response_headers:
            message = "no headers of the answer are recorded"
            oddities.note(OddityKind.EMPTY_HEADERS, headers_place, message)
        if body is not None:
            if not parts.plain:
                _check_length(parts, body_place, oddities)
                body = decompressed(body, parts.response_headers, oddities, body_place)
        elif status >= 200 and status not in (204, 304) and parts.method != "HEAD":
            message = "the answer has no body in the recording"
            oddities.note(OddityKind.MISSING_BODY, where, message)
        _check_type(body, parts.response_headers, body_place, oddities)
    return Exchange(
        method=parts.method.upper()[:20],
        url=parts.url,
        request_headers=parts.request_headers,
        request_body=parts.request_body,
        fields=parts.fields,
        status=status,
        response_headers=parts.response_headers,
        response_body=body,
        failure=parts.failure,
        answered_at_s=parts.recorded_at_s if parts.exact or answered is None else answered,
        exact=parts.exact,
        wait_ns=parts.wait_ns,
        receive_ns=parts.receive_ns,
        instants=parts.instants,
        group=group,
        place=place,
        headers_place=headers_place,
        body_place=body_place,
    )


def _status(parts: Parts, where: Place, oddities: Oddities) -> int | None:
    if parts.status is None or parts.status == 0:
        if parts.failure is None:
            message = "no answer is recorded: what came of the request is unknown"
            oddities.note(OddityKind.NO_RESPONSE, where, message)
        return None
    status = int(parts.status) if float(parts.status).is_integer() else -1
    if not 200 <= status <= 599 or status in _WITHOUT_A_BODY:
        message = "a status that no provider ends with: the exchange is left out"
        oddities.note(OddityKind.ODD_STATUS, where, message)
        return None
    return status


def _check_length(parts: Parts, place: Place, oddities: Oddities) -> None:
    said = header(parts.response_headers, "content-length")
    body = parts.response_body
    if said is None or body is None or not parts.on_wire or not said.isdecimal():
        return
    if len(said) < 12 and int(said) != len(body):
        more = "shorter" if len(body) < int(said) else "longer"
        message = f"the body is {more} than its content-length says"
        oddities.note(
            OddityKind.LENGTH_DISAGREES, place, message, detail=f"{len(body)} of {said} bytes"
        )


def _check_type(body: bytes | None, headers: Headers, place: Place, oddities: Oddities) -> None:
    said = (header(headers, "content-type") or "").lower()
    if not body or not body.strip():
        return
    html, json_value = is_html(body), as_json(body)
    if html:
        oddities.note(OddityKind.HTML_BODY, place, "the body is a web page")
    if not said:
        if headers:
            message = "the answer has no content-type; it was guessed from the body"
            oddities.note(OddityKind.NO_CONTENT_TYPE, place, message)
    elif html and "html" not in said:
        message = "the body is a web page, and the content-type says something else"
        oddities.note(OddityKind.WRONG_CONTENT_TYPE, place, message)
    elif isinstance(json_value, (dict, list)) and not any(
        word in said for word in ("json", "event-stream", "eventstream")
    ):
        message = "the body is JSON, and the content-type says something else"
        oddities.note(OddityKind.WRONG_CONTENT_TYPE, place, message)
    elif "json" in said and "ndjson" not in said and json_value is None and not html:
        if body.lstrip().startswith((b"data:", b"event:", b":")):
            message = "the body is an event stream, and the content-type says JSON"
            oddities.note(OddityKind.WRONG_CONTENT_TYPE, place, message)
        elif not _is_lines(body):
            message = "the content-type says JSON, and the body is none"
            oddities.note(OddityKind.WRONG_CONTENT_TYPE, place, message)


def _is_lines(body: bytes) -> bool:
    lines = [line for line in body.splitlines()[:3] if line.strip()]
    return bool(lines) and as_json(lines[0]) is not None


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "replace")


def _text_of_bytes(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
