"""What happened in the turns of an agent: its lives, the tool calls of the model, and their fate.

Built from what the world observed, once per trace. A tool call is what the model asked for in one
answer; its executions are those with its id, up to the next answer that uses the id again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.trace.trace import Trace, TraceEvent, seqs
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.requests import Attempt, Request

_ENDS = ("tool.replied", "tool.raised", "tool.stopped")


class Life(Struct, frozen=True, kw_only=True):
    """One process of the subject.

    Attributes:
        number: 1-based.
        crash: the kill that ended it; None when it came to its own end, or was restarted.
        until_ns: when it was over, at the latest.
    """

    number: int
    start: TraceEvent
    crash: TraceEvent | None
    until_ns: int

    @property
    def resumes(self) -> bool:
        """Whether the session is read from the store."""
        return bool(self.start.resume)


class Execution(Struct, frozen=True, kw_only=True):
    """One execution of a tool.

    Attributes:
        end: its reply, its exception or its stop, whichever came first; None for none.
        effects: what it did to the world; may come after its end.
    """

    id: str
    tool: str
    tool_call: str
    call: str | None
    life: int
    called: TraceEvent
    end: TraceEvent | None
    effects: tuple[TraceEvent, ...]

    @property
    def is_good(self) -> bool:
        """Whether it replied with a value, whole or partial."""
        return self.end is not None and bool(self.end.ok)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What it was called with."""
        given = self.called.arguments
        return given if isinstance(given, Mapping) else {}

    @property
    def pair(self) -> str | None:
        """`Class/Code` that it reported; None when it reported none."""
        if self.end is None or self.end.error_class is None:
            return None
        return f"{self.end.error_class}/{self.end.code}"

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show it."""
        return tuple(sorted(seqs(self.called, *self.effects, self.end)))

    def __str__(self) -> str:
        return f"{self.tool} ({self.tool_call})"


class ToolCall(Struct, frozen=True, kw_only=True):
    """One tool call that the model asked for.

    Attributes:
        arguments: the JSON text that the provider sent.
        place: 0-based among the calls of its answer.
        answer: the provider's record of the answer.
        executions: in the order in which they began, over all lives.
    """

    id: str
    name: str
    arguments: str
    place: int
    call: str
    life: int
    answer: TraceEvent
    executions: tuple[Execution, ...] = ()

    @property
    def own(self) -> tuple[Execution, ...]:
        """The executions in the life in which the model asked for it."""
        return tuple(item for item in self.executions if item.life == self.life)

    def __str__(self) -> str:
        return f"{self.id} of {self.name}"


class Answer(Struct, frozen=True, kw_only=True):
    """A good answer of the provider that asks for tools.

    Attributes:
        known_ns: when it had reached the subject.
        next: the request that went on with its conversation in the same turn; None when there was
            none, or when a stage began anew in between.
        in_call: its call.
    """

    in_call: Call
    attempt: Attempt
    known_ns: int
    tool_calls: tuple[ToolCall, ...]
    next: Attempt | None


def lives_of(trace: Trace) -> tuple[Life, ...]:
    """Return the lives of the subject, in order; none for a trace without processes."""
    starts = list(trace.of_kind("process.started"))
    crashes = list(trace.of_kind("process.crashed"))
    lives: list[Life] = []
    for start, following in zip_longest(starts, starts[1:]):
        until_seq = len(trace.events) + 1 if following is None else following.seq
        crash = next((item for item in crashes if start.seq < item.seq < until_seq), None)
        over_ns = trace.footer.ended_at_ns if following is None else following.at_ns
        until_ns = over_ns if crash is None else crash.at_ns
        lives.append(Life(number=start.life, start=start, crash=crash, until_ns=until_ns))
    return tuple(lives)


def executions_of(trace: Trace) -> tuple[Execution, ...]:
    """Return the executions of all tools, in the order in which they began.

    A call that ended by asking a person has done nothing yet: it is none.
    """
    put_off = {event.execution for event in trace.of_kind("tool.put_off")}
    ends: dict[str | None, TraceEvent] = {}
    effects: dict[str | None, list[TraceEvent]] = {}
    for event in trace.of_kind(*_ENDS, "tool.effect"):
        if event.kind == "tool.effect":
            effects.setdefault(event.execution, []).append(event)
        else:
            ends.setdefault(event.execution, event)
    return tuple(
        Execution(
            id=str(event.execution),
            tool=event.tool,
            tool_call=event.tool_call,
            call=event.call,
            life=event.life,
            called=event,
            end=ends.get(event.execution),
            effects=tuple(effects.get(event.execution, ())),
        )
        for event in trace.of_kind("tool.called")
        if event.execution not in put_off
    )


def answers_of(calls: Sequence[Call], executions: Sequence[Execution]) -> tuple[Answer, ...]:
    """Return every answer that asks for tools, with what became of each of its calls."""
    bare = sorted(
        (answer for call in calls for answer in _answers(call)),
        key=lambda answer: answer.attempt.events[-1],
    )
    # Ids may be used again by a later answer: an execution belongs to the latest before it.
    owned: dict[tuple[int, str], list[Execution]] = {}
    for execution in executions:
        id_ = execution.tool_call
        given = [
            index
            for index, answer in enumerate(bare)
            if answer.tool_calls[0].answer.seq < execution.called.seq
            and any(item.id == id_ for item in answer.tool_calls)
        ]
        if given:
            # Two agents that ask the same at once are given the same ids: one execution for each.
            twins = [it for it in reversed(given) if _at_once(bare[it], bare[given[-1]])]
            owner = min(twins, key=lambda index: len(owned.get((index, id_), ())))
            owned.setdefault((owner, id_), []).append(execution)
    return tuple(
        replace(
            answer,
            tool_calls=tuple(
                replace(item, executions=tuple(owned.get((index, item.id), ())))
                for item in answer.tool_calls
            ),
        )
        for index, answer in enumerate(bare)
    )


def _at_once(one: Answer, other: Answer) -> bool:
    """Return whether each was asked for before the other was given; an answer is so with itself."""
    asked = (one.attempt.start.seq, other.attempt.start.seq)
    return max(asked) < min(one.tool_calls[0].answer.seq, other.tool_calls[0].answer.seq)


def _answers(call: Call) -> Iterator[Answer]:
    for number, request in enumerate(call.requests, 1):
        attempt = request.attempts[-1] if request.attempts else None
        answered = None if attempt is None else attempt.answered
        if attempt is None or answered is None or attempt.outcome != "ok":
            continue
        if not answered.tool_calls:
            continue
        yield Answer(
            in_call=call,
            attempt=attempt,
            known_ns=answered.at_ns if attempt.known_ns is None else attempt.known_ns,
            tool_calls=tuple(
                ToolCall(
                    id=str(item.get("id")),
                    name=item["name"],
                    arguments=item["arguments"],
                    place=place,
                    call=call.id,
                    life=call.life,
                    answer=answered,
                )
                for place, item in enumerate(answered.tool_calls)
            ),
            next=_next(call, attempt, answered, call.requests[number:]),
        )


def _next(
    call: Call, attempt: Attempt, answered: TraceEvent, later: Sequence[Request]
) -> Attempt | None:
    """Return the attempt that goes on with the conversation of a good answer.

    A turn may have several: an agent that is a tool of another has its own, which begins and ends
    between two requests of that. What has a call of the answer in it goes on, wherever it stands.
    Otherwise the next one does, unless it belongs to a conversation that is known already. One that
    belongs to none is taken for it where the turn returned: it should have gone on.
    """
    mine, stage = _messages(attempt), list(takewhile(lambda item: not item.begins_stage, later))
    # What was under way before the answer does not go on with it.
    following = [it for item in stage for it in item.attempts if it.start.seq > answered.seq]
    ids = {str(item.get("id")) for item in answered.tool_calls or ()}
    named = next((item for item in following if not ids.isdisjoint(_named(item))), None)
    if named is not None or not mine or not following:
        return named or next(iter(following), None)
    begun = [_messages(item.attempts[0]) for item in call.requests[: -len(later)]]
    others = [item for item in begun if item and not _begins(mine, item)]
    for item in following:
        if item.asked is None or _begins(_messages(item), mine):
            return item
        if any(_begins(_messages(item), other) for other in others):
            return None
    return None if call.end is None or call.raised else following[0]


def _messages(attempt: Attempt) -> tuple[Mapping[str, Any], ...]:
    return () if attempt.asked is None else tuple(attempt.asked.messages)


def _begins(messages: Sequence[Mapping[str, Any]], with_: Sequence[Mapping[str, Any]]) -> bool:
    return messages[: len(with_)] == with_


def _named(attempt: Attempt) -> set[str]:
    """Return the ids of the tool calls that a request has in it, and of their results."""
    messages = _messages(attempt)
    found = {str(message.get("tool_call_id")) for message in messages}
    found |= {str(call.get("id")) for item in messages for call in item.get("tool_calls", ())}
    told = () if attempt.asked is None else attempt.asked.in_words
    return found | {str(id_) for item in told for id_ in item["tool_call_ids"]}
