"""Wrapping: an error that wraps another keeps its class and code, and leaves it reachable."""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.chain import Link, chain_of, origin, wrapped
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History

__all__ = ["CHECKS"]


def _identity(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "wrapping.identity")
    yield otherwise("no typed error was wrapped")
    for call in history.calls:
        if not call.raised or call.end is None:
            continue
        links = wrapped(chain_of(call.end))
        inner = origin(links)
        outside = links[: links.index(inner)] if inner is not None else ()
        if inner is None or not outside:
            continue
        yield held(*requirements)
        # What callers meet is the outermost; one in between may be silent, but not differ.
        changed = next(
            (
                link
                for number, link in enumerate(outside)
                if _pair(link) != _pair(inner) and (number == 0 or _pair(link) != (None, None))
            ),
            None,
        )
        if changed is not None:
            yield broken(
                requirements,
                call=call.id,
                expected=f"{_said(inner)}, as {inner.get('type')} declares it",
                observed=f"{changed.get('type')} around it declares {_said(changed)}",
                events=(call.end.seq,),
                hint="Copy class and code to the wrapper; only its message may add.",
            )


def _cause(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "wrapping.cause")
    yield otherwise("no error was wrapped")
    for call in history.calls:
        if not call.raised or call.end is None:
            continue
        links = wrapped(chain_of(call.end))
        if not any(_pair(wrapper) != (None, None) for wrapper, _ in pairwise(links)):
            continue
        yield held(*requirements)
        # What a library hides inside its own errors is not the subject's wrapping.
        hidden = [
            (wrapper, link)
            for wrapper, link in pairwise(links)
            if link.get("link") == "suppressed" and _pair(wrapper) != (None, None)
        ]
        if hidden:
            wrapper, lost = hidden[0]
            yield broken(
                requirements,
                call=call.id,
                expected=f"{lost.get('type')} is the cause of {wrapper.get('type')}",
                observed=f"{wrapper.get('type')} hides it (raised from None)",
                events=(call.end.seq,),
                hint="Write `raise … from error`.",
            )


def _pair(link: Link) -> tuple[object, object]:
    return link.get("class"), link.get("code")


def _said(link: Link) -> str:
    if _pair(link) == (None, None):
        return "neither class nor code"
    return f"{link.get('class')}/{link.get('code')}"


CHECKS = (
    Check(
        id="wrapping.identity",
        title="Wrapping keeps class and code",
        says="The error that a caller gets has the class and code of the error it wraps.",
        run=_identity,
    ),
    Check(
        id="wrapping.cause",
        title="Wrapping keeps the cause",
        says="The error that was wrapped can still be reached from the one that wraps it.",
        run=_cause,
    ),
)
