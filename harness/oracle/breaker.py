"""Circuit breakers: what they open on, what is refused meanwhile, the probe, and what closes them.

The states are folded over the observed attempts (see `breaker_fold`). That something was asked
for while a breaker was open is seen from a turn, a retry or a step of a chain that was due and
was not made; that it was refused, from the class and code that the subject tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.model.duration import format_duration
from harness.model.failure_rules import covers
from harness.oracle.attempts import Call
from harness.oracle.breaker_fold import Breakers, Passage, Snapshot
from harness.oracle.check import Case, Check, Outcome, Violation
from harness.oracle.plans import providers_of
from harness.oracle.requests import Request
from harness.oracle.run_end import end_of, told_pairs
from harness.oracle.silent_turns import failed_before_asking

__all__ = ["CHECKS", "BreakerRefusal", "breaker_refusals"]

_NONE = "the document says nothing of circuit breakers"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRefusal:
    """Something that was asked of a provider while its breaker was shut, and was not sent.

    Attributes:
        provider: empty for the first of the chain.
        seq: the fact after which it was refused, at `at_ns`.
        moved: whether another provider was asked in its place.
        told: whether the subject says that it was refused.
    """

    call: str
    provider: str
    at_ns: int
    seq: int
    moved: bool
    told: bool
    events: tuple[int, ...]


def breaker_refusals(case: Case) -> tuple[BreakerRefusal, ...]:
    """Return what open breakers kept back, in order; nothing where the model has none."""
    breakers = case.breakers
    if breakers is None:
        return ()
    found: list[BreakerRefusal] = []
    for call in case.calls:
        if call.is_turn:
            found += _never_asked(case, breakers, call)
    for request, _ in case.plans:
        owner = case.call(request.id)
        if owner is not None and owner.is_turn:
            found += _skipped(case, breakers, owner, request)
            found += _not_retried(case, breakers, owner, request)
    return tuple(sorted(found, key=lambda item: item.seq))


def _never_asked(case: Case, breakers: Breakers, call: Call) -> Iterator[BreakerRefusal]:
    """Yield the refusal of a turn in which no provider was asked."""
    if call.attempts or call.end is None or call.stop is not None:
        return
    told = breakers.rules.refusal in told_pairs(case, call)
    if case.trace.header.scenario.workflow is not None and not told:
        # It need not have come to a node that asks the model.
        return
    if not told and failed_before_asking(case, call):
        return
    for provider in providers_of(case.trace.header.scenario):
        if breakers.gate(provider, call.life, call.start.seq, call.start.at_ns) != "shut":
            continue
        opened = breakers.at(provider, call.life, call.start.seq).by
        yield BreakerRefusal(
            call=call.id,
            provider=provider,
            at_ns=call.start.at_ns,
            seq=call.start.seq,
            moved=False,
            told=told,
            events=(*opened, call.start.seq, call.end.seq),
        )
        if case.model.chain is None or not _moves_on(case):
            return


def _skipped(
    case: Case, breakers: Breakers, call: Call, request: Request
) -> Iterator[BreakerRefusal]:
    """Yield the providers of a chain that a request passed over."""
    order = providers_of(case.trace.header.scenario)
    before = -1
    for attempt in request.attempts:
        place = order.index(attempt.provider)
        for provider in order[before + 1 : place]:
            start = attempt.start
            if breakers.gate(provider, call.life, start.seq, start.at_ns) == "shut":
                yield BreakerRefusal(
                    call=call.id,
                    provider=provider,
                    at_ns=start.at_ns,
                    seq=start.seq - 1,
                    moved=True,
                    told=breakers.rules.refusal in told_pairs(case, call),
                    events=(*breakers.at(provider, call.life, start.seq).by, start.seq),
                )
        before = place


def _not_retried(
    case: Case, breakers: Breakers, call: Call, request: Request
) -> Iterator[BreakerRefusal]:
    """Yield the refusal of what a request wanted after its last attempt, where it is told."""
    last = request.last_failure
    if last is None or request.end is None or not request.gave_up | request.returned:
        return
    end = request.end
    shut = breakers.gate(last.provider, call.life, end.seq, end.at_ns) == "shut"
    if shut and breakers.rules.refusal in told_pairs(case, call):
        yield BreakerRefusal(
            call=call.id,
            provider=last.provider,
            at_ns=max(last.start.at_ns, last.known_ns or 0),
            seq=max(last.events),
            moved=False,
            told=True,
            events=(*last.events, end.seq),
        )


def _moves_on(case: Case) -> bool:
    """Return whether the chain goes to the next provider from one whose breaker is open."""
    chain, rules = case.model.chain, case.model.breaker
    if chain is None or rules is None:
        return False
    class_name, _, code = rules.refusal.partition("/")
    pair = (class_name, code)
    return covers(chain.advances_on, pair) and not covers(chain.stops_on, pair)


# ------------------------------------------------------------------------ what comes too soon


def _opens(case: Case) -> Outcome:
    breakers = case.breakers
    if breakers is None:
        return Outcome(reason=_NONE)
    outcome = Outcome(reason="no breaker opened, or nothing was asked while it was open")
    requirement = breakers.rules.requirements.get("opens")
    for passage in breakers.passages:
        if passage.met == "open" and not passage.before.reopened:
            outcome.looked_at(requirement)
            outcome.violate(_sent_while_open(breakers, passage, requirement))
    for refusal in breaker_refusals(case):
        call = case.call(refusal.call)
        if call is None:
            continue
        if not breakers.at(refusal.provider, call.life, refusal.seq + 1).reopened:
            outcome.looked_at(requirement)
    for call in _refused_for_nothing(case, breakers):
        if _state_for(breakers, call).opened == 0:
            outcome.looked_at(requirement)
            outcome.violate(
                _wedged(
                    call,
                    requirement,
                    f"it opens after {breakers.rules.failures} counted failures in a row",
                )
            )
    return outcome


def _sent_while_open(breakers: Breakers, passage: Passage, requirement: str | None) -> Violation:
    rules, attempt, before = breakers.rules, passage.attempt, passage.before
    since = attempt.start.at_ns - (before.until_high_ns - rules.open_for)
    return Violation(
        requirement=requirement,
        call=attempt.call,
        expected=f"nothing is sent for {format_duration(rules.open_for)} after the breaker opened",
        observed=f"a request was sent {format_duration(max(0, since))} after it opened",
        events=(*before.by, *attempt.events),
        hint=f"{rules.failures} failures in a row open it, over all turns of the process.",
    )


# ------------------------------------------------------------------------- what is refused


def _refuses(case: Case) -> Outcome:
    breakers = case.breakers
    if breakers is None:
        return Outcome(reason=_NONE)
    outcome = Outcome(reason="nothing was asked while a breaker was open")
    requirement = breakers.rules.requirements.get("refuses")
    judged: set[tuple[str, int]] = set()
    for refusal in breaker_refusals(case):
        call = case.call(refusal.call)
        if call is None or (refusal.call, refusal.seq) in judged:
            continue
        judged.add((refusal.call, refusal.seq))
        outcome.looked_at(requirement)
        fault = _not_refused(case, breakers, call, refusal)
        if fault is not None:
            outcome.violate(
                Violation(
                    requirement=requirement,
                    call=call.id,
                    expected=fault[0],
                    observed=fault[1],
                    events=refusal.events,
                )
            )
    return outcome


def _not_refused(
    case: Case, breakers: Breakers, call: Call, refusal: BreakerRefusal
) -> tuple[str, str] | None:
    """Return what was expected and observed where a refusal is none; None where it is one."""
    pair = breakers.rules.refusal
    if refusal.moved:
        if _moves_on(case):
            return None
        return f"{pair}: the breaker is open", "another provider was asked in its place"
    if _moves_on(case) and _another_is_free(case, breakers, call, refusal):
        return "the next provider is asked: the breaker is open", "none was asked"
    end = end_of(case, call)
    if refusal.told or end is None:
        return None
    if end.pair is not None and end.pair in _carried(case, pair):
        return None
    return f"{pair}: the breaker is open", str(end)


def _carried(case: Case, pair: str) -> frozenset[str]:
    """Return what else a run may carry that ends by the refusal."""
    class_name, _, code = pair.partition("/")
    return frozenset(
        carried
        for rule in case.model.consequences
        if covers(rule.applies_to, (class_name, code))
        for carried in rule.carries
    )


def _another_is_free(case: Case, breakers: Breakers, call: Call, refusal: BreakerRefusal) -> bool:
    order = providers_of(case.trace.header.scenario)
    return any(
        breakers.gate(provider, call.life, refusal.seq + 1, refusal.at_ns) == "free"
        and case.parks.gate(provider, call.life, refusal.seq + 1, refusal.at_ns) == "free"
        for provider in order[order.index(refusal.provider) + 1 :]
    )


# ------------------------------------------------------------- the probe, and what closes it


def _half_open(case: Case) -> Outcome:
    breakers = case.breakers
    if breakers is None:
        return Outcome(reason=_NONE)
    outcome = Outcome(reason="no breaker was open for its whole time and then asked again")
    requirement = breakers.rules.requirements.get("half_open")
    for passage in breakers.passages:
        if passage.met == "probe":
            outcome.looked_at(requirement)
        elif passage.met == "crowded":
            outcome.looked_at(requirement)
            outcome.violate(_crowded(breakers, passage, requirement))
        elif passage.met == "open" and passage.before.reopened:
            outcome.looked_at(requirement)
            outcome.violate(_sent_while_open(breakers, passage, requirement))
    for call in _refused_for_nothing(case, breakers):
        if _state_for(breakers, call).state != "closed":
            outcome.looked_at(requirement)
            after = format_duration(breakers.rules.open_for)
            outcome.violate(
                _wedged(call, requirement, f"a probe is let through {after} after it opened")
            )
    return outcome


def _crowded(breakers: Breakers, passage: Passage, requirement: str | None) -> Violation:
    most, attempt = breakers.rules.half_open_probes, passage.attempt
    return Violation(
        requirement=requirement,
        call=attempt.call,
        expected=f"at most {most} requests at once until one has ended: the breaker is half open",
        observed=f"another one was sent beside {passage.before.probes}",
        events=(*passage.before.by, *attempt.events),
        hint="Is the probe marked as under way before it is sent?",
    )


def _closes(case: Case) -> Outcome:
    breakers = case.breakers
    if breakers is None:
        return Outcome(reason=_NONE)
    outcome = Outcome(reason="no probe closed a breaker before something else was asked")
    requirement = breakers.rules.requirements.get("closes")
    for passage in breakers.passages:
        if passage.before.state == "closed" and passage.before.closed:
            outcome.looked_at(requirement)
    for call in _refused_for_nothing(case, breakers):
        state = _state_for(breakers, call)
        if state.state == "closed" and state.opened:
            outcome.looked_at(requirement)
            outcome.violate(_wedged(call, requirement, "a good probe closes the breaker"))
    return outcome


def _refused_for_nothing(case: Case, breakers: Breakers) -> Iterator[Call]:
    """Yield the turns that were refused while no breaker was shut at any time."""
    for call in case.calls:
        if not call.is_turn or call.end is None:
            continue
        if breakers.rules.refusal not in told_pairs(case, call):
            continue
        since = (call.start.seq, call.start.at_ns)
        if not any(
            breakers.shut_within(provider, call.life, since, call.end.seq)
            for provider in providers_of(case.trace.header.scenario)
        ):
            yield call


def _state_for(breakers: Breakers, call: Call) -> Snapshot:
    return breakers.at("", call.life, call.start.seq)


def _wedged(call: Call, requirement: str | None, expected: str) -> Violation:
    end = (call.end.seq,) if call.end is not None else ()
    return Violation(
        requirement=requirement,
        call=call.id,
        expected=expected,
        observed="a request was refused while the breaker had to let it through",
        events=(call.start.seq, *end),
        hint="A probe that was cancelled, or failed without counting, is over as well.",
    )


CHECKS = (
    Check(
        id="breaker.opens",
        title="Open breakers let nothing through",
        says="After so many counted failures in a row, nothing is sent for as long as is said.",
        run=_opens,
    ),
    Check(
        id="breaker.refuses",
        title="Refused by an open breaker",
        says="What is asked meanwhile is refused as such, or goes to the next provider.",
        run=_refuses,
    ),
    Check(
        id="breaker.half-open",
        title="Probes of a half-open breaker",
        says="When the time is over so many probes are let through, and a bad one opens it again.",
        run=_half_open,
    ),
    Check(
        id="breaker.closes",
        title="Closed by a good probe",
        says="After a good probe, requests flow again.",
        run=_closes,
    ),
)
