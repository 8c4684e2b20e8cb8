"""What a text must never show: a secret, a stack trace, an absolute path, an exception class.

A text is searched for what has such a shape; what a shape cannot show is not judged.
"""

from __future__ import annotations

import re

from faultclock.model.error_model.error_model import AudienceRule
from faultclock.model.paths import ABSOLUTE_PATH, ELSEWHERE
from faultclock.model.secrets import SECRET, SECRET_SHAPE

_SHAPES: dict[str, re.Pattern[str]] = {
    # The mark stands where a recorder took a key out before it wrote the text down.
    "secret": re.compile(f"{SECRET_SHAPE.pattern}|{re.escape(SECRET)}"),
    "stack": re.compile(
        r"Traceback \(most recent call last\)|\bFile \"[^\"]+\"(?:, line \d+)?"
        r"|^\s+at \S+ ?\(.*:\d+:\d+\)",
        re.MULTILINE,
    ),
    "path": re.compile(rf"{ABSOLUTE_PATH.pattern}|(?<!\w){ELSEWHERE}"),
    "class_name": re.compile(
        r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*[a-z](?:Error|Exception|Failure|Warning)\b"
    ),
}
NAMES = {
    "secret": "a secret",
    "stack": "a stack trace",
    "path": "an absolute path",
    "class_name": "the name of an exception class",
}


def leaks(rule: AudienceRule, text: str) -> tuple[str, ...]:
    """Return in words what `text` holds that `rule` says this audience must never see."""
    return tuple(NAMES[name] for name in rule.never if _SHAPES[name].search(text))
