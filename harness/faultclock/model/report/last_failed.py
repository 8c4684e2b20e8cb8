"""LastFailed: which runs were not green the last time that they were made, for `--last-failed`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from faultclock.model._base import Value
from faultclock.model.cells import cell_of
from faultclock.model.report.finding import Report, RunReport, Verdict

#: Scenario id and cell of its matrix.
_Key = tuple[str, str | None]
_NOT_GREEN = (Verdict.FAIL, Verdict.INCONCLUSIVE)


class FailedScenario(Value):
    """One scenario of one subject that failed or was inconclusive."""

    subject: str = Field(min_length=1)
    """As it is named on the command line; a file is relative to the folder of the record."""
    model: str = Field(min_length=1)
    """Id of the error model that judged it."""
    readings: dict[str, str] = {}
    """The readings of the error model that were chosen, option by switch."""
    scenario: str = Field(min_length=1)
    variant: str | None = Field(default=None, max_length=4_096)
    """Cell of its matrix."""
    seeds: tuple[Annotated[int, Field(ge=0, le=2**32 - 1)], ...] = Field(min_length=1)
    """Those that were not green, ascending."""
    together: tuple[Annotated[int, Field(ge=0, le=2**32 - 1)], ...] = ()
    """Those of them over which one verdict was not green: a run of some of them proves nothing."""
    file: str | None = Field(default=None, max_length=4_096)
    """Where it is, relative to the folder of the record; None: it is shipped."""


class LastFailed(Value):
    """The record of one project."""

    format: int = 2
    failed: tuple[FailedScenario, ...] = ()

    def of(
        self, subject: str, model: str, readings: Mapping[str, str] | None = None
    ) -> dict[_Key, FailedScenario]:
        """Return what is recorded of one subject by one error model under these readings."""
        judged = (subject, model, dict(readings or {}))
        return {
            (item.scenario, item.variant): item
            for item in self.failed
            if (item.subject, item.model, item.readings) == judged
        }

    def after(
        self,
        report: Report,
        *,
        subject: str,
        files: Mapping[str, str],
        known: frozenset[str] = frozenset(),
        forgets: bool = True,
    ) -> LastFailed:
        """Return the record after the runs of `report`.

        Args:
            subject: as the record names it.
            files: scenario id to its file, where it is not shipped.
            known: ids of findings that a baseline knows: what fails in no other way is left out.
            forgets: whether what passed is taken out; a run of a part of a scenario proves
                nothing about the whole.
        """
        made, failed, together = made_of(report, known)
        mine = self.of(subject, report.model, report.readings)
        kept = [item for item in self.failed if item not in mine.values()]
        for key in sorted({*mine, *failed, *together}, key=lambda key: (key[0], key[1] or "")):
            before = mine.get(key)
            seeds = set(before.seeds if before is not None else ())
            whole = set(before.together if before is not None else ())
            if forgets:
                seeds -= made.get(key, set())
                if whole <= made.get(key, set()):
                    whole = set()
            whole |= together.get(key, set())
            seeds |= failed.get(key, set()) | whole
            if seeds:
                known_file = None if before is None else before.file
                kept.append(
                    FailedScenario(
                        subject=subject,
                        model=report.model,
                        readings=report.readings,
                        scenario=key[0],
                        variant=key[1],
                        seeds=tuple(sorted(seeds)),
                        together=tuple(sorted(whole)),
                        file=files.get(key[0]) if key in made else known_file,
                    )
                )
        return self.model_copy(update={"failed": tuple(kept)})


def made_of(
    report: Report, known: frozenset[str] = frozenset()
) -> tuple[dict[_Key, set[int]], dict[_Key, set[int]], dict[_Key, set[int]]]:
    """Return the seeds that were run of each scenario, and those that were not green.

    The third are the seeds of a scenario over which one verdict was not green.
    """
    made: dict[_Key, set[int]] = {}
    failed: dict[_Key, set[int]] = {}
    together: dict[_Key, set[int]] = {}
    for run in report.runs:
        key = (run.scenario, cell_of(run.variant))
        made.setdefault(key, set()).add(run.seed)
        if run.verdict in _NOT_GREEN and not _is_known(run, known):
            failed.setdefault(key, set()).add(run.seed)
    for finding in report.seeds_findings:
        key = (finding.scenario or "", cell_of(finding.variant))
        if finding.verdict in _NOT_GREEN and finding.id not in known and key in made:
            together.setdefault(key, set()).update(made[key])
    return made, failed, together


def _is_known(run: RunReport, known: frozenset[str]) -> bool:
    if not known or run.verdict is not Verdict.FAIL:
        return False
    ids = {item.id for item in run.findings if item.verdict is Verdict.FAIL}
    return bool(ids) and ids <= known
