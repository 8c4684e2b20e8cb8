"""What two reports say of the same run, in values that can be set side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from faultclock.errors import InputError
from faultclock.model.duration import format_duration
from faultclock.model.report.finding import Report, RunReport, Verdict
from faultclock.model.report.report_diff import Fact

_WORST_FIRST = (
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
    Verdict.WARN,
    Verdict.PASS,
    Verdict.NOT_APPLICABLE,
)


class Key(NamedTuple):
    """What a run is known by; a seed of None is a verdict over all seeds."""

    scenario: str
    variant: str | None
    seed: int | None

    def order(self) -> tuple[str, str, int]:
        """Return what keys are sorted by."""
        return self.scenario, self.variant or "", -1 if self.seed is None else self.seed


def fold(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the worst of `verdicts`; None without any."""
    return min(verdicts, key=_WORST_FIRST.index, default=None)


def check_complete(report: Report, name: str) -> None:
    """Check that a report has every run that was asked for.

    Args:
        name: of the report, for the message.

    Raises:
        InputError: its runs stopped early.
    """
    if stopped := report.not_reached:
        more = f" and {len(stopped) - 1} more" if len(stopped) > 1 else ""
        raise InputError(
            f"{name} is not complete: its runs stopped before {stopped[0]}{more}",
            hint="run again without --fail-fast (-x): every run is needed",
        )


def settings_of(before: Report, after: Report) -> tuple[Fact, ...]:
    """Return what is not the same in all that the runs depend on."""
    old, new = _settings(before), _settings(after)
    return tuple(
        Fact(what=name, before=old.get(name, ""), after=new.get(name, ""))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    )


def facts_of(
    before: Sequence[RunReport], after: Sequence[RunReport], lines: Sequence[tuple[str, str | None]]
) -> tuple[Fact, ...]:
    """Return what is not the same in a run that fails in both, or in the crash points of a sweep.

    Args:
        lines: check and requirement of what fails in both.
    """
    if len(before) == 1 and len(after) == 1:
        old, new = _measured(before[0], lines), _measured(after[0], lines)
    else:
        old, new = _counted(before), _counted(after)
    return tuple(
        Fact(what=what, before=old.get(what, ""), after=new.get(what, ""))
        for what in dict.fromkeys((*old, *new))
        if old.get(what) != new.get(what)
    )


def _settings(report: Report) -> dict[str, str]:
    subject, shard = report.subject, report.shard
    found = {
        "Faultclock": report.faultclock,
        f"revision of {report.model}": report.model_revision,
        "subject": subject.id,
        "source of the subject": subject.source_digest or "",
        "style of the subject": subject.style,
        "what the subject declares": ", ".join(subject.declares),
        "retry policies that the subject declares": "; ".join(
            policy.model_dump_json() for policy in subject.retry_policies
        ),
        "part": "" if shard is None else f"{shard.number} of {shard.count}",
    }
    found.update({f"version of {name}": value for name, value in subject.distributions.items()})
    found.update({f"reading {name}": value for name, value in report.readings.items()})
    return found


def _measured(run: RunReport, lines: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for call in run.calls:
        found[f"attempts of {call.call}"] = str(len(call.attempts))
        found[f"end of {call.call}"] = call.outcome
    for wait in run.waits:
        waited = format_duration(wait.observed_ns)
        found[f"wait of {wait.call} before retry {wait.retry_number} ({wait.basis})"] = waited
    for check, requirement in lines:
        name = check if requirement is None else f"{check} ({requirement})"
        said = (
            item.observed
            for item in run.findings
            if (item.check, item.requirement) == (check, requirement)
            and item.verdict is Verdict.FAIL
        )
        found[name] = "; ".join(dict.fromkeys(said))
    return found


def _counted(runs: Sequence[RunReport]) -> dict[str, str]:
    failing = sum(run.verdict is Verdict.FAIL for run in runs)
    return {"crash points": str(len(runs)), "crash points that fail": str(failing)}
