"""failures.kept: what a later look into a failure needs is kept, as files."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import KeptRule
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import (
    Check,
    Verdict,
    Verdicts,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_course import end_call, final_failures, is_about
from faultclock.oracle.failure_fields import excerpt, faults_in
from faultclock.oracle.history import History
from faultclock.oracle.tool_messages import loaded

__all__ = ["CHECK"]

#: How many characters a trace keeps of a file, and of what a program writes at once.
_TEXT_MAX, _WROTE_MAX = 4_000, 2_000


def _kept(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no failure was final and needed a kept file")
    if not model.kept:
        yield otherwise("the error model does not say what is kept of a failure")
    left = list(final_failures(history, model))
    for rule in model.kept:
        kept = []
        for failure in left:
            if is_about(history, rule, failure):
                kept.append((failure, (yield from _judge(history, model, failure, rule))))
        for one, other in combinations(kept, 2):
            yield from _judge_apart(rule, one, other)


def _judge(
    history: History, model: ErrorModel, failure: Failure, rule: KeptRule
) -> Generator[Verdict, None, tuple[TraceEvent, ...]]:
    """Judge that there is a file, and return those that are as the rule asks."""
    call = history.call(failure.call)
    end = None if call is None else call.end
    saved = [
        event
        for event in history.of("archive.saved")
        if event.seq > failure.seq
        and (end is None or event.seq < end.seq)
        and event.call in (failure.call, None)
        and fnmatchcase(str(event.name), rule.file)
    ]
    shown = _shown(history, failure)
    faults = [
        (
            *faults_in(rule.fields, event.json, failure, shown=shown),
            *_faults_of_text(history, rule, failure, str(event.text or "")),
        )
        for event in saved
    ]
    if any(not found for found in faults):
        yield held(rule.requirement)
        return tuple(event for event, found in zip(saved, faults, strict=True) if not found)
    if end is None or (failure.kind != "cancelled" and end_call(history, model, failure) is None):
        return ()
    yield held(rule.requirement)
    expected, observed = "", "there is none"
    if saved:
        expected = f" in which {', '.join(faults[-1])}"
        kept = saved[-1].payload
        observed = f"{kept.get('name')} has {excerpt(kept.get('text') or '')}"
    yield broken(
        (rule.requirement,),
        call=failure.call,
        expected=f"a file {rule.file!r} is kept after {failure}{expected}",
        observed=observed,
        events=(*failure.events, *(event.seq for event in saved[-1:]), end.seq),
        hint="Save it also where the run gives up, before the turn ends.",
    )
    return ()


def _shown(history: History, failure: Failure) -> tuple[str, ...]:
    """Return what the operator was shown after a failure. That it was shown, telling judges."""
    call = history.call(failure.call)
    end = None if call is None else call.end
    return tuple(
        str(event.message or "")
        for event in history.of("declared.operator_message")
        if event.seq > failure.seq
        and (end is None or event.seq < end.seq)
        and event.call in (failure.call, None)
    )


def _judge_apart(
    rule: KeptRule,
    one: tuple[Failure, Sequence[TraceEvent]],
    other: tuple[Failure, Sequence[TraceEvent]],
) -> Verdicts:
    """Judge that what is kept of a stage is not overwritten by what is kept of another."""
    (first, of_first), (second, of_second) = one, other
    if first.node is None or second.node is None or first.node.id == second.node.id:
        return
    if first.call != second.call or not of_first or not of_second:
        return
    yield held(rule.requirement)
    names = {str(event.name) for event in (*of_first, *of_second)}
    before, after = (str(item.text or "") for item in (of_first[0], of_second[-1]))
    # One file for both is as good as two if the first is still in it.
    if len(names) > 1 or before in after or len(after) >= _TEXT_MAX:
        return
    yield broken(
        (rule.requirement,),
        call=first.call,
        expected=f"a file {rule.file!r} for {first}, and another one for {second}",
        observed=f"both are {names.pop()}, and the second has taken the place of the first",
        events=(*first.events, of_first[0].seq, *second.events, of_second[-1].seq),
        hint="Is the name of the stage part of the file name?",
    )


def _faults_of_text(
    history: History, rule: KeptRule, failure: Failure, text: str
) -> tuple[str, ...]:
    """Return in words what is missing in a file, of which a trace has the first characters."""
    lines = [line for line in text.splitlines() if line.strip()]
    is_whole = len(text) < _TEXT_MAX
    if rule.text == "json_lines":
        known = lines if is_whole else lines[:-1]
        good = known and all(isinstance(loaded(line), Mapping) for line in known)
        return () if good else ("there are lines, each a JSON object",)
    if rule.text == "output" and is_whole:
        missing = next((line for line in _written(history, failure) if line not in text), None)
        return () if missing is None else (f"{excerpt(missing)} is in it",)
    return ()


def _written(history: History, failure: Failure) -> list[str]:
    """Return the lines that the program wrote in the run that failed."""
    begun = [act for act in failure.acts if act.seq <= failure.seq and "run" in act.payload]
    if not begun:
        return []
    run = begun[-1].run
    wrote = [e for e in history.of("program.wrote") if e.run == run]
    for stream in ("stdout", "stderr"):
        texts = [str(e.text) for e in wrote if e.stream == stream]
        lines = [line.strip() for line in "".join(texts).splitlines() if line.strip()]
        if lines and all(len(text) < _WROTE_MAX for text in texts):
            return lines
    return []


CHECK = Check(
    id="failures.kept",
    title="Files kept after a failure",
    says="The files that an investigation of a failure needs are kept before the call ends.",
    run=_kept,
)
