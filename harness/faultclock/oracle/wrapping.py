"""Wrapping: an error that wraps another keeps its class and code, and leaves it reachable."""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.chain import Link, origin, partly_typed, wrapped
from faultclock.oracle.check import Verdicts, also, broken, check, held
from faultclock.oracle.handling import raised_in
from faultclock.oracle.history import History


@check(
    "wrapping.identity",
    title="Wrapping keeps class and code",
    says="The error that a caller gets has the class and code of the error it wraps.",
    unjudged="no typed error was wrapped",
)
def identity(history: History, model: ErrorModel) -> Verdicts:
    """Judge the errors around the innermost one that is typed."""
    requirements = also(model, "wrapping.identity")
    for raised in raised_in(history):
        links = wrapped(raised.chain)
        inner = origin(links)
        outside = links[: links.index(inner)] if inner is not None else ()
        if inner is None or not outside:
            continue
        yield held(*requirements)
        # What callers meet is the outermost; one in between may be silent, but not differ.
        differing = (link for link in outside if _said(link) != _said(inner))
        changed = next((link for link in differing if link is links[0] or partly_typed(link)), None)
        if changed is not None:
            yield broken(
                requirements,
                call=raised.call.id,
                expected=f"{_said(inner)}, as {inner['type']} declares it",
                observed=f"{changed['type']} around it declares {_said(changed)}",
                events=(raised.end.seq,),
                hint="Copy class and code to the wrapper; only its message may add.",
            )


@check(
    "wrapping.cause",
    title="Wrapping keeps the cause",
    says="The error that was wrapped can still be reached from the one that wraps it.",
    unjudged="no error was wrapped",
)
def cause(history: History, model: ErrorModel) -> Verdicts:
    """Judge how errors with a class or code lead to what they wrap."""
    requirements = also(model, "wrapping.cause")
    for raised in raised_in(history):
        # What a library hides inside its own errors is not the subject's wrapping.
        links = wrapped(raised.chain)
        pairs = [(wrapper, link) for wrapper, link in pairwise(links) if partly_typed(wrapper)]
        if not pairs:
            continue
        yield held(*requirements)
        for wrapper, lost in pairs:
            if lost["link"] == "suppressed":
                yield broken(
                    requirements,
                    call=raised.call.id,
                    expected=f"{lost['type']} is the cause of {wrapper['type']}",
                    observed=f"{wrapper['type']} hides it (raised from None)",
                    events=(raised.end.seq,),
                    hint="Write `raise … from error`.",
                )
                break


def _said(link: Link) -> str:
    return f"{link['class']}/{link['code']}" if partly_typed(link) else "neither class nor code"
