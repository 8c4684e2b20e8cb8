"""Makes runs and judges them, and has each one that fails, and a sample of others, made once more.

One of these belongs to one process; it does not know how runs are made or which there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.exploration import Unsteady
from faultclock.model.report.finding import Finding, Judgement, Verdict, verdict_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge, SeedsJudge
from faultclock.oracle.verdicts import spoilt
from faultclock.run.process.confirm import REPEATABLE, confirmed, is_made_twice, unproved
from faultclock.run.process.cpu_time import measured
from faultclock.run.process.second_process import Aside

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Done(Generic[C]):
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
        model: by which they are judged.
        run: makes a run.
        again: makes it once more, in a process of its own; None never does.
        beside: whether `again` is called in a process beside this one.
        from_now: `run` leaves something behind in this process, so that process must be forked
            before the first run.
    """

    model: ErrorModel
    run: Callable[[C], Trace]
    again: Callable[[C], Trace] | None
    beside: bool = True
    from_now: bool = False
    _judge: Judge = field(init=False)
    _aside: Aside[Trace] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._judge = Judge(self.model)
        if self.again is not None and self.beside:
            self._aside = Aside(self.again)
            if self.from_now:
                self._aside.start()

    def __call__(self, case: C) -> Done[C]:
        """Make a run; its verdict holds for as long as a second run is the same."""
        trace = self.run(case)
        with measured("judge", "oracle"):
            judgement = self._judge.judge(trace)
        if self.again is None or not is_made_twice(trace, verdict_of(judgement.findings)):
            return Done(case, trace, judgement)
        unsteady = self._confirmed(case, trace)
        if unsteady is None:
            return Done(case, trace, judgement, confirmed=True)
        return Done(case, trace, unproved(judgement, unsteady), unsteady=unsteady)

    def group(self) -> TwiceGroup[C]:
        """Return what judges runs that differ in nothing but the seed."""
        return TwiceGroup(self, SeedsJudge(self.model))

    def is_same(self, case: C, digest: str) -> bool:
        """Make a run once more, and return whether its trace has this digest."""
        again = self._aside or self.again
        assert again is not None
        return again(case).footer.digest == digest

    def close(self) -> None:
        """End the process for second runs."""
        if self._aside is not None:
            self._aside.close()

    def _confirmed(self, case: C, trace: Trace) -> Unsteady | None:
        again = self._aside or self.again
        assert again is not None
        return confirmed(trace, lambda: again(case))


@dataclass(slots=True)
class TwiceGroup(Generic[C]):
    """Runs that differ in nothing but the seed: of each, only what their verdict needs."""

    _twice: Twice[C]
    _judge: SeedsJudge
    _once: list[tuple[C, str]] = field(default_factory=list)
    _unsteady: int = 0
    runs: int = 0

    def add(self, done: Done[C]) -> None:
        """Take one more run."""
        self.runs += 1
        self._judge.add(done.trace)
        if done.unsteady is not None:
            self._unsteady += 1
        elif not done.confirmed:
            self._once.append((done.case, done.trace.footer.digest))

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
