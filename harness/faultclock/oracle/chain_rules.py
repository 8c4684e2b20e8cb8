"""The chain of providers: when the next one is asked, when none is, and which one is left out.

Where a request may go is found in `chain_turnings`; here is whether it went there. The attempts at
each provider are the business of `backoff.attempts`.
"""

from __future__ import annotations

from typing import Literal

from faultclock.model.duration import format_duration
from faultclock.model.failure_rules import ChainRules
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain_turnings import Turning, first_open, gate, turnings
from faultclock.oracle.check import Case, Check, Outcome, Violation
from faultclock.oracle.plans import providers_of
from faultclock.oracle.run_end import end_of
from faultclock.oracle.silent_turns import failed_before_asking
from faultclock.oracle.visits import Visit

__all__ = ["CHECKS"]


def _nothing(case: Case) -> str:
    """Return why there is nothing to judge in any case; empty where there is something."""
    if case.model.chain is None:
        return "the document says nothing of a chain of providers"
    if not case.trace.header.scenario.fallbacks:
        return "there is one provider only"
    return ""


def _name(provider: str) -> str:
    return f"the provider {provider}" if provider else "the first provider"


# -------------------------------------------------------------------- where a request goes


def _advances(case: Case) -> Outcome:
    outcome = Outcome(reason=_nothing(case) or "no failure made another provider due")
    rules = case.model.chain
    if rules is None or not case.trace.header.scenario.fallbacks:
        return outcome
    requirement = rules.requirements.get("advances")
    for turning in turnings(case, rules):
        if turning.move == "advances":
            _judge_advance(case, turning, requirement, outcome)
    for visit in case.visits:
        _judge_first(case, visit, requirement, outcome)
        _judge_success(case, visit, requirement, outcome)
    return outcome


def _judge_advance(case: Case, turning: Turning, requirement: str | None, outcome: Outcome) -> None:
    visit, following = turning.visit, turning.visit.following
    if following is None:
        if not turning.due or not visit.is_over or visit.last.act == "retry":
            return
        end = visit.request.end
        outcome.looked_at(requirement)
        outcome.violate(
            Violation(
                requirement=requirement,
                call=visit.call.id,
                expected=f"{_name(turning.may[-1])} is asked next: {_why(visit)}",
                observed="no other provider was asked",
                events=(*visit.last.attempt.events, *(() if end is None else (end.seq,))),
                hint="Is the failure taken for a fatal one, or is the chain not asked at all?",
            )
        )
        return
    order = providers_of(case.trace.header.scenario)
    back = order.index(following) < order.index(visit.provider)
    if not back and following not in turning.may and _is_shut(case, visit):
        # That one must not be asked at all: `chain.parks` and `breaker.opens` say so.
        return
    outcome.looked_at(requirement)
    if following in turning.may:
        return
    if turning.may:
        expected = f"{_name(turning.may[-1])} is asked next: {_why(visit)}"
    else:
        expected = f"no provider is left to be asked: {_why(visit)}"
    outcome.violate(
        Violation(
            requirement=requirement,
            call=visit.call.id,
            expected=expected,
            observed=f"{_name(following)} was asked",
            events=(*visit.last.attempt.events, *_start(visit)),
            hint="The providers of a chain are asked in their order, each one once.",
        )
    )


def _is_shut(case: Case, visit: Visit) -> bool:
    start = visit.following_start
    if start is None or visit.following is None:
        return False
    return gate(case, visit.following, visit.call.life, start.seq, start.at_ns) == "shut"


def _why(visit: Visit) -> str:
    return f"{visit.last.attempt.signal} is {visit.last.classification}"


def _start(visit: Visit) -> tuple[int, ...]:
    return () if visit.following_start is None else (visit.following_start.seq,)


def _judge_first(case: Case, visit: Visit, requirement: str | None, outcome: Outcome) -> None:
    """Judge that the first request of a turn goes to the first provider that may be asked."""
    if not visit.first or visit.request.number != 1 or visit.call.attempts[0].start != visit.start:
        return
    order, start = providers_of(case.trace.header.scenario), visit.start
    may, _ = first_open(case, visit.call, order, start.seq, start.at_ns)
    if visit.provider in may:
        return
    if gate(case, visit.provider, visit.call.life, start.seq, start.at_ns) == "shut":
        return
    outcome.looked_at(requirement)
    outcome.violate(
        Violation(
            requirement=requirement,
            call=visit.call.id,
            expected=f"{_name(may[-1])} is asked first: it may be asked",
            observed=f"{_name(visit.provider)} was asked",
            events=(visit.start.seq,),
            hint="Is a parked provider left out for good?",
        )
    )


def _judge_success(case: Case, visit: Visit, requirement: str | None, outcome: Outcome) -> None:
    """Judge that a turn does not end by a failure that a fallback has made good."""
    if visit.first or visit.last.attempt.outcome != "ok":
        return
    end = end_of(case, visit.call)
    if end is None or end.pair is None:
        return
    if visit.call.attempts[-1].start != visit.last.attempt.start:
        return
    for earlier in case.visits:
        made_good = earlier.request is visit.request and earlier.pair is not None
        if made_good and earlier.pair is not None and "/".join(earlier.pair) == end.pair:
            outcome.looked_at(requirement)
            outcome.violate(
                Violation(
                    requirement=requirement,
                    call=visit.call.id,
                    expected=f"the turn goes on with the answer of {_name(visit.provider)}",
                    observed=f"{end}, although that provider had answered",
                    events=(*earlier.last.attempt.events, *visit.last.attempt.events),
                    hint="Is the first error raised in the end, though a later provider answered?",
                )
            )
            return


# ------------------------------------------------------------------------------ where it ends


def _stops(case: Case) -> Outcome:
    outcome = Outcome(reason=_nothing(case) or "no failure made the chain end")
    rules = case.model.chain
    if rules is not None:
        _judge_ends(case, rules, "stops", outcome)
    return outcome


def _after_content(case: Case) -> Outcome:
    outcome = Outcome(reason=_nothing(case) or "no answer failed after some of its content")
    rules = case.model.chain
    if rules is not None:
        _judge_ends(case, rules, "after_content", outcome)
    return outcome


_WHY_NOBODY = {
    "stops": "no other provider is asked: {}, which ends the chain",
    "after_content": "no other provider is asked: {}, after content of the answer was passed on",
}


def _judge_ends(
    case: Case, rules: ChainRules, move: Literal["stops", "after_content"], outcome: Outcome
) -> None:
    requirement = rules.requirements.get(move)
    for turning in turnings(case, rules):
        visit = turning.visit
        if turning.move != move or not turning.left or not visit.is_over:
            continue
        if visit.following is None and not turning.due:
            # No provider could have been asked in any case.
            continue
        outcome.looked_at(requirement)
        if visit.following is not None:
            outcome.violate(
                Violation(
                    requirement=requirement,
                    call=visit.call.id,
                    expected=_WHY_NOBODY[move].format(_why(visit)),
                    observed=f"{_name(visit.following)} was asked",
                    events=(*visit.last.attempt.events, *_start(visit)),
                    hint="Often a chain that goes on after every exception.",
                )
            )


# --------------------------------------------------------------------------- who is left out


def _parks(case: Case) -> Outcome:
    outcome = Outcome(reason=_nothing(case) or "nothing was asked while a provider was parked")
    rules = case.model.chain
    if rules is None or not case.trace.header.scenario.fallbacks:
        return outcome
    requirement = rules.requirements.get("park")
    order = providers_of(case.trace.header.scenario)
    before: dict[int, int] = {}
    for visit in case.visits:
        place = order.index(visit.provider)
        since = -1 if visit.first else before.get(visit.request.attempts[0].start.seq, -1)
        before[visit.request.attempts[0].start.seq] = place
        life, start = visit.call.life, visit.start
        if case.parks.gate(visit.provider, life, start.seq, start.at_ns) == "shut":
            outcome.looked_at(requirement)
            outcome.violate(_asked_though_parked(case, rules, visit, requirement))
        elif any(
            case.parks.gate(provider, life, start.seq, start.at_ns) == "shut"
            for provider in order[since + 1 : place]
        ):
            outcome.looked_at(requirement)
    for call in case.calls:
        left = _could_have_been_asked(case, call)
        if left is not None:
            outcome.looked_at(requirement)
            outcome.violate(_ended_instead(case, call, left, requirement))
    return outcome


def _asked_though_parked(
    case: Case, rules: ChainRules, visit: Visit, requirement: str | None
) -> Violation:
    start = visit.start
    shown = case.parks.shown_by(visit.provider, visit.call.life, start.seq)
    longest = format_duration(max(rules.park.values()))
    return Violation(
        requirement=requirement,
        call=visit.call.id,
        expected=f"{_name(visit.provider)} is parked, and is not asked for up to {longest}",
        observed="it was asked",
        events=(*shown, start.seq),
        hint="Parking holds over all turns of the process.",
    )


def _could_have_been_asked(case: Case, call: Call) -> str | None:
    """Return who was not asked by a turn that ended because another provider was parked."""
    if not call.is_turn or call.attempts or call.end is None or call.stop is not None:
        return None
    if case.trace.header.scenario.workflow is not None or failed_before_asking(case, call):
        return None
    order, start = providers_of(case.trace.header.scenario), call.start
    if not any(
        case.parks.gate(provider, call.life, start.seq, start.at_ns) == "shut" for provider in order
    ):
        return None
    may, due = first_open(case, call, order, start.seq, start.at_ns)
    return may[-1] if due else None


def _ended_instead(case: Case, call: Call, left: str, requirement: str | None) -> Violation:
    return Violation(
        requirement=requirement,
        call=call.id,
        expected=f"{_name(left)} is asked: a parked provider is skipped",
        observed=f"{end_of(case, call)}, and none was asked",
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
