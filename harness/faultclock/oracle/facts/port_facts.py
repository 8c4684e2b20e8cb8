"""What happened at the ports beside the tools: requests to the person, the store, the stages.

Built from what the world observed, once per trace; judges nothing.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.wire.timing import VIRTUAL


class Prompt(Struct, frozen=True, kw_only=True):
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
        return None if self.accepted is None else self.accepted.answer

    @property
    def settled(self) -> TraceEvent | None:
        """When it was over: an accepted answer, or the runtime took it off."""
        found = [*self.dismissals[:1], *([self.accepted] if self.accepted else [])]
        return min(found, key=lambda event: event.seq, default=None)

    @property
    def due_ns(self) -> int | None:
        """When it ends without an answer: its time runs from the moment at which it is shown."""
        return None if self.deadline_ns is None else self.shown.at_ns + self.deadline_ns

    @property
    def is_approved(self) -> bool:
        """Whether the person approved it, and did so before it was over."""
        return self.said == "approved" and self.settled is self.accepted

    @property
    def is_approved_in_time(self) -> bool:
        """Whether the person approved it before it was over, and before its deadline."""
        late = self.due_ns is not None and self.accepted and self.accepted.at_ns > self.due_ns
        return self.is_approved and not late

    @property
    def is_unanswered(self) -> bool:
        """Whether no answer was taken, and nothing but its deadline ended it."""
        if self.said is not None or self.due_ns is None:
            return False
        return self.settled is None or self.settled.at_ns >= self.due_ns - VIRTUAL.slack_ns


class StoreOperation(Struct, frozen=True, kw_only=True):
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


class StageTry(Struct, frozen=True, kw_only=True):
    """One attempt of a stage: its gate, and what was made of it."""

    number: int
    begun: TraceEvent
    decided: TraceEvent | None

    @property
    def decision(self) -> str | None:
        """`ok`, `retry`, `skip` or `fail`; None when it never came to that."""
        return None if self.decided is None else self.decided.answer


class StageVisit(Struct, kw_only=True):
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
    shown = _by_request(trace, "interaction.shown")
    answered = _by_request(trace, "interaction.answered")
    dismissed = _by_request(trace, "interaction.dismissed")
    return tuple(
        Prompt(
            id=id_,
            kind=str(first.interaction_kind),
            tool=_text(first.tool),
            tool_call=_text(first.tool_call),
            call=first.call,
            life=life,
            shown=first,
            shown_all=(first, *more),
            deadline_ns=first.deadline_ns,
            answers=tuple(answered.get((life, id_), ())),
            dismissals=tuple(dismissed.get((life, id_), ())),
        )
        for (life, id_), (first, *more) in shown.items()
    )


def _by_request(trace: Trace, kind: str) -> dict[tuple[int, str], list[TraceEvent]]:
    found: dict[tuple[int, str], list[TraceEvent]] = {}
    for event in trace.of_kind(kind):
        # A fresh process may count its requests from the beginning.
        found.setdefault((event.life, str(event.request)), []).append(event)
    return found


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


def _text(said: object) -> str | None:
    return None if said is None else str(said)
