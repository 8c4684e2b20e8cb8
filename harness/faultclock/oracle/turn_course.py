"""The course of turns: one at a time, each on what was said before, each to its proper end.

turns.go-on     a turn ends when the model has said its last word, or for a reason that ends turns
turns.apart     two turns of one session do not ask and act at the same time
turns.history   the first request of a turn holds what was said in the turn before it
turns.saved     what a turn returns has been saved before

All of it is read from what the world saw, so that it holds for a runtime that declares nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import Verdicts, also, broken, check, held, otherwise
from faultclock.oracle.conversation import first_missing, said_in, said_in_turn
from faultclock.oracle.extension_set import set_faults
from faultclock.oracle.history import History
from faultclock.oracle.opening import opening_of
from faultclock.oracle.session_bounds import judge_bounds, said_of
from faultclock.oracle.stored_state import conditions_of
from faultclock.oracle.tool_fates import FAILED, Fate, arguments_of, fate_of
from faultclock.oracle.tool_messages import messages_of
from faultclock.oracle.turn_facts import Answer, ToolCall

# ---------------------------------------------------------------------- go-on


@check(
    "turns.go-on",
    title="A turn goes on to its end",
    says="A turn ends with the model's last word; a tool call that fails does not end it.",
    unjudged="no turn ended by itself",
    role="runtime",
)
def go_on(history: History, model: ErrorModel) -> Verdicts:
    """Judge the end of each turn that nothing stopped, and how sessions begin and end."""
    for call in history.calls:
        if not call.is_turn or call.end is None or call.stop is not None:
            continue
        if not call.attempts:
            yield from _judge_refused(history, model, call, call.end)
        elif call.attempts[-1].outcome == "ok" and not _is_excused(history, model, call):
            yield from _judge_end(history, model, call, call.end)
    yield from judge_bounds(history, model)


def _judge_end(history: History, model: ErrorModel, call: Call, end: TraceEvent) -> Verdicts:
    own = [answer for answer in history.answers if answer.in_call is call]
    last = next((answer for answer in own if answer.attempt is call.attempts[-1]), None)
    failed = _failures(history, model, [last] if last is not None else [])
    survived = _failures(history, model, [item for item in own if item.next is not None])
    yield held(*also(model, "turns.go-on.end"))
    if failed or survived:
        yield held(*also(model, "turns.go-on.tool"))
    if _all_by_themselves(history, failed) or _all_by_themselves(history, survived):
        yield held(*also(model, "turns.go-on.broken"))
    stuck = _stuck(call, last, failed)
    if stuck is None:
        return
    requirements = also(model, f"turns.go-on.{stuck.name}")
    if stuck.name == "tool" and _all_by_themselves(history, failed):
        requirements += also(model, "turns.go-on.broken")
    if requirements:
        yield broken(
            requirements,
            call=call.id,
            expected=stuck.expected,
            observed=stuck.observed,
            events=tuple(sorted({*stuck.events, end.seq})),
            hint="What fails within a tool call is a result for the model, not an exception.",
        )


def _judge_refused(history: History, model: ErrorModel, call: Call, end: TraceEvent) -> Verdicts:
    """Judge that a turn is not refused where nothing is in its way."""
    requirements = also(model, "turns.go-on.end")
    if requirements and call.raised and not _is_in_the_way(history, model, call, end):
        yield held(*requirements)
        yield broken(
            requirements,
            call=call.id,
            expected="the turn asks the model: nothing had failed",
            observed=f"it ended with {said_of(end)}",
            events=(call.start.seq, end.seq),
        )


def _is_in_the_way(history: History, model: ErrorModel, call: Call, end: TraceEvent) -> bool:
    """Return whether something may have kept a turn from asking the model."""
    life = next((item for item in history.lives if item.number == call.life), None)
    before = [
        item for item in history.calls if item.life == call.life and item.start.seq < call.start.seq
    ]
    if life is None or history.session.stages or not str(call.start.prompt).strip():
        return True
    if any(item.do == "close" or (item.do == "start" and not item.returned) for item in before):
        return True
    failed = any(not item.ok and item.life == call.life for item in history.store_operations)
    cancelled = any(event.seq < end.seq for event in history.of("cancel.requested"))
    if failed or cancelled or set_faults(history, model, call):
        return True
    if not life.resumes or opening_of(history, life.number) is not call:
        return False
    # A session that is opened lazily is refused in its first turn.
    found = conditions_of(history, model, life)
    return found is None or bool({*found} - {"sound", "slot_drift", "extension_gone"})


def _is_excused(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether something else may have ended the turn, that other checks judge."""
    named = typed(origin(chain_of(call.end)))
    limits = model.budgets.steps if model.budgets is not None else ()
    return any(
        (
            history.session.stages,
            # A runtime without a person to ask halts the turn.
            history.session.headless and history.session.mode != "yolo",
            _is_at_a_limit(history, call),
            named is not None and "/".join(named) in limits,
            any(not item.ok for item in history.store_operations if item.call == call.id),
            _within(history, call, "cancel.requested", "interaction.broken"),
        )
    )


def _is_at_a_limit(history: History, call: Call) -> bool:
    """Return whether the turn could not go on without going beyond one of its limits."""
    budgets = history.session.budgets
    answers = [item.answered for item in call.attempts if item.answered is not None]
    wanted = sum(len(item.tool_calls) for item in answers)
    tokens = sum(item.usage.get("total_tokens", 0) for item in answers)
    return any(
        limit is not None and used >= limit
        for limit, used in (
            (budgets.steps_max, len(answers)),
            (budgets.tool_calls_max, wanted),
            (budgets.tokens_max, tokens),
        )
    )


def _within(history: History, call: Call, *kinds: str) -> bool:
    until = len(history.trace.events) if call.end is None else call.end.seq
    return any(call.start.seq < event.seq < until for event in history.of(*kinds))


def _failures(
    history: History, model: ErrorModel, answers: Iterable[Answer]
) -> list[tuple[ToolCall, Fate]]:
    """Return the tool calls of these answers whose failure the model gets."""
    calls = (item for answer in answers for item in answer.tool_calls)
    fates = ((item, fate_of(history, model, item)) for item in calls)
    return [(item, fate) for item, fate in fates if fate.kind in (*FAILED, "malformed")]


def _all_by_themselves(history: History, failed: list[tuple[ToolCall, Fate]]) -> bool:
    """Return whether calls failed, and neither a refusal nor a setting may end their turn.

    A turn may well end where a person said no, or where it was set up to end with a failure.
    """
    session, scripts = history.session, history.tool_scripts
    if session.join or any(what != "continue" for what in session.policies.values()):
        return False
    return bool(failed) and not any(
        fate.kind in ("denied", "unanswered") or (item.name in scripts and scripts[item.name].agent)
        for item, fate in failed
    )


@dataclass(frozen=True, slots=True)
class _Stuck:
    """A turn that ended too early: which rule says so, and in words."""

    name: str
    expected: str
    observed: str
    events: tuple[int, ...]


def _stuck(call: Call, answer: Answer | None, failed: list[tuple[ToolCall, Fate]]) -> _Stuck | None:
    if answer is not None and any(arguments_of(item) is None for item in answer.tool_calls):
        # Whether the answer as a whole is malformed, the documents do not agree on.
        return None
    shown = (call.attempts[-1].events[-1],)
    if call.raised and failed:
        item, fate = failed[0]
        what = fate.pair or fate.kind.replace("_", " ")
        expected = f"the model gets the failure of {item} ({what}), and the turn goes on"
        return _Stuck("tool", expected, f"the turn ended with {said_of(call.end)}", fate.events)
    if call.raised and (answer is None or _all_good(answer)):
        expected = "the turn goes on to its answer: nothing had failed"
        return _Stuck("end", expected, f"it ended with {said_of(call.end)}", shown)
    if call.returned and answer is not None:
        expected = f"the model gets its {len(answer.tool_calls)} results, and its last word"
        return _Stuck("end", expected, "the turn returned without asking it again", shown)
    return None


def _all_good(answer: Answer) -> bool:
    ends = [item.executions[-1].is_good for item in answer.tool_calls if item.executions]
    return len(ends) == len(answer.tool_calls) and all(ends)


# ---------------------------------------------------------------------- apart


@check(
    "turns.apart",
    title="One turn at a time",
    says="Turns of one session that start at the same time run one after the other.",
    unjudged="no turn was asked for while another one ran",
    role="runtime",
)
def apart(history: History, model: ErrorModel) -> Verdicts:
    """Judge each two turns of which one was asked for before the other was over."""
    requirements = also(model, "turns.apart")
    turns = [call for call in history.calls if call.is_turn]
    for index, late in enumerate(turns):
        for early in turns[:index]:
            over = early.end is not None and early.end.seq < late.start.seq
            if over or early.life != late.life or early.crashed is not None:
                continue
            yield held(*requirements)
            one, other = _acts(history, early), _acts(history, late)
            # Whichever began first has to be through when the other one begins.
            first, second = sorted((one, other), key=lambda own: own[:1])
            if first and second and second[0] < first[-1]:
                yield broken(
                    requirements,
                    call=late.id,
                    expected=f"{late.id} and {early.id} run one after the other",
                    observed="one of them acted before the other one had ended",
                    events=(first[0], second[0], first[-1]),
                    hint="A turn waits until the one before it has ended, first in, first out.",
                )


def _acts(history: History, call: Call) -> list[int]:
    """Return the `seq` of what the turn did and waited for, in order."""
    found: list[int] = []
    for attempt in call.attempts:
        found += [attempt.start.seq, *attempt.events]
        if attempt.answered is not None:
            found.append(attempt.answered.seq)
    for execution in history.executions:
        if execution.call == call.id:
            found.append(execution.called.seq)
            if execution.end is not None and execution.end.seen is not False:
                found.append(execution.end.seq)
    return sorted(found)


# ---------------------------------------------------------------------- history


@check(
    "turns.history",
    title="A turn has the history of the session",
    says="The first request of a turn holds the earlier messages of the same process.",
    unjudged="no process asked the model a second time",
    role="runtime",
)
def history_kept(history: History, model: ErrorModel) -> Verdicts:
    """Judge the first request of each turn, and each request after it."""
    requirements = also(model, "turns.history")
    if history.session.stages:
        yield otherwise("a stage has a conversation of its own")
        return
    for call in history.calls:
        asked = [item.asked for item in call.attempts if item.asked is not None]
        if not call.is_turn or not asked:
            continue
        before = _turn_before(history, call)
        if before is not None:
            expected = said_in_turn(before)
            yield held(*requirements)
            missing = first_missing(expected, said_in(asked[0]))
            if missing is not None:
                yield broken(
                    requirements,
                    call=call.id,
                    expected=f"the request holds the {len(expected)} earlier messages",
                    observed=f"message {missing + 1}, of the {expected[missing][0]}, is missing",
                    events=(before.start.seq, asked[0].seq),
                    hint="Is the history kept for the session, or made anew for each turn?",
                )
        yield from _judge_within(call, asked, requirements)


def _judge_within(
    call: Call, requests: Sequence[TraceEvent], requirements: tuple[str, ...]
) -> Verdicts:
    """Judge that no request of a turn, nor a retry of it, forgets what the one before it held."""
    for before, after in pairwise(requests):
        messages = _held(before)
        yield held(*requirements)
        missing = first_missing(messages, _held(after))
        if missing is not None:
            yield broken(
                requirements,
                call=call.id,
                expected="a request holds all messages of the one before it in the turn",
                observed=f"message {missing + 1}, of the {messages[missing][0]}, is missing",
                events=(before.seq, after.seq),
                hint="Send the same request again in a retry, and only add to it after that.",
            )
            return


def _held(request: TraceEvent) -> list[tuple[str, str]]:
    """Return role and digest of all messages but those that the runtime itself words."""
    return [
        (message["role"], f"{message['content_sha256']} {message.get('tool_call_id')}")
        for message in messages_of(request)
        if message["role"] in ("user", "assistant", "tool")
    ]


def _turn_before(history: History, call: Call) -> Call | None:
    """Return the last turn of the same life that had returned before `call` first asked."""
    begun = call.attempts[0].start.seq
    found = (
        (item.end.seq, item)
        for item in history.calls
        if item.is_turn and item.life == call.life and item.returned and said_in_turn(item)
        if item.end is not None and item.end.seq < begun
    )
    return max(found, key=lambda own: own[0], default=(0, None))[1]


# ---------------------------------------------------------------------- saved


@check(
    "turns.saved",
    title="Saved before it is returned",
    says="A turn returns its answer only after the store has acknowledged it.",
    unjudged="no turn returned an answer that had to be saved",
    role="runtime",
)
def saved(history: History, model: ErrorModel) -> Verdicts:
    """Judge each turn that returned an answer."""
    requirements = also(model, "turns.saved")
    writes = [item for item in history.store_operations if item.name in ("write", "append")]
    # A model may ask for it of those alone that save sessions at all.
    needed = history.trace.header.scenario.store is not None and "turns.saved" in model.rules
    if not writes and not needed:
        yield otherwise("the situation has no session store")
        return
    for call in history.calls:
        last = call.attempts[-1] if call.attempts else None
        answered = last.answered if last is not None and call.is_turn and call.returned else None
        if last is None or answered is None or last.tool_calls or call.end is None:
            # Where its last answer asks for tools, it ended at a limit, or with no person to ask.
            continue
        yield held(*requirements)
        since, until = answered.seq, call.end.seq
        done = (item for item in writes if item.ok and item.asked.seq > since)
        if any(item.answered is not None and item.answered.seq < until for item in done):
            continue
        yield broken(
            requirements,
            call=call.id,
            expected="the store has acknowledged the answer before the turn returns it",
            observed=_unsaved(since, until, [item.asked.seq for item in writes]),
            events=(since, until),
            hint="Save at the boundary of the turn, wait for the store, and return then.",
        )


def _unsaved(since: int, until: int, asked: list[int]) -> str:
    if any(since < seq < until for seq in asked):
        return "it was still being saved, or could not be"
    if any(seq > until for seq in asked):
        return "it was saved later, if at all"
    return "nothing was saved after the answer had come"
