"""The chain of a raised error: which of its links are the same error, wrapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Link", "origin", "typed", "wrapped"]

#: One error of a chain: type, message, class, code, and how the one before leads to it.
Link = Mapping[str, Any]


def typed(link: Link | None) -> tuple[str, str] | None:
    """Return class and code of a link that declares both."""
    if link is None or link.get("class") is None or link.get("code") is None:
        return None
    return str(link["class"]), str(link["code"])


def wrapped(chain: Sequence[Link]) -> tuple[Link, ...]:
    """Return the links that wrap one and the same failure, outermost first.

    `raise … from` says so, and so does hiding the cause with `from None`. A mere context does
    only where the error outside is untyped: a typed error that is raised while an earlier one
    is handled stands for a failure of its own, such as that of the next attempt.
    """
    links: list[Link] = []
    for link in chain:
        if links and link.get("link") == "context" and _partly_typed(links[-1]):
            break
        links.append(link)
    return tuple(links)


def origin(chain: Sequence[Link]) -> Link | None:
    """Return the innermost link that declares a class or code; None when none does."""
    return next((link for link in reversed(wrapped(chain)) if _partly_typed(link)), None)


def _partly_typed(link: Link) -> bool:
    return link.get("class") is not None or link.get("code") is not None
