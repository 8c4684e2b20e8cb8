"""What happened at the ports beside the tools: requests to the person, the store, the stages.

Built from what the world observed, once per trace; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from faultclock.model.trace import Trace, TraceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request to the person, at every interactor that was shown it.

    Attributes:
        shown: the first time that it was shown.
        shown_all: likewise, at each interactor.
        deadline_ns: how long it says that it stays open; None when that is not finite.
        answers: all that was answered, early and late.
        dismissals: where the runtime took it off.
    """

    id: str
    kind: str
    tool: str | None
    tool_call: str | None
    call: str | None
    life: int
    shown: TraceEvent
    shown_all: tuple[TraceEvent, ...]
    deadline_ns: int | None
    answers: tuple[TraceEvent, ...]
    dismissals: tuple[TraceEvent, ...]

    @property
    def accepted(self) -> TraceEvent | None:
        """The first answer that the runtime took."""
        return next((event for event in self.answers if event.accepted), None)

    @property
    def said(self) -> str | None:
        """What the answer that counts said: `approved`, `denied`, `given` or `dismissed`."""
        return None if self.accepted is None else str(self.accepted.answer)

    @property
    def settled(self) -> TraceEvent | None:
        """When it was over: an accepted answer, or the runtime took it off."""
        found = [*self.dismissals[:1], *([self.accepted] if self.accepted else [])]
        return min(found, key=lambda event: event.seq, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOperation:
    """One operation that reached the session store.

    Attributes:
        owner: of a slot; None for the manifest and the journal.
        revision: digest of what is written; None for a read.
        durable: when it would survive a crash; None for a read and for what was lost.
    """

    id: str
    name: str
    call: str | None
    life: int
    owner: str | None
    revision: str | None
    asked: TraceEvent
    durable: TraceEvent | None
    answered: TraceEvent | None

    @property
    def ok(self) -> bool:
        """Whether it was acknowledged."""
        return self.answered is not None and bool(self.answered.ok)

    @property
    def pair(self) -> str | None:
        """`Class/Code` that the store reported; None when it reported none."""
        if self.answered is None or self.answered.error_class is None:
            return None
        return f"{self.answered.error_class}/{self.answered.code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTry:
    """One attempt of a stage: its gate, and what was made of it."""

    number: int
    begun: TraceEvent
    decided: TraceEvent | None

    @property
    def decision(self) -> str | None:
        """`ok`, `retry`, `skip` or `fail`; None when it never came to that."""
        return None if self.decided is None else str(self.decided.answer)


@dataclass(slots=True, kw_only=True)
class StageVisit:
    """All attempts of a stage between entering and leaving it.

    Attributes:
        left: when the state machine was asked where to go next.
        follows: what it was asked right after that, in the same call.
    """

    stage: str
    call: str
    life: int
    tries: list[StageTry] = field(default_factory=list)
    left: TraceEvent | None = None
    follows: TraceEvent | None = None


def prompts_of(trace: Trace) -> tuple[Prompt, ...]:
    """Return the requests to the person, in the order in which they were first shown."""
    by_kind: dict[str, dict[tuple[int, str], list[TraceEvent]]] = {}
    for kind in ("interaction.shown", "interaction.answered", "interaction.dismissed"):
        own = by_kind.setdefault(kind, {})
        for event in trace.of_kind(kind):
            # A fresh process may count its requests from the beginning.
            key = (event.life, str(event.request))
            own.setdefault(key, []).append(event)
    return tuple(
        _prompt(
            key,
            shown,
            by_kind["interaction.answered"].get(key, ()),
            by_kind["interaction.dismissed"].get(key, ()),
        )
        for key, shown in by_kind["interaction.shown"].items()
    )


def _prompt(
    key: tuple[int, str],
    shown: list[TraceEvent],
    answers: Iterable[TraceEvent],
    dismissals: Iterable[TraceEvent],
) -> Prompt:
    payload = shown[0].payload
    deadline = payload.get("deadline_ns")
    return Prompt(
        id=key[1],
        kind=str(payload.get("interaction_kind")),
        tool=_text(payload, "tool"),
        tool_call=_text(payload, "tool_call"),
        call=_text(payload, "call"),
        life=key[0],
        shown=shown[0],
        shown_all=tuple(shown),
        deadline_ns=deadline if isinstance(deadline, int) else None,
        answers=tuple(answers),
        dismissals=tuple(dismissals),
    )


def store_operations_of(trace: Trace) -> tuple[StoreOperation, ...]:
    """Return the operations of the session store, in the order in which they began."""
    durable = {event.op: event for event in trace.of_kind("store.durable")}
    answered = {event.op: event for event in trace.of_kind("store.answered")}
    return tuple(
        StoreOperation(
            id=str(event.op),
            name=str(event.operation),
            call=event.call,
            life=event.life,
            owner=event.owner,
            revision=event.revision_sha256,
            asked=event,
            durable=durable.get(event.op),
            answered=answered.get(event.op),
        )
        for event in trace.of_kind("store.asked")
    )


def stage_visits_of(trace: Trace) -> tuple[StageVisit, ...]:
    """Return the visits of stages, in the order in which they began."""
    visits: list[StageVisit] = []
    open_: dict[str | None, StageVisit] = {}
    for event in trace.of_kind("stage.asked"):
        visit = open_.get(event.call)
        if visit is not None and visit.left is not None and visit.follows is None:
            visit.follows = event
        if event.phase == "check_gate":
            if visit is None or visit.left is not None or visit.stage != event.stage:
                stage, call = str(event.stage), str(event.call)
                visit = open_[event.call] = StageVisit(stage=stage, call=call, life=event.life)
                visits.append(visit)
            # A gate that does not let the attempt act has decided on it.
            decided = None if event.answer == "proceed" else event
            number = int(event.attempt or 1)
            visit.tries.append(StageTry(number=number, begun=event, decided=decided))
        elif visit is not None and visit.stage == event.stage:
            if event.phase == "next":
                visit.left = event
            elif event.phase == "assess":
                _assessed(visit, event)
    return tuple(visits)


def _assessed(visit: StageVisit, event: TraceEvent) -> None:
    last = visit.tries[-1]
    if last.decided is not None and last.decided.phase == "assess":
        # It was tried again without a gate: that judgement is all that shows it.
        number = int(event.attempt or last.number + 1)
        visit.tries.append(StageTry(number=number, begun=event, decided=event))
    else:
        visit.tries[-1] = replace(last, decided=event)


def _text(payload: Mapping[str, object], name: str) -> str | None:
    value = payload.get(name)
    return None if value is None else str(value)
