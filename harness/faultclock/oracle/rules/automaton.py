"""The pattern `automaton`: events move it from state to state, and one without a move is wrong.

The proof of a violation is the shortest way to it. For each state a stretch keeps the shortest run
of its events that would lead there, so that what it keeps depends on the number of states, and not
on the length of the trace.
"""

# ruff: noqa: D102 - `Stretch` says what each method does

from __future__ import annotations

from dataclasses import dataclass, field

from faultclock.model.report.finding import OrderStep
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.match import described
from faultclock.oracle.rules.scope import STEP, Fault, Stretch, agrees, differs

#: The events that lead to a state, in order.
_Way = tuple[TraceEvent, ...]


@dataclass(slots=True, kw_only=True)
class Automaton(Stretch):
    """Each event of the moves has a move from the state that the events before it led to."""

    state: str = field(init=False)
    #: The event that led to the state, from `moved_from`.
    moved_by: TraceEvent | None = None
    moved_from: str = ""
    #: State to the shortest way that leads there.
    ways: dict[str, _Way] = field(init=False)
    #: The shortest one that leads back to the first state; empty for none.
    back: _Way = ()

    def __post_init__(self) -> None:
        self.state = self.terms.rule.start or ""
        self.ways = {self.state: ()}

    def feed(self, event: TraceEvent, roles: int) -> None:
        moves = roles // STEP
        if not moves:
            return
        self.judged += 1
        after = self._next(self.state, moves)
        ways = [(state, way, self._next(state, moves)) for state, way in self.ways.items()]
        if after is None:
            stuck = [(way, state) for state, way, to in ways if to is None]
            # Of ways that are as short as each other, the one to the real state explains most.
            way, _ = min(stuck, key=lambda item: (len(item[0]), item[1] != self.state))
            self.blame(self._fault(event, way))
        elif after != self.state:
            self.moved_from, self.state, self.moved_by = self.state, after, event
        for _, way, to in ways:
            if to is None:
                continue
            if to not in self.ways or len(way) + 1 < len(self.ways[to]):
                self.ways[to] = (*way, event)
            if to == self.terms.rule.start and (not self.back or len(way) + 1 < len(self.back)):
                self.back = (*way, event)

    def conclude(self, *, forgiven: bool) -> None:
        ends = self.terms.rule.ends
        # Where an event had no move, the end follows from that.
        if not ends or forgiven or self.faults:
            return
        self.judged += 1
        if self.state in ends:
            return
        expected = f"{' or '.join(ends)} at the end"
        self.blame(
            Fault(
                observed=f"it ended in the state {self.state}",
                proof=self.ways[self.state],
                alone=self.back,
                near=self._beside(self.ways[self.state]),
                order=(*self._led_here(), OrderStep(expected=expected, agrees=False)),
            )
        )

    def _next(self, state: str, moves: int) -> str | None:
        """Return the state after an event that fits `moves` (a bit for each row); None for none."""
        for place, move in enumerate(self.terms.rule.moves):
            if moves >> place & 1 and state in move.states:
                return state if move.to is None else move.to
        return None

    def _fault(self, event: TraceEvent, way: _Way) -> Fault:
        return Fault(
            observed=f"{described(event)} came in the state {self.state}",
            proof=(*way, event),
            near=self._beside(way),
            order=(*self._led_here(), differs(self._expected(), event)),
        )

    def _expected(self) -> str:
        """Return in words what may come in the present state."""
        rule, words = self.terms.rule, self.terms.words
        known = [
            name
            for move, name in zip(rule.moves, words.steps, strict=True)
            if self.state in move.states
        ]
        return f"{' or '.join(dict.fromkeys(known)) or 'nothing more'} in the state {self.state}"

    def _led_here(self) -> tuple[OrderStep, ...]:
        if self.moved_by is None:
            return ()
        return (agrees(f"what leads from {self.moved_from} to {self.state}", self.moved_by),)

    def _beside(self, way: _Way) -> tuple[TraceEvent, ...]:
        """Return what led to the present state, where the shortest proof goes without it."""
        return () if self.moved_by is None or self.moved_by in way else (self.moved_by,)
