"""What was attached and never asked, or declared and contradicted: then a run shows nothing of it.

A runtime that knows no extensions, and no state machine, does nothing wrong with them; a pass
would say that it does everything right. What a binding declares that its subject never does leaves
scenarios out; where a run does it all the same, that was wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Violation, unproven
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.turn_facts import Life


def unused(history: History) -> Iterator[Violation]:
    """Yield what a runtime that opened its session left alone, although it was attached."""
    for life in history.lives:
        starts = [call for call in history.calls if call.do == "start" and call.life == life.number]
        if starts and starts[0].returned:
            yield from _extensions(history, life)
            yield from _state_machine(history, life)
    if not any(life.crash for life in history.lives):
        yield from _phases(history)
    yield from _questions(history)
    yield from _left_running(history)


def _extensions(history: History, life: Life) -> Iterator[Violation]:
    """Yield the extensions of which no phase ever ran."""
    begun = {
        event.extension for event in history.of("extension.phase") if event.life == life.number
    }
    left = [
        item.id
        for item in history.session.extensions
        # What depends on another one may have to wait for it for ever.
        if (not item.lives or life.number in item.lives)
        and item.id not in begun
        and not (begun and item.depends_on)
    ]
    turns = [call for call in history.calls if call.life == life.number and call.is_turn]
    if left and any(call.attempts for call in turns):
        yield unproven(
            f"life {life.number} initialises what is installed: {', '.join(left)}",
            "the session went on, and no phase of it ever ran",
            life.start.seq,
            hint="`surroundings.extensions` are to be initialised before the first turn.",
        )


def _state_machine(history: History, life: Life) -> Iterator[Violation]:
    """Yield the first turn that asked the model, and not the attached state machine."""
    asked = {visit.call for visit in history.stage_visits}
    for call in history.calls if history.session.stages else ():
        if call.life == life.number and call.is_turn and call.id not in asked and call.attempts:
            yield unproven(
                "the turn goes through the stages of the attached state machine",
                "it asked the provider, and never the state machine",
                call.start.seq,
                call.attempts[0].start.seq,
                call=call.id,
                hint="With a `surroundings.state_machine`, a turn begins at its entry stage.",
            )
            return


def _phases(history: History) -> Iterator[Violation]:
    """Yield each phase that was to fail, and that was never asked for."""
    asked = {(event.extension, event.phase) for event in history.of("extension.phase")}
    known = {name for name, _ in asked}
    for item in history.session.extensions:
        for phase in item.fails_in:
            if item.id in known and (item.id, phase) not in asked:
                yield unproven(
                    f"the extension {item.id} fails in {phase}",
                    "the phase was never called, so it never failed",
                    hint="`deactivate` and `dispose` come with `close`, which a runtime may have.",
                )


def _questions(history: History) -> Iterator[Violation]:
    """Yield each question that the runtime was to ask the person, and has no method for."""
    asks = {task.id for task in history.trace.header.scenario.tasks if task.do == "ask"}
    for event in history.of("call.skipped"):
        if event.task in asks and "has no ask" in (event.why or ""):
            observed = "it has no method `ask`, so it could not"
            yield unproven("the runtime asks the person", observed, event.seq, call=event.call)


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
        yield unproven(
            "nothing is left running when the session is closed",
            f"something slept {len(asleep)} times more after that",
            closed.end.seq,
            asleep[0].seq,
            call=asleep[0].call or closed.id,
            hint="A thread that is not ended keeps the process alive: end it in `close`.",
        )


# ---------------------------------------------------------------------- declared


def contradicted(history: History) -> Iterator[Violation]:
    """Yield each declaration that the run contradicts, with the first event that does.

    A healthy run confirms a declaration before; what a subject does only after a failure shows
    here.
    """
    for word in history.trace.header.subject.lacks:
        what, events = _shown(history, word)
        if events:
            yield unproven(
                f"what is declared with {word} never happens",
                f"{what}, so scenarios were left out wrongly",
                events[0].seq,
                call=events[0].call,
                hint=f"Take {word} away, or what it stands for out of the decorator.",
            )


def _shown(history: History, word: str) -> tuple[str, list[TraceEvent]]:
    """Return what contradicts a declaration, in words and as events."""
    requests, returned = history.of("http.request"), history.of("call.returned")
    match word:
        case "no-streams":
            return "it asked for a stream", [e for e in requests if e.stream is True]
        case "only-streams":
            return "it asked for an answer in one piece", [e for e in requests if e.stream is False]
        case "no-tools":
            offered = [event for event in requests if event.tools]
            asked = [event for event in returned if event.tool_calls]
            found = [*history.of("tool.called"), *offered, *asked]
            return "it offered a tool to the model, or called one", found
        case "no-approvals":
            shown = [event for event in history.of("interaction.shown") if event.tool]
            return "it asked a person before a tool", shown
        case "no-sessions":
            return "it stored its session", history.of("store.asked")
        case "no-history":
            turns = [call.attempts[0].asked for call in history.calls if call.attempts]
            return "it sent an earlier message of the user", [
                event for event in turns if event is not None and _users(event) > _users(turns[0])
            ]
    return "", []


def _users(request: TraceEvent | None) -> int:
    return sum(item["role"] == "user" for item in (request.messages if request else ()))
