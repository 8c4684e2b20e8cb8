"""Effects: what a tool does to the world happens once for each tool call.

Effect and reply are apart. A tool may have done its work and say that it failed (commit-then-fail),
or say so first and do it afterwards (fail-then-commit); only the tool's contract may then allow
another execution. After a crash nothing of an earlier process is done again, unless the model was
given its outcome and asked for it anew: a runtime that forgets a turn with its effects
lets the model ask for them once more.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Check, Verdicts, Violation, also, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.opening import first_request, keeps_sessions
from faultclock.oracle.turn_facts import Execution, ToolCall

__all__ = ["CHECKS"]

_Happened = tuple[TraceEvent, Execution]


def _effects(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no tool had an effect")
    by_key: dict[str, list[_Happened]] = {}
    for execution in history.executions:
        for effect in execution.effects:
            by_key.setdefault(str(effect.key), []).append((effect, execution))
    owners = {execution.id: call for call in history.tool_calls for execution in call.executions}
    for happened in by_key.values():
        # In the order in which they were asked for: a late effect may come after the next one.
        happened.sort(key=lambda item: item[1].called.seq)
        yield held(*also(model, "tools.effects.once"))
        if _went_on(history, model, {execution.life for _, execution in happened}):
            yield held(*also(model, "tools.effects.crash"))
        for violation in _repeated(history, model, happened, owners):
            yield violation
            break


def _repeated(
    history: History, model: ErrorModel, happened: list[_Happened], owners: dict[str, ToolCall]
) -> Iterator[Violation]:
    for index, (effect, execution) in enumerate(happened):
        for earlier_effect, earlier in reversed(happened[:index]):
            if earlier.life != execution.life:
                found = _after_crash(
                    history, model, (earlier_effect, earlier), (effect, execution), owners
                )
            else:
                found = _in_one_life(
                    history, model, (earlier_effect, earlier), (effect, execution), owners
                )
            if found is not None:
                yield found


def _in_one_life(
    history: History,
    model: ErrorModel,
    first: _Happened,
    again: _Happened,
    owners: dict[str, ToolCall],
) -> Violation | None:
    (effect, earlier), (repeated, execution) = first, again
    same = owners.get(earlier.id) is owners.get(execution.id)
    if not same or earlier.tool_call != execution.tool_call:
        # The model asked twice.
        return None
    script = history.tool_scripts.get(execution.tool)
    retry = None if script is None else script.retry
    code = (earlier.pair or "").rpartition("/")[2]
    stopped = earlier.end is not None and earlier.end.kind == "tool.stopped"
    if stopped and model.tool_calls is not None:
        code = model.tool_calls.timed_out.rpartition("/")[2]
    elif stopped and retry is not None:
        # The model has no name for a timeout, so the contract's own need not be that one.
        return None
    if retry is not None and code in retry.retryable and not earlier.is_good:
        return None
    allowed = "has no retry policy" if retry is None else f"does not retry {code or 'this'}"
    return Violation(
        requirement=next(iter(also(model, "tools.effects.once")), None),
        call=execution.call,
        expected=(
            f"one effect of {execution.tool} for {execution.tool_call}: its contract {allowed}"
        ),
        observed=f"it happened again ({_how(effect, earlier)})",
        events=(*earlier.events, *execution.events, repeated.seq),
        hint="A reply that says failed does not say that nothing was done.",
    )


def _after_crash(
    history: History,
    model: ErrorModel,
    first: _Happened,
    again: _Happened,
    owners: dict[str, ToolCall],
) -> Violation | None:
    (effect, earlier), (repeated, execution) = first, again
    if not _is_judged_after_crash(history, model):
        return None
    owner = owners.get(execution.id)
    asked_anew = owner is not None and owner.life == execution.life
    if earlier.tool_call == execution.tool_call and (model.tool_calls or asked_anew):
        # The very same call, executed again: ordering rules of the model say that of any execution.
        return None
    if owner is not None and owner.life == execution.life and _was_told(history, owner, earlier):
        # It knew what had become of the first one, and wanted it all the same.
        return None
    if owner is not None and owner.life == execution.life and not _is_cut(history, earlier):
        return None
    return Violation(
        requirement=next(iter(also(model, "tools.effects.crash")), None),
        call=execution.call,
        expected=(
            f"the effect of {execution.tool} that happened in life {earlier.life}"
            f" ({earlier.tool_call}) is not repeated after the crash"
        ),
        observed=(
            f"it happened again in life {execution.life} ({_how(effect, earlier)});"
            " the model was not informed of the first one"
        ),
        events=(*earlier.events, *execution.events, repeated.seq),
        hint="Record the start of each tool call first; on resume, seal the calls without an end.",
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


def _is_judged_after_crash(history: History, model: ErrorModel) -> bool:
    """Return whether the model asks for it, of a runtime that keeps its session at all."""
    rules = model.tool_calls
    if rules is not None:
        return rules.after_crash != "not_judged"
    kept = any(keeps_sessions(history, life.number) for life in history.lives)
    return kept and bool(also(model, "tools.effects.crash"))


def _is_cut(history: History, execution: Execution) -> bool:
    """Return whether the turn of `execution` was cut off by the end of its process."""
    call = history.call(execution.call)
    return call is None or call.crashed is not None


def _was_told(history: History, call: ToolCall, earlier: Execution) -> bool:
    """Return whether the request that `call` answers has the result of `earlier`."""
    answer = next((item for item in history.answers if call in item.tool_calls), None)
    asked = None if answer is None else answer.attempt.asked
    messages = () if asked is None else asked.messages or ()
    return any(
        message.get("role") == "tool" and message.get("tool_call_id") == earlier.tool_call
        for message in messages
    )


def _how(effect: TraceEvent, execution: Execution) -> str:
    end = execution.end
    if end is None:
        return "the first time, no reply came at all"
    if execution.is_good:
        return "the first time, the reply was good"
    said = execution.pair or ("it was stopped" if end.kind == "tool.stopped" else "it broke")
    if effect.seq < end.seq:
        return f"commit-then-fail: the effect was there before the reply said {said}"
    return f"fail-then-commit: the reply said {said}, and the effect came after it"


CHECKS = (
    Check(
        id="tools.effects",
        title="Effects happen once",
        says="An effect is repeated only as the tool's contract allows, and never after a crash.",
        run=_effects,
    ),
)
