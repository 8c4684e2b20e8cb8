"""Classification: what the subject says the failure is that ended a call."""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.attempts import Request
from faultclock.oracle.breaker import breaker_refusals
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import Verdicts, also, broken, check, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.plans import plans_of


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
        yield held(seen.requirement, *general)
        named = origin(chain_of(request.end))
        if typed(named) == seen.pair or _is_refusal(history, model, typed(named), request):
            continue
        said = f"{named.get('class')}/{named.get('code')}" if named else "neither class nor code"
        yield broken(
            (
                seen.requirement if named else next(iter(general), seen.requirement),
                seen.requirement,
                *general,
            ),
            call=request.id,
            expected=f"{seen} for {last.attempt.signal}",
            observed=f"the error declares {said}",
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
