"""The course of turns: one at a time, each on what was said before, saved before it is returned.

turns.apart     two turns of one session do not ask and act at the same time
turns.history   the first request of a turn holds what was said in the turn before it
turns.saved     what a turn returns has been saved before

What was said is known by role and digest, as the provider was sent it. The user's and the
assistant's texts are compared, and which tool calls have a result, in their order. Others may lie
between them: what a runtime adds of its own is its own affair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Sequence
from itertools import pairwise

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdict, Verdicts, also, broken, check, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.wire.attempts import Call

#: Role and SHA-256 (hex) of a message; of a tool's result the id of its call.
Said = tuple[str, str]
#: Role to what a message of it is known by.
_FIELDS: dict[object, str] = {
    "user": "content_sha256",
    "assistant": "content_sha256",
    "tool": "tool_call_id",
}
_NOTHING = hashlib.sha256(b"").hexdigest()


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
            earlier = said_in_turn(before)
            yield from judge_held(
                requirements,
                earlier,
                said_in(asked[0]),
                call=call.id,
                expected=f"the request holds the {len(earlier)} earlier messages",
                events=(before.start.seq, asked[0].seq),
                hint="Is the history kept for the session, or made anew for each turn?",
            )
        yield from _judge_within(call, asked, requirements)


def _judge_within(
    call: Call, requests: Sequence[TraceEvent], requirements: tuple[str, ...]
) -> Verdicts:
    """Judge that no request of a turn, nor a retry of it, forgets what the one before it held."""
    for before, after in pairwise(requests):
        is_whole = yield from judge_held(
            requirements,
            _held(before),
            _held(after),
            call=call.id,
            expected="a request holds all messages of the one before it in the turn",
            events=(before.seq, after.seq),
            hint="Send the same request again in a retry, and only add to it after that.",
        )
        if not is_whole:
            return


def _held(request: TraceEvent) -> list[Said]:
    """Return role and digest of all messages but those that the runtime itself words."""
    return [
        (message["role"], f"{message['content_sha256']} {message.get('tool_call_id')}")
        for message in request.messages
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


# ---------------------------------------------------------------------- what was said


def said_in(request: TraceEvent) -> list[Said]:
    """Return what a request holds, oldest first; messages without a text are left out."""
    return [
        (str(message.get("role")), str(message.get(_FIELDS[message.get("role")])))
        for message in request.messages
        if message.get("role") in _FIELDS
        and message.get(_FIELDS[message.get("role")]) not in (None, _NOTHING)
    ]


def said_in_turn(call: Call) -> list[Said]:
    """Return the conversation up to the end of a turn; nothing when its last word is not known."""
    last = call.last
    if last is None or last.asked is None or last.text_sha256 is None:
        return []
    if call.final is not None and call.final.is_one_of_several and not call.returns(last):
        # Which of several answers at once it made its own of is not known.
        return []
    if last.answered is not None and last.answered.by_tool:
        # It was said by a call, and each framework has its own words for that.
        return said_in(last.asked)
    return [*said_in(last.asked), ("assistant", last.text_sha256)]


def judge_held(
    requirements: tuple[str, ...],
    messages: Sequence[Said],
    given: Iterable[Said],
    *,
    call: str | None,
    expected: str,
    events: tuple[int, ...],
    hint: str,
) -> Generator[Verdict, None, bool]:
    """Judge that messages are among those that are given, in order, and return whether they are."""
    rest = iter(given)
    for number, wanted in enumerate(messages, start=1):
        if not any(item == wanted for item in rest):
            yield broken(
                requirements,
                call=call,
                expected=expected,
                observed=f"message {number}, of the {wanted[0]}, is missing",
                events=events,
                hint=hint,
            )
            return False
    yield held(*requirements)
    return True


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
    needed = history.world.store is not None and "turns.saved" in model.rules
    if not writes and not needed:
        yield otherwise("the situation has no session store")
        return
    for call in history.calls:
        last = call.last
        answered = last.answered if last is not None and call.is_turn and call.returned else None
        if last is None or answered is None or last.tool_calls or call.end is None:
            # Where its last answer asks for tools, it ended at a limit, or with no person to ask.
            continue
        if last.ends == "empty":
            # The model said nothing, so there is nothing of it that could be lost.
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
