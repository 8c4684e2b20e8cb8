"""Approvals: in which order they are asked for, whose answer counts, and what may run then.

approvals.respected   a permission is for the call that it was given for, and that call does run
approvals.once        a later answer is refused by name, and other dialogs are taken off
approvals.order       the approvals of one answer are asked for in its order

That nothing runs before its approval or after a denial, and that no second answer is accepted, is
what the model's ordering rules say.
"""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    exercising,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.permissions import mode_of, permission_of, refusal_of
from faultclock.oracle.port_facts import Prompt
from faultclock.oracle.predict import SLACK_NS
from faultclock.oracle.prompts import prompt_violation
from faultclock.oracle.stops import killed_by
from faultclock.oracle.tool_fates import arguments_of, fits
from faultclock.oracle.turn_facts import ToolCall

__all__ = ["CHECKS"]

# ---------------------------------------------------------------------- respected


def _respected(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no tool call needed an approval")
    for execution in history.executions:
        script = history.tool_scripts.get(execution.tool)
        if script is None or not script.gated:
            continue
        permission = permission_of(history, model, execution)
        if permission is None:
            continue
        requirements = also(model, f"approvals.respected.{permission.source}")
        yield held(*requirements)
        if permission.given:
            continue
        yield broken(
            requirements,
            call=execution.call,
            expected=f"{execution.tool} ({execution.tool_call}) runs only when {permission.needs}",
            observed=f"it ran, and {permission.why_not}",
            events=(*permission.events, execution.called.seq),
            hint="An approval holds for the call that was shown, not for its tool.",
        )
    for call in history.tool_calls:
        yield from _judge_refused(history, model, call)
        yield from _judge_approved(history, model, call)
    yield from _judge_headless(history, model)


def _judge_refused(history: History, model: ErrorModel, call: ToolCall) -> Verdicts:
    """Count a call that was refused and did not run."""
    script = history.tool_scripts.get(call.name)
    ran = any(item.life == call.life for item in call.executions)
    source = None if script is None or not script.gated or ran else refusal_of(history, call)
    if source is not None:
        yield held(*also(model, f"approvals.respected.{source}"))


def _judge_approved(history: History, model: ErrorModel, call: ToolCall) -> Verdicts:
    """Judge that a call that a person approved does run."""
    script = history.tool_scripts.get(call.name)
    given = arguments_of(call)
    prompt = next(
        (
            item
            for item in history.prompts
            if item.tool_call == call.id
            and item.life == call.life
            and item.said == "approved"
            # An answer that came after the request was over approves nothing.
            and item.settled is item.accepted
        ),
        None,
    )
    if script is None or prompt is None or given is None or not fits(script.input_schema, given):
        return
    in_call = history.call(call.call)
    if in_call is None or in_call.end is None or in_call.stop is not None:
        return
    budget = history.session.budgets.tool_calls_max
    if budget is not None or any(event.scope == "tool" for event in history.of("cancel.requested")):
        return
    answer = next(item for item in history.answers if call in item.tool_calls)
    others = [
        item for item in history.prompts if item.tool_call in {c.id for c in answer.tool_calls}
    ]
    if any(item.said == "dismissed" for item in others) or history.session.stages:
        return
    requirements = also(model, "approvals.respected.person")
    yield held(*requirements)
    if any(item.life == call.life for item in call.executions):
        return
    yield broken(
        requirements,
        call=call.call,
        expected=f"{call} runs: it was approved",
        observed="it never ran",
        events=(prompt.shown.seq, *(item.seq for item in (prompt.accepted,) if item)),
        hint="Is the answer of one request taken for that of another?",
    )


def _judge_headless(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "approvals.respected.headless")
    if not history.session.headless:
        return
    if not history.prompts:
        yield from _judge_halt(history, requirements)
    for prompt in history.prompts:
        yield held(*requirements)
        yield exercising(
            prompt_violation(
                next(iter(requirements), None),
                prompt,
                "no request: the run is headless",
                "a request was shown",
            ),
            *requirements,
        )


def _judge_halt(history: History, requirements: tuple[str, ...]) -> Verdicts:
    """Judge that a turn that needs a person who is not there asks the model no more."""
    for answer in (
        history.answers if mode_of(history) == "ask" and not history.session.stages else ()
    ):
        needing = [call for call in answer.tool_calls if _needs_a_person(history, call)]
        if not needing:
            continue
        yield held(*requirements)
        if answer.next is None:
            continue
        yield broken(
            requirements,
            call=answer.in_call.id,
            expected=f"the turn halts: {needing[0]} needs a person, and the run is headless",
            observed="it went on, and asked the model again",
            events=(answer.attempt.events[-1], answer.next.start.seq),
            hint="A missing person is not a denial: end the turn and say what it needs.",
        )


def _needs_a_person(history: History, call: ToolCall) -> bool:
    script, given = history.tool_scripts.get(call.name), arguments_of(call)
    known = script is not None and script.gated and given is not None
    return script is not None and known and fits(script.input_schema, given)


# ---------------------------------------------------------------------- once, order


def _once(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "approvals.once")
    yield otherwise("no request was answered twice, or shown to several interactors")
    wanted = None if model.interactions is None else model.interactions.late
    for prompt in history.prompts:
        first = prompt.accepted
        if first is None:
            continue
        for event in prompt.answers:
            # Whether it may be accepted at all is what the ordering rules say.
            if event.seq <= first.seq or event.accepted:
                continue
            yield held(*requirements)
            said = f"{event.error_class}/{event.code}"
            if wanted in (None, said):
                continue
            yield prompt_violation(
                next(iter(requirements), None),
                prompt,
                f"an answer after the first one is refused with {wanted}",
                f"it was refused with {said}",
                event,
            )
        # A process that was killed in that instant takes no dialog off any more.
        if not killed_by(history.trace, prompt.life, first.at_ns + SLACK_NS):
            yield from _judge_others(prompt, first, requirements)


def _judge_others(prompt: Prompt, first: TraceEvent, requirements: tuple[str, ...]) -> Verdicts:
    """Judge that the other interactors take the request off once it is answered."""
    for shown in prompt.shown_all:
        where = shown.interactor
        if where == first.interactor or shown.seq > first.seq:
            continue
        if any(
            item.interactor == where and item.at_ns <= first.at_ns + SLACK_NS
            for item in prompt.answers
        ):
            # It answered at the same time: there was nothing left on its screen.
            continue
        yield held(*requirements)
        off = next((item for item in prompt.dismissals if item.interactor == where), None)
        if off is not None and off.at_ns <= first.at_ns + SLACK_NS:
            continue
        yield prompt_violation(
            next(iter(requirements), None),
            prompt,
            f"{where} takes the request off as soon as it is answered elsewhere",
            "it stayed there" if off is None else "it was taken off later",
            first,
        )


def _order(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "approvals.order")
    yield otherwise("no answer asked for several tools that a person had to approve")
    for answer in history.answers:
        places = {call.id: call.place for call in answer.tool_calls}
        asked = [
            item
            for item in history.prompts
            if item.tool_call in places and item.life == answer.in_call.life
        ]
        if len(asked) < 2:
            continue
        yield held(*requirements)
        for before, after in pairwise(asked):
            if places[after.tool_call or ""] < places[before.tool_call or ""]:
                yield prompt_violation(
                    next(iter(requirements), None),
                    after,
                    "approvals are asked for in the order of the model's tool calls",
                    f"{after.tool_call} was asked for after {before.tool_call}",
                    before.shown,
                )
                break


CHECKS = (
    Check(
        id="approvals.respected",
        title="What was approved runs, and nothing else",
        says="A gated tool runs only with an approval of its own, and an approved call does run.",
        run=_respected,
    ),
    Check(
        id="approvals.once",
        title="The first answer counts",
        says="A later answer is refused with a typed error, and every other dialog closes at once.",
        run=_once,
    ),
    Check(
        id="approvals.order",
        title="Approvals in order",
        says="The approvals of one answer are asked for in the order of its tool calls.",
        run=_order,
    ),
)
