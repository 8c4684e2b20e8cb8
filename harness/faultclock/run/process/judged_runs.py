"""Makes runs and judges them, and has each one that fails, and a sample of others, made once more.

One of these belongs to one process; it does not know how runs are made or which there are.
"""

from __future__ import annotations

from collections.abc import Callable
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

C = TypeVar("C")


class Done(Struct, Generic[C], frozen=True):
    """One run that was made and judged.

    Attributes:
        case: what was asked for.
        confirmed: it was made once more, and was the same.
        unsteady: it was made once more, and was not: then the judgement says that it proves
            nothing.
    """

    case: C
    trace: Trace
    judgement: Judgement
    confirmed: bool = False
    unsteady: Unsteady | None = None


@dataclass(slots=True)
class Twice(Generic[C]):
    """Makes one run after the other.

    Args:
        judge: says what a run comes to.
        run: makes a run.
        again: makes it once more, in a process of its own; None never does.
        beside: whether `again` is called in a process beside this one.
        inline: `run` makes them in this process. What they leave behind here must not be known to
            the process beside, so that is forked before the first one.
        verdict: of the findings of a run.
        coordinates: of a run, from what was asked for and its trace.
        always: whether a run that passes is made once more whatever its digest is.
    """

    judge: Judge
    run: Callable[[C], Trace]
    again: Callable[[C, Coordinates], Trace] | None
    beside: bool = True
    inline: bool = False
    verdict: Callable[[tuple[Finding, ...]], Verdict] = verdict_of
    coordinates: Callable[[C, Trace], Coordinates] = lambda _, trace: coordinates_of(trace)
    always: Callable[[C], bool] = lambda _: False
    _aside: Aside[Trace] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.again is not None and self.beside:
            self._aside = Aside(self.again)
            if self.inline:
                self._aside.start()

    def __call__(self, case: C) -> Done[C]:
        """Make a run; its verdict holds for as long as a second run is the same."""
        trace = self.run(case)
        with measured("judge", "oracle"):
            done = Done(case, trace, self.judge.judge(trace))
        if not self._is_made_twice(done):
            return done
        unsteady = self._unsteady(done)
        if unsteady is None:
            return replace(done, confirmed=True)
        return replace(done, judgement=unproved(done.judgement, unsteady), unsteady=unsteady)

    def group(self) -> TwiceGroup[C]:
        """Return what judges runs that differ in nothing but the seed."""
        return TwiceGroup(self, SeedsJudge(self.judge.model))

    def is_same(self, case: C, digest: str, coordinates: Coordinates) -> bool:
        """Make a run once more, and return whether its trace has this digest."""
        return self._again(case, coordinates).footer.digest == digest

    def close(self) -> None:
        """End the process for second runs."""
        if self._aside is not None:
            self._aside.close()

    def _is_made_twice(self, done: Done[C]) -> bool:
        return self.again is not None and is_made_twice(
            done.trace,
            self.verdict(done.judgement.findings),
            always=self.always(done.case),
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
