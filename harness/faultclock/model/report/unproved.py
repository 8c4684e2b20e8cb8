"""What a report proves nothing about: the reasons, and the line at which a run did not end."""

from __future__ import annotations

from faultclock.model.report.finding import Report, RunReport, Verdict
from faultclock.model.report.lines import own_frame
from faultclock.model.report.problems import headline, problems_in
from faultclock.model.trace.notes import Frame

#: What says that a planned fault did not come about.
_UNMET = "evidence.faults-met"


def unproved_in(report: Report) -> tuple[str, ...]:
    """Return what proves nothing, one line for each reason, with how many situations it is for.

    Runs that did not end come first: nothing else of the subject can be seen in them. A situation
    that a problem cites came about, if not to its end.
    """
    runs = [run for run in report.runs if run.verdict is Verdict.INCONCLUSIVE]
    problems = problems_in(report) if runs else ()
    cited = {title for problem in problems for title in problem.situations}
    reasons: dict[str, dict[str, None]] = {}
    for run in sorted(runs, key=lambda run: run.ending != "watchdog"):
        if (reason := _unproved_reason(run, cited=run.title in cited)) is not None:
            reasons.setdefault(reason, {})[run.title] = None
    return tuple(
        f"{next(iter(titles))}{f' and {len(titles) - 1} more' if len(titles) > 1 else ''}: {reason}"
        for reason, titles in reasons.items()
    )


def _unproved_reason(run: RunReport, *, cited: bool) -> str | None:
    """Return why a run proves nothing; None where that is only that a cited one went no further."""
    if (frame := hung_at(run)) is not None:
        return f"it did not end in real time, at {frame.file}:{frame.line}: {frame.code}"
    found = [item for item in run.findings if item.verdict is Verdict.INCONCLUSIVE]
    said = [item for item in found if not (cited and item.check == _UNMET)]
    if found and not said:
        return None
    return next((headline(item.reason or item.observed) for item in said), run.ending)


def hung_at(run: RunReport) -> Frame | None:
    """Return the innermost own line of a run that its limit of real time ended, if it is known."""
    if run.ending != "watchdog" or run.notes is None:
        return None
    hanging = (own_frame(wait.frames) for wait in run.notes.waits if wait.hangs)
    return next((frame for frame in hanging if frame is not None), None)
