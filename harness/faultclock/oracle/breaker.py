"""Circuit breakers: what they open on, what is refused meanwhile, the probe, and what closes them.

The states are folded over the observed attempts (see `breaker_fold`), and what was kept back in
them is found in `breaker_refusals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import covers
from faultclock.model.turn_rules import split
from faultclock.oracle.attempts import Call
from faultclock.oracle.breaker_fold import Breakers, Passage, Snapshot, breakers_in
from faultclock.oracle.breaker_refusals import BreakerRefusal, breaker_refusals, moves_on
from faultclock.oracle.check import Check, Verdicts, Violation, broken, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.plans import providers_of
from faultclock.oracle.run_end import end_of, told_pairs
from faultclock.oracle.visits import parks_in

__all__ = ["CHECKS"]

_Part = Literal["opens", "refuses", "half_open", "closes"]
_NONE = "the document says nothing of circuit breakers"
#: Judges under one requirement of the rules.
_Judge = Callable[[History, ErrorModel, Breakers, str | None], Verdicts]


def _judged(
    judge: _Judge, part: _Part, *, or_else: str
) -> Callable[[History, ErrorModel], Verdicts]:
    """Return the check that lets `judge` look at the breakers of a model that has any.

    Args:
        part: what the rules call it that is judged.
        or_else: why there may be nothing to judge.
    """

    def run(history: History, model: ErrorModel) -> Verdicts:
        breakers = breakers_in(history, model)
        if breakers is None:
            yield otherwise(_NONE)
            return
        yield otherwise(or_else)
        yield from judge(history, model, breakers, breakers.rules.requirements.get(part))

    return run


# ------------------------------------------------------------------------ what comes too soon


def _opens(
    history: History, model: ErrorModel, breakers: Breakers, requirement: str | None
) -> Verdicts:
    for passage in breakers.passages:
        if passage.met == "open" and not passage.before.reopened:
            yield held(requirement)
            yield _sent_while_open(breakers, passage, requirement)
    for refusal in breaker_refusals(history, model):
        call = history.call(refusal.call)
        if call is None:
            continue
        if not breakers.at(refusal.provider, call.life, refusal.seq + 1).reopened:
            yield held(requirement)
    for call in _refused_for_nothing(history, model, breakers):
        if _state_for(breakers, call).opened == 0:
            yield held(requirement)
            yield _wedged(
                call,
                requirement,
                f"it opens after {breakers.rules.failures} counted failures in a row",
            )


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


def _refuses(
    history: History, model: ErrorModel, breakers: Breakers, requirement: str | None
) -> Verdicts:
    judged: set[tuple[str, int]] = set()
    for refusal in breaker_refusals(history, model):
        call = history.call(refusal.call)
        if call is None or (refusal.call, refusal.seq) in judged:
            continue
        judged.add((refusal.call, refusal.seq))
        yield held(requirement)
        fault = _not_refused(history, model, breakers, call, refusal)
        if fault is not None:
            yield broken(
                (requirement,),
                call=call.id,
                expected=fault[0],
                observed=fault[1],
                events=refusal.events,
            )


def _not_refused(
    history: History, model: ErrorModel, breakers: Breakers, call: Call, refusal: BreakerRefusal
) -> tuple[str, str] | None:
    """Return what was expected and observed where a refusal is none; None where it is one."""
    pair = breakers.rules.refusal
    if refusal.moved:
        if moves_on(model):
            return None
        return f"{pair}: the breaker is open", "another provider was asked in its place"
    if moves_on(model) and _another_is_free(history, model, breakers, call, refusal):
        return "the next provider is asked: the breaker is open", "none was asked"
    end = end_of(model, call)
    if refusal.told or end is None:
        return None
    if end.pair is not None and end.pair in _carried(model, pair):
        return None
    return f"{pair}: the breaker is open", str(end)


def _carried(model: ErrorModel, pair: str) -> frozenset[str]:
    """Return what else a run may carry that ends by the refusal."""
    return frozenset(
        carried
        for rule in model.consequences
        if covers(rule.applies_to, split(pair))
        for carried in rule.carries
    )


def _another_is_free(
    history: History, model: ErrorModel, breakers: Breakers, call: Call, refusal: BreakerRefusal
) -> bool:
    order = providers_of(history.trace.header.scenario)
    return any(
        breakers.gate(provider, call.life, refusal.seq + 1, refusal.at_ns) == "free"
        and parks_in(history, model).gate(provider, call.life, refusal.seq + 1, refusal.at_ns)
        == "free"
        for provider in order[order.index(refusal.provider) + 1 :]
    )


# ------------------------------------------------------------- the probe, and what closes it


def _half_open(
    history: History, model: ErrorModel, breakers: Breakers, requirement: str | None
) -> Verdicts:
    for passage in breakers.passages:
        if passage.met == "probe":
            yield held(requirement)
        elif passage.met == "crowded":
            yield held(requirement)
            yield _crowded(breakers, passage, requirement)
        elif passage.met == "open" and passage.before.reopened:
            yield held(requirement)
            yield _sent_while_open(breakers, passage, requirement)
    for call in _refused_for_nothing(history, model, breakers):
        if _state_for(breakers, call).state != "closed":
            yield held(requirement)
            after = format_duration(breakers.rules.open_for)
            yield _wedged(call, requirement, f"a probe is let through {after} after it opened")


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


def _closes(
    history: History, model: ErrorModel, breakers: Breakers, requirement: str | None
) -> Verdicts:
    for passage in breakers.passages:
        if passage.before.state == "closed" and passage.before.closed:
            yield held(requirement)
    for call in _refused_for_nothing(history, model, breakers):
        state = _state_for(breakers, call)
        if state.state == "closed" and state.opened:
            yield held(requirement)
            yield _wedged(call, requirement, "a good probe closes the breaker")


def _refused_for_nothing(history: History, model: ErrorModel, breakers: Breakers) -> Iterator[Call]:
    """Yield the turns that were refused while no breaker was shut at any time."""
    for call in history.calls:
        if not call.is_turn or call.end is None:
            continue
        if breakers.rules.refusal not in told_pairs(history, model, call):
            continue
        since = (call.start.seq, call.start.at_ns)
        if not any(
            breakers.shut_within(provider, call.life, since, call.end.seq)
            for provider in providers_of(history.trace.header.scenario)
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
        says="After the set number of failures in a row, no request is sent for the set time.",
        run=_judged(
            _opens, "opens", or_else="no breaker opened, or nothing was asked while it was open"
        ),
    ),
    Check(
        id="breaker.refuses",
        title="An open breaker refuses requests",
        says="While it is open, a request fails with its error or goes to the next provider.",
        run=_judged(_refuses, "refuses", or_else="nothing was asked while a breaker was open"),
    ),
    Check(
        id="breaker.half-open",
        title="Probes of a half-open breaker",
        says="After that time the set number of probes is sent, and a failed probe opens it again.",
        run=_judged(
            _half_open,
            "half_open",
            or_else="no breaker was open for its whole time and then asked again",
        ),
    ),
    Check(
        id="breaker.closes",
        title="A good probe closes the breaker",
        says="After a good probe, requests flow again.",
        run=_judged(
            _closes, "closes", or_else="no probe closed a breaker before something else was asked"
        ),
    ),
)
