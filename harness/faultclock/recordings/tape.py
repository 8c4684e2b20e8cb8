"""What was recorded as the text of a cassette that vcrpy loads, with its secrets taken out.

The format is vcrpy's, version 1, with more in it that vcrpy does not look at: `recorded` in each
interaction says when things happened, and `faultclock` beside them says since when, and holds
the requests without an answer: vcrpy would stumble over an interaction without a response.

Pure: texts are returned. Nothing that was not scrubbed leaves this module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import yaml
from msgspec import Struct

from faultclock.load.located.tree import Place
from faultclock.model.secrets import SENT_OPENLY
from faultclock.recordings.bodies import decompressed
from faultclock.recordings.exchange import Exchange, Headers, Oddities, lowered
from faultclock.recordings.providers import is_local
from faultclock.recordings.quiet import quiet_body
from faultclock.recordings.scrub import Scrubber
from faultclock.recordings.secret_shapes import CAME_OPENLY, PARAMETERS

#: Of what we add to vcrpy's format.
FORMAT = 1
_NOWHERE = Place(1, 1)
#: What describes the bytes on the wire and not those that are written.
_OF_THE_WIRE = frozenset({"content-encoding"})
#: What the scrubber has made of a whole value, with the scheme of an Authorization before it.
_STANDS_FOR = re.compile(r"(?:[A-Za-z]{1,20} |Credential=)?[a-z]+_scrubbed\d+")


class Take(Struct, frozen=True, kw_only=True):
    """One request of a program and what came back, with every secret still in it.

    Instants are nanoseconds of the machine's monotonic clock.

    Attributes:
        client: the library that sent it.
        process: the id of the process.
        wall_ns: nanoseconds since 1970 at its start.
        head_ns: when the head of the answer was there; None where none came, or it is unknown.
        chunks: instant and bytes (as they came: compressed, if they were) of each piece.
        how: `complete`, `left` by the program before its end, or `failed`.
        failure: of the network; its kind, or the name of the client's exception.
        request_headers, response_headers: names as they were sent.
    """

    client: str
    process: int
    wall_ns: int
    started_ns: int
    head_ns: int | None
    ended_ns: int
    chunks: tuple[tuple[int, int], ...] = ()
    how: str
    failure: str | None = None
    method: str
    url: str
    request_headers: Headers
    request_body: bytes | None
    status: int | None
    message: str = ""
    response_headers: Headers = ()
    response_body: bytes | None = None


def tape_text(
    takes: Sequence[Take], *, dialect: str | None = None, texts_kept: bool = False
) -> str:
    """Return the cassette of `takes`, of which there is at least one, in their order.

    Args:
        dialect: the API that hosts on this machine speak, if it was given.
        texts_kept: whether prompts and answers are written, scrubbed.
    """
    plain = [_plain(take) for take in takes]
    scrubber = Scrubber(plain)
    start = takes[0]
    answered: list[dict[str, Any]] = []
    without: list[dict[str, Any]] = []
    for take, exchange in zip(takes, plain, strict=True):
        made = {"request": _request(exchange, take, scrubber, texts_kept=texts_kept)}
        if take.status is not None:
            made["response"] = _response(exchange, take, scrubber, texts_kept=texts_kept)
        made["recorded"] = _recorded(take, start.started_ns)
        (without if take.status is None else answered).append(made)
    head: dict[str, Any] = {
        "format": FORMAT,
        "began": datetime.fromtimestamp(start.wall_ns / 1e9, UTC).isoformat(
            timespec="microseconds"
        ),
        "texts": "kept" if texts_kept else "replaced",
    }
    if dialect is not None:
        head["dialect"] = dialect
    if without:
        head["without_response"] = without
    data = {"version": 1, "faultclock": head, "interactions": answered}
    return _dumped(data)


# ---------------------------------------------------------------------- what vcrpy reads


def _plain(take: Take) -> Exchange:
    """Return what was exchanged without its compression."""
    sent, came = lowered(take.request_headers), lowered(take.response_headers)
    ask, answer = take.request_body, take.response_body
    return Exchange(
        method=take.method,
        url=take.url,
        request_headers=sent,
        request_body=None if ask is None else decompressed(ask, sent, Oddities(), _NOWHERE),
        status=take.status,
        response_headers=came,
        response_body=None if answer is None else decompressed(answer, came, Oddities(), _NOWHERE),
        place=_NOWHERE,
        headers_place=_NOWHERE,
        body_place=_NOWHERE,
    )


def _request(
    exchange: Exchange, take: Take, scrubber: Scrubber, *, texts_kept: bool
) -> dict[str, Any]:
    body = quiet_body(exchange.request_body, scrubber, failed=False, texts_kept=texts_kept)
    url = _url(exchange.url, scrubber)
    return {
        "method": exchange.method,
        "uri": url,
        "body": _text(body),
        "headers": _open(
            _headers(take.request_headers, scrubber, body, urlsplit(url).netloc),
            scrubber,
            SENT_OPENLY,
        ),
    }


def _response(
    exchange: Exchange, take: Take, scrubber: Scrubber, *, texts_kept: bool
) -> dict[str, Any]:
    assert take.status is not None
    failed = take.status >= 400
    body = quiet_body(exchange.response_body, scrubber, failed=failed, texts_kept=texts_kept)
    return {
        "status": {"code": take.status, "message": scrubber.text(take.message)},
        "headers": _open(
            _headers(take.response_headers, scrubber, body, cut=take.failure is not None),
            scrubber,
            CAME_OPENLY,
        ),
        "body": {"string": _text(body) or ""},
    }


def _headers(
    headers: Headers, scrubber: Scrubber, body: bytes | None, host: str = "", *, cut: bool = False
) -> dict[str, list[str]]:
    """Return headers that go with the body as it is written.

    Args:
        host: as it stands in the URL that is written.
        cut: whether the body did not come to its end: then its announced length shows it.
    """
    made: dict[str, list[str]] = {}
    for name, value in headers:
        lower = name.lower()
        if lower == "host":
            made[name] = [host]
            continue
        if lower in _OF_THE_WIRE:
            continue
        scrubbed = scrubber.header(name, value)
        if lower == "content-length" and not cut:
            scrubbed = str(len(body or b""))
        if scrubbed is not None:
            made.setdefault(name, []).append(scrubbed)
    return made


def _open(
    headers: dict[str, list[str]], scrubber: Scrubber, openly: re.Pattern[str]
) -> dict[str, list[str]]:
    """Return headers without the values that only their owner knows.

    A gateway's own header may hold what has no shape, such as a password or a team's name: of all
    names but those that match `openly` the name is written, and a word for the value.
    """
    return {
        name: values
        if name.lower() == "host" or openly.fullmatch(name.lower())
        else [
            value if _STANDS_FOR.fullmatch(value) else scrubber.placeholder("value", value)
            for value in values
        ]
        for name, values in headers.items()
    }


def _url(url: str, scrubber: Scrubber) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        query = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return scrubber.text(url)
    shown = host if is_local(host) else scrubber.host(host)
    shown = f"[{shown}]" if ":" in shown else shown
    pairs = []
    for name, value in query:
        kind = PARAMETERS.get(name.lower())
        told = scrubber.text(value) if kind is None else scrubber.placeholder(kind, value)
        pairs.append((scrubber.text(name), told))
    path = scrubber.text(parts.path)
    return urlunsplit(
        (
            parts.scheme,
            shown if port is None else f"{shown}:{port}",
            quote(path, safe="/%:@!$&'()*+,;=~"),
            urlencode(pairs),
            "",
        )
    )


def _text(body: bytes | None) -> str | bytes | None:
    """Return a body as a text where it is one, as vcrpy writes it."""
    if body is None:
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


# ---------------------------------------------------------------------- what vcrpy leaves alone


class _Row(dict[str, Any]):
    """A table that is written on one line."""


def _recorded(take: Take, zero_ns: int) -> dict[str, Any]:
    """Return the instants of an exchange, in nanoseconds since the first one began."""
    told = _Row(
        client=take.client,
        started_ns=take.started_ns - zero_ns,
        ended_ns=take.ended_ns - zero_ns,
        how=take.how,
    )
    if take.head_ns is not None:
        told["head_ns"] = take.head_ns - zero_ns
    if take.failure is not None:
        told["failure"] = take.failure
    if take.chunks:
        told["chunks"] = [[at_ns - zero_ns, size] for at_ns, size in take.chunks]
    return told


class _Dumper(yaml.SafeDumper):
    """Writes every value out, in the order in which it stands."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write no anchors."""
        del data
        return True


def _row(dumper: yaml.SafeDumper, row: _Row) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", row.items(), flow_style=True)


_Dumper.add_representer(_Row, _row)


def _dumped(data: dict[str, Any]) -> str:
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=False,
    )
    return text
