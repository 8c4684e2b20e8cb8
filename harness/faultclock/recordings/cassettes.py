"""Cassettes and HAR files: vcrpy's and our own, VCR's, Betamax's, go-vcr's, and those of browsers.

Documents, read 2026-11-23: betamax.readthedocs.io/en/latest/cassettes.html and betamax 0.9,
util.py `timestamp`; github.com/dnaeon/go-vcr, pkg/cassette/cassette.go (versions 1 and 2).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timezone, tzinfo
from functools import partial

from faultclock.load.located.tree import Mapping, Node, Sequence
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.recordings.exchange import Headers, Oddities
from faultclock.recordings.instants import Ours, ours_in, timed
from faultclock.recordings.opened import Opened, first_of, keys_of, of_list
from faultclock.recordings.reading import (
    Parts,
    body_of,
    date_s,
    entry,
    headers_of,
    number_of,
    text_of,
)

#: What the timings of a HAR entry hold before the first byte of the answer.
_BEFORE_ANSWER = ("blocked", "dns", "connect", "send", "wait")
#: A duration as Go writes it: `1.234567ms`, `1m2.5s`.
_GO_DURATION = re.compile(
    r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)(ns|µs|us|ms|s))?"
)
_GO_UNITS_NS = {"ns": 1, "µs": 1_000, "us": 1_000, "ms": MILLISECOND_NS, "s": SECOND_NS}


def our_own(tree: Node) -> Opened | None:
    """Know a cassette that our own recorder wrote."""
    ours = ours_in(tree) if isinstance(tree, Mapping) else None
    opened = vcrpy(tree)
    if ours is None or opened is None:
        return None
    return Opened(
        place=opened.place,
        entries=(*ours.without_response, *opened.entries),
        read=partial(_ours, ours),
        dialect=ours.dialect,
    )


def vcrpy(tree: Node) -> Opened | None:
    """Know a cassette of vcrpy."""
    return of_list(entry(tree, "interactions"), _vcrpy)


def old_vcrpy(tree: Node) -> Opened | None:
    """Know a cassette from before vcrpy had versions: nothing stands around its interactions."""
    if not isinstance(tree, Sequence) or any("request" not in keys_of(item) for item in tree.items):
        return None
    return of_list(tree, _vcrpy)


def ruby_vcr(tree: Node) -> Opened | None:
    """Know a cassette of VCR."""
    return of_list(entry(tree, "http_interactions"), partial(_with_instant, zone=None))


def betamax(tree: Node) -> Opened | None:
    """Know a cassette of Betamax, which writes VCR's format with instants in UTC."""
    by = text_of(entry(tree, "recorded_with")) or ""
    if not by.lower().startswith("betamax"):
        return None
    return of_list(entry(tree, "http_interactions"), partial(_with_instant, zone=UTC))


def go_vcr(tree: Node) -> Opened | None:
    """Know a cassette of go-vcr: its answers have a `code` beside a status that is a text."""
    found = entry(tree, "interactions")
    answer = entry(first_of(found), "response")
    return of_list(found, _go) if {"code", "duration"} <= keys_of(answer) else None


def har(tree: Node) -> Opened | None:
    """Know a HAR file."""
    return of_list(entry(entry(tree, "log"), "entries"), _har)


# ---------------------------------------------------------------------- one exchange


def _vcrpy(node: Node, oddities: Oddities) -> Parts:
    return _cassette(node, oddities, recorded_at_s=None)


def _ours(ours: Ours, node: Node, oddities: Oddities) -> Parts:
    return timed(_vcrpy(node, oddities), ours)


def _with_instant(node: Node, oddities: Oddities, *, zone: timezone | None) -> Parts:
    recorded = text_of(entry(node, "recorded_at"))
    at_s = date_s(recorded) or _iso_s(recorded, zone)
    return _cassette(node, oddities, recorded_at_s=at_s)


def _go(node: Node, oddities: Oddities) -> Parts:
    took_ns = _go_ns(text_of(entry(entry(node, "response"), "duration")))
    return _cassette(node, oddities, recorded_at_s=None, wait_ns=took_ns)


def _cassette(
    node: Node, oddities: Oddities, *, recorded_at_s: float | None, wait_ns: int | None = None
) -> Parts:
    request, response = entry(node, "request"), entry(node, "response")
    # An entry that holds nothing but `null` has no answer, as one without the key.
    answered = response if isinstance(response, Mapping) else None
    headers_node = entry(answered, "headers")
    body, on_wire = body_of(answered, oddities)
    status = entry(answered, "status")
    if isinstance(status, Mapping):
        status = status.values.get("code")
    if number_of(status) is None:
        status = entry(answered, "status_code") or entry(answered, "code") or status
    body_node = entry(answered, "parsed_body") or entry(answered, "body")
    return Parts(
        node=node,
        method=text_of(entry(request, "method")),
        url=text_of(entry(request, "uri")) or text_of(entry(request, "url")),
        request_headers=headers_of(entry(request, "headers"), oddities),
        request_body=body_of(request, oddities)[0],
        status=number_of(status),
        response=answered,
        headers_node=headers_node,
        response_headers=headers_of(headers_node, oddities),
        response_body=body,
        body_place=None if body_node is None else body_node.place,
        on_wire=on_wire,
        recorded_at_s=recorded_at_s,
        wait_ns=wait_ns,
    )


def _har(node: Node, oddities: Oddities) -> Parts:
    request, response = entry(node, "request"), entry(node, "response")
    content = entry(response, "content")
    coded = text_of(entry(content, "encoding")) == "base64"
    text = entry(content, "text")
    sent = entry(request, "postData")
    headers_node = entry(response, "headers")
    started_s = _iso_s(text_of(entry(node, "startedDateTime")), None)
    timings = entry(node, "timings")
    names = (*_BEFORE_ANSWER, "receive")
    parts = {name: number_of(entry(timings, name)) or 0.0 for name in names}
    before_ms = sum(parts[name] for name in _BEFORE_ANSWER if 0 < parts[name] < 1e9)
    body, _ = body_of(_owner(text, coded), oddities)
    return Parts(
        node=node,
        method=text_of(entry(request, "method")),
        url=text_of(entry(request, "url")),
        request_headers=headers_of(entry(request, "headers"), oddities),
        request_body=body_of(_owner(entry(sent, "text"), False), oddities)[0],
        status=number_of(entry(response, "status")),
        response=response,
        headers_node=headers_node,
        response_headers=headers_of(headers_node, oddities),
        response_body=body,
        body_place=None if text is None else text.place,
        on_wire=False,
        plain=True,
        fields=_fields(sent),
        failure=text_of(entry(response, "_error")) or text_of(entry(node, "_error")),
        recorded_at_s=None if started_s is None else started_s + before_ms / 1000,
        exact=started_s is not None,
        wait_ns=_har_ns(parts["wait"]),
        receive_ns=_har_ns(parts["receive"]),
    )


def _har_ns(value_ms: float) -> int | None:
    return int(value_ms * MILLISECOND_NS) if 0 < value_ms < 1e9 else None


def _fields(sent: Node | None) -> Headers:
    """Return the fields of a form that a browser took apart."""
    params = entry(sent, "params")
    items = params.items if isinstance(params, Sequence) else []
    pairs = ((text_of(entry(item, "name")), text_of(entry(item, "value"))) for item in items)
    return tuple((name or "", value or "") for name, value in pairs)


def _owner(text: Node | None, coded: bool) -> Node | None:
    """Return a text as the readers of cassettes know a body."""
    if text is None:
        return None
    inner: dict[str, Node] = {"base64_string" if coded else "string": text}
    return Mapping(text.place, {"body": Mapping(text.place, inner)})


def _iso_s(text: str | None, zone: timezone | None) -> float | None:
    """Return the Unix time of an ISO 8601 instant, None where it is none.

    Args:
        zone: of an instant that names none; None: that one is no instant.
    """
    if text is None or len(text) > 60:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        known: tzinfo | None = moment.tzinfo or zone
        return None if known is None else moment.replace(tzinfo=known).timestamp()
    except (ValueError, OverflowError):
        return None


def _go_ns(text: str | None) -> int | None:
    """Return a duration as Go writes it in nanoseconds, None where there is none."""
    match = _GO_DURATION.fullmatch((text or "").strip()[:60])
    if match is None or not match[0]:
        return None
    hours, minutes, value, unit = match.groups()
    whole_ns = (int(hours or 0) * 3_600 + int(minutes or 0) * 60) * SECOND_NS
    return (whole_ns + round(float(value or 0) * _GO_UNITS_NS[unit or "s"])) or None
