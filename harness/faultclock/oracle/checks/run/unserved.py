"""What the scenario had ready and the subject never came to: then nothing was shown.

A run may end early for a reason: a failure, a denial, a cancel, a crash, a limit. Without one, an
answer that was never served, a tool that was asked for and never called, a good answer that was
thrown away, and a request that the provider refuses by itself, leave the situation unproven.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import partial

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.model.scenario.scenario import ASKING_ROLES
from faultclock.oracle.check import Violation, unproven
from faultclock.oracle.checks.roles.executions import contract_of
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.nodes import node_acts_of
from faultclock.oracle.facts.permissions import decider_of, refusal_of
from faultclock.oracle.facts.run_end import end_of
from faultclock.oracle.facts.tool_fates import fate_of
from faultclock.oracle.facts.turn_facts import ToolCall
from faultclock.oracle.facts.uses import Use, uses_of
from faultclock.oracle.failures.engine import failures_of
from faultclock.oracle.wire.attempts import Attempt, Call
from faultclock.oracle.wire.chain import is_degraded

#: Statuses from which on an answer is a refusal.
_REFUSED = 400
#: Statuses of a path, or a method, that the API does not have.
_UNKNOWN_PATH = (404, 405)
#: What a store is asked that shows what it has kept.
_READS = ("read", "read_journal", "read_slot", "list_sessions")
#: What makes a service another than usual, beside its faults, which say themselves what is unmet.
_TEMPO = ("latency", "jitter", "think_time", "pace", "limits", "overload")
_WORD = re.compile(r"\w{4,}")
#: Who spoke in a message that is an earlier answer of the model.
_MODEL = ("assistant", "model")
#: What was left in vain says nothing more of a run that fails by another check.
_in_vain = partial(unproven, moot=True)


def unserved(history: History, model: ErrorModel) -> Iterator[Violation]:
    """Yield what the scenario had ready in vain, without a reason that the world saw.

    A log of another system says nothing of what was ready, and of a program in real time it is not
    known how its calls came out.
    """
    if not history.trace.is_virtual:
        return
    role = history.trace.header.scenario.role
    if role in ASKING_ROLES:
        yield from _refused(history)
        for call in history.calls:
            if call.is_turn and call.end is not None and call.stop is None:
                yield from _thrown_away(history, model, call)
                yield from _nodes_left(history, model, call)
    if history.is_runtime:
        yield from _never_called(history, model)
        yield from _never_served(history, model)
    elif role == "session_store":
        yield from _never_read(history)
    elif role not in ASKING_ROLES:
        yield from _service_left_alone(history)
        yield from _keeps_no_state(history)


# ---------------------------------------------------------------------- the provider's own refusals


def _refused(history: History) -> Iterator[Violation]:
    """Yield each request that was refused although no fault and no limit asked for that."""
    planned = {event.exchange for event in history.of("fault.fired")}
    asked = {event.exchange: event for event in history.of("http.request")}
    dialect = history.trace.header.scenario.provider.dialect or "the provider's API"
    seen: set[tuple[object, ...]] = set()
    for event in history.of("http.response"):
        status, request = event.status or 0, asked.get(event.exchange)
        if status < _REFUSED or event.exchange in planned or request is None:
            continue
        path = f"{request.method} {str(request.target).partition('?')[0]}"
        if (path, status) in seen:
            continue
        seen.add((path, status))
        error = event.error or {}
        why = error.get("message") or error.get("code") or error.get("type")
        observed = f"{path} was answered with {status}, and no fault of the scenario did"
        hint = f"The provider says: {why}." if why else ""
        if status in _UNKNOWN_PATH:
            observed = f"{path} is no path of {dialect}: it was answered with {status}"
            hint = "Does the client speak another API? Name it with --dialect, or in the decorator."
        yield _in_vain(
            "every request is one that the provider understands",
            observed,
            request.seq,
            event.seq,
            call=request.call,
            hint=hint,
            # That the wrong thing was asked says why everything else is as it is.
            moot=status not in _UNKNOWN_PATH,
        )


# ---------------------------------------------------------------------- answers in vain


def _thrown_away(history: History, model: ErrorModel, call: Call) -> Iterator[Violation]:
    """Yield that a call ended as if its last good answer had never come."""
    good = [attempt for attempt in call.attempts if attempt.outcome == "ok"]
    last = good[-1] if good else None
    if last is None or last.ends is not None or call.end is None:
        return
    if call.raised and call.last_failure is not None:
        # Another request, made at the same time, failed.
        return
    expected, hint = "the call makes something of the good answer", ""
    if history.is_runtime and last.tool_calls:
        asked = () if last.answered is None else last.answered.tool_calls
        names = ", ".join(str(item.get("name")) for item in asked if item)
        expected = "the turn goes on after the answer that asks for tools"
        observed = f"it ended, and the model was never given a result of {names or 'them'}"
        if call.raised and _limits(history, model, call):
            # Where it stops is its own choice if the model has no rule; if it has, that one judges.
            return
    elif call.raised:
        observed = "the provider's answer was good, and the call raised"
    elif history.world.workflow is None and _is_made_up(history, call, last):
        observed = "it returned a text in which nothing is the provider's"
        hint = "Return the model's text, so that a run shows what became of it."
    else:
        return
    answered = last.events[-1] if last.answered is None else last.answered.seq
    end = end_of(model, call)
    well = end is not None and end.state == "completed" and not is_degraded(call.end)
    if not _has_a_reason(history, model, call, answered, well=well):
        events = (answered, call.end.seq)
        yield _in_vain(expected, observed, *events, call=call.id, hint=hint)


def _is_made_up(history: History, call: Call, last: Attempt) -> bool:
    """Return whether a call returned a text that shares no word with any that the provider has.

    An answer in the form that its request demands is another than the scenario has, and what of it
    is in the text is not known.
    """
    if call.end is None or is_degraded(call.end):
        return False
    if call.end.text_sha256 in {attempt.text_sha256 for attempt in call.attempts}:
        return False
    mine = (call.end.text or "").strip().casefold()
    words = set(_WORD.findall(mine))
    scenario = history.trace.header.scenario
    ready = [
        text
        for _, provider in scenario.providers
        for text in ([reply.text for reply in provider.replies] or [provider.reply])
        if text
    ]
    known = {hashlib.sha256(text.encode()).hexdigest() for text in ready}
    if last.text_sha256 is not None and last.text_sha256 not in known:
        return False
    ready = [text.casefold() for text in ready]
    return bool(mine) and not any(
        text in mine or mine in text or words.intersection(_WORD.findall(text)) for text in ready
    )


# ---------------------------------------------------------------------- turns


def _never_called(history: History, model: ErrorModel) -> Iterator[Violation]:
    """Yield each tool that the model asked for, and that the turn went on without.

    Where an earlier call of the same tool ran in that turn, the agent has a limit: what it makes of
    the next ones is its own choice.
    """
    served: set[tuple[str, str]] = set()
    for answer in history.answers:
        for tool_call in answer.tool_calls if answer.next is not None else ():
            if tool_call.executions or (answer.in_call.id, tool_call.name) in served:
                continue
            if not _could_run(history, model, tool_call):
                continue
            if answer.in_call.stop is None and not _has_a_reason(
                history, model, answer.in_call, tool_call.answer.seq
            ):
                yield _in_vain(
                    f"the tool {tool_call.name} is called, as the model asked",
                    "it never was, and the model was asked again as if it had been",
                    tool_call.answer.seq,
                    call=answer.in_call.id,
                    hint="Call the tools of `surroundings.tools`; their effects are part of it.",
                )
        served |= {
            (answer.in_call.id, tool_call.name)
            for tool_call in answer.tool_calls
            if tool_call.executions
        }


def _could_run(history: History, model: ErrorModel, tool_call: ToolCall) -> bool:
    """Return whether nothing that the world saw kept a tool call from being executed."""
    if history.prompts_about(tool_call):
        # What has to follow an answer of the person, the checks of approvals say.
        return False
    kind = fate_of(history, model, tool_call).kind
    # Without a request, that it was denied stands for a rule that decided; here a person does.
    denied_by_none = kind == "denied" and decider_of(history) == "person"
    return denied_by_none or (kind == "open" and refusal_of(history, tool_call) is None)


def _nodes_left(history: History, model: ErrorModel, call: Call) -> Iterator[Violation]:
    """Yield the nodes of a workflow that a turn left out."""
    done = {act.node.id for act in node_acts_of(history) if act.call == call.id}
    left = [node.id for node in history.world.nodes if node.id not in done]
    if not done and not call.attempts:
        # That it did nothing at all is said already.
        return
    if left and call.end is not None and not _has_a_reason(history, model, call, call.start.seq):
        yield _in_vain(
            f"the turn does all nodes of its workflow: {', '.join(left)} as well",
            "it ended, and never began them",
            call.start.seq,
            call.end.seq,
            call=call.id,
            hint="The nodes are those of `surroundings.workflow`, in their order.",
        )


def _never_served(history: History, model: ErrorModel) -> Iterator[Violation]:
    """Yield how many answers of the conversation nothing ever asked for."""
    replies = history.trace.header.scenario.provider.replies
    # Which answer of the conversation each good attempt was given.
    places = [
        max(
            sum(message.get("role") in _MODEL for message in attempt.asked.messages)
            + sum(told["left_out"] for told in attempt.asked.in_words),
            attempt.asked.reached or 0,
        )
        for call in history.calls
        for attempt in call.attempts
        if attempt.outcome == "ok" and attempt.asked is not None
    ]
    left = len(replies) - 1 - max(places, default=-1)
    if not replies or not places or left <= 0 or any(life.crash for life in history.lives):
        return
    fired = history.of("fault.fired")
    if any(event.actor == "store" for event in fired) or _skips_a_turn(history):
        # What was stored is not what is read, or the conversation was never begun.
        return
    if not all(
        call.returned and call.stop is None and not _has_a_reason(history, model, call, 0)
        for call in history.calls
    ):
        return
    yield _in_vain(
        f"all {len(replies)} answers of the conversation are served",
        f"{left} of the {len(replies)} answers of the conversation {'was' if left == 1 else 'were'}"
        " never asked for: no request held the answers before that",
        hint="Send the whole conversation with each request, the model's answers included.",
    )


def _skips_a_turn(history: History) -> bool:
    asked = {task.id for task in history.trace.header.scenario.tasks if task.do in ("call", "turn")}
    return any(event.task in asked for event in history.of("call.skipped"))


# ---------------------------------------------------------------------- other roles


def _never_read(history: History) -> Iterator[Violation]:
    """Yield that a store was never asked for what it keeps, since it cannot be asked."""
    skipped = [event for event in history.of("call.skipped") if event.do in _READS]
    if skipped and not any(call.do in _READS for call in history.calls):
        yield _in_vain(
            "the store is asked for what it was given",
            f"{skipped[0].why}, so nothing that it keeps was ever seen",
            skipped[0].seq,
            call=skipped[0].call,
        )


def _keeps_no_state(history: History) -> Iterator[Violation]:
    """Yield that an extension was to be given a slot, and declares that it keeps none."""
    slot = next((call for call in history.calls if call.do == "slot"), None)
    contract = contract_of(history)
    if slot is not None and contract and contract.get("state_slot") is None:
        yield _in_vain(
            "the extension is given the state that it kept",
            "its contract declares no state_slot, so there was none",
            slot.start.seq,
            call=slot.id,
        )


def _service_left_alone(history: History) -> Iterator[Violation]:
    """Yield that a tool, or an extension, never asked the service that the scenario is about."""
    scenario = history.trace.header.scenario
    usual = ProviderScript.model_construct()
    special = any(getattr(scenario.provider, name) != getattr(usual, name) for name in _TEMPO)
    batch = [task for task in scenario.tasks if task.arguments.get("$fixture") == "batch"]
    if not (special or batch) or any(history.of("http.request")):
        return
    if any(call.stop for call in history.calls) or any(history.of("net.connect_failed")):
        return
    yield _in_vain(
        "the service is asked, as the scenario is about how it answers",
        "it never was, so the situation never came about",
        hint="Ask the service at `base_url`; what asks none is not shown by this scenario.",
    )


# ---------------------------------------------------------------------- reasons


def _has_a_reason(
    history: History, model: ErrorModel, call: Call, since: int, *, well: bool = False
) -> bool:
    """Return whether the world saw why a call need not have gone on after the event `since`.

    Args:
        well: whether it ended as if all was well: a call that cannot be made is no reason then.
    """
    if any(
        # What is wrong with a call that the model asks for is known with its answer.
        failure.call == call.id and (failure.seq > since or (failure.seq == since and not well))
        for failure in failures_of(history, model)
    ):
        return True
    if history.session.stages and any(visit.call == call.id for visit in history.stage_visits):
        # The state machine decides where a turn ends.
        return True
    if history.is_runtime and any(use.over is None for use in _limits(history, model, call)):
        return True
    if any(
        prompt.call == call.id and prompt.shown.seq >= since and not prompt.is_approved_in_time
        for prompt in history.prompts
    ):
        return True
    return any(
        item.call == call.id and item.answer.seq >= since and refusal_of(history, item) is not None
        for item in history.tool_calls
    )


def _limits(history: History, model: ErrorModel, call: Call) -> list[Use]:
    """Return the limits of the session that a turn needed more of than it may use, or used more."""
    uses = uses_of(history, model, call)
    return [use for use in uses if use.reached]
