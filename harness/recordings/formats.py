"""The formats that are read: vcrpy's, VCR's and HAR, each to the same neutral exchanges."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import PurePath

from harness.errors import Problem, SourceError
from harness.model.duration import MILLISECOND_NS
from harness.recordings.exchange import Exchange, Headers, Oddities, OddityKind, Recording
from harness.recordings.inert import Items, Node, Table, parse
from harness.recordings.instants import Ours, by_start, ours_in, timed
from harness.recordings.reading import (
    Parts,
    body_of,
    date_s,
    entry,
    headers_of,
    made,
    number_of,
    text_of,
)

__all__ = ["read_recording"]

#: What the timings of a HAR entry hold before the first byte of the answer.
_BEFORE_ANSWER = ("blocked", "dns", "connect", "send", "wait")


def read_recording(content: bytes, path: str) -> Recording:
    """Return the exchanges of a recording and what is odd about it.

    Args:
        path: for messages.

    Raises:
        SourceError: it is no recording, or nothing of it can be read.
    """
    oddities = Oddities()
    ours: Ours | None = None
    tree = parse(content, path, oddities)
    name = PurePath(path).name
    if isinstance(tree, Table):
        if "http_interactions" in tree.entries:
            kind, found = "a cassette of VCR (Ruby)", _list(tree.entries["http_interactions"])
            read = _ruby
        elif "log" in tree.entries:
            kind, found, read = "a HAR file", _list(entry(tree.entries["log"], "entries")), _har
        else:
            kind, found = "a cassette of vcrpy", _list(tree.entries.get("interactions"))
            read, ours = _vcrpy, ours_in(tree)
            if found is not None and ours is not None:
                kind, read = "a cassette of faultclock record", partial(_ours, ours)
                found = Items(found.spot, [*ours.without_response, *found.items])
    else:
        kind, found, read = "a cassette of an old vcrpy", tree, _vcrpy
        if not all(entry(item, "request") is not None for item in tree.items):
            found = None
    if found is None:
        raise _no_recording(tree, path, oddities)
    exchanges: list[Exchange] = []
    oddities.share_out([node.spot for node in found.items])
    if not found.items:
        message = "there is nothing in this recording"
        oddities.note(OddityKind.EMPTY_RECORDING, found.spot, message)
    for node in found.items:
        group = oddities.next_exchange()
        if not getattr(node, "whole", True):
            continue
        parts = read(node, oddities)
        exchange = made(parts, oddities, group)
        if exchange is not None:
            exchanges.append(exchange)
    oddities.next_exchange()
    return Recording(
        name=name,
        format=kind,
        exchanges=tuple(sorted(exchanges, key=by_start)),
        dialect=None if ours is None else ours.dialect,
        oddities=oddities,
    )


def _list(node: Node | None) -> Items | None:
    return node if isinstance(node, Items) else None


def _no_recording(tree: Node, path: str, oddities: Oddities) -> SourceError:
    message, spot = "this is no recording", tree.spot
    for oddity in oddities:
        if oddity.kind == OddityKind.CUT_OFF:
            # What would have made it one may stand behind the place where it breaks off.
            message, spot = f"{message}: {oddity.message}", oddity.spot
    problem = Problem(
        path=path,
        line=spot.line,
        column=spot.column,
        message=message,
        hint="one has `interactions` (vcrpy), `http_interactions` (VCR) or `log.entries` (HAR)",
    )
    return SourceError((problem,))


def _vcrpy(node: Node, oddities: Oddities) -> Parts:
    request, response = entry(node, "request"), entry(node, "response")
    return _cassette(node, request, response, oddities, recorded_at_s=None)


def _ours(ours: Ours, node: Node, oddities: Oddities) -> Parts:
    return timed(_vcrpy(node, oddities), ours)


def _ruby(node: Node, oddities: Oddities) -> Parts:
    request, response = entry(node, "request"), entry(node, "response")
    recorded = text_of(entry(node, "recorded_at"))
    at_s = date_s(recorded) or _iso_s(recorded)
    return _cassette(node, request, response, oddities, recorded_at_s=at_s)


def _cassette(
    node: Node,
    request: Node | None,
    response: Node | None,
    oddities: Oddities,
    *,
    recorded_at_s: float | None,
) -> Parts:
    # An entry that holds nothing but `null` has no answer, as one without the key.
    answered = response if isinstance(response, Table) else None
    headers_node = entry(answered, "headers")
    body, on_wire = body_of(answered, oddities)
    status = entry(answered, "status")
    if isinstance(status, Table):
        status = status.entries.get("code")
    if status is None:
        status = entry(answered, "status_code")
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
        body_spot=None if body_node is None else body_node.spot,
        on_wire=on_wire,
        recorded_at_s=recorded_at_s,
    )


def _har(node: Node, oddities: Oddities) -> Parts:
    request, response = entry(node, "request"), entry(node, "response")
    content = entry(response, "content")
    coded = text_of(entry(content, "encoding")) == "base64"
    text = entry(content, "text")
    sent = entry(request, "postData")
    headers_node = entry(response, "headers")
    started_s = _iso_s(text_of(entry(node, "startedDateTime")))
    timings = entry(node, "timings")
    parts = {name: number_of(entry(timings, name)) or 0.0 for name in _BEFORE_ANSWER}
    before_ms = sum(value for value in parts.values() if 0 < value < 1e9)
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
        body_spot=None if text is None else text.spot,
        on_wire=False,
        plain=True,
        fields=_fields(sent),
        failure=text_of(entry(response, "_error")) or text_of(entry(node, "_error")),
        recorded_at_s=None if started_s is None else started_s + before_ms / 1000,
        exact=started_s is not None,
        wait_ns=int(parts["wait"] * MILLISECOND_NS) if 0 < parts["wait"] < 1e9 else None,
    )


def _fields(sent: Node | None) -> Headers:
    """Return the fields of a form that a browser took apart."""
    params = entry(sent, "params")
    items = params.items if isinstance(params, Items) else []
    pairs = ((text_of(entry(item, "name")), text_of(entry(item, "value"))) for item in items)
    return tuple((name or "", value or "") for name, value in pairs)


def _owner(text: Node | None, coded: bool) -> Node | None:
    """Return a text as the readers of cassettes know a body."""
    if text is None:
        return None
    inner: dict[str, Node] = {"base64_string" if coded else "string": text}
    return Table(text.spot, {"body": Table(text.spot, inner)})


def _iso_s(text: str | None) -> float | None:
    """Return the Unix time of an ISO 8601 instant, None where it is none."""
    if text is None or len(text) > 60:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
