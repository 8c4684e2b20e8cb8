"""Stages: the retries of the workflow, which stand on top of those of the transport.

A stage is tried again when its state machine says `retry`, as often and after such waits as the
stage's own policy gives; after its last attempt the state machine says where to go.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Verdicts, also, broken, check, held
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.port_facts import StageVisit
from faultclock.oracle.retries.redo import (
    ATTEMPTS,
    DISPOSITION,
    Series,
    Try,
    busy_times,
    citing,
    judge_series,
    policy_of,
    series_check,
)
from faultclock.oracle.wire.attempts import Call


def series_of_stages(history: History, _model: ErrorModel) -> Iterator[Series]:
    """Yield the attempts of each visit of a stage."""
    scripts = {stage.id: stage for stage in history.session.stages}
    for visit in history.stage_visits:
        script = scripts.get(visit.stage)
        retry = None if script is None else script.retry
        yield Series(
            what=f"the stage {visit.stage}",
            call=visit.call,
            tries=tuple(
                Try(
                    begun=item.begun,
                    ended=item.decided,
                    outcome=_outcome(item.decision),
                    failure=f"the state machine said {item.decision}",
                    retryable=item.decision == "retry",
                )
                for item in visit.tries
            ),
            policy=policy_of(visit.stage, retry),
            source="the stage, which has no retry" if retry is None else "the stage's policy",
            given_up=visit.left,
            slack_ns=history.timing.slack_ns,
            busy=busy_times(history, visit.call),
        )


def _outcome(decision: str | None) -> Literal["good", "failed", "open"]:
    if decision is None:
        return "open"
    return "failed" if decision in ("retry", "fail") else "good"


@check(
    "stages.attempts",
    title="Stages: number of attempts",
    says="A stage is retried when its state machine says so, as often as its policy allows.",
    unjudged="no stage came to a decision that this is about",
    role="runtime",
)
def attempts(history: History, model: ErrorModel) -> Verdicts:
    """Judge how often a stage was tried, and that each attempt began at its gate."""
    requirements = also(model, "stages.attempts")
    for series in citing(series_of_stages(history, model), requirements):
        yield from judge_series(series, (*DISPOSITION, *ATTEMPTS))
    for visit in history.stage_visits:
        call = history.call(visit.call)
        for before, after in pairwise(visit.tries):
            yield from _judge_pause(call, visit, before.decided, after.begun.seq, requirements)
        until = len(history.trace.events) if visit.left is None else visit.left.seq
        yield from _judge_pause(call, visit, visit.tries[-1].decided, until, requirements)


def _judge_pause(
    call: Call | None,
    visit: StageVisit,
    decided: TraceEvent | None,
    until: int,
    requirements: tuple[str, ...],
) -> Verdicts:
    """Judge that nothing is asked between the judgement of an attempt and the next gate."""
    if call is None or decided is None:
        return
    began = (item.start for item in call.attempts)
    early = next((event for event in began if decided.seq < event.seq < until), None)
    if early is None:
        return
    yield broken(
        requirements,
        call=visit.call,
        expected=f"a further attempt of {visit.stage} begins anew, at its gate",
        observed="the model was asked again without it",
        events=(decided.seq, early.seq),
        hint="A retry enters the stage at Setup, and CheckGate comes before Act.",
    )


waits = series_check(
    "stages.wait",
    series_of_stages,
    None,
    title="Stages: waits between attempts",
    says="Each wait before a further attempt of a stage lies within the stage's interval.",
    unjudged="no stage came to a decision that this is about",
)


@check(
    "stages.next",
    title="Stages: the next stage",
    says="After the last attempt of a stage, the run goes where the state machine says.",
    unjudged="no stage was left",
    role="runtime",
)
def next_stage(history: History, model: ErrorModel) -> Verdicts:
    """Judge where the run went after the last attempt."""
    requirements = also(model, "stages.next")
    for visit in history.stage_visits:
        call = history.call(visit.call)
        if call is None or call.end is None or call.stop is not None:
            continue
        if visit.tries[-1].decided is None and not call.returned:
            continue
        yield held(*requirements)
        fault = _not_followed(history, visit)
        if fault is None:
            continue
        yield broken(
            requirements,
            call=visit.call,
            expected=fault[0],
            observed=fault[1],
            events=(*seqs(visit.left), *fault[2], call.end.seq),
            hint="After the last attempt the state machine owns the next move.",
        )


def _not_followed(history: History, visit: StageVisit) -> tuple[str, str, tuple[int, ...]] | None:
    """Return what was expected and observed, and further events; None where all is well."""
    call = history.call(visit.call)
    decided = visit.tries[-1].decided
    if decided is None:
        # A turn that came to its end has had every attempt judged.
        begun = (visit.tries[-1].begun.seq,)
        return f"the state machine judges the attempt of {visit.stage}", "it was not asked", begun
    if visit.left is None:
        events = (decided.seq,)
        asked = f"the state machine is asked where to go after {visit.stage}"
        return asked, "it was not asked", events
    said, follows = str(visit.left.answer), visit.follows
    entered = None
    if follows is not None and follows.phase == "check_gate":
        entered = follows.stage
    shown = seqs(follows)
    kind, _, stage = said.partition(" ")
    if kind == "stage":
        if entered == stage:
            return None
        return f"the stage {stage} comes next", f"{entered or 'no stage'} came next", shown
    if entered is not None:
        return f"no stage after {said!r}", f"the stage {entered} came next", shown
    if kind in ("abort-workflow", "retry-later") and call is not None and call.returned:
        return f"the turn ends with an error after {said!r}", "it returned", ()
    return None
