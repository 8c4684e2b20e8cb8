"""What an exploration looks for: what breaks the error model, or an exception that a user names.

A search for an exception has one check more, `search.exception`, and that check alone decides: a
run fails where a call raises the exception, or where the subject writes it into its log. The other
findings only say what was reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.paths import ELSEWHERE
from faultclock.model.report.exploration import NoResult
from faultclock.model.report.finding import Finding, Judgement, SourcePlace, Verdict
from faultclock.model.report.finding import verdict_of as verdict_of_checks
from faultclock.model.report.wanted_exception import Sought
from faultclock.model.trace.notes import Frame, OutputLine, RaisedError, RunNotes
from faultclock.model.trace.trace import EndingReason, Trace
from faultclock.oracle.checks.run.evidence import SPOILING, exercised, faults_met
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import Judge
from faultclock.oracle.wire.stops import HANGS
from faultclock.subjects.source import FILE_MODULE

#: Id of the check of a search.
CHECK = "search.exception"
_FILE_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_NOTHING = RunNotes()


class _Seen(Struct, frozen=True):
    """One exception of a run.

    Attributes:
        chain: its class and message, then those behind it.
        frames: file and line of its traceback.
        events: numbers of the events that show it.
    """

    chain: tuple[tuple[str, str], ...]
    frames: tuple[tuple[str, int], ...]
    call: str | None
    events: tuple[int, ...] = ()
    own: SourcePlace | None = None
    logged: bool = False


class SearchJudge(Judge):
    """Judges a trace by a model, and says whether a run raises what is sought."""

    def __init__(self, model: ErrorModel, sought: Sought) -> None:
        super().__init__(model)
        self._sought = sought

    def judge(self, trace: Trace | History) -> Judgement:
        """Return the judgement of the model with what the search says at its end."""
        history = trace if isinstance(trace, History) else History(trace)
        judgement = super().judge(history)
        found = tuple(self._findings(history, judgement))
        return judgement.model_copy(update={"findings": (*judgement.findings, *found)})

    def _findings(self, history: History, judgement: Judgement) -> Iterator[Finding]:
        expected = f"no call raises {self._sought.text}"
        matches: dict[str, _Seen] = {}
        for seen in _seen(history.recorded):
            if _is(seen, self._sought):
                matches.setdefault(_key(seen), seen)
        open_ = [item for item in judgement.findings if item.verdict is Verdict.INCONCLUSIVE]
        spoilt = [item.observed or item.reason for item in open_ if item.check in SPOILING]
        if not spoilt and not matches:
            # Who asks nothing meets nothing that might raise it; who does not end may still do so.
            shows_nothing = (item for item in open_ if item.check == exercised.id and item.call)
            spoilt = list(dict.fromkeys(item.reason for item in shows_nothing))
            goes_on = (it for it in history.calls if not (it.over or it.crashed or it.left))
            spoilt += [f"{call.id} did not end" for call in goes_on]
        if spoilt:
            spoilt += [f"{_words(seen)} before that" for seen in matches.values()]
            yield Finding(
                check=CHECK,
                verdict=Verdict.INCONCLUSIVE,
                expected=expected,
                reason="; ".join(spoilt),
            )
            return
        if not matches:
            yield Finding(check=CHECK, verdict=Verdict.PASS, expected=expected, judged=1)
        for seen in matches.values():
            yield Finding(
                check=CHECK,
                verdict=Verdict.FAIL,
                call=seen.call,
                expected=expected,
                observed=_words(seen),
                events=seen.events,
                judged=1,
                source=seen.own,
            )


def judge_for(model: ErrorModel, sought: Sought | None) -> Judge:
    """Return what judges the runs of an exploration."""
    return Judge(model) if sought is None else SearchJudge(model, sought)


def verdict_of(findings: tuple[Finding, ...]) -> Verdict:
    """Return the verdict of one run; in a search its own check decides alone."""
    of_search = [finding.verdict for finding in findings if finding.check == CHECK]
    return of_search[0] if of_search else verdict_of_checks(findings)


def why_inconclusive(findings: tuple[Finding, ...], ending: EndingReason) -> NoResult | None:
    """Return why a run is inconclusive; None where it has a verdict.

    Of several reasons the one that weighs most.

    Args:
        ending: of the run.
    """
    if verdict_of(findings) is not Verdict.INCONCLUSIVE:
        return None
    open_ = [item for item in findings if item.verdict is Verdict.INCONCLUSIVE]
    of_search = [item for item in open_ if item.check == CHECK]
    finding = min(of_search or open_, key=lambda item: _is_not_reached(item, ending))
    return NoResult(
        check=finding.check,
        reason=finding.reason or finding.observed,
        spoils=not _is_not_reached(finding, ending),
    )


def _is_not_reached(finding: Finding, ending: EndingReason) -> bool:
    """Return whether all that is missing is the situation that the scenario is about.

    What a call leaves unshown, and what a limit cuts off, is more than that.
    """
    left_alone = finding.check == exercised.id and finding.call is None and ending not in HANGS
    return left_alone or finding.check == faults_met.id


def raised_at(finding: Finding, trace: Trace) -> str:
    """Return what makes an exception the same one in another run: its classes and its line."""
    for seen in _seen(trace):
        if (seen.call, seen.events, _words(seen)) == (
            finding.call,
            finding.events,
            finding.observed,
        ):
            return _key(seen)
    return finding.observed


# ------------------------------------------------------------------ what a run raises


def _seen(trace: Trace) -> Iterator[_Seen]:
    """Yield the exceptions of a run: those that leave a call, then those that are logged."""
    notes = trace.notes or _NOTHING
    noted = list(notes.raised)
    for event in trace.events:
        if event.kind != "call.raised":
            continue
        chain = tuple(
            (str(item.get("type")), str(item.get("message") or ""))
            for item in event.payload.get("chain") or ()
            if item.get("link") != "suppressed"
        )
        call = event.payload.get("call")
        frames = _frames_of(noted, str(call), chain)
        yield _Seen(
            chain=chain,
            frames=tuple((frame.file, frame.line) for frame in frames),
            call=None if call is None else str(call),
            events=(event.seq,),
            own=_own(frames),
        )
    yield from _logged(notes.output)


def _frames_of(
    noted: list[RaisedError], call: str, chain: tuple[tuple[str, str], ...]
) -> tuple[Frame, ...]:
    """Return the lines of the first noted exception of a call, and take it away."""
    for place, error in enumerate(noted):
        if error.call == call and chain and error.type == chain[0][0]:
            return noted.pop(place).frames
    return ()


def _own(frames: Iterable[Frame]) -> SourcePlace | None:
    own = [frame for frame in frames if frame.own]
    return SourcePlace(file=own[-1].file, line=own[-1].line) if own else None


def _logged(output: Iterable[OutputLine]) -> Iterator[_Seen]:
    """Yield the exceptions whose last line stands in what the subject wrote."""
    frames: list[tuple[str, int]] = []
    for line in output:
        found = _FILE_LINE.search(line.text)
        if found is not None:
            frames.append((found["file"], int(found["line"])))
            continue
        kind, _, message = line.text.strip().partition(": ")
        if line.stream == "stdout" or not _is_class(kind):
            continue
        at = (line.file, line.line) if line.line else None
        yield _Seen(
            chain=((kind, message),),
            frames=(*frames, *((at,) if at is not None else ())),
            call=line.call,
            own=SourcePlace(file=line.file, line=line.line) if line.line else None,
            logged=True,
        )
        frames = []


def _is_class(word: str) -> bool:
    last = word.rpartition(".")[2]
    named = word.replace(".", "_").isidentifier() and last[:1].isupper()
    return named and last.endswith(("Error", "Exception", "Timeout", "Warning", "Group", "Exit"))


# ------------------------------------------------------------------ whether it is the one


def _is(seen: _Seen, sought: Sought) -> bool:
    named = not (sought.type or sought.message) or any(
        _same_class(kind, sought.type) and sought.message in message for kind, message in seen.chain
    )
    placed = not sought.file or any(
        _same_file(file, sought.file) and sought.line in (0, line) for file, line in seen.frames
    )
    return named and placed


def _same_class(kind: str, sought: str) -> bool:
    """Compare the class, and its module as far as both name one.

    Modules inside a library are private. A subject's own may have a longer name in the program that
    it is part of.
    """
    here, there = kind.removeprefix(FILE_MODULE), sought.removeprefix(FILE_MODULE)
    if here.rpartition(".")[2] != there.rpartition(".")[2]:
        return not sought
    return (
        "." not in here
        or "." not in there
        or here.partition(".")[0] == there.partition(".")[0]
        or here.endswith(f".{there}")
        or there.endswith(f".{here}")
    )


def _same_file(file: str, sought: str) -> bool:
    """Compare the ends of two paths, as far as both are known."""
    here, there = (path.removeprefix(ELSEWHERE).split("/") for path in (file, sought))
    shared = min(len(here), len(there))
    return here[-shared:] == there[-shared:]


def _key(seen: _Seen) -> str:
    place = "" if seen.own is None else f" {seen.own.file}:{seen.own.line}"
    return " ".join(dict.fromkeys(kind for kind, _ in seen.chain)) + place


def _words(seen: _Seen) -> str:
    """Return the exception in words, with its line."""
    (kind, message), *behind = seen.chain or (("an unknown exception", ""),)
    first = f"{kind}: {message}" if message else kind
    verb = "the log shows" if seen.logged else f"{seen.call or 'a call'} raises"
    place = "" if seen.own is None else f" at {seen.own.file}:{seen.own.line}"
    causes = list(dict.fromkeys(name for name, _ in behind))
    return f"{verb} {first}{place}" + (f" (from {', '.join(causes)})" if causes else "")
