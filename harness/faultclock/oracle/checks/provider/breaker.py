"""Circuit breakers: what they open on, what is refused meanwhile, the probe, and what closes them.

The states are folded over the observed attempts (see `breaker_fold`). What was kept back in them
is found first, and then judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import covers
from faultclock.model.error_model.turn_rules import split
from faultclock.oracle.check import Check, Verdicts, broken, check, held, otherwise, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.run_end import end_of
from faultclock.oracle.retries.breaker_fold import Breakers, Passage, Snapshot, breakers_in
from faultclock.oracle.retries.breaker_refusals import (
    BreakerRefusal,
    breaker_refusals,
    moves_on,
    names_refusal,
)
from faultclock.oracle.retries.providers import (
    access_in,
)
from faultclock.oracle.wire.attempts import Call

# -------------------------------------------------------------------------------------- checks

_Requirements = tuple[str | None, ...]
_Judge = Callable[[History, ErrorModel, Breakers, _Requirements], Verdicts]
Part = Literal["opens", "refuses", "half_open", "closes"]


def _breaker_check(
    part: Part, *, title: str, says: str, unjudged: str
) -> Callable[[_Judge], Check]:
    """Make a check of a function that is given the breakers of a trace, and a part's sentence."""

    def made(judge: _Judge) -> Check:
        def run(history: History, model: ErrorModel) -> Verdicts:
            breakers = breakers_in(history, model)
            if breakers is None:
                yield otherwise("the document says nothing of circuit breakers")
            else:
                requirement = breakers.rules.requirements.get(part)
                yield from judge(history, model, breakers, (requirement,))

        id_ = f"breaker.{part.replace('_', '-')}"
        return check(id_, title=title, says=says, unjudged=unjudged, role="runtime")(run)

    return made


# ------------------------------------------------------------------------ what comes too soon


@_breaker_check(
    "opens",
    title="Open breakers let nothing through",
    says="After the set number of failures in a row, no request is sent for the set time.",
    unjudged="no breaker opened, or nothing was asked while it was open",
)
def opens(
    history: History, model: ErrorModel, breakers: Breakers, requirements: _Requirements
) -> Verdicts:
    """Judge what met a breaker that counted failures had opened, and what was refused by one."""
    for passage in breakers.passages:
        if passage.met == "open" and not passage.before.reopened:
            yield from _sent_while_open(breakers, passage, requirements)
    for refusal in breaker_refusals(history, model):
        call = history.call(refusal.call)
        if call and not breakers.at(refusal.provider, call.life, refusal.seq + 1).reopened:
            yield held(*requirements)
    for call, state in _refused_for_nothing(history, model, breakers):
        if state.opened == 0:
            after = f"it opens after {breakers.rules.failures} counted failures in a row"
            yield from _wedged(call, requirements, after)


def _sent_while_open(breakers: Breakers, passage: Passage, requirements: _Requirements) -> Verdicts:
    rules, attempt, before = breakers.rules, passage.attempt, passage.before
    since = attempt.start.at_ns - (before.until_high_ns - rules.open_for)
    yield broken(
        requirements,
        call=attempt.call,
        expected=f"nothing is sent for {format_duration(rules.open_for)} after the breaker opened",
        observed=f"a request was sent {format_duration(max(0, since))} after it opened",
        events=(*before.by, *attempt.events),
        hint=f"{rules.failures} failures in a row open it, over all turns of the process.",
    )


# ------------------------------------------------------------------------- what is refused


@_breaker_check(
    "refuses",
    title="An open breaker refuses requests",
    says="While it is open, a request fails with its error or goes to the next provider.",
    unjudged="nothing was asked while a breaker was open",
)
def refuses(
    history: History, model: ErrorModel, breakers: Breakers, requirements: _Requirements
) -> Verdicts:
    """Judge how a request ended that met an open breaker."""
    judged: set[tuple[str, int]] = set()
    for refusal in breaker_refusals(history, model):
        call = history.call(refusal.call)
        if call is None or (refusal.call, refusal.seq) in judged:
            continue
        judged.add((refusal.call, refusal.seq))
        expected, observed = _not_refused(history, model, breakers.rules.refusal, call, refusal)
        yield verdict(
            requirements, observed, call=call.id, expected=expected, events=refusal.events
        )


def _not_refused(
    history: History, model: ErrorModel, pair: str, call: Call, refusal: BreakerRefusal
) -> tuple[str, str]:
    """Return what was expected and observed where a refusal is none; empty where it is one."""
    expected, goes_on = f"{pair}: the breaker is open", moves_on(model)
    if refusal.moved:
        return expected, "" if goes_on else "another provider was asked in its place"
    access, instant = access_in(history, model), (call.life, refusal.seq + 1, refusal.at_ns)
    later = access.order[access.order.index(refusal.provider) + 1 :]
    if goes_on and any(access.gate(item, *instant) == "free" for item in later):
        return "the next provider is asked: the breaker is open", "none was asked"
    end = end_of(model, call)
    # What else a run may carry that ends by the refusal.
    rules = (rule for rule in model.consequences if covers(rule.applies_to, split(pair)))
    right = refusal.told or end is None or any(end.pair in rule.carries for rule in rules)
    return expected, "" if right else str(end)


# ------------------------------------------------------------- the probe, and what closes it


@_breaker_check(
    "half_open",
    title="Probes of a half-open breaker",
    says="After that time the set number of probes is sent, and a failed probe opens it again.",
    unjudged="no breaker was open for its whole time and then asked again",
)
def half_open(
    history: History, model: ErrorModel, breakers: Breakers, requirements: _Requirements
) -> Verdicts:
    """Judge the probes, what is sent beside them, and what is sent after a failed one."""
    for passage in breakers.passages:
        if passage.met == "probe":
            yield held(*requirements)
        elif passage.met == "crowded":
            yield from _crowded(breakers, passage, requirements)
        elif passage.met == "open" and passage.before.reopened:
            yield from _sent_while_open(breakers, passage, requirements)
    for call, state in _refused_for_nothing(history, model, breakers):
        if state.state != "closed":
            after = format_duration(breakers.rules.open_for)
            yield from _wedged(
                call, requirements, f"a probe is let through {after} after it opened"
            )


def _crowded(breakers: Breakers, passage: Passage, requirements: _Requirements) -> Verdicts:
    most, attempt = breakers.rules.half_open_probes, passage.attempt
    yield broken(
        requirements,
        call=attempt.call,
        expected=f"at most {most} requests at once until one has ended: the breaker is half open",
        observed=f"another one was sent beside {passage.before.probes}",
        events=(*passage.before.by, *attempt.events),
        hint="Is the probe marked as under way before it is sent?",
    )


@_breaker_check(
    "closes",
    title="A good probe closes the breaker",
    says="After a good probe, requests flow again.",
    unjudged="no probe closed a breaker before something else was asked",
)
def closes(
    history: History, model: ErrorModel, breakers: Breakers, requirements: _Requirements
) -> Verdicts:
    """Judge what was asked after a good probe."""
    for passage in breakers.passages:
        if passage.before.state == "closed" and passage.before.closed:
            yield held(*requirements)
    for call, state in _refused_for_nothing(history, model, breakers):
        if state.state == "closed" and state.opened:
            yield from _wedged(call, requirements, "a good probe closes the breaker")


def _refused_for_nothing(
    history: History, model: ErrorModel, breakers: Breakers
) -> Iterator[tuple[Call, Snapshot]]:
    """Yield the turns that were refused while no breaker was shut, and the first one's state."""
    order = access_in(history, model).order
    for call in history.calls:
        start, end = call.start, call.end
        if not call.is_turn or end is None or not names_refusal(history, model, call):
            continue
        if not any(breakers.shut_within(item, call.life, start, end) for item in order):
            yield call, breakers.at("", call.life, start.seq)


def _wedged(call: Call, requirements: _Requirements, expected: str) -> Verdicts:
    yield broken(
        requirements,
        call=call.id,
        expected=expected,
        observed="a request was refused while the breaker had to let it through",
        events=call.bounds,
        hint="A probe that was cancelled, or failed without counting, is over as well.",
    )
