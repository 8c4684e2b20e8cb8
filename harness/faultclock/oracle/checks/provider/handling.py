"""What the caller gets when something fails: an end, a failure that says what failed, no secret.

For every role. The recorder marks an error as an accident where no `raise` statement raised it: a
ValueError from a date, a KeyError from a body.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, takewhile

from msgspec import Struct

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.scenario import ASKING_ROLES
from faultclock.model.secrets import SECRET, SECRET_SHAPE
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import (
    Verdicts,
    Violation,
    also,
    broken,
    check,
    held,
    only_of,
    otherwise,
)
from faultclock.oracle.checks.provider.retries import ATTEMPTS_MAX
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import Link, chain_of
from faultclock.oracle.wire.retry_hints import floor_of
from faultclock.oracle.wire.signals import Signal, classify
from faultclock.oracle.wire.stops import HANGS
from faultclock.oracle.words import short

#: Failures that are an answer which cannot be read: then an error of a decoder names the failure.
_UNREADABLE = ("malformed_body", "body_cut", "stream_cut")
_DECODERS = frozenset({"json.decoder.JSONDecodeError", "UnicodeDecodeError"})
#: Longest part of a message that a finding shows, in characters.
_SHOWN = 120
#: Endings of a run: nothing is left that could wake anybody, and its time is up.
_NOTHING_LEFT = "deadlock"
#: How a run was over in which a call hung, in words.
_HUNG = {
    "deadlock": "and nothing was left that could have ended it",
    "livelock": "and went on without any time passing",
}
_HUNG_ELSE = "when the run was stopped"
_LIMIT = "virtual_time_limit"
#: What never comes, where a turn waits for it.
_NEVER = {
    "tool": "the turn waits for a tool that never replies",
    "person": "the turn waits for a person who never answers",
}


class Raised(Struct, frozen=True, kw_only=True):
    """A call that ended with an error.

    Attributes:
        chain: the errors, outermost first; at least one.
        signal: of the failure that the call met last; None where its last attempt did not fail.
    """

    call: Call
    end: TraceEvent
    chain: Sequence[Link]
    signal: Signal | None

    @property
    def is_unreadable(self) -> bool:
        """Whether the call met an answer last that cannot be read."""
        return self.signal is not None and self.signal.kind in _UNREADABLE

    @property
    def is_of_a_decoder(self) -> bool:
        """Whether the error is that of the decoder which could not read the last answer."""
        outermost = self.chain[0]
        accident = bool(outermost.get("accident")) and outermost["type"] in _DECODERS
        return accident and self.is_unreadable

    def __str__(self) -> str:
        return _shown(self.chain[0])


@once
def raised_in(history: History) -> tuple[Raised, ...]:
    """Return the calls that ended with an error, in order."""
    return tuple(
        Raised(
            call=call,
            end=call.end,
            chain=chain_of(call.end),
            signal=None if call.last_failure is None else call.last_failure.signal,
        )
        for call in history.calls
        if call.raised and call.end is not None
    )


def _shown(link: Link) -> str:
    message = short(" ".join(link["message"].split()), _SHOWN)
    return f"{link['type']}: {message}" if message else str(link["type"])


# ------------------------------------------------------------------------------- every call ends


@check(
    "calls.end",
    title="Every call ends",
    says="Every call returns or raises. None waits for ever.",
    unjudged="no call began",
    about={f"calls.end.{held_by}": only_of("runtime") for held_by in ("tool", "model", "person")},
)
def ends(history: History, model: ErrorModel) -> Verdicts:
    """Judge the calls that nothing stopped, in runs that show whether they end."""
    everywhere = also(model, "calls.end.any") or also(model, "calls.end")
    footer = history.trace.footer
    for call in history.calls:
        if call.crashed is not None or call.left is not None or call.stop is not None:
            continue
        if call.over is None and (footer.ending not in HANGS or _is_patient(history, call)):
            continue
        held_by = _held_by(history, call)
        if call.over is None and held_by == "any" and _asks_for_ever(history, model, call):
            yield otherwise("what asks again and again without an end, retries.bounded judges")
            continue
        requirements = also(model, f"calls.end.{held_by}")
        # That a turn goes on and on does not show that it would never have ended.
        if held_by != "model" or call.over is not None or not requirements:
            requirements = (*requirements, *everywhere)
        yield held(*requirements)
        if call.over is None:
            waits_for = _waits_for(history, call, held_by)
            limited = held_by == "model" and _is_limited(history, call)
            yield broken(
                requirements,
                call=call.id,
                expected="the call returns or raises",
                observed=(
                    "a limit ended an agent that is a tool, and the turn had not met its own yet"
                    if limited
                    else _unended(history, call, held_by, waits_for)
                ),
                # Each agent has its own limit: their requests together show none.
                inconclusive=limited,
                events=(call.start.seq, *(call.last.events if call.last is not None else ())),
                hint="Give every wait a deadline: connecting, reading, and the call as a whole.",
                cause=waits_for,
            )


def _held_by(history: History, call: Call) -> str:
    """Return what may keep a call for ever: a `tool`, a `person`, the `model`, or `any`."""
    met = {event.fault_kind for event in history.of("fault.fired") if event.call == call.id}
    if "hang" in met:
        return "tool"
    if "never" in met:
        return "person"
    goes_on = call.over is not None or history.trace.footer.ending == _LIMIT
    goes_on = goes_on and history.is_runtime
    return "model" if goes_on and any(item.tool_calls for item in call.attempts) else "any"


def _asks_for_ever(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether a call did not end since it went on to retry: no deadline is a cure of it."""
    is_retrying = any(len(request.attempts) > ATTEMPTS_MAX for request in call.requests)
    goes_on = history.trace.footer.ending == _LIMIT
    return is_retrying and goes_on and bool(also(model, "retries.bounded"))


def _is_limited(history: History, call: Call) -> bool:
    """Return whether an agent that is a tool ended although the model asked for more.

    The one that had asked such an agent went on after that.
    """
    answers = [item for item in history.answers if item.in_call is call]
    return any(
        item.next is None
        and asker.next is not None
        and asker.next.start.seq > item.attempt.start.seq
        for number, item in enumerate(answers)
        for asker in answers[:number]
    )


def _waits_for(history: History, call: Call, held_by: str) -> str:
    """Return in words what a call waits for that never comes; empty where it is not known."""
    if history.trace.footer.ending != _NOTHING_LEFT:
        return ""
    if held_by == "any":
        unanswered = any(attempt.outcome == "open" for attempt in call.attempts)
        return "the call waits for an answer that never comes" if unanswered else ""
    return _NEVER.get(held_by, "")


def _unended(history: History, call: Call, held_by: str, waits_for: str) -> str:
    """Return in words how a call did not end, and then what the run says of its threads."""
    footer = history.trace.footer
    lasted = format_duration(footer.ended_at_ns - call.start.at_ns)
    if waits_for:
        said = f"{waits_for}, and nothing ends the wait"
    elif held_by == "model":
        asked = sum(bool(attempt.tool_calls) for attempt in call.attempts)
        said = f"the model asked for tools {asked} times, and no limit ended the turn in {lasted}"
    else:
        said = f"it had not ended after {lasted}, {_HUNG.get(footer.ending, _HUNG_ELSE)}"
    return "; ".join((said, *footer.detail))


def _is_patient(history: History, call: Call) -> bool:
    """Return whether the call still waits because an answer asked it to."""
    last = call.last_failure
    if last is None or last.known_ns is None:
        return False
    asked = floor_of(last.hints)
    return asked is not None and last.known_ns + asked.wait_ns > history.trace.footer.ended_at_ns


# --------------------------------------------------------------------------- which error it is


@check(
    "handler.crash",
    title="The handler does not crash",
    says="The error that leaves a call is the failure or wraps it, and no accident of the"
    " code that handles it.",
    unjudged="no call met a failure",
)
def crash(history: History, model: ErrorModel) -> Verdicts:
    """Judge the errors that left calls; that of a decoder is the next check's."""
    requirements = also(model, "handler.crash")
    for call in history.calls:
        if call.returned and any(attempt.failed for attempt in call.attempts):
            yield held(*requirements)
    for raised in raised_in(history):
        if raised.is_of_a_decoder or not _met_something(history, raised):
            continue
        yield held(*requirements)
        # SystemExit ends the process of the caller, which is more than a crash of the handler.
        if raised.chain[0].get("accident") or raised.chain[0]["type"] == "SystemExit":
            yield _accident(
                raised,
                requirements,
                "Read headers and bodies as input that may hold anything: check, or catch and go"
                " on.",
            )


@check(
    "handler.unreadable",
    title="An unreadable answer has an error of its own",
    says="A broken answer ends a call with an error of the client's own, and not with that of"
    " a decoder.",
    unjudged="no answer that cannot be read ended a call with an error",
)
def unreadable(history: History, model: ErrorModel) -> Verdicts:
    """Judge the errors of calls that met an answer last that cannot be read."""
    requirements = also(model, "handler.unreadable")
    for raised in raised_in(history):
        if raised.is_unreadable:
            yield held(*requirements)
        if raised.is_of_a_decoder:
            hint = "Catch the decoder's error, and raise the client's own from it."
            yield _accident(raised, requirements, hint)


def _met_something(history: History, raised: Raised) -> bool:
    """Return whether a call had anything to handle: an answer, or a fault of whatever kind.

    A tool, an extension and a store are given what they handle.
    """
    if history.trace.header.scenario.role not in ASKING_ROLES or raised.call.attempts:
        return True
    return any(event.seq < raised.end.seq for event in history.of("fault.fired"))


def _accident(raised: Raised, requirements: tuple[str, ...], hint: str) -> Violation:
    last = raised.call.last
    what = "" if last is None or last.signal is None else f": {last.signal}"
    return broken(
        requirements,
        call=raised.call.id,
        expected=f"an error that says what failed{what}",
        observed=f"{raised} left the call",
        events=(*(last.events if last is not None else ()), raised.end.seq),
        hint=hint,
    )


@check(
    "errors.apart",
    title="Failures leave different errors",
    says="A rate limit, a refused key, a wrong request and an outage leave different errors.",
    unjudged="no two calls failed in ways that need different reactions",
)
def apart(history: History, model: ErrorModel) -> Verdicts:
    """Judge the first error of each class that a caller has to tell from the others."""
    requirements = also(model, "errors.apart")
    seen: dict[str, tuple[Raised, tuple[tuple[str, str], ...]]] = {}
    for raised in raised_in(history):
        pair = None if raised.signal is None else classify(model, raised.signal).pair
        if pair is not None and pair[0] in model.told_apart:
            # What lies behind `raise … from None` was hidden on purpose.
            shown = takewhile(lambda link: link["link"] != "suppressed", raised.chain)
            looks = tuple((link["type"], link["message"]) for link in shown)
            seen.setdefault(pair[0], (raised, looks))
    if len(seen) < 2:
        return
    yield held(*requirements)
    for (one, looks), (other, others_looks) in combinations(seen.values(), 2):
        if looks == others_looks:
            yield broken(
                requirements,
                call=other.call.id,
                expected=f"{one.signal} and {other.signal} leave different errors",
                observed=f"both are {looks[0][0]} with the same message and causes",
                events=(one.end.seq, other.end.seq),
                hint="Keep the status on the error, or raise a type for each kind.",
            )
            return


@check(
    "errors.secrets",
    title="No secret in an error",
    says="No error that leaves a call holds an API key.",
    unjudged="no call ended with an error",
)
def secrets(history: History, model: ErrorModel) -> Verdicts:
    """Judge the messages of all errors that left a call, but for those that it hides."""
    requirements = also(model, "errors.secrets")
    for raised in raised_in(history):
        yield held(*requirements)
        shown = (link for link in raised.chain if link["link"] != "suppressed")
        leaking = next((link for link in shown if _holds_a_secret(link["message"])), None)
        # Providers shorten a key before they repeat it: a client that passes it on leaks nothing.
        signals = (attempt.signal for attempt in raised.call.attempts)
        passed_on = any(_holds_a_secret(signal.message) for signal in signals if signal is not None)
        if leaking is not None and not passed_on and not _is_a_tools(history, raised, leaking):
            yield broken(
                requirements,
                call=raised.call.id,
                expected="an error without the API key",
                observed=_shown(leaking),
                events=(raised.end.seq,),
                hint="Keep keys out of URLs, and headers out of messages.",
            )


def _holds_a_secret(text: str | None) -> bool:
    return text is not None and (SECRET in text or SECRET_SHAPE.search(text) is not None)


def _is_a_tools(history: History, raised: Raised, link: Link) -> bool:
    """Return whether the words of an error are a tool's own: its exception, or one that quotes it.

    What a tool puts into its exception is the tool's doing, and no key of the client.
    """
    own = history.of("tool.raised") if history.is_runtime else ()
    types = {event.type for event in own if event.call == raised.call.id}
    words = [one["message"] for one in raised.chain if one["type"].rpartition(".")[2] in types]
    return any(said and said in link["message"] for said in words)
