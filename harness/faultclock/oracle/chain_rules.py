"""The chain of providers: when the next one is asked, when none is, and which one is left out.

Where a request may go is found in `chain_turnings`; here is whether it went there. The attempts at
each provider are the business of `backoff.attempts`.
"""

from __future__ import annotations

from typing import Literal

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import ChainRules
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain_turnings import Turning, first_open, gate, turnings
from faultclock.oracle.check import Check, Verdicts, Violation, broken, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.plans import providers_of
from faultclock.oracle.run_end import end_of
from faultclock.oracle.silent_turns import failed_before_asking
from faultclock.oracle.visits import Visit, parks_in, visits_in

__all__ = ["CHECKS"]


def _nothing(history: History, model: ErrorModel) -> str:
    """Return why there is nothing to judge in any case; empty where there is something."""
    if model.chain is None:
        return "the document says nothing of a chain of providers"
    if not history.trace.header.scenario.fallbacks:
        return "there is one provider only"
    return ""


def _name(provider: str) -> str:
    return f"the provider {provider}" if provider else "the first provider"


# -------------------------------------------------------------------- where a request goes


def _advances(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise(_nothing(history, model) or "no failure made another provider due")
    rules = model.chain
    if rules is None or not history.trace.header.scenario.fallbacks:
        return
    requirement = rules.requirements.get("advances")
    for turning in turnings(history, model, rules):
        if turning.move == "advances":
            yield from _judge_advance(history, model, turning, requirement)
    for visit in visits_in(history, model):
        yield from _judge_first(history, model, visit, requirement)
        yield from _judge_success(history, model, visit, requirement)


def _judge_advance(
    history: History, model: ErrorModel, turning: Turning, requirement: str | None
) -> Verdicts:
    visit, following = turning.visit, turning.visit.following
    if following is None:
        if not turning.due or not visit.is_over or visit.last.act == "retry":
            return
        end = visit.request.end
        yield held(requirement)
        yield broken(
            (requirement,),
            call=visit.call.id,
            expected=f"{_name(turning.may[-1])} is asked next: {_why(visit)}",
            observed="no other provider was asked",
            events=(*visit.last.attempt.events, *(() if end is None else (end.seq,))),
            hint="Is the failure taken for a fatal one, or is the chain not asked at all?",
        )
        return
    order = providers_of(history.trace.header.scenario)
    back = order.index(following) < order.index(visit.provider)
    if not back and following not in turning.may and _is_shut(history, model, visit):
        # That one must not be asked at all: `chain.parks` and `breaker.opens` say so.
        return
    yield held(requirement)
    if following in turning.may:
        return
    if turning.may:
        expected = f"{_name(turning.may[-1])} is asked next: {_why(visit)}"
    else:
        expected = f"no provider is left to be asked: {_why(visit)}"
    yield broken(
        (requirement,),
        call=visit.call.id,
        expected=expected,
        observed=f"{_name(following)} was asked",
        events=(*visit.last.attempt.events, *_start(visit)),
        hint="The providers of a chain are asked in their order, each one once.",
    )


def _is_shut(history: History, model: ErrorModel, visit: Visit) -> bool:
    start = visit.following_start
    if start is None or visit.following is None:
        return False
    return gate(history, model, visit.following, visit.call.life, start.seq, start.at_ns) == "shut"


def _why(visit: Visit) -> str:
    return f"{visit.last.attempt.signal} is {visit.last.classification}"


def _start(visit: Visit) -> tuple[int, ...]:
    return () if visit.following_start is None else (visit.following_start.seq,)


def _judge_first(
    history: History, model: ErrorModel, visit: Visit, requirement: str | None
) -> Verdicts:
    """Judge that the first request of a turn goes to the first provider that may be asked."""
    if not visit.first or visit.request.number != 1 or visit.call.attempts[0].start != visit.start:
        return
    order, start = providers_of(history.trace.header.scenario), visit.start
    may, _ = first_open(history, model, visit.call, order, start.seq, start.at_ns)
    if visit.provider in may:
        return
    if gate(history, model, visit.provider, visit.call.life, start.seq, start.at_ns) == "shut":
        return
    yield held(requirement)
    yield broken(
        (requirement,),
        call=visit.call.id,
        expected=f"{_name(may[-1])} is asked first: it may be asked",
        observed=f"{_name(visit.provider)} was asked",
        events=(visit.start.seq,),
        hint="Is a parked provider left out for good?",
    )


def _judge_success(
    history: History, model: ErrorModel, visit: Visit, requirement: str | None
) -> Verdicts:
    """Judge that a turn does not end by a failure that a fallback has made good."""
    if visit.first or visit.last.attempt.outcome != "ok":
        return
    end = end_of(model, visit.call)
    if end is None or end.pair is None:
        return
    if visit.call.attempts[-1].start != visit.last.attempt.start:
        return
    for earlier in visits_in(history, model):
        made_good = earlier.request is visit.request and earlier.pair is not None
        if made_good and earlier.pair is not None and "/".join(earlier.pair) == end.pair:
            yield held(requirement)
            yield broken(
                (requirement,),
                call=visit.call.id,
                expected=f"the turn goes on with the answer of {_name(visit.provider)}",
                observed=f"{end}, although that provider had answered",
                events=(*earlier.last.attempt.events, *visit.last.attempt.events),
                hint="Is the first error raised in the end, though a later provider answered?",
            )
            return


# ------------------------------------------------------------------------------ where it ends


def _stops(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise(_nothing(history, model) or "no failure made the chain end")
    rules = model.chain
    if rules is not None:
        yield from _judge_ends(history, model, rules, "stops")


def _after_content(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise(_nothing(history, model) or "no answer failed after some of its content")
    rules = model.chain
    if rules is not None:
        yield from _judge_ends(history, model, rules, "after_content")


_WHY_NOBODY = {
    "stops": "no other provider is asked: {}, which ends the chain",
    "after_content": "no other provider is asked: {}, after content of the answer was passed on",
}


def _judge_ends(
    history: History, model: ErrorModel, rules: ChainRules, move: Literal["stops", "after_content"]
) -> Verdicts:
    requirement = rules.requirements.get(move)
    for turning in turnings(history, model, rules):
        visit = turning.visit
        if turning.move != move or not turning.left or not visit.is_over:
            continue
        if visit.following is None and not turning.due:
            # No provider could have been asked in any case.
            continue
        yield held(requirement)
        if visit.following is not None:
            yield broken(
                (requirement,),
                call=visit.call.id,
                expected=_WHY_NOBODY[move].format(_why(visit)),
                observed=f"{_name(visit.following)} was asked",
                events=(*visit.last.attempt.events, *_start(visit)),
                hint="Often a chain that goes on after every exception.",
            )


# --------------------------------------------------------------------------- who is left out


def _parks(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise(_nothing(history, model) or "nothing was asked while a provider was parked")
    rules = model.chain
    if rules is None or not history.trace.header.scenario.fallbacks:
        return
    requirement = rules.requirements.get("park")
    order = providers_of(history.trace.header.scenario)
    before: dict[int, int] = {}
    for visit in visits_in(history, model):
        place = order.index(visit.provider)
        since = -1 if visit.first else before.get(visit.request.attempts[0].start.seq, -1)
        before[visit.request.attempts[0].start.seq] = place
        life, start = visit.call.life, visit.start
        if parks_in(history, model).gate(visit.provider, life, start.seq, start.at_ns) == "shut":
            yield held(requirement)
            yield _asked_though_parked(history, model, rules, visit, requirement)
        elif any(
            parks_in(history, model).gate(provider, life, start.seq, start.at_ns) == "shut"
            for provider in order[since + 1 : place]
        ):
            yield held(requirement)
    for call in history.calls:
        left = _could_have_been_asked(history, model, call)
        if left is not None:
            yield held(requirement)
            yield _ended_instead(model, call, left, requirement)


def _asked_though_parked(
    history: History, model: ErrorModel, rules: ChainRules, visit: Visit, requirement: str | None
) -> Violation:
    start = visit.start
    shown = parks_in(history, model).shown_by(visit.provider, visit.call.life, start.seq)
    longest = format_duration(max(rules.park.values()))
    return Violation(
        requirement=requirement,
        call=visit.call.id,
        expected=f"{_name(visit.provider)} is parked, and is not asked for up to {longest}",
        observed="it was asked",
        events=(*shown, start.seq),
        hint="Parking holds over all turns of the process.",
    )


def _could_have_been_asked(history: History, model: ErrorModel, call: Call) -> str | None:
    """Return who was not asked by a turn that ended because another provider was parked."""
    if not call.is_turn or call.attempts or call.end is None or call.stop is not None:
        return None
    if history.trace.header.scenario.workflow is not None or failed_before_asking(history, call):
        return None
    order, start = providers_of(history.trace.header.scenario), call.start
    if not any(
        parks_in(history, model).gate(provider, call.life, start.seq, start.at_ns) == "shut"
        for provider in order
    ):
        return None
    may, due = first_open(history, model, call, order, start.seq, start.at_ns)
    return may[-1] if due else None


def _ended_instead(model: ErrorModel, call: Call, left: str, requirement: str | None) -> Violation:
    return Violation(
        requirement=requirement,
        call=call.id,
        expected=f"{_name(left)} is asked: a parked provider is skipped",
        observed=f"{end_of(model, call)}, and none was asked",
        events=(call.start.seq, *(() if call.end is None else (call.end.seq,))),
    )


CHECKS = (
    Check(
        id="chain.advances",
        title="The next provider is asked",
        says="After a failure that another provider may not have, the next one is asked.",
        run=_advances,
    ),
    Check(
        id="chain.stops",
        title="The chain ends",
        says="After any other failure, no other provider is asked.",
        run=_stops,
    ),
    Check(
        id="chain.after-content",
        title="No failover within an answer",
        says="After content of an answer was passed on, no other provider is asked for it.",
        run=_after_content,
    ),
    Check(
        id="chain.parks",
        title="Parked providers are left out",
        says="A parked provider is skipped, and the run goes on without it.",
        run=_parks,
    ),
)
