"""Words of findings: what was said, in short, and without what leaked into it."""

from __future__ import annotations

import json

from faultclock.model.secrets import without_secrets


def short(text: str, chars_max: int = 160) -> str:
    """Return `text` cut to `chars_max` characters; a cut text ends with `…`."""
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"


def excerpt(said: object, chars_max: int = 160) -> str:
    """Quote a text, or a JSON value, in short. What leaked does not leak again through a report."""
    text = said if isinstance(said, str) else json.dumps(said, sort_keys=True, ensure_ascii=False)
    return repr(short(without_secrets(text), chars_max))
