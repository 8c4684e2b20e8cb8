"""The chain of providers: when the next one is asked, when none is, and which one is left out.

Where a request may go is found in `providers`; here is whether it went there. The attempts at each
provider are the business of `backoff.attempts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import ChainRules
from faultclock.model.trace.trace import seqs
from faultclock.oracle.check import Check, Verdicts, broken, check, held, otherwise, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.run_end import end_of
from faultclock.oracle.retries.providers import (
    Move,
    Turning,
    Visit,
    access_in,
    asked_nothing,
    failed_before_asking,
    turnings,
    visits_in,
)

_Requirements = tuple[str | None, ...]
_Judge = Callable[[History, ErrorModel, ChainRules, _Requirements], Verdicts]
Part = Literal["advances", "stops", "after_content", "park"]


def _chain_check(
    id_: str, part: Part, *, title: str, says: str, unjudged: str
) -> Callable[[_Judge], Check]:
    """Make a check of a function that is given the rules of the chain, and one part's sentence."""

    def made(judge: _Judge) -> Check:
        def run(history: History, model: ErrorModel) -> Verdicts:
            rules = model.chain
            if rules is None:
                yield otherwise("the document says nothing of a chain of providers")
            elif not history.world.fallbacks:
                yield otherwise("there is one provider only")
            else:
                yield from judge(history, model, rules, (rules.requirements.get(part),))

        return check(id_, title=title, says=says, unjudged=unjudged, role="runtime")(run)

    return made


def _name(provider: str) -> str:
    return f"the provider {provider}" if provider else "the first provider"


def _why(visit: Visit) -> str:
    return f"{visit.last.attempt.signal} is {visit.last.classification}"


def _events(visit: Visit) -> tuple[int, ...]:
    """Return the events of how a visit ended, and of what was asked after it."""
    following = visit.following
    return (*visit.last.attempt.events, *seqs(following.start if following else None))


# -------------------------------------------------------------------- where a request goes


@_chain_check(
    "chain.advances",
    "advances",
    title="The next provider is asked",
    says="After a failure that another provider may not have, the next one is asked.",
    unjudged="no failure made another provider due",
)
def advances(
    history: History, model: ErrorModel, rules: ChainRules, requirements: _Requirements
) -> Verdicts:
    """Judge whom a request asks first, whom it asks after a failure, and that it ends well then."""
    for turning in turnings(history, model, rules):
        if turning.move == "advances":
            yield from _judge_advance(history, model, turning, requirements)
    for visit in visits_in(history, model):
        yield from _judge_first(history, model, visit, requirements)
        yield from _judge_success(history, model, visit, requirements)


def _judge_advance(
    history: History, model: ErrorModel, turning: Turning, requirements: _Requirements
) -> Verdicts:
    visit, following = turning.visit, turning.visit.following
    asked = f"{_name(turning.may[-1])} is asked next: " if turning.may else ""
    if following is None:
        if not turning.due or not visit.is_over or visit.last.act == "retry":
            return
        yield broken(
            requirements,
            call=visit.call.id,
            expected=f"{asked}{_why(visit)}",
            observed="no other provider was asked",
            events=(*_events(visit), *seqs(visit.request.end)),
            hint="Is the failure taken for a fatal one, or is the chain not asked at all?",
        )
        return
    access, start, provider = access_in(history, model), following.start, following.provider
    back = access.order.index(provider) < access.order.index(visit.provider)
    gate = access.gate(provider, visit.call.life, start.seq, start.at_ns)
    if not back and provider not in turning.may and gate == "shut":
        # That one must not be asked at all: `chain.parks` and `breaker.opens` say so.
        return
    yield verdict(
        requirements,
        "" if provider in turning.may else f"{_name(provider)} was asked",
        call=visit.call.id,
        expected=f"{asked or 'no provider is left to be asked: '}{_why(visit)}",
        events=_events(visit),
        hint="The providers of a chain are asked in their order, each one once.",
    )


def _judge_first(
    history: History, model: ErrorModel, visit: Visit, requirements: _Requirements
) -> Verdicts:
    """Judge that the first request of a turn goes to the first provider that may be asked."""
    if not visit.first or visit.request.number != 1 or visit.call.attempts[0].start != visit.start:
        return
    access, start = access_in(history, model), visit.start
    instant = (visit.call.life, start.seq, start.at_ns)
    may, _ = access.first_open(access.order, *instant)
    if visit.provider in may or access.gate(visit.provider, *instant) == "shut":
        return
    yield broken(
        requirements,
        call=visit.call.id,
        expected=f"{_name(may[-1])} is asked first: it may be asked",
        observed=f"{_name(visit.provider)} was asked",
        events=(visit.start.seq,),
        hint="Is a parked provider left out for good?",
    )


def _judge_success(
    history: History, model: ErrorModel, visit: Visit, requirements: _Requirements
) -> Verdicts:
    """Judge that a turn does not end by a failure that a fallback has made good."""
    end, last = end_of(model, visit.call), visit.last.attempt
    if visit.first or last.outcome != "ok" or end is None or end.pair is None:
        return
    if visit.call.last is None or visit.call.last.start != last.start:
        return
    own = (item for item in visits_in(history, model) if item.request is visit.request)
    earlier = next((item for item in own if "/".join(item.pair or ()) == end.pair), None)
    if earlier is not None:
        yield broken(
            requirements,
            call=visit.call.id,
            expected=f"the turn goes on with the answer of {_name(visit.provider)}",
            observed=f"{end}, although that provider had answered",
            events=(*earlier.last.attempt.events, *last.events),
            hint="Is the first error raised in the end, though a later provider answered?",
        )


# ------------------------------------------------------------------------------ where it ends


@_chain_check(
    "chain.stops",
    "stops",
    title="The chain ends",
    says="After any other failure, no other provider is asked.",
    unjudged="no failure made the chain end",
)
def stops(
    history: History, model: ErrorModel, rules: ChainRules, requirements: _Requirements
) -> Verdicts:
    """Judge the failures after which no provider is asked."""
    for turning in turnings(history, model, rules):
        yield from _judge_end(turning, "stops", requirements, "which ends the chain")


@_chain_check(
    "chain.after-content",
    "after_content",
    title="No failover within an answer",
    says="After content of an answer was passed on, no other provider is asked for it.",
    unjudged="no answer failed after some of its content",
)
def after_content(
    history: History, model: ErrorModel, rules: ChainRules, requirements: _Requirements
) -> Verdicts:
    """Judge the answers that failed when some of their content had been passed on."""
    because = "after content of the answer was passed on"
    for turning in turnings(history, model, rules):
        yield from _judge_end(turning, "after_content", requirements, because)


def _judge_end(turning: Turning, move: Move, requirements: _Requirements, because: str) -> Verdicts:
    visit, following = turning.visit, turning.visit.following
    # Without a further provider that could be asked, none could have been in any case.
    could = turning.left and (turning.due or following is not None)
    if turning.move == move and could and visit.is_over:
        yield verdict(
            requirements,
            None if following is None else f"{_name(following.provider)} was asked",
            call=visit.call.id,
            expected=f"no other provider is asked: {_why(visit)}, {because}",
            events=_events(visit),
            hint="Often a chain that goes on after every exception.",
        )


# --------------------------------------------------------------------------- who is left out


@_chain_check(
    "chain.parks",
    "park",
    title="Parked providers are left out",
    says="A parked provider is skipped, and the run goes on without it.",
    unjudged="nothing was asked while a provider was parked",
)
def parks(
    history: History, model: ErrorModel, rules: ChainRules, requirements: _Requirements
) -> Verdicts:
    """Judge what was asked, and which turns ended, while a provider was parked."""
    access = access_in(history, model)
    for visit in visits_in(history, model):
        instant = (visit.call.life, visit.start.seq, visit.start.at_ns)
        if access.parked(visit.provider, *instant) == "shut":
            parked = access.parks_of(visit.provider, visit.call.life, visit.start.seq)[-1]
            longest = format_duration(max(rules.park.values()))
            yield broken(
                requirements,
                call=visit.call.id,
                expected=f"{_name(visit.provider)} is parked, and is not asked for up to {longest}",
                observed="it was asked",
                events=(*parked.events, visit.start.seq),
                hint="Parking holds over all turns of the process.",
            )
        elif any(access.parked(item, *instant) == "shut" for item in visit.skipped):
            yield held(*requirements)
    yield from _judge_silence(history, model, requirements)


def _judge_silence(history: History, model: ErrorModel, requirements: _Requirements) -> Verdicts:
    """Judge the turns that ended and asked no provider while one was parked."""
    access = access_in(history, model)
    if history.world.workflow is not None:
        return
    for call in filter(asked_nothing, history.calls):
        instant = (call.life, call.start.seq, call.start.at_ns)
        parked = any(access.parked(item, *instant) == "shut" for item in access.order)
        may, due = access.first_open(access.order, *instant)
        if parked and due and not failed_before_asking(history, call):
            yield broken(
                requirements,
                call=call.id,
                expected=f"{_name(may[-1])} is asked: a parked provider is skipped",
                observed=f"{end_of(model, call)}, and none was asked",
                events=call.bounds,
            )
