"""A recorded failure as an error payload of a scenario, with everything secret taken out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

from faultclock.recordings.bodies import as_json, depth_within, is_html
from faultclock.recordings.exchange import Exchange, Oddities, OddityKind, header
from faultclock.recordings.outcome import Outcome
from faultclock.recordings.quiet import quiet_body, without_quotes
from faultclock.recordings.reading import date_s
from faultclock.recordings.scrub import Scrubber

#: What is kept of one body; a longer one is a page, and its beginning shows which.
BODY_CHARS_MAX = 16_000
_SCRUBBED_CHARS_MAX = 64_000
_DEPTH_MAX = 30
_HEADERS_MAX = 24
_DIGITS_MAX = 35

#: Headers that say what a client is to do next, or what went wrong.
_KEPT = re.compile(
    r"retry-after(?:-ms)?|x-should-retry|x-amz-retry-after|x-amzn-errortype|x-ms-retry-after-ms"
    r"|(?:x-)?ratelimit-[a-z0-9-]+|x-rate-limit-[a-z0-9-]+|anthropic-ratelimit-[a-z0-9-]+"
    r"|x-ms-error-code|www-authenticate|allow"
)
# RFC 9110, section 5.5, restricted to ASCII.
_FIELD_VALUE = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?")
_CONTENT_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+(?:;[\x20-\x7e]*)?")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{10,13}(?:\.\d+)?$")
_EXCEPTION = re.compile(r"[A-Za-z]{3,60}Exception")
_WORD = re.compile(r"[a-z][a-z0-9_]{2,48}")


class Payloads(Struct):
    """The error payloads of one scenario, each once.

    Attributes:
        made: name to the payload, as a scenario file holds it.
    """

    name: str
    scrubber: Scrubber
    oddities: Oddities
    texts_kept: bool
    body_chars_max: int = BODY_CHARS_MAX
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def named(self, exchange: Exchange, outcome: Outcome) -> str:
        """Return the name of the payload of a failure, which is added where it is new."""
        payload = self._payload(exchange, outcome)
        print_ = repr(payload)
        if print_ not in self._names:
            stem = f"recorded_{outcome.status}_{word_of(outcome, self.scrubber)}"
            name, number = stem, 1
            while name in self.made:
                number += 1
                name = f"{stem}_{number}"
            self._names[print_] = name
            self.made[name] = {**payload, "source": self._source(exchange, outcome)}
        return self._names[print_]

    def _source(self, exchange: Exchange, outcome: Outcome) -> str:
        at_s = exchange.answered_at_s
        day = "" if at_s is None else f" of {datetime.fromtimestamp(at_s, UTC):%Y-%m-%d}"
        told = f"recording {self.name}, line {exchange.place.line}{day}"
        if outcome.status >= 400 or outcome.kind == "page":
            return told
        told = f"{told}; it came inside a {outcome.status}"
        if _status_in(outcome) is not None:
            return f"{told}, the status here is what its body says"
        return f"{told}, the status here was made up"

    def _payload(self, exchange: Exchange, outcome: Outcome) -> dict[str, Any]:
        status = outcome.status
        if status < 400 and outcome.kind != "page":
            # The payload of an error has an error status, also one that comes with a good status.
            status = _status_in(outcome) or 500
        payload: dict[str, Any] = {"status": status}
        said = (header(exchange.response_headers, "content-type") or "").strip().lower()
        said = self.scrubber.text(said[:200])
        fitting = _CONTENT_TYPE.fullmatch(said) is not None
        large = len(exchange.response_body or b"") > 4 * _SCRUBBED_CHARS_MAX
        if outcome.body is not None and not large and _can_be_written(outcome.body):
            body = self.scrubber.value(outcome.body, texts_kept=self.texts_kept)
            body = body if self.texts_kept else without_quotes(body)
            shown = repr(body)
            if len(shown) <= self.body_chars_max:
                payload["body"] = body
                if outcome.kind == "status" and fitting and said != "application/json":
                    payload["content_type"] = said
        if "body" not in payload:
            payload["text"] = self._text(exchange, outcome)
            payload["content_type"] = said if fitting else _type_of(outcome.raw or b"")
        headers = dict(self._headers(exchange)) if outcome.kind == "status" else {}
        if outcome.kind == "error_in_stream" and "error" not in (outcome.body or {}):
            # Amazon's event streams have the class beside the message, not in it.
            kind = (outcome.facts or {}).get("type")
            if isinstance(kind, str) and _EXCEPTION.fullmatch(kind):
                headers["x-amzn-errortype"] = kind[:1].upper() + kind[1:]
        if headers:
            payload["headers"] = headers
        return payload

    def _text(self, exchange: Exchange, outcome: Outcome) -> str:
        raw = outcome.raw if outcome.raw is not None else exchange.response_body or b""
        if outcome.kind == "page" and not is_html(raw) and as_json(raw) is not None:
            # It may be an answer of another API: what people and models have said goes out of it.
            raw = quiet_body(raw, self.scrubber, failed=False, texts_kept=self.texts_kept) or b""
        text = raw[: 4 * _SCRUBBED_CHARS_MAX].decode("utf-8", "replace")
        text = self.scrubber.text(text[:_SCRUBBED_CHARS_MAX], texts_kept=self.texts_kept)
        if len(text) > self.body_chars_max:
            message = f"the body is long: its first {self.body_chars_max:,} characters are kept"
            self.oddities.note(OddityKind.HUGE_BODY, exchange.body_place, message)
        return text[: self.body_chars_max]

    def _headers(self, exchange: Exchange) -> Iterator[tuple[str, str]]:
        for name, value in kept_headers(exchange):
            if date_s(value) is not None or _INSTANT.match(value):
                if name != "retry-after":
                    message = "a header names an instant of the recording: it is left out"
                    self.oddities.note(OddityKind.ABSOLUTE_TIME, exchange.headers_place, message)
                continue
            scrubbed = self.scrubber.text(value)
            if _FIELD_VALUE.fullmatch(scrubbed):
                yield name, scrubbed


def kept_headers(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """Yield the headers of an answer that matter to a client, each name once."""
    seen = set[str]()
    for name, value in exchange.response_headers:
        if len(seen) == _HEADERS_MAX:
            return
        if _KEPT.fullmatch(name) and name not in seen and value and len(value) <= 200:
            seen.add(name)
            yield name, value


def word_of(outcome: Outcome, scrubber: Scrubber) -> str:
    """Return a word for a failure: the provider's own code or type where it has one."""
    facts = outcome.facts or {}
    for name in ("code", "type"):
        told = facts.get(name)
        if isinstance(told, str):
            word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", told[:80])
            word = re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")
            if _WORD.fullmatch(word) and scrubber.text(told) == told:
                return word
    if outcome.body is not None or not outcome.raw:
        return "error"
    return "page" if is_html(outcome.raw) else "text"


def _status_in(outcome: Outcome) -> int | None:
    """Return the status that the body of an error says itself, None where it says none."""
    error = (outcome.body or {}).get("error")
    told = [outcome.body or {}, error if isinstance(error, dict) else {}, outcome.facts or {}]
    for name in ("status", "status_code", "code"):
        for table in told:
            value = table.get(name)
            if isinstance(value, str) and value.isdecimal() and len(value) == 3:
                value = int(value)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
                return value
    return None


def _type_of(body: bytes) -> str:
    if is_html(body):
        return "text/html"
    return "text/plain" if as_json(body) is None else "application/json"


def _can_be_written(body: dict[str, Any]) -> bool:
    """Return whether a scenario file can hold the value as it is."""
    if not depth_within(body, _DEPTH_MAX):
        return False
    todo: list[Any] = [body]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
        elif isinstance(item, float):
            if not math.isfinite(item):
                return False
        elif isinstance(item, int) and abs(item) >= 10**_DIGITS_MAX:
            return False
    return True
