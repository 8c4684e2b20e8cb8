"""Failures of programs on the PATH, and of what a node was to answer in a certain form.

What the lines of a program amount to is in the scenario; that it was killed, the world has seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel, FailureKind
from faultclock.model.scenario.workflow_script import NodeScript
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.nodes import acts_at, argv_of, node_acts_of, node_at
from faultclock.oracle.facts.tool_fates import fits
from faultclock.oracle.failures.failure import Failure, failure_of
from faultclock.oracle.wire.timing import SLACK_NS

#: What the lines of a program mean, to the kind of failure that it is.
_MEANINGS: Mapping[str, FailureKind] = {
    "cut": "program_cut",
    "auth": "program_refused",
    "quota": "program_refused",
    "denial_loop": "program_denial_loop",
}
#: Traces keep no more characters of what is written at once; then nothing is known of the whole.
_TEXT_MAX = 2_000


class _Run(Struct, frozen=True, kw_only=True):
    """One execution of a program.

    Attributes:
        killed: the first signal that the subject sent it.
        same: all executions of the same in the call, missing programs included.
    """

    started: TraceEvent
    wrote: tuple[TraceEvent, ...]
    killed: TraceEvent | None
    ended: TraceEvent | None
    node: NodeScript | None
    same: tuple[TraceEvent, ...]

    @property
    def means(self) -> str:
        """What its lines mean; empty for nothing."""
        ended = None if self.ended is None else self.ended.means
        return ended or self.started.means or ""

    @property
    def how(self) -> str | None:
        """How it ended badly; None if it ended well."""
        if self.ended is None or self.ended.signal:
            return None if self.ended is None else "signal"
        return "status" if self.ended.status else None

    def said(self, stream: str) -> str:
        """Return what it wrote to a stream, as lines."""
        texts = [event.text or "" for event in self.wrote if event.stream == stream]
        between = "" if any(text.endswith("\n") for text in texts) else "\n"
        return between.join(texts)


def program_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the programs and commands that are missing, or that ended badly."""
    for event in history.of("program.missing"):
        run = _run(history, event, ())
        yield _failure("program_missing", None, run, event, "")
    for run in _runs(history):
        seen = _of_run(history, run)
        if seen is not None and run.ended is not None:
            said = run.said("stderr").strip() or run.said("stdout").strip()
            yield _failure(*seen, run, run.ended, said.rpartition("\n")[2])


def _of_run(history: History, run: _Run) -> tuple[FailureKind, str | None] | None:
    means, how = run.means, run.how
    if means in _MEANINGS and not _stopped(history, run):
        return _MEANINGS[means], means
    if run.killed is not None:
        # Killed by the subject: because its time was up, or for a reason that is no failure.
        timeout_ns = None if run.node is None else run.node.timeout
        late = timeout_ns is not None and (
            run.killed.at_ns >= run.started.at_ns + timeout_ns - SLACK_NS
        )
        return ("program_timeout", None) if late and not _stopped(history, run) else None
    if run.node is not None and run.node.do == "command":
        return None if how is None else ("command_failed", means or how)
    if means == "schema_invalid" and how is None:
        # It is the answer that is judged.
        return None
    return ("program_exit", means or how) if means or how else None


def _stopped(history: History, run: _Run) -> bool:
    """Return whether something from outside stopped the work of the call while it ran."""
    call = history.call(str(run.started.call))
    if call is None or call.stop is None or run.ended is None:
        return False
    return run.started.seq < call.stop.seq and call.stop.at_ns <= run.ended.at_ns


def _runs(history: History) -> Iterator[_Run]:
    parts: dict[str | None, list[TraceEvent]] = {}
    for event in history.of("program.wrote", "program.signalled", "program.ended"):
        parts.setdefault(event.run, []).append(event)
    for started in history.of("program.started"):
        yield _run(history, started, parts.get(started.run, ()))


def _run(history: History, started: TraceEvent, own: Sequence[TraceEvent]) -> _Run:
    node = node_at(history, started)
    return _Run(
        started=started,
        wrote=tuple(event for event in own if event.kind == "program.wrote"),
        killed=next((event for event in own if event.kind == "program.signalled"), None),
        ended=next((event for event in own if event.kind == "program.ended"), None),
        node=node,
        same=_same(history, started, node),
    )


def _same(history: History, event: TraceEvent, node: NodeScript | None) -> tuple[TraceEvent, ...]:
    """Return all starts of the same node, or of the same command line, in the call."""
    if node is not None:
        return acts_at(history, node, event.call)
    return tuple(
        other
        for other in history.of("program.started", "program.missing")
        if other.call == event.call
        and other.program == event.program
        and argv_of(other) == argv_of(event)
    )


def _failure(
    kind: FailureKind, cause: str | None, run: _Run, shown: TraceEvent, said: str
) -> Failure:
    program, node = str(run.started.program), run.node
    return failure_of(
        kind,
        "command" if node is not None and node.do == "command" else "program",
        program if node is None else node.id,
        run.started,
        shown,
        cause=cause,
        names=(program,),
        acts=run.same,
        node=node,
        message=said,
    )


# ---------------------------------------------------------------------- answers in a form


def output_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the answers of programs and agents that are no JSON, or not as their schema asks."""
    for run in _runs(history):
        good = run.ended is not None and run.how is None and run.killed is None
        if not good or run.ended is None or run.means not in ("", "schema_invalid"):
            continue
        text = run.said("stdout")
        cut = any(len(event.text or "") >= _TEXT_MAX for event in run.wrote)
        kind = None if cut or run.node is None else _unfit(run.node, (text, _last_line(text)))
        if kind is not None:
            yield _failure(kind, None, run, run.ended, text.strip())
    yield from _of_agents(history)


def _of_agents(history: History) -> Iterator[Failure]:
    if not node_acts_of(history):
        return
    texts = {hashlib.sha256(text.encode()).hexdigest(): text for text in _replies(history)}
    for call in history.calls:
        for attempt in call.attempts:
            answered = attempt.answered
            node = node_at(history, attempt.start)
            if answered is None or attempt.tool_calls or node is None:
                continue
            text = texts.get(str(attempt.text_sha256))
            stopped = answered.finish_reason in ("stop", None)
            kind = None if text is None or not stopped else _unfit(node, (text,))
            if kind is None:
                continue
            known = attempt.events[-1]
            yield Failure(
                kind=kind,
                call=call.id,
                at_ns=answered.at_ns if attempt.known_ns is None else attempt.known_ns,
                seq=known,
                events=attempt.events,
                layer="node",
                target=node.id,
                names=(node.role,) if node.role else (),
                acts=acts_at(history, node, call.id),
                node=node,
                message=text or "",
            )


def _replies(history: History) -> Iterator[str]:
    scenario = history.trace.header.scenario
    for _, provider in scenario.providers:
        yield provider.reply
        for reply in provider.replies:
            yield reply.text


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _unfit(node: NodeScript, candidates: tuple[str, ...]) -> FailureKind | None:
    """Return what is wrong with an answer; None if it is as the node asks, or may be anything."""
    if node.output_schema is None:
        return None
    read: list[Any] = []
    for candidate in candidates:
        try:
            read.append(json.loads(candidate))
        except (ValueError, RecursionError):
            continue
    if not read:
        return "output_not_json"
    return None if fits(node.output_schema, read[0]) else "output_schema_invalid"
