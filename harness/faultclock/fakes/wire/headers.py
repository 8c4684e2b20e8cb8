"""Headers on their way out and into the trace: dates rendered, values checked, secrets scrubbed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

from faultclock.fakes.wire.answer import Headers
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.fault import HeaderValue, HttpDate
from faultclock.model.secrets import SENT_OPENLY, without_secrets

#: What stands in the trace in place of a secret.
SCRUBBED = "<scrubbed>"

_SECRET_HEADERS = frozenset(
    {
        "ocp-apim-subscription-key",
        "openai-organization",
        "openai-project",
    }
)
#: Gateways and proxies have headers of their own: a name that has one of these words in it says
#: enough. What counts tokens (`x-ratelimit-limit-tokens`) has none of them.
_SECRET_WORDS = frozenset(
    {
        "apikey",
        "auth",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "key",
        "passwd",
        "password",
        "secret",
        "sig",
        "signature",
        "token",
    }
)
#: They end in `key` and hold none.
_NO_SECRETS = frozenset({"idempotency-key", "sec-websocket-key", "x-idempotency-key"})
#: What the checks read of a request, and what numbers it.
_ALSO_OPEN = re.compile(
    r"host|origin|upgrade|(?:x-)?idempotency-key|x-[a-z-]*(?:retry|attempt)[a-z-]*"
    r"|amz-sdk-invocation-id|x-amz-[a-z0-9-]+|x-goog-[a-z-]+|x-client-name|sec-websocket-[a-z-]+"
    r"|(?:x-)?(?:client-)?(?:request|correlation|trace)-id|traceparent|tracestate"
)
#: Between the scheme and the host of a URL: who asks, and with which password.
_USER = re.compile(r"(?<=://)[^/?#@\s]*(?=@)")
#: RFC 9110, section 5.5, restricted to ASCII: no control characters, no white space at the ends.
_FIELD_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
_FIELD_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")


def http_date(wall_ns: int) -> str:
    """Return the IMF-fixdate (RFC 9110, section 5.6.7) of `wall_ns` since 1970, whole seconds."""
    return _date_of_second(wall_ns // SECOND_NS)


@lru_cache
def _date_of_second(unix_s: int) -> str:
    # Virtual time makes the same few instants come again in every run.
    return formatdate(unix_s, usegmt=True)


def rendered(headers: Headers, wall_ns: int) -> list[tuple[str, str]]:
    """Return `headers` as texts, each HttpDate relative to the wall-clock instant `wall_ns`."""
    return [
        (name, http_date(wall_ns + value.http_date) if isinstance(value, HttpDate) else value)
        for name, value in headers
    ]


def merged(headers: Headers, over: Mapping[str, HeaderValue]) -> Headers:
    """Return `headers` in which those of `over` replace equal names; names become lower case."""
    together = dict(headers)
    together.update((name.lower(), value) for name, value in over.items())
    return tuple(together.items())


def is_sendable(name: str, value: HeaderValue) -> bool:
    """Whether HTTP/1.1 can carry the header as it is."""
    text = "" if isinstance(value, HttpDate) else value
    return bool(_FIELD_NAME.fullmatch(name) and _FIELD_VALUE.fullmatch(text))


def scrubbed(headers: Mapping[str, str], *, sent: bool = False) -> dict[str, str]:
    """Return `headers` with the values of those that carry secrets replaced.

    A value that has the shape of a secret is one, under any name of the header.

    Args:
        sent: whether a subject has sent them. Then any value under a name that is not known is a
            secret: the password of a gateway may be a word.
    """
    return {
        name: SCRUBBED if _is_secret(name) or (sent and not _is_known(name)) else _shown(value)
        for name, value in headers.items()
    }


def scrubbed_url(target: str) -> str:
    """Return `target` with the values of query parameters that carry secrets replaced.

    So is what has the shape of a secret, wherever in the target it stands.
    """
    target = without_secrets(_USER.sub(SCRUBBED, target))
    path, mark, query = target.partition("?")
    if not mark:
        return target
    pairs = parse_qsl(query, keep_blank_values=True)
    if not any(_is_secret(name) for name, _ in pairs):
        return target
    shown = [(name, SCRUBBED if _is_secret(name) else value) for name, value in pairs]
    return f"{path}?{urlencode(shown)}"


def _shown(value: str) -> str:
    return scrubbed_url(value) if "://" in value else without_secrets(value)


@lru_cache
def _is_known(name: str) -> bool:
    """Whether a header of this name is one of HTTP, of an SDK or of tracing."""
    lower = name.lower()
    return bool(SENT_OPENLY.fullmatch(lower) or _ALSO_OPEN.fullmatch(lower))


@lru_cache
def _is_secret(name: str) -> bool:
    """Whether a header or a parameter of this name holds a secret."""
    lower = name.lower().replace("_", "-")
    if lower in _NO_SECRETS:
        return False
    return lower in _SECRET_HEADERS or not _SECRET_WORDS.isdisjoint(lower.split("-"))
