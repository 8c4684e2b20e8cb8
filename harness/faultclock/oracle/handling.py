"""What the caller gets when something fails: an end, a failure that says what failed, no secret.

For every role. An accident of the handling code (a ValueError from a date, a KeyError from a body)
is told from a failure that was raised on purpose by what the recorder saw: the line that raised it
was no `raise` statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.secrets import SECRET, SECRET_SHAPE
from faultclock.oracle.attempts import Attempt, Call
from faultclock.oracle.chain import Link, chain_of
from faultclock.oracle.check import (
    Check,
    Verdicts,
    Violation,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.retry_hints import floor_of, hints_of
from faultclock.oracle.signals import Signal, classify

__all__ = ["CHECKS"]

#: Endings of a run in which a call that has not ended would never have.
_HANGS = ("deadlock", "livelock", "virtual_time_limit")
#: Failures that are an answer which cannot be read: then an error of a decoder names the failure.
_UNREADABLE = ("malformed_body", "body_cut", "stream_cut")
_DECODERS = frozenset({"json.decoder.JSONDecodeError", "UnicodeDecodeError"})
#: Longest part of a message that a finding shows, in characters.
_SHORT = 120


def _ends(history: History, model: ErrorModel) -> Verdicts:
    everywhere = also(model, "calls.end.any") or also(model, "calls.end")
    yield otherwise("no call began")
    footer = history.trace.footer
    for call in history.calls:
        if call.crashed is not None or call.left is not None or call.stop is not None:
            continue
        if call.over is None and (footer.ending not in _HANGS or _is_patient(history, call)):
            continue
        requirements = (*also(model, f"calls.end.{_held_by(history, call)}"), *everywhere)
        yield held(*dict.fromkeys(requirements))
        if call.over is not None:
            continue
        lasted = format_duration(footer.ended_at_ns - call.start.at_ns)
        where = f": {'; '.join(footer.detail)}" if footer.detail else ""
        yield broken(
            requirements,
            call=call.id,
            expected="the call returns or raises",
            observed=f"it had not ended after {lasted}, when the run ended by"
            f" {footer.ending.replace('_', ' ')}{where}",
            events=(call.start.seq, *(call.attempts[-1].events if call.attempts else ())),
            hint="Give every wait a deadline: connecting, reading, and the call as a whole.",
        )


def _held_by(history: History, call: Call) -> str:
    """Return what a call may wait for for ever: a `tool`, a `person`, the `model`, or `any`."""
    met = {event.fault_kind for event in history.of("fault.fired") if event.call == call.id}
    if "hang" in met:
        return "tool"
    if "never" in met:
        return "person"
    return "model" if any(attempt.tool_calls for attempt in call.attempts) else "any"


def _is_patient(history: History, call: Call) -> bool:
    """Return whether the call still waits because an answer asked it to."""
    last = call.last_failure
    if last is None or last.known_ns is None:
        return False
    asked = floor_of(hints_of(last))
    return asked is not None and last.known_ns + asked.wait_ns > history.trace.footer.ended_at_ns


def _crash(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "handler.crash")
    yield otherwise("no call met a failure")
    for call in history.calls:
        if call.returned and any(attempt.failed for attempt in call.attempts):
            yield held(*requirements)
    for call, chain in _raised(history):
        if _names_what_it_could_not_read(call, chain[0]):
            continue
        yield held(*requirements)
        # Who ends the process of its caller crashes more than itself.
        if not chain[0].get("accident") and chain[0].get("type") != "SystemExit":
            continue
        hint = "Read headers and bodies as input that may hold anything: check, or catch and go on."
        yield _accident(call, chain, requirements, hint)


def _unreadable(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "handler.unreadable")
    yield otherwise("no answer that cannot be read ended a call with an error")
    for call, chain in _raised(history):
        last = call.last_failure
        if last is None or last.signal is None or last.signal.kind not in _UNREADABLE:
            continue
        yield held(*requirements)
        if _names_what_it_could_not_read(call, chain[0]):
            hint = "Catch the decoder's error, and raise the client's own from it."
            yield _accident(call, chain, requirements, hint)


def _raised(history: History) -> Iterator[tuple[Call, list[Link]]]:
    for call in history.calls:
        if call.raised and call.end is not None and (chain := chain_of(call.end)):
            yield call, chain


def _names_what_it_could_not_read(call: Call, link: Link) -> bool:
    last = call.last_failure
    return (
        bool(link.get("accident"))
        and link.get("type") in _DECODERS
        and last is not None
        and last.signal is not None
        and last.signal.kind in _UNREADABLE
    )


def _accident(call: Call, chain: list[Link], requirements: tuple[str, ...], hint: str) -> Violation:
    last = call.attempts[-1] if call.attempts else None
    return Violation(
        requirement=next(iter(requirements), None),
        call=call.id,
        expected=f"an error that says what failed{_what(last)}",
        observed=f"{_short(chain[0])} left the call",
        events=(*(last.events if last is not None else ()), call.end.seq if call.end else 0),
        hint=hint,
    )


def _what(attempt: Attempt | None) -> str:
    return "" if attempt is None or attempt.signal is None else f": {attempt.signal}"


def _short(link: Link) -> str:
    message = " ".join(str(link.get("message") or "").split())
    if len(message) > _SHORT:
        message = f"{message[: _SHORT - 1]}…"
    return f"{link.get('type')}: {message}" if message else str(link.get("type"))


def _apart(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "errors.apart")
    yield otherwise("no two calls failed in ways that need different reactions")
    seen: dict[str, tuple[Call, Signal, tuple[tuple[object, object], ...]]] = {}
    for call, chain in _raised(history):
        last = call.last_failure
        found = None if last is None or last.signal is None else classify(model, last.signal)
        if last is None or last.signal is None or found is None or found.pair is None:
            continue
        kind = found.pair[0]
        if kind not in model.told_apart:
            continue
        seen.setdefault(kind, (call, last.signal, _looks(chain)))
    if len(seen) < 2:
        return
    yield held(*requirements)
    kinds = list(seen)
    for index, one in enumerate(kinds):
        for other in kinds[index + 1 :]:
            if seen[one][2] == seen[other][2]:
                ends = (seen[name][0].end for name in (one, other))
                yield broken(
                    requirements,
                    call=seen[other][0].id,
                    expected=f"{seen[one][1]} and {seen[other][1]} leave different errors",
                    observed=f"both are {seen[one][2][0][0]} with the same message and causes",
                    events=tuple(end.seq for end in ends if end is not None),
                    hint="Keep the status on the error, or raise a type for each kind.",
                )
                return


def _looks(chain: list[Link]) -> tuple[tuple[object, object], ...]:
    """Return all by which a caller can tell one error from another."""
    # What lies behind `raise … from None` was hidden on purpose.
    shown = takewhile(lambda link: link.get("link") != "suppressed", chain)
    return tuple((link.get("type"), link.get("message")) for link in shown)


def _secrets(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "errors.secrets")
    yield otherwise("no call ended with an error")
    for call, chain in _raised(history):
        yield held(*requirements)
        leaking = next((link for link in chain if _holds_a_secret(link)), None)
        if leaking is None or _is_the_providers(call) or _is_a_tools(history, call, leaking):
            continue
        yield broken(
            requirements,
            call=call.id,
            expected="an error without the API key",
            observed=f"{_short(leaking)}",
            events=() if call.end is None else (call.end.seq,),
            hint="Keep keys out of URLs, and headers out of messages.",
        )


def _holds_a_secret(link: Link) -> bool:
    text = str(link.get("message") or "")
    return SECRET in text or SECRET_SHAPE.search(text) is not None


def _is_the_providers(call: Call) -> bool:
    """Return whether the provider's own answer repeats the key: then the client only passes it on.

    Providers shorten a key before they repeat it, so such a text is none that opens anything.
    """
    for attempt in call.attempts:
        error = attempt.signal.message if attempt.signal is not None else None
        if error is not None and (SECRET in error or SECRET_SHAPE.search(error)):
            return True
    return False


def _is_a_tools(history: History, call: Call, link: Link) -> bool:
    """Return whether an exception of a tool left a turn as it was: its words are the tool's own."""
    raised = history.of("tool.raised") if history.is_runtime else ()
    name = str(link.get("type")).rpartition(".")[2]
    return any(event.call == call.id and event.type == name for event in raised)


CHECKS = (
    Check(
        id="calls.end",
        title="Every call ends",
        says="Every call returns or raises. None waits for ever.",
        run=_ends,
    ),
    Check(
        id="handler.crash",
        title="The handler does not crash",
        says="The error that leaves a call is the failure or wraps it, and no accident of the"
        " code that handles it.",
        run=_crash,
    ),
    Check(
        id="handler.unreadable",
        title="An unreadable answer has an error of its own",
        says="A broken answer ends a call with an error of the client's own, and not with that of"
        " a decoder.",
        run=_unreadable,
    ),
    Check(
        id="errors.apart",
        title="Failures leave different errors",
        says="A rate limit, a refused key, a wrong request and an outage leave different errors.",
        run=_apart,
    ),
    Check(
        id="errors.secrets",
        title="No secret in an error",
        says="No error that leaves a call holds an API key.",
        run=_secrets,
    ),
)
