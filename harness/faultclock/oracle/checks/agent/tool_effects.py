"""Effects: what a tool does to the world happens once for each tool call.

Effect and reply are apart. A tool may have done its work and say that it failed (commit-then-fail),
or say so first and do it afterwards (fail-then-commit); only the tool's contract may then allow
another execution. After a crash nothing of an earlier process is done again, unless the model was
given its outcome and asked for it anew, or a person has said yes to it since: a runtime that
forgets a turn with its effects lets the model ask for them once more. A turn that begins anew
forgets them likewise. Where the store has nothing of a turn, its message included, no run shows
whether it is asked for again: the effect that a script repeats proves nothing, and the lost turn is
what is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, Violation, also, broken, check, held
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.permissions import approved_since
from faultclock.oracle.facts.stored_state import first_request, keeps_sessions, reads_store
from faultclock.oracle.facts.tool_messages import told_of
from faultclock.oracle.facts.turn_facts import Answer, Execution, ToolCall


class _Happened(NamedTuple):
    """An effect, and the execution that had it."""

    effect: TraceEvent
    by: Execution


@check(
    "tools.effects",
    title="Effects happen once",
    says="An effect is repeated only as the tool's contract allows, and never after a crash.",
    unjudged="no tool had an effect",
    role="runtime",
)
def effects(history: History, model: ErrorModel) -> Verdicts:
    """Judge each thing that was done to the world, by its key."""
    by_key: dict[str | None, list[_Happened]] = {}
    # In the order in which they were asked for: a late effect may come after the next one.
    for execution in history.executions:
        for effect in execution.effects:
            by_key.setdefault(effect.key, []).append(_Happened(effect, execution))
    for happened in by_key.values():
        yield held(*also(model, "tools.effects.once"))
        if _went_on(history, model, {item.by.life for item in happened}):
            yield held(*also(model, "tools.effects.crash"))
        if any(_failed_after(history, item) for item in happened):
            yield held(*also(model, "tools.effects.anew"))
        first = next(_repeated(history, model, happened), None)
        if first is not None:
            yield first


def _repeated(
    history: History, model: ErrorModel, happened: list[_Happened]
) -> Iterator[Violation]:
    for index, again in enumerate(happened):
        for first in reversed(happened[:index]):
            judge = _in_one_life if first.by.life == again.by.life else _after_crash
            yield from judge(history, model, first, again)


def _in_one_life(
    history: History, model: ErrorModel, first: _Happened, again: _Happened
) -> Iterator[Violation]:
    earlier, execution = first.by, again.by
    same = history.asker_of(earlier) is history.asker_of(execution)
    if not same or earlier.tool_call != execution.tool_call:
        yield from _asked_twice(history, model, first, again)
        return
    script = history.tool_scripts.get(execution.tool)
    retry = None if script is None else script.retry
    code = (earlier.pair or "").rpartition("/")[2]
    stopped = earlier.end is not None and earlier.end.kind == "tool.stopped"
    if stopped and model.tool_calls is not None:
        code = model.tool_calls.timed_out.rpartition("/")[2]
    elif stopped and retry is not None:
        # The model has no name for a timeout, so the contract's own need not be that one.
        return
    if retry is not None and code in retry.retryable and not earlier.is_good:
        return
    if earlier.is_good:
        why = "the first time was a success"
        hint = "Keep each result when it comes: only what failed may be done again."
    else:
        allowed = "has no retry policy" if retry is None else f"does not retry {code or 'this'}"
        why, hint = f"its contract {allowed}", "A reply that says failed may come after the effect."
    yield broken(
        also(model, "tools.effects.once"),
        call=execution.call,
        expected=f"one effect of {execution.tool} for {execution.tool_call}: {why}",
        observed=f"the tool '{execution.tool}' ran again ({_how(first)})",
        events=(*earlier.events, *execution.events, again.effect.seq),
        hint=hint,
    )


def _asked_twice(
    history: History, model: ErrorModel, first: _Happened, again: _Happened
) -> Iterator[Violation]:
    """Judge two tool calls of one turn, of which the model wanted one.

    It did where the request that it answered with the second is like one before the first: it has
    no result of that, and as many messages of each role. What its texts say may differ, by the time
    of day for one.
    """
    earlier, execution = first.by, again.by
    owner = history.asker_of(execution)
    demanded = also(model, "tools.effects.anew")
    if not demanded or owner is None or earlier.call != execution.call:
        return
    if approved_since(history, first.effect.seq, execution):
        return
    answer = _answer_with(history, owner)
    asked = answer.attempt.asked
    if asked is None or asked.seq < first.effect.seq:
        # The model could not know of it yet.
        return
    given = [item.asked for item in answer.in_call.attempts if item.answered and item.asked]
    before = [item for item in given if item.seq < first.effect.seq]
    since = [item for item in given if first.effect.seq < item.seq <= asked.seq]
    if any(told_of(history, item, earlier.tool_call) is not None for item in since):
        return
    # An answer to anything else may be what a summary says of it.
    known = [item.messages for item in before]
    is_new = any(item.messages not in known for item in since if item is not asked)
    if is_new or _roles(asked) not in map(_roles, before):
        return
    yield broken(
        demanded,
        call=execution.call,
        expected=f"what {execution.tool} did is not done again, unless the model knows of it",
        observed=(
            f"the tool {execution.tool} ran again after the turn began anew, and the model did not"
            f" know of the first time; {_how(first)}"
        ),
        events=(*earlier.events, asked.seq, *execution.events, again.effect.seq),
        hint="Send the request that failed again, with all results so far, and not the whole turn.",
        cause="an effect is repeated after the turn began anew",
    )


def _after_crash(
    history: History, model: ErrorModel, first: _Happened, again: _Happened
) -> Iterator[Violation]:
    earlier, execution = first.by, again.by
    if not _is_judged_after_crash(history, model, execution.life):
        return
    owner = history.asker_of(execution)
    asked_anew = owner is not None and owner.life == execution.life
    if model.tool_calls is None and approved_since(history, first.effect.seq, execution):
        return
    if earlier.tool_call == execution.tool_call and (model.tool_calls or asked_anew):
        # The very same call, executed again: ordering rules of the model say that of any execution.
        return
    if owner is not None and asked_anew:
        call = history.call(earlier.call)
        begins_anew = "no-history" in history.trace.header.subject.lacks
        over = begins_anew or (call is not None and call.crashed is None)
        if over or _was_told(history, owner, earlier):
            # The model knew what had become of the first one, and wanted it all the same; or its
            # turn was over before the crash, as each one is of an agent that sends no history.
            return
    if model.tool_calls is None and not _is_kept(history):
        yield _lost(model, first, again)
        return
    yield broken(
        also(model, "tools.effects.crash"),
        call=execution.call,
        expected=f"what {execution.tool} did before the crash is not done again",
        observed=(
            f"the tool {execution.tool} ran again after the crash, and the model did not know of"
            f" the first time; {_how(first)}, and the second was in life {execution.life}"
        ),
        events=(*earlier.events, *execution.events, again.effect.seq),
        hint="Record the start of each tool call first; on resume, seal the calls without an end.",
        cause="an effect is repeated after a crash",
    )


def _lost(model: ErrorModel, first: _Happened, again: _Happened) -> Violation:
    """Return what is said where the store has nothing of the turn that was killed."""
    return broken(
        also(model, "tools.effects.crash"),
        call=again.by.call,
        expected=f"what {again.by.tool} did before the crash is not done again",
        observed=(
            "the crash loses the whole turn, with its message and its tool calls, so who asks again"
            " has their effects twice"
        ),
        events=(*first.by.events, *again.by.events, again.effect.seq),
        hint="Store the message before the turn, and each tool call before it is executed.",
        inconclusive=True,
    )


def _went_on(history: History, model: ErrorModel, lives: set[int]) -> bool:
    """Return whether a later process could have repeated, or did repeat, what happened."""
    if model.tool_calls is not None:
        return len(lives) > 1
    crashed = {life.number for life in history.lives if life.crash is not None}
    return any(
        keeps_sessions(history, later.number)
        and first_request(history, life=later.number) is not None
        for later in history.lives
        if later.number > min(lives) and lives & crashed
    )


def _roles(request: TraceEvent) -> list[str]:
    return [str(message["role"]) for message in request.messages]


def _failed_after(history: History, item: _Happened) -> bool:
    """Return whether a request of the same turn failed later, so that the turn could begin anew."""
    call = history.call(item.by.call)
    return call is not None and any(
        attempt.failed and attempt.start.seq > item.effect.seq for attempt in call.attempts
    )


def _is_judged_after_crash(history: History, model: ErrorModel, life: int) -> bool:
    """Return whether the model asks for it, of a life that resumes a session, or looks for one."""
    if model.tool_calls is not None:
        return model.tool_calls.after_crash != "not_judged"
    resumes = reads_store(history, life) or _is_kept(history)
    return resumes and bool(also(model, "tools.effects.crash"))


def _is_kept(history: History) -> bool:
    """Return whether anything of a session outlives a process."""
    return any(keeps_sessions(history, life.number) for life in history.lives)


def _was_told(history: History, call: ToolCall, earlier: Execution) -> bool:
    """Return whether the request that `call` answers has the result of `earlier`.

    Or one before it in the same life: what a runtime tells the model and forgets in the next turn
    is not lost with the crash.
    """
    answer = _answer_with(history, call)
    last, life = answer.attempt.asked, answer.in_call.life
    own = (item for item in history.calls if item.life == life)
    requests = (attempt.asked for item in own for attempt in item.attempts)
    return last is not None and any(
        told_of(history, asked, earlier.tool_call) is not None
        for asked in requests
        if asked is not None and asked.seq <= last.seq
    )


def _answer_with(history: History, call: ToolCall) -> Answer:
    return next(item for item in history.answers if call in item.tool_calls)


def _how(first: _Happened) -> str:
    """Return in words what came before the repetition."""
    end = first.by.end
    if end is None:
        return "the first time, no reply came at all"
    if first.by.is_good:
        return "the first time, the reply was good"
    said = "it was stopped" if end.kind == "tool.stopped" else "it failed"
    if first.effect.seq < end.seq:
        return f"the first time, {said} after it had had its effect"
    return f"the first time, {said}, and had its effect after that"
