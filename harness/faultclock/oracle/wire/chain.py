"""The chain of a raised error: which of its links are the same error, wrapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.model.trace.trace import TraceEvent

#: One error of a chain: type, message, class, code, and how the one before leads to it.
Link = Mapping[str, Any]


def ended_well(end: TraceEvent) -> bool:
    """Return whether a call came to a reply: it raised nothing, and names no bad end.

    A turn whose RunResult says that it failed has not returned an answer, however it says so. A
    degraded one has.
    """
    return end.kind == "call.returned" and _state(end) in (None, "completed", "degraded")


def is_degraded(end: TraceEvent) -> bool:
    """Return whether a turn says of its reply that it is less than it should be."""
    return _state(end) == "degraded"


def chain_of(end: TraceEvent | None) -> list[Link]:
    """Return the errors that a call ended with, outermost first; none where it ended well."""
    if end is None or ended_well(end):
        return []
    if end.kind == "call.returned":
        result = end.result or {}
        said = {"class": result.get("class"), "code": result.get("code")}
        return [{"type": f"RunResult, {_state(end)}", "message": "", "link": "outer", **said}]
    return list(end.chain)


def _state(end: TraceEvent) -> object:
    return (end.result or {}).get("state")


def typed(link: Link | None) -> tuple[str, str] | None:
    """Return class and code of a link that declares both."""
    if not link or link["class"] is None or link["code"] is None:
        return None
    return link["class"], link["code"]


def partly_typed(link: Link) -> bool:
    """Return whether a link declares a class or a code."""
    return link["class"] is not None or link["code"] is not None


def wrapped(chain: Sequence[Link]) -> tuple[Link, ...]:
    """Return the links that wrap one and the same failure, outermost first.

    `raise … from` says so, and so does hiding the cause with `from None`. A mere context does
    only where the error outside is untyped: a typed error that is raised while an earlier one
    is handled stands for a failure of its own, such as that of the next attempt.
    """
    links: list[Link] = []
    for link in chain:
        if links and link["link"] == "context" and partly_typed(links[-1]):
            break
        links.append(link)
    return tuple(links)


def origin(chain: Sequence[Link]) -> Link | None:
    """Return the innermost link that declares a class or code; None when none does."""
    return next((link for link in reversed(wrapped(chain)) if partly_typed(link)), None)


def outermost(end: TraceEvent | None) -> Link:
    """Return the error that a call ended with, empty for none."""
    return next(iter(chain_of(end)), {})


def error_of(end: TraceEvent | None) -> str | None:
    """Return `Class/Code` of the failure that a call ended with, None where it declares none."""
    named = typed(origin(chain_of(end)))
    return None if named is None else "/".join(named)


def errors_of(end: TraceEvent | None) -> tuple[str, ...]:
    """Return each `Class/Code` that a call names for its end: outermost, and where it began."""
    named = {typed(outermost(end)), typed(origin(chain_of(end)))}
    return tuple(sorted("/".join(pair) for pair in named if pair is not None))
