"""Approvals: how a person is asked, which answer counts, and what may run then.

approvals.respected   a permission is for the call that it was given for, and that call does run
approvals.once        a later answer is refused by name, and other dialogs are taken off
approvals.order       the approvals of one answer are asked for in its order
approvals.consent     a gated tool runs on a yes of the person for that call, and on nothing else

That nothing runs before its approval or after a denial, and that no second answer is accepted, is
what the model's ordering rules say. Consent is judged by what the world saw alone, so that it holds
for a runtime that declares nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Verdicts, Violation, also, broken, check, held, otherwise
from faultclock.oracle.facts.history import History, aims_at
from faultclock.oracle.facts.permissions import (
    decider_of,
    is_about,
    is_gated,
    mode_of,
    permission_of,
    refusal_of,
)
from faultclock.oracle.facts.port_facts import Prompt
from faultclock.oracle.facts.tool_fates import is_fit
from faultclock.oracle.facts.turn_facts import Execution, ToolCall
from faultclock.oracle.wire.stops import killed_by
from faultclock.oracle.wire.timing import SLACK_NS


def broken_request(
    requirements: Sequence[str | None],
    prompt: Prompt,
    expected: str,
    observed: str,
    *events: TraceEvent,
    hint: str = "",
) -> Violation:
    """Return a violation that names the request and shows when it was open."""
    about = "" if prompt.tool_call is None else f" about {prompt.tool_call}"
    return broken(
        requirements,
        call=prompt.call,
        expected=f"{prompt.kind} {prompt.id}{about}: {expected}",
        observed=observed,
        events=tuple(sorted(seqs(prompt.shown, prompt.settled, *events))),
        hint=hint,
    )


# ---------------------------------------------------------------------- respected


@check(
    "approvals.respected",
    role="runtime",
    title="What was approved runs, and nothing else",
    says="A gated tool runs only with an approval of its own, and an approved call does run.",
    unjudged="no tool call needed an approval",
)
def respected(history: History, model: ErrorModel) -> Verdicts:
    """Judge that what was allowed runs, and nothing else."""
    for execution in history.executions:
        gated = is_gated(history, execution.tool)
        permission = permission_of(history, model, execution) if gated else None
        if permission is None:
            continue
        requirements = also(model, f"approvals.respected.{permission.source}")
        yield held(*requirements)
        if permission.given:
            continue
        yield broken(
            requirements,
            call=execution.call,
            expected=f"{execution} runs only when {permission.needs}",
            observed=f"it ran, and {permission.why_not}",
            events=(*permission.events, execution.called.seq),
            hint="An approval holds for the call that was shown, not for its tool.",
        )
    for call in history.tool_calls:
        refused_by = refusal_of(history, call)
        if refused_by is not None and not call.own:
            yield held(*also(model, f"approvals.respected.{refused_by}"))
        given = next((item for item in history.prompts_about(call) if item.is_approved), None)
        if given is not None and _is_due(history, call):
            yield from _judge_approved(model, call, given)
    if history.session.headless:
        yield from _judge_headless(history, also(model, "approvals.respected.headless"))


def _is_due(history: History, tool_call: ToolCall) -> bool:
    """Return whether nothing may keep an approved call from being executed."""
    call = history.call(tool_call.call)
    if not is_fit(history, tool_call) or call is None or call.end is None or call.stop is not None:
        return False
    if history.session.stages or history.session.budgets.tool_calls_max is not None:
        return False
    if any(event.scope == "tool" for event in history.of("cancel.requested")):
        return False
    answer = next(item for item in history.answers if tool_call in item.tool_calls)
    siblings = {item.id for item in answer.tool_calls}
    return not any(
        item.said == "dismissed" for item in history.prompts if item.tool_call in siblings
    )


def _judge_approved(model: ErrorModel, call: ToolCall, prompt: Prompt) -> Verdicts:
    """Judge that a call that a person approved does run."""
    requirements = also(model, "approvals.respected.person")
    yield held(*requirements)
    if not call.own:
        yield broken(
            requirements,
            call=call.call,
            expected=f"{call} runs: it was approved",
            observed="it never ran",
            events=seqs(prompt.shown, prompt.accepted),
            hint="Is the answer of one request taken for that of another?",
        )


def _judge_headless(history: History, requirements: tuple[str, ...]) -> Verdicts:
    """Judge that no person is asked, and that a turn that needs one asks the model no more."""
    for prompt in history.prompts:
        yield held(*requirements)
        expected = "no request: the run is headless"
        yield broken_request(requirements, prompt, expected, "a request was shown")
    if history.prompts or decider_of(history) != "headless":
        return
    for answer in history.answers:
        needing = [
            call
            for call in answer.tool_calls
            if is_gated(history, call.name) and is_fit(history, call)
        ]
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


# ---------------------------------------------------------------------- once, order


@check(
    "approvals.once",
    role="runtime",
    title="The first answer counts",
    says="A later answer is refused with a typed error, and every other dialog closes at once.",
    unjudged="no request was answered twice, or shown to several interactors",
)
def first_answer(history: History, model: ErrorModel) -> Verdicts:
    """Judge what becomes of later answers, and of the dialogs elsewhere."""
    requirements = also(model, "approvals.once")
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
            if wanted not in (None, said):
                expected = f"an answer after the first one is refused with {wanted}"
                yield broken_request(
                    requirements, prompt, expected, f"it was refused with {said}", event
                )
        # A process that was killed in that instant takes no dialog off any more.
        if not killed_by(history.trace, prompt.life, first.at_ns + SLACK_NS):
            yield from _judge_others(prompt, first, requirements)


def _judge_others(prompt: Prompt, first: TraceEvent, requirements: tuple[str, ...]) -> Verdicts:
    """Judge that the other interactors take the request off once it is answered."""
    until_ns = first.at_ns + SLACK_NS
    for shown in prompt.shown_all:
        where = shown.interactor
        if where == first.interactor or shown.seq > first.seq:
            continue
        if any(item.interactor == where and item.at_ns <= until_ns for item in prompt.answers):
            # It answered at the same time: there was nothing left on its screen.
            continue
        yield held(*requirements)
        off = next((item for item in prompt.dismissals if item.interactor == where), None)
        if off is None or off.at_ns > until_ns:
            expected = f"{where} takes the request off as soon as it is answered elsewhere"
            observed = "it stayed there" if off is None else "it was taken off later"
            yield broken_request(requirements, prompt, expected, observed, first)


@check(
    "approvals.order",
    role="runtime",
    title="Approvals in order",
    says="The approvals of one answer are asked for in the order of its tool calls.",
    unjudged="no answer asked for several tools that a person had to approve",
)
def order(history: History, model: ErrorModel) -> Verdicts:
    """Judge the order of the requests."""
    requirements = also(model, "approvals.order")
    for answer in history.answers:
        places = {call.id: call.place for call in answer.tool_calls}
        asked = [
            (places[prompt.tool_call], prompt)
            for prompt in history.prompts
            if prompt.tool_call in places and prompt.life == answer.in_call.life
        ]
        if len(asked) < 2:
            continue
        yield held(*requirements)
        for (place, before), (next_place, after) in pairwise(asked):
            if next_place < place:
                expected = "approvals are asked for in the order of the model's tool calls"
                observed = f"{after.tool_call} was asked for after {before.tool_call}"
                yield broken_request(requirements, after, expected, observed, before.shown)
                break


# ---------------------------------------------------------------------- consent


@check(
    "approvals.consent",
    role="runtime",
    title="An approval for each gated call",
    says="A gated tool runs only if the first answer to that call was a yes, and came in time.",
    unjudged="no tool call needed the approval of a person",
)
def consent(history: History, model: ErrorModel) -> Verdicts:
    """Judge that gated tools run on a yes of the person.

    It counts when it is the first answer to its request, comes while that is open, and before a
    cancel. It is for one call: the same tool with the same arguments, even if asked for again.
    """
    if history.session.stages or (history.session.mode, mode_of(history)) != ("ask", "ask"):
        yield otherwise("no person decides in this session")
        return
    given = also(model, "approvals.consent.given")
    void = also(model, "approvals.consent.void")
    reasons = {
        event.seq: _why_void(history, prompt, event)
        for prompt in history.prompts
        for event in prompt.answers
    }
    for prompt in history.prompts:
        # What was refused, or not answered, and did not run either, shows that it is heeded.
        if prompt.tool_call is not None:
            yield held(*given)
            if any(reasons[event.seq] for event in prompt.answers):
                yield held(*void)
    for execution in history.executions:
        if not is_gated(history, execution.tool):
            continue
        yield held(*given)
        if not any(
            event.answer == "approved"
            and not reasons[event.seq]
            and event.at_ns <= execution.called.at_ns
            for prompt in history.prompts
            if is_about(history, prompt, execution, same=True)
            for event in prompt.answers
        ):
            yield _without_consent(history, execution, given, void, reasons)


def _why_void(history: History, prompt: Prompt, answer: TraceEvent) -> str:
    """Return in words why an answer does not count; empty where it does."""
    # A runtime may show a request of the same name again, after it was over.
    shown = [event for event in prompt.shown_all if event.seq < answer.seq]
    asked = shown[-1] if shown else prompt.shown
    if any(event.seq > asked.seq and event.at_ns < answer.at_ns for event in prompt.answers):
        return "it was the second answer"
    if any(
        asked.seq < event.seq < answer.seq and event.interactor == answer.interactor
        for event in prompt.dismissals
    ):
        return "the request had been taken off the screen"
    if asked.deadline_ns is not None and answer.at_ns > asked.at_ns + asked.deadline_ns:
        return "it came after the deadline"
    if any(asked.seq < event.seq < answer.seq for event in cancels_of(history, prompt)):
        return "the work had been cancelled"
    call = history.call(asked.call)
    over = None if call is None else call.over
    return "the turn had ended" if over is not None and over.seq < answer.seq else ""


def cancels_of(history: History, prompt: Prompt) -> list[TraceEvent]:
    """Return the cancels of the turn that a request is for, or of the tool that it is about."""
    return [
        event
        for event in history.of("cancel.requested")
        if event.scope in ("turn", "session")
        or (aims_at(event, prompt) and (event.scope == "tool" or event.target is not None))
    ]


def _without_consent(
    history: History,
    execution: Execution,
    given: tuple[str, ...],
    void: tuple[str, ...],
    reasons: dict[int, str],
) -> Violation:
    own = [prompt for prompt in history.prompts if prompt.tool_call == execution.tool_call]
    answers = [event for prompt in own for event in prompt.answers]
    late = [e for e in answers if e.answer == "approved" and reasons[e.seq]]
    observed = "the person was not asked"
    if late:
        observed = f"the person said yes, and {reasons[late[0].seq]}"
    elif answers:
        observed = f"the person's answer was: {answers[0].answer}"
    elif own:
        observed = "the person had not answered"
    return broken(
        void if late else given,
        call=execution.call,
        expected=f"{execution} runs after a yes to this call",
        observed=f"it ran, and {observed}",
        events=(
            *(prompt.shown.seq for prompt in own[:1]),
            *(event.seq for event in answers),
            execution.called.seq,
        ),
        hint="Keep each answer with the request that it is for, and close the request with it.",
    )
