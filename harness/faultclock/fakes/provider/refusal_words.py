"""Makes an error payload say what is so: its figures, and what it says of a request.

Payloads are written down once, with the figures of the day on which they were seen. A provider
with limits of its own computes them, and callers read them out of the message where a header is
missing. Only figures are changed, and only where the words around them say what they are of. Of a
conversation that is refused the words name the message: there the payload has a `{name}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from faultclock.fakes.provider.accounts import Refused
from faultclock.fakes.wire.dialect import Meter, RateStanding
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_limits import RequestLimit, TokenLimit

#: What names a wait; a payload that carries one of its own must not, when none is known.
_WAIT_HEADERS = frozenset({"retry-after", "retry-after-ms", "x-amz-retry-after"})
_WAIT = re.compile(
    r"\b(?P<lead>(?:again|retry) (?:in|after)) \d+(?:\.\d+)?"
    r"(?:(?P<seconds> seconds?)\b|(?:ms|s|m|h)(?:\d+(?:\.\d+)?(?:ms|s|m))*\b)"
)
_USED = re.compile(r"\bLimit \d+, Used \d+, Requested \d+")
_LIMIT = re.compile(
    r"\b(?P<lead>limit: |of |limited to )\d[\d,]*"
    r"(?=(?:,| (?:[a-z]+ )?(?:requests|tokens) per| API calls / minute))"
)

_PLACE = re.compile(r"\{([a-z_]+)\}")


def filled(payload: ErrorPayload, places: Mapping[str, str]) -> ErrorPayload:
    """Return `payload` with `places` in its body; a text that is a number's place becomes it."""

    def words(text: str) -> Any:
        if (whole := _PLACE.fullmatch(text)) and places.get(whole[1], "").isdecimal():
            return int(places[whole[1]])
        return _PLACE.sub(lambda match: places.get(match[1], match[0]), text)

    if not places or payload.body is None:
        return payload
    return payload.model_copy(update={"body": _everywhere(payload.body, words)})


def truthful(payload: ErrorPayload, refused: Refused, standing: RateStanding) -> ErrorPayload:
    """Return `payload` with the figures of a refusal in its words.

    Args:
        standing: of the account that was refused.
    """
    meter = standing.tokens if isinstance(refused.rule, TokenLimit) else standing.requests
    changed: dict[str, Any] = {}
    if refused.retry_after_ns is None:
        kept = payload.headers.items()
        changed["headers"] = {
            name: value for name, value in kept if name.lower() not in _WAIT_HEADERS
        }
    if payload.text is not None:
        changed["text"] = _worded(payload.text, refused, meter)
    if payload.body is not None:
        changed["body"] = _everywhere(payload.body, lambda text: _worded(text, refused, meter))
    return payload.model_copy(update=changed)


def _everywhere(value: Any, change: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _everywhere(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_everywhere(item, change) for item in value]
    return value


def _worded(text: str, refused: Refused, meter: Meter | None) -> str:
    wait_ns = refused.retry_after_ns
    if wait_ns is not None:
        text = _WAIT.sub(lambda match: _wait(match, wait_ns), text)
    if meter is not None and isinstance(refused.rule, (RequestLimit, TokenLimit)):
        used = max(0, meter.limit - meter.remaining)
        figures = f"Limit {meter.limit}, Used {used}, Requested {refused.asked}"
        text = _USED.sub(figures, text)
        text = _LIMIT.sub(lambda match: f"{match['lead']}{meter.limit}", text)
    return text


def _wait(match: re.Match[str], wait_ns: int) -> str:
    if match["seconds"] is not None:
        return f"{match['lead']} {-(-wait_ns // SECOND_NS)}{match['seconds']}"
    whole_ns = -(-wait_ns // MILLISECOND_NS) * MILLISECOND_NS
    return f"{match['lead']} {format_duration(whole_ns)}"
