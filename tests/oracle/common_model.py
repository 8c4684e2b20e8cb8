"""What the tests of the common demands share: the model, and the one finding of a check."""

from __future__ import annotations

from functools import cache

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, WaitMark
from faultclock.oracle.judge import judge, judge_seeds
from tests.oracle.trace_builder import TraceBuilder


@cache
def common() -> ErrorModel:
    """Return the common model."""
    return load_error_model("common")


def found(built: TraceBuilder, check: str, ending: str = "completed") -> Finding:
    """Return the first finding of a check on a trace."""
    findings = judge(common(), built.build(ending)).findings  # type: ignore[arg-type]
    return next(item for item in findings if item.check == check)


def verdict(built: TraceBuilder, check: str, ending: str = "completed") -> str:
    """Return the verdict of a check on a trace."""
    return found(built, check, ending).verdict.value


def waits(built: TraceBuilder) -> tuple[WaitMark, ...]:
    """Return the waits of a trace as a report draws them."""
    return judge(common(), built.build()).waits


def over_seeds(built: list[TraceBuilder], check: str) -> Finding:
    """Return the finding of a check on runs that differ in the seed."""
    findings = judge_seeds(common(), tuple(item.build() for item in built))
    return next(item for item in findings if item.check == check)
