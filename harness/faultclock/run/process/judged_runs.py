"""Makes runs and judges them, and has each one that fails, and a sample of others, made once more.

Runs may share a child, one after the other. Of some that follow each other, each one that fails is
made once more in a child of its own, and so is the last one: where a second run is not the same,
all of them are made again alone, and so is every later one. So no verdict rests on what an earlier
run left behind.

One of these belongs to one process; it does not know how runs are made or which there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.finding import Finding, Judgement, Verdict, verdict_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge, SeedsJudge
from faultclock.oracle.verdicts import spoilt
from faultclock.run.process.confirm import (
    REPEATABLE,
    confirmed,
    coordinates_of,
    is_made_twice,
    unproved,
)
from faultclock.run.process.cpu_time import measured
from faultclock.run.process.second_process import Aside
from faultclock.run.run_request import ChildKind

C = TypeVar("C")

#: Runs that are proved by the last one of them: of fewer the proof costs more than it spares.
_SHARE_MIN, _SHARE_MAX = 2, 16


class Done(Struct, Generic[C], frozen=True):
    """One run that was made and judged.

    Attributes:
        case: what was asked for.
        confirmed: it was made once more, and was the same.
        unsteady: it was made once more, and was not: then the judgement says that it proves
            nothing.
        alone: it had a child of its own because runs that shared one were not the same alone.
    """

    case: C
    trace: Trace
    judgement: Judgement
    confirmed: bool = False
    unsteady: Unsteady | None = None
    alone: bool = False


@dataclass(slots=True)
class Twice(Generic[C]):
    """Makes one run after the other.

    Args:
        judge: says what a run comes to.
        run: makes a run in a child of this kind, or in no child.
        again: makes it once more, in a process of its own; None never does.
        beside: whether `again` is called in a process beside this one.
        inline: no child makes the runs. What they leave behind here must not be known to the
            process beside, so that is forked before the first one.
        share: whether runs may share a child at all.
        rest: called when no more runs are made here.
        verdict: of the findings of a run.
        coordinates: of a run, from what was asked for and its trace.
    """

    judge: Judge
    run: Callable[[C, ChildKind], Trace]
    again: Callable[[C, Coordinates], Trace] | None
    beside: bool = True
    inline: bool = False
    share: bool = True
    rest: Callable[[], None] = lambda: None
    verdict: Callable[[tuple[Finding, ...]], Verdict] = verdict_of
    coordinates: Callable[[C, Trace], Coordinates] = lambda _, trace: coordinates_of(trace)
    #: Whether a second run has shown that runs may not share a child.
    _is_spoilt: bool = field(init=False, default=False)
    #: Whether some runs that shared one were each the same alone.
    _is_trusted: bool = field(init=False, default=False)
    _aside: Aside[Trace] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.again is not None and self.beside:
            self._aside = Aside(self.again)
            if self.inline:
                self._aside.start()

    def __call__(self, case: C) -> Done[C]:
        """Make a run alone; its verdict holds for as long as a second run is the same."""
        done = self._made(case, "none" if self.inline else "own")
        if not self._is_made_twice(done):
            return done
        unsteady = self._unsteady(done)
        if unsteady is None:
            return replace(done, confirmed=True)
        return replace(done, judgement=unproved(done.judgement, unsteady), unsteady=unsteady)

    def some(self, cases: Sequence[C]) -> list[Done[C]]:
        """Make some runs, many in one child as long as that changes none of them."""
        return [
            done
            for first in range(0, len(cases), _SHARE_MAX)
            for done in self._few(cases[first : first + _SHARE_MAX])
        ]

    def group(self) -> TwiceGroup[C]:
        """Return what judges runs that differ in nothing but the seed."""
        return TwiceGroup(self, SeedsJudge(self.judge.model))

    def is_same(self, case: C, digest: str, coordinates: Coordinates) -> bool:
        """Make a run once more, and return whether its trace has this digest."""
        return self._again(case, coordinates).footer.digest == digest

    def close(self) -> None:
        """End what was kept for more runs, and the process for second ones."""
        self.rest()
        if self._aside is not None:
            self._aside.close()

    def _few(self, cases: Sequence[C]) -> list[Done[C]]:
        """Make runs that may all have one child."""
        may_share = self.share and self.again is not None and not self.inline
        if may_share and not self._is_spoilt and len(cases) >= _SHARE_MIN:
            done = self._in_one_child(cases)
            if done is not None:
                return done
            self._is_spoilt = True
        return [replace(self(case), alone=self._is_spoilt) for case in cases]

    def _made(self, case: C, child: ChildKind) -> Done[C]:
        trace = self.run(case, child)
        with measured("judge", "oracle"):
            return Done(case, trace, self.judge.judge(trace))

    def _in_one_child(self, cases: Sequence[C]) -> list[Done[C]] | None:
        """Make the runs in one child; None where one of them is another one alone."""
        done = [self._made(case, "kept") for case in cases]
        twice = [self._is_made_twice(item) for item in done]
        # The last one has most behind it. The first few are proved one by one: a library that keeps
        # something shapes most runs.
        proved = [*twice[:-1], True] if self._is_trusted else [True] * len(done)
        for item, is_proved in zip(done, proved, strict=True):
            if is_proved and self._unsteady(item) is not None:
                return None
        self._is_trusted = True
        return [replace(item, confirmed=same) for item, same in zip(done, twice, strict=True)]

    def _is_made_twice(self, done: Done[C]) -> bool:
        return self.again is not None and is_made_twice(
            done.trace, self.verdict(done.judgement.findings)
        )

    def _unsteady(self, done: Done[C]) -> Unsteady | None:
        where = self.coordinates(done.case, done.trace)
        return confirmed(done.trace, partial(self._again, done.case, where), coordinates=where)

    def _again(self, case: C, coordinates: Coordinates) -> Trace:
        again = self._aside or self.again
        assert again is not None
        return again(case, coordinates)


@dataclass(slots=True)
class TwiceGroup(Generic[C]):
    """Runs that differ in nothing but the seed: of each, only what their verdict needs."""

    _twice: Twice[C]
    _judge: SeedsJudge
    _once: list[tuple[C, str, Coordinates]] = field(default_factory=list)
    _unsteady: int = 0
    runs: int = 0

    def add(self, done: Done[C]) -> None:
        """Take one more run."""
        self.runs += 1
        self._judge.add(done.trace)
        if done.unsteady is not None:
            self._unsteady += 1
        elif not done.confirmed:
            where = self._twice.coordinates(done.case, done.trace)
            self._once.append((done.case, done.trace.footer.digest, where))

    def findings(self) -> tuple[Finding, ...]:
        """Return the verdicts on all of them.

        Where they fail, those of the runs are made once more that were made only once.
        """
        findings, unsteady = self._judge.findings(), self._unsteady
        again = self._twice.again is not None
        if again and any(item.verdict is Verdict.FAIL for item in findings):
            unsteady += sum(not self._twice.is_same(*once) for once in self._once)
        if not unsteady:
            return findings
        reason = f"{REPEATABLE}: {unsteady} of {self.runs} runs were not the same a second time"
        return tuple(spoilt(finding, reason) for finding in findings)
