"""What was attached to a runtime and never asked, or that it cannot be asked: nothing was shown.

A runtime that knows no extensions, and no state machine, does nothing wrong with them. A pass
would say that it does everything right.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.oracle.check import Violation
from faultclock.oracle.history import History
from faultclock.oracle.turn_facts import Life

__all__ = ["untouched"]


def untouched(history: History) -> Iterator[Violation]:
    """Yield what each life that opened its session left alone, although it was attached."""
    for life in history.lives:
        start = next(
            (call for call in history.calls if call.do == "start" and call.life == life.number),
            None,
        )
        if start is None or not start.returned:
            continue
        yield from _extensions(history, life)
        yield from _state_machine(history, life)
    if not any(life.crash for life in history.lives):
        yield from _failures(history)
    yield from _questions(history)
    yield from _left_running(history)


def _left_running(history: History) -> Iterator[Violation]:
    """Yield what still sleeps, and so will act again, in a process whose session was closed."""
    closed = next((call for call in reversed(history.calls) if call.do == "close"), None)
    if closed is None or closed.end is None or not closed.returned:
        return
    asleep = [
        event
        for event in history.of("sleep")
        if event.seq > closed.end.seq and (event.delay_ns or 0) > 0
    ]
    if asleep and closed is history.calls[-1]:
        yield Violation(
            requirement=None,
            call=str(asleep[0].call or closed.id),
            expected="nothing is left running when the session is closed",
            observed=f"something slept {len(asleep)} times more after that",
            events=(closed.end.seq, asleep[0].seq),
            hint="A thread that is not ended keeps the process alive: end it in `close`.",
            inconclusive=True,
        )


def _questions(history: History) -> Iterator[Violation]:
    """Yield each question that the runtime was to ask the person, and has no method for."""
    asks = {task.id for task in history.trace.header.scenario.tasks if task.do == "ask"}
    for event in history.of("call.skipped"):
        if event.task in asks and "has no ask" in str(event.why):
            yield Violation(
                requirement=None,
                call=str(event.call),
                expected="the runtime asks the person",
                observed="it has no method `ask`, so it could not",
                events=(event.seq,),
                inconclusive=True,
            )


def _extensions(history: History, life: Life) -> Iterator[Violation]:
    touched = {
        str(event.extension) for event in history.of("extension.phase") if event.life == life.number
    }
    left = [
        item.id
        for item in history.session.extensions
        # What depends on another one may have to wait for it for ever.
        if (not item.lives or life.number in item.lives)
        and item.id not in touched
        and not (touched and item.depends_on)
    ]
    turns = [call for call in history.calls if call.life == life.number and call.is_turn]
    if not left or not any(call.attempts for call in turns):
        return
    yield Violation(
        requirement=None,
        expected=f"life {life.number} initialises what is installed: {', '.join(left)}",
        observed="the session went on, and no phase of it ever ran",
        events=(life.start.seq,),
        hint="`surroundings.extensions` are to be initialised before the first turn.",
        inconclusive=True,
    )


def _failures(history: History) -> Iterator[Violation]:
    """Yield each phase that was to fail, and that was never asked for."""
    asked = {(event.extension, event.phase) for event in history.of("extension.phase")}
    known = {name for name, _ in asked}
    for item in history.session.extensions:
        for phase in item.fails_in:
            if item.id in known and (item.id, phase) not in asked:
                yield Violation(
                    requirement=None,
                    expected=f"the extension {item.id} fails in {phase}",
                    observed="the phase was never called, so it never failed",
                    hint="`deactivate` and `dispose` come with `close`, which a runtime may have.",
                    inconclusive=True,
                )


def _state_machine(history: History, life: Life) -> Iterator[Violation]:
    if not history.session.stages:
        return
    asked = {visit.call for visit in history.stage_visits}
    for call in history.calls:
        if call.life != life.number or not call.is_turn or call.id in asked or not call.attempts:
            continue
        yield Violation(
            requirement=None,
            call=call.id,
            expected="the turn goes through the stages of the attached state machine",
            observed="it asked the provider, and never the state machine",
            events=(call.start.seq, call.attempts[0].start.seq),
            hint="With a `surroundings.state_machine`, a turn begins at its entry stage.",
            inconclusive=True,
        )
        return
