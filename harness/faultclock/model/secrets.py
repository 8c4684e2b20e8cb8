"""What a secret looks like, so that no trace or report repeats one.

Two things give a secret away: the shape of a key of a known maker (`SECRET_SHAPE`), and a word
before it that names it (`NAMED_SECRETS`). Recorders of what the world saw take out the first, with
`without_secrets`; recorders of what a subject says take out both. The oracle finds what a subject
let out by its shape, or by the mark that stands for it. A word alone proves nothing: what stands
behind it may be masked, or no secret at all, so another mark stands for that.
"""

from __future__ import annotations

import re

#: What stands in a trace in place of a secret.
SECRET = "<secret>"  # noqa: S105 - a mark, not a password
#: What stands in a trace in place of what may be a secret, for the word before it.
HIDDEN = "<hidden>"

#: Keys of model providers, code hosts and clouds, and bearer tokens. Each has a digit, which words
#: such as `sk-learn-contrib` and `Bearer authentication` have not.
SECRET_SHAPE = re.compile(
    r"\b(?:sk|pk|rk|xai)-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{8,}"
    r"|\b(?:ghp|gsk|hf)_[A-Za-z0-9]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|\bBearer\s+(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{8,}"
)

_WORD = r"(?:api|access)[_ -]?key|secret|password|passwd|signature|credential"
#: `token`, but not how many tokens there are.
_NOT_A_COUNT = (
    r"(?<![_-])(?:(?:access|refresh|id|auth|api|session|security)[_-])?token"
    r"(?!s[:=]\s{0,2}[\d.,]{1,20}(?!\w))"
)
#: A secret behind a word that names it, as group 1: in a sentence; as JSON or Python writes it in
#: a text, and as JSON does in a text within a text; as a parameter of a URL.
NAMED_SECRETS: tuple[re.Pattern[str], ...] = (
    re.compile(
        rf"(?i:(?<![A-Za-z0-9])(?:(?:[A-Za-z0-9]{{1,20}}[_-]){{0,3}}(?:{_WORD})|{_NOT_A_COUNT})s?"
        r"(?: provided| supplied)?[:=]\s{0,2}[`'\"(]?)([^\s`'\"(),;<>&]{6,400})"
    ),
    re.compile(
        rf"(?i:(?:{_WORD}|token)s?"
        r"\\{0,7}['\"]\s{0,2}[:=]\s{0,2}\\{0,7}['\"])([^\s'\",;<>\\]{6,400})"
    ),
    re.compile(
        r"(?i:(?<=[?&])(?:[a-z]{1,20}[_-])?(?:key|sig|signature|auth|token|secret|password)=)"
        r"([^\s&#\"'<>]{4,400})"
    ),
)
#: Between the scheme and the host of a URL: who asks, and with which password.
_USER = re.compile(r"(?<=://)[^/?#@\s<>]{1,400}(?=@)")
#: Headers of requests whose values say nothing of anybody.
SENT_OPENLY = re.compile(
    r"accept(?:-[a-z]+)?|amz-sdk-request|anthropic-(?:beta|version|dangerous-[a-z-]+)|api-version"
    r"|cache-control|connection|content-[a-z0-9-]+|date|expect|openai-beta|pragma|te"
    r"|transfer-encoding|upgrade-insecure-requests|user-agent|x-amz-(?:content-sha256|date|target)"
    r"|x-amzn-bedrock-[a-z-]+|x-fern-[a-z-]+|x-goog-api-client|x-ms-useragent|x-stainless-[a-z-]+"
)


def without_secrets(text: str) -> str:
    """Return `text` with SECRET in place of everything that has the shape of one.

    Example:
        >>> without_secrets("Incorrect API key provided: sk-abcd1234efgh")
        'Incorrect API key provided: <secret>'
    """
    return SECRET_SHAPE.sub(SECRET, text)


def without_named_secrets(text: str) -> str:
    """Return `text` also with HIDDEN in place of what stands behind a word that names a secret.

    Example:
        >>> without_named_secrets("GET /v1?access_token=hunter2, password: hunter2")
        'GET /v1?access_token=<hidden>, password: <hidden>'
    """
    text = without_secrets(text)
    if ":" not in text and "=" not in text:
        # Each of them has one of these before it.
        return text
    text = _USER.sub(SECRET, text)
    for pattern in NAMED_SECRETS:
        text = pattern.sub(_behind, text)
    return text


def _behind(match: re.Match[str]) -> str:
    return match[0][: match.start(1) - match.start()] + HIDDEN
