"""What an error says of itself: the class and code of the failure, also where another one wraps it.

A wrapper keeps class and code, and leaves what it wraps reachable.
"""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.oracle.check import Verdicts, also, check, otherwise, verdict
from faultclock.oracle.checks.provider.handling import raised_in
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.breaker_refusals import breaker_refusals
from faultclock.oracle.retries.plans import plans_of
from faultclock.oracle.wire.attempts import Request
from faultclock.oracle.wire.chain import Link, chain_of, origin, partly_typed, typed, wrapped


@check(
    "classification.declared",
    title="Declared class and code",
    says="An error that ends a call carries the class and code of its last failure.",
    unjudged="no call ended with an error",
)
def declared(history: History, model: ErrorModel) -> Verdicts:
    """Judge the class and code of each error that ended a call."""
    general = also(model, "classification.declared")
    for request, steps in plans_of(history, model):
        if not request.raised or request.end is None or not steps or not steps[-1].attempt.failed:
            continue
        last = steps[-1]
        seen = last.classification
        if seen is None or seen.pair is None:
            unmapped = "" if seen is None else f": {seen.unmapped}"
            yield otherwise(f"the document has no class for {last.attempt.signal}{unmapped}")
            continue
        named = origin(chain_of(request.end))
        right = typed(named) == seen.pair or _is_refusal(history, model, typed(named), request)
        said = f"{named.get('class')}/{named.get('code')}" if named else "neither class nor code"
        first = general[:1] if not named and not right else ()
        yield verdict(
            (*first, seen.requirement, *general),
            "" if right else f"the error declares {said}",
            call=request.id,
            expected=f"{seen} for {last.attempt.signal}",
            events=(*last.attempt.events, request.end.seq),
            hint=""
            if named
            else "Give the error `error_class` and `code`, or the binding `classify`.",
        )


def _is_refusal(
    history: History, model: ErrorModel, pair: tuple[str, str] | None, request: Request
) -> bool:
    """Return whether the end shows a retry that an open breaker kept back."""
    rules = model.breaker
    if pair is None or rules is None or "/".join(pair) != rules.refusal:
        return False
    return any(
        item.call == request.id and not item.moved for item in breaker_refusals(history, model)
    )


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
        # What callers meet is the outermost; one in between may be silent, but not differ.
        differing = (link for link in outside if _said(link) != _said(inner))
        changed = next((link for link in differing if link is links[0] or partly_typed(link)), None)
        yield verdict(
            requirements,
            f"{changed['type']} around it declares {_said(changed)}" if changed else "",
            call=raised.call.id,
            expected=f"{_said(inner)}, as {inner['type']} declares it",
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
        hidden = [pair for pair in pairs if pair[1]["link"] == "suppressed"]
        wrapper, lost = (hidden or pairs)[0]
        yield verdict(
            requirements,
            f"{wrapper['type']} hides it (raised from None)" if hidden else "",
            call=raised.call.id,
            expected=f"{lost['type']} is the cause of {wrapper['type']}",
            events=(raised.end.seq,),
            hint="Write `raise … from error`.",
        )


def _said(link: Link) -> str:
    return f"{link['class']}/{link['code']}" if partly_typed(link) else "neither class nor code"
