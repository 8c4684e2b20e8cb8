"""What came back in one recorded exchange: a good answer, or which failure.

Shapes are the dialects' business: they are asked through a protocol, so that this room knows no
API. Only framing is read here (events, lines, frames), to find the error object in a stream.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from faultclock.model.finish_reasons import is_usual_end
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.scenario.provider_script import ToolCallReply
from faultclock.recordings.bodies import as_json, is_html
from faultclock.recordings.exchange import Exchange, Oddities, OddityKind, header
from faultclock.recordings.providers import asks_for_stream

Kind = Literal[
    "good",
    "ends",
    "status",
    "error_in_ok",
    "error_in_stream",
    "cut_stream",
    "cut_body",
    "page",
    "network",
]
#: More events than a stream of any answer has.
_PARTS_MAX = 100_000
#: Words of a browser's error to the fault that does the same to a client.
_NETWORK = (
    ("NAME_NOT_RESOLVED", "dns_failure"),
    ("CONNECTION_REFUSED", "connect_refused"),
    ("CONNECTION_TIMED_OUT", "connect_timeout"),
    ("ADDRESS_UNREACHABLE", "connect_refused"),
    ("INTERNET_DISCONNECTED", "connect_refused"),
    ("CONNECTION_RESET", "reset_before_response"),
    ("CONNECTION_CLOSED", "reset_before_response"),
    ("EMPTY_RESPONSE", "reset_before_response"),
    ("HTTP2_PING_FAILED", "reset_before_response"),
    ("SOCKET_NOT_CONNECTED", "reset_before_response"),
)
#: The words of our own recorder to such a fault, and how it goes about it.
_RECORDED: dict[str, tuple[str, str | None]] = {
    "connect_refused": ("connect_refused", None),
    "connect_timeout": ("connect_timeout", None),
    "dns_failure": ("dns_failure", None),
    "reset": ("reset_before_response", "reset"),
    "eof": ("reset_before_response", "eof"),
    "stall": ("stall", None),
}
#: Those of them that can strike in the middle of an answer, to how it then stops.
_BROKEN = frozenset({"reset", "eof", "stall"})
_PRELUDE = struct.Struct(">III")
#: Finish reasons of answers that are not whole, to the ends that say it: the first counts that the
#: API has. The words are those that `Understood` has for all APIs.
_ENDS: dict[str, tuple[AnswerEnd, ...]] = {
    "length": ("length",),
    "content_filter": ("filtered", "refused"),
    "refusal": ("refused", "filtered"),
    "pause_turn": ("paused",),
    "error": ("failed",),
}
#: Finish reasons of whole answers that servers of open models have beside the usual ones.
_WHOLE = frozenset({"eos", "eos_token"})


class Understood(Protocol):
    """What a dialect reads in an answer; as `faultclock.fakes.wire.dialect.Heard`."""

    @property
    def text(self) -> str | None:
        """The text of the answer, or of what arrived of it."""
        ...

    @property
    def tool_calls(self) -> tuple[ToolCallReply, ...]:
        """The tools that it asks for."""
        ...

    @property
    def finish_reason(self) -> str | None:
        """None where it does not say that it is whole."""
        ...

    @property
    def error(self) -> Mapping[str, Any] | None:
        """Code, type and message of the error object in it."""
        ...

    @property
    def refusal(self) -> str | None:
        """What the model says in place of an answer, where the API keeps that apart."""
        ...

    @property
    def blocked(self) -> bool | None:
        """Whether the prompt was blocked; None: the API does not say which was filtered."""
        ...


class Hearing(Protocol):
    """What is asked of a dialect; as `faultclock.fakes.wire.dialect.Dialect`."""

    @property
    def ends(self) -> frozenset[AnswerEnd]:
        """The ways in which it can say that an answer is not a whole one."""
        ...

    def error_facts(self, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what an error body says, None where it is none."""
        ...

    def heard(self, body: bytes, content_type: str) -> Understood:
        """Return what an answer says; no body raises anything."""
        ...


class Outcome(Struct, frozen=True, kw_only=True):
    """What came back.

    Attributes:
        body: the JSON value of an error, where it is one.
        raw: the body of an error that is no JSON object.
        facts: code, type and message of an error, as its dialect reads them.
        chunks: how many parts of a stream came before it failed.
        short: whether fewer bytes came than were announced.
        fault: for a failure of the network, the kind of the fault that it is played as.
        how: the end of a connection or answer, where the recorder saw it: `reset`, `eof` or
            `stall`.
        ends: how an answer ended that is not a whole one.
        said: of a good answer, and of one that is not whole.
    """

    kind: Kind
    status: int
    body: dict[str, Any] | None = None
    raw: bytes | None = None
    facts: Mapping[str, Any] | None = None
    chunks: int = 0
    short: bool = False
    said: Understood | None = None
    ends: AnswerEnd | None = None
    fault: str | None = None
    how: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it is anything but a good answer."""
        return self.kind != "good"


def outcome_of(exchange: Exchange, dialect: Hearing, oddities: Oddities) -> Outcome | None:
    """Return what came back in `exchange`; oddities of it are noted.

    None is for an exchange of which the recording does not tell how it ended.
    """
    status, body = exchange.status, exchange.response_body
    if status is None:
        return _without_answer(exchange, oddities)
    value = as_json(body)
    if status >= 400:
        return _refused(exchange, status, value, dialect, oddities)
    if not body:
        return _without_body(exchange, status, oddities)
    said = header(exchange.response_headers, "content-type") or ""
    heard = dialect.heard(body, said)
    parts = [] if isinstance(value, dict) else list(_parts(body))
    if heard.error is not None and (isinstance(value, dict) or not parts):
        message = "the status is good, and the body is an error"
        oddities.note(OddityKind.ERROR_IN_OK, exchange.body_place, message)
        found = value if isinstance(value, dict) else _body_of(heard.error)
        if dialect.error_facts(found) is None:
            return Outcome(kind="page", status=status, raw=body)
        return Outcome(kind="error_in_ok", status=status, body=found, facts=heard.error)
    if heard.error is not None:
        return _failed_in_stream(exchange, parts, heard.error, dialect, oddities)
    if is_html(body) or not 200 <= status <= 299:
        return Outcome(kind="page", status=status, raw=body)
    if heard.finish_reason is None:
        cut = _broken(exchange, status, parts, oddities)
        if cut is None and exchange.instants is not None and exchange.instants.left:
            message = "the program left before the answer was whole: that is not a failure"
            oddities.note(OddityKind.LEFT_EARLY, exchange.body_place, message)
            return Outcome(kind="good", status=status, said=heard)
        cut = cut or _cut(exchange, status, value, parts, heard, oddities)
        if cut is not None:
            return cut
    return _ended(exchange, status, heard, dialect, oddities)


def _without_body(exchange: Exchange, status: int, oddities: Oddities) -> Outcome:
    """Return what an answer without a body is: a good one, where its body was not kept."""
    broken = _broken(exchange, status, [], oddities)
    if broken is not None:
        return broken
    said = header(exchange.response_headers, "content-length")
    empty = exchange.response_body == b"" and said == "0"
    if empty or not 200 <= status <= 299:
        return Outcome(kind="page", status=status, raw=b"")
    return Outcome(kind="good", status=status)


def _ended(
    exchange: Exchange, status: int, heard: Understood, dialect: Hearing, oddities: Oddities
) -> Outcome:
    """Return an answer with how it ended, which is good unless it says that it is not whole."""
    good = Outcome(kind="good", status=status, said=heard)
    word = "refusal" if heard.refusal else heard.finish_reason
    if word is None or word in _WHOLE or is_usual_end(word):
        return good
    told = OddityKind.NOT_WHOLE
    how = next((end for end in _ENDS.get(word, ()) if end in dialect.ends), None)
    if how is None or heard.tool_calls:
        message = "the answer says that it is not whole, in a way that cannot be played: it is"
        oddities.note(told, exchange.body_place, f"{message} played as a whole one")
        return good
    words = {"length": "cut by its limit", "filtered": "filtered", "refused": "a refusal"}
    message = f"the status is good, and the answer is {words.get(how, how)}: it is played so"
    oddities.note(told, exchange.body_place, message)
    return Outcome(kind="ends", status=status, said=heard, ends=how)


def _without_answer(exchange: Exchange, oddities: Oddities) -> Outcome | None:
    if exchange.failure is None:
        return None
    if exchange.failure in _RECORDED:
        fault, how = _RECORDED[exchange.failure]
        return Outcome(kind="network", status=0, fault=fault, how=how)
    for word, fault in _NETWORK:
        if word in exchange.failure.upper():
            message = f"the recorder met a failure of the network: it is played as {fault}"
            oddities.note(OddityKind.TRANSPORT_FAILURE, exchange.place, message)
            return Outcome(kind="network", status=0, fault=fault)
    message = "the recorder met a failure of the network that cannot be played: it is left out"
    oddities.note(OddityKind.TRANSPORT_FAILURE, exchange.place, message, detail=exchange.failure)
    return None


def _broken(
    exchange: Exchange, status: int, parts: Sequence[Any], oddities: Oddities
) -> Outcome | None:
    """Return an answer in the middle of which the recorder saw the connection fail."""
    if exchange.failure not in _BROKEN:
        return None
    message = f"the connection failed in the middle of the answer ({exchange.failure})"
    oddities.note(OddityKind.TRANSPORT_FAILURE, exchange.body_place, message)
    chunks = sum(isinstance(part, dict) for part in parts)
    stream = bool(parts) or asks_for_stream(exchange)
    kind: Kind = "cut_stream" if stream else "cut_body"
    return Outcome(kind=kind, status=status, chunks=chunks, how=exchange.failure)


def _refused(
    exchange: Exchange, status: int, value: Any, dialect: Hearing, oddities: Oddities
) -> Outcome:
    named = header(exchange.response_headers, "x-amzn-errortype")
    if named is not None and not (isinstance(value, dict) and "__type" in value):
        message = "the class of the error stands in a header alone"
        oddities.note(OddityKind.CLASS_IN_HEADER, exchange.headers_place, message)
    if not isinstance(value, dict):
        return Outcome(kind="status", status=status, raw=exchange.response_body or b"")
    facts = dialect.error_facts(value)
    if named is not None and (facts is None or not facts.get("type")):
        # Amazon's: the class, then where it is defined.
        facts = {**(facts or {}), "type": named.partition(":")[0]}
    if named is None and (facts is None or not (facts.get("code") or facts.get("type"))):
        message = "the answer does not name the class of the error: it is taken from the status"
        oddities.note(OddityKind.CLASS_MISSING, exchange.body_place, message)
    return Outcome(kind="status", status=status, body=value, facts=facts)


def _failed_in_stream(
    exchange: Exchange,
    parts: Sequence[Any],
    facts: Mapping[str, Any],
    dialect: Hearing,
    oddities: Oddities,
) -> Outcome:
    message = "an error stands inside a stream of a good status"
    oddities.note(OddityKind.ERROR_IN_STREAM, exchange.body_place, message)
    objects = [part for part in parts if isinstance(part, dict)]
    for chunks, part in enumerate(objects):
        if dialect.error_facts(part) is not None:
            return Outcome(
                kind="error_in_stream", status=200, body=part, facts=facts, chunks=chunks
            )
    chunks, body = max(0, len(objects) - 1), _body_of(facts)
    if dialect.error_facts(body) is None:
        cut = Outcome(kind="cut_stream", status=200, chunks=chunks)
        return _not_repeatable(exchange, cut, oddities)
    return Outcome(kind="error_in_stream", status=200, body=body, facts=facts, chunks=chunks)


def _not_repeatable(exchange: Exchange, instead: Outcome, oddities: Oddities) -> Outcome:
    message = "the error has a form that cannot be sent again: only that the answer fails is kept"
    oddities.note(OddityKind.NOT_REPEATABLE, exchange.body_place, message)
    return instead


def _cut(
    exchange: Exchange,
    status: int,
    value: Any,
    parts: Sequence[Any],
    heard: Understood,
    oddities: Oddities,
) -> Outcome | None:
    """Return how an answer was cut that does not say it is whole, None where it was not."""
    body = exchange.response_body or b""
    said = header(exchange.response_headers, "content-length")
    short = said is not None and said.isdecimal() and len(said) < 12 and len(body) < int(said)
    if not isinstance(value, dict) and (parts or asks_for_stream(exchange)):
        message = "the stream ends without saying that it is whole"
        oddities.note(OddityKind.STREAM_WITHOUT_END, exchange.body_place, message)
        chunks = sum(isinstance(part, dict) for part in parts)
        return Outcome(kind="cut_stream", status=status, chunks=chunks, short=short)
    if value is None and body.lstrip()[:1] in (b"{", b"["):
        message = "the body of a good status ends in the middle"
        oddities.note(OddityKind.UNREADABLE_BODY, exchange.body_place, message)
        return Outcome(kind="cut_body", status=status, short=short)
    if value is None or not (heard.text or heard.tool_calls):
        message = "the body of a good status is nothing that this API answers"
        oddities.note(OddityKind.ODD_SHAPE, exchange.body_place, message)
        return Outcome(kind="page", status=status, raw=body)
    message = "the answer does not say how it ended: it is taken as a good one"
    oddities.note(OddityKind.ODD_SHAPE, exchange.body_place, message)
    return None


def _body_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": dict(facts)}


def _parts(body: bytes) -> Iterator[Any]:
    """Yield the JSON values of a stream, and `None` for parts that are none, in order."""
    if len(body) >= 16 and _frame_length(body, 0) is not None:
        yield from _frames(body)
        return
    data: list[bytes] = []
    seen = 0
    for line in [*body.splitlines(), b""]:
        if seen >= _PARTS_MAX:
            return
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line.strip():
            if data:
                joined = b"\n".join(data)
                data = []
                if joined.strip() != b"[DONE]":
                    seen += 1
                    yield as_json(joined)
        elif line[:1] == b"{" and (value := as_json(line)) is not None:
            seen += 1
            yield value


def _frame_length(body: bytes, at: int) -> int | None:
    """Return the length of the frame of an AWS event stream at `at`, None where there is none."""
    if at + 16 > len(body):
        return None
    total, headers, _ = _PRELUDE.unpack_from(body, at)
    return total if 16 <= total <= len(body) - at and headers <= total - 16 else None


def _frames(body: bytes) -> Iterator[Any]:
    at = 0
    while (length := _frame_length(body, at)) is not None:
        headers = _PRELUDE.unpack_from(body, at)[1]
        yield as_json(body[at + 12 + headers : at + length - 4])
        at += length
