"""What a secret looks like, so that no trace or report repeats one.

A shape is all there is to go by: a key without a known beginning passes. Recorders take secrets
out with `without_secrets`; the oracle finds what a subject told, or the mark that stands for it.
"""

from __future__ import annotations

import re

__all__ = ["SECRET", "SECRET_SHAPE", "without_secrets"]

#: What stands in a trace in place of a secret.
SECRET = "<secret>"  # noqa: S105 - a mark, not a password

#: Keys of model providers, code hosts and clouds, and bearer tokens.
SECRET_SHAPE = re.compile(
    r"\b(?:sk|pk|rk|xai)-[A-Za-z0-9_-]{8,}"
    r"|\b(?:ghp|gsk|hf)_[A-Za-z0-9]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}"
)


def without_secrets(text: str) -> str:
    """Return `text` with SECRET in place of whatever has the shape of one.

    Example:
        >>> without_secrets("Incorrect API key provided: sk-abcd1234efgh")
        'Incorrect API key provided: <secret>'
    """
    return SECRET_SHAPE.sub(SECRET, text)
