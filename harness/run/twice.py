"""Makes runs and judges them, and has each one that fails made once more.

One of these belongs to one process; it does not know how runs are made or which there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from harness.model.error_model import ErrorModel
from harness.model.exploration import Unsteady
from harness.model.finding import Finding, Judgement, Verdict, verdict_of
from harness.model.trace import Trace
from harness.oracle.judge import Judge, judge_seeds
from harness.oracle.verdicts import spoilt
from harness.run.aside import Aside
from harness.run.confirm import REPEATABLE, confirmed, unproved

__all__ = ["Done", "Twice"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Done(Generic[C]):
    """One run that was made and judged.

    Attributes:
        case: what was asked for.
        confirmed: it failed, and was the same when it was made once more.
        unsteady: it failed, and was not: then the judgement says that it proves nothing.
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
        """Make a run; a failing verdict holds for as long as a second run is the same."""
        trace = self.run(case)
        judgement = self._judge.judge(trace)
        if self.again is None or verdict_of(judgement.findings) is not Verdict.FAIL:
            return Done(case, trace, judgement)
        unsteady = self._confirmed(case, trace)
        if unsteady is None:
            return Done(case, trace, judgement, confirmed=True)
        return Done(case, trace, unproved(judgement, unsteady), unsteady=unsteady)

    def over_seeds(self, group: list[Done[C]]) -> tuple[Finding, ...]:
        """Return the verdicts on runs that differ in nothing but the seed.

        Where they fail, those of the runs are made once more that were made only once.
        """
        if len(group) < 2:
            return ()
        findings = judge_seeds(self.model, tuple(done.trace for done in group))
        unsteady = sum(done.unsteady is not None for done in group)
        if self.again is not None and any(item.verdict is Verdict.FAIL for item in findings):
            once = [done for done in group if not done.confirmed and done.unsteady is None]
            unsteady += sum(self._confirmed(done.case, done.trace) is not None for done in once)
        if not unsteady:
            return findings
        reason = f"{REPEATABLE}: {unsteady} of {len(group)} runs were not the same a second time"
        return tuple(spoilt(finding, reason) for finding in findings)

    def close(self) -> None:
        """End the process for second runs."""
        if self._aside is not None:
            self._aside.close()

    def _confirmed(self, case: C, trace: Trace) -> Unsteady | None:
        again = self._aside or self.again
        assert again is not None
        return confirmed(trace, lambda: again(case))
