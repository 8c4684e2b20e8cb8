"""A history as lines for people: plain data, coloured where it is known where they go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultclock.cli.options import DEFAULT_MODEL
from faultclock.cli.say import Span
from faultclock.history.findings import (
    UNSTEADY,
    DeterminismBug,
    FlakySubject,
    Flip,
    History,
    RunRef,
    SessionLine,
)
from faultclock.model.report.finding import Verdict
from faultclock.model.report.token import token_of
from faultclock.render.verdict_words import LOOKS
from faultclock.render.wording import count, short_digest
from faultclock.subjects.registry import shipped_ids

_HEADINGS = ("no", "when (UTC)", "command", "subject", "model", "runs", "verdicts", "state")
_STATES = {"open": "not finished", "stopped": "stopped", "done": "complete"}
#: So that a thousand flips after a change of model do not hide all else; --json has them all.
_FLIPS_MOST = 40
_SESSIONS_MOST = 30


def lines_of(history: History, file: str, *, filtered: bool = False) -> Iterator[Span]:
    """Yield what a history says.

    Args:
        file: as it was named.
        filtered: whether only a part of it was asked for.
    """
    if not history.sessions:
        what = "no session of that is in it" if filtered else "no session is in it yet"
        yield Span(text=f"{file}: {what}")
        return
    runs = sum(session.runs for session in history.sessions)
    yield Span(
        text=f"{file}: {count(len(history.sessions), 'session')}, {count(runs, 'run')}",
        style="bold",
    )
    for lines in (_sessions(history), _bugs(history), _flaky(history), _flips(history)):
        yield Span(text="")
        yield from lines


def _sessions(history: History) -> Iterator[Span]:
    shown = history.sessions[-_SESSIONS_MOST:]
    if len(shown) < len(history.sessions):
        earlier = len(history.sessions) - len(shown)
        yield Span(text=f"{count(earlier, 'earlier session')} not shown; --json has them")
    rows = [_HEADINGS, *(_session_cells(session) for session in shown)]
    yield from _columns(rows)


def _session_cells(session: SessionLine) -> tuple[str, ...]:
    when = session.started_at[:16].replace("T", " ")
    model = f"{session.model} {session.model_revision}".strip()
    verdicts = ", ".join(
        f"{number:,} {_word(verdict)}" for verdict, number in session.verdicts.items()
    )
    return (
        *(str(session.number), when, session.command, session.subject, model),
        *(f"{session.runs:,}", verdicts or "-", _STATES[session.state]),
    )


def _bugs(history: History) -> Iterator[Span]:
    if not history.bugs:
        yield Span(text="Determinism bugs: none.", style="green")
        return
    yield Span(
        text=f"Determinism bugs ({len(history.bugs)}): faults of Faultclock, or something real"
        " that got into a run. What these runs say of the subject proves nothing.",
        style="magenta bold",
    )
    for bug in history.bugs:
        yield Span(text=f"  {_where(bug)}", style="magenta")
        for text in _BUG_WORDS[bug.kind](bug):
            yield Span(text=f"      {text}")
    yield Span(
        text="  The usual causes: a module that the subject's file imports was edited (only the"
        " file itself is compared), state that a binding with `inline` keeps, time or chance that"
        " C code asks of the system. Please report what is none of these.",
    )


def _traces_differ(bug: DeterminismBug) -> Iterator[str]:
    yield (
        f"equal in scenario, subject, versions, seed and choices, but {bug.runs:,} of"
        f" {count(bug.compared, 'run')} made again had another trace. The first:"
    )
    for ref in (bug.first, bug.other):
        yield f"{_ref(ref)}: trace {short_digest(ref.trace_digest)}, {_word(ref.verdict)}"


def _verdicts_differ(bug: DeterminismBug) -> Iterator[str]:
    yield (
        f"the same trace was judged differently by the same model, {count(bug.runs, 'time')} of"
        f" {bug.compared:,}. The first (trace {short_digest(bug.first.trace_digest)}):"
    )
    for ref in (bug.first, bug.other):
        yield f"{_ref(ref)}: {_word(ref.verdict)}"


def _not_twice(bug: DeterminismBug) -> Iterator[str]:
    yield f"{count(bug.runs, 'run')} failed and came out differently when made again. The first:"
    yield f"{_ref(bug.first)}: trace {short_digest(bug.first.trace_digest)}"
    yield from (*bug.difference, *bug.leaks)


_BUG_WORDS = {"traces": _traces_differ, "verdicts": _verdicts_differ, "unsteady": _not_twice}


def _flaky(history: History) -> Iterator[Span]:
    current = [item for item in history.flaky if item.is_current]
    past = len(history.flaky) - len(current)
    if not current:
        yield Span(text="Flaky subjects: none.", style="green")
    else:
        yield Span(
            text=f"Flaky subjects ({len(current)}): each run by itself is always the same, but"
            " some seeds or orders fail and others do not.",
            style="red bold",
        )
    for item in current:
        yield Span(text=f"  {_where(item)}", style="red")
        yield Span(
            text=f"      fails in {item.failing:,} of {count(item.runs, 'different run')}"
            f" ({item.passing:,} pass), by {item.model}"
        )
        yield Span(text=f"      first: {_ref(item.first)}{_fingerprints(item.first)}")
        model = "" if item.model == DEFAULT_MODEL else f" --model {item.model}"
        yield Span(text=f"      again: faultclock replay {token_of(item.coordinates)}{model}")
        if item.subject not in shipped_ids():
            yield Span(text=f"      (with --subject and the file of {item.subject})")
    if past:
        yield Span(text=f"  {past} more before something changed; --json has them")


def _flips(history: History) -> Iterator[Span]:
    if not history.flips:
        yield Span(text="Verdict flips: none.", style="green")
        return
    yield Span(
        text=f"Verdict flips ({len(history.flips)}): verdicts that changed from one session to the"
        " next.",
        style="yellow bold",
    )
    shown = history.flips[-_FLIPS_MOST:]
    if len(shown) < len(history.flips):
        yield Span(text=f"  {len(history.flips) - len(shown)} earlier ones; --json has them")
    for flip in shown:
        yield Span(
            text=f"  {_where(flip)}: {_word(flip.was)} in session {flip.before},"
            f" {_word(flip.now)} in session {flip.after}",
            style="yellow",
        )
        yield Span(text=f"      {_cause(flip)}")


def _cause(flip: Flip) -> str:
    cut = "".join(f"; session {number} was not complete" for number in flip.unfinished)
    changes = "; ".join(flip.changes)
    match flip.cause:
        case "determinism":
            return f"a determinism bug, see above{cut}"
        case "changed":
            return f"changed: {changes}{cut}"
        case "other_runs":
            also = f" ({changes})" if changes else ""
            flaky = ": a flaky subject" if Verdict.FAIL in (flip.was, flip.now) else ""
            return f"nothing changed but which runs were made{also}{flaky}{cut}"


def _where(item: DeterminismBug | FlakySubject | Flip) -> str:
    variant = f" ({item.variant})" if item.variant else ""
    return f"{item.scenario}{variant}, {item.subject}"


def _ref(ref: RunRef) -> str:
    schedule = "" if ref.schedule == "fifo" else f", {ref.schedule} order"
    return f"session {ref.session}, run {ref.number}, seed {ref.seed}{schedule}"


def _fingerprints(ref: RunRef) -> str:
    return f", {', '.join(ref.fingerprints)}" if ref.fingerprints else ""


def _word(verdict: str) -> str:
    return "not the same twice" if verdict == UNSTEADY else LOOKS[Verdict(verdict)].word


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[Span]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS) - 1)]
    for place, row in enumerate(rows):
        cells = [
            cell.rjust(width) if heading in ("no", "runs") else cell.ljust(width)
            for cell, width, heading in zip(row, widths, _HEADINGS, strict=False)
        ]
        yield Span(text="  ".join([*cells, row[-1]]).rstrip(), style="" if place else "bold")
