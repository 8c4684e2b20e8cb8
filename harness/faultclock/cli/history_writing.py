"""Keeps what `run` came to in a history: one session, written in one step after its reports."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from faultclock.explore.fingerprint import marks_of
from faultclock.history.store import HistoryStore
from faultclock.model.canonical import canonical_text
from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.exploration import Reached, Tried
from faultclock.model.report.finding import Judgement, RunReport, Verdict
from faultclock.model.scenario.scenario import scenario_digest
from faultclock.model.trace.trace import Trace
from faultclock.run.expand import cell_of
from faultclock.run.process.confirm import REPEATABLE

if TYPE_CHECKING:
    from faultclock.run.suite import SuiteRequest


class KeptRuns:
    """Collects the runs of one suite, then writes them.

    Args:
        path: of the history, which is opened once before the runs: a session that cannot be kept
            is refused at once.

    Raises:
        InputError: the file cannot be used.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._started_at = datetime.now(UTC)
        self._numbers = Counter[tuple[str, str | None]]()
        self._trace: Trace | None = None
        # A file without a name: a run is a line of it, however many there are.
        self._tried = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        HistoryStore(path).close()

    def __del__(self) -> None:
        if (file := getattr(self, "_tried", None)) is not None:
            file.close()

    def on_trace(self, also: Callable[[Trace], str | None] | None) -> Callable[[Trace], str | None]:
        """Return what `run_suite` calls with each trace.

        Args:
            also: what stores the traces, if anything does.
        """

        def take(trace: Trace) -> str | None:
            self._trace = trace
            return None if also is None else also(trace)

        return take

    def on_run(self, run: RunReport) -> None:
        """Take one run, right after its trace."""
        assert self._trace is not None
        assert self._trace.footer.digest == run.trace_digest
        self._numbers[run.scenario, run.variant] += 1
        failed = run.verdict is Verdict.FAIL
        tried = Tried(
            number=self._numbers[run.scenario, run.variant],
            scenario=run.scenario,
            variant=run.variant,
            seed=run.seed,
            schedule="fifo",
            verdict=run.verdict,
            ending=run.ending,
            events=len(self._trace.events),
            virtual_ns=run.virtual_ns,
            trace_digest=run.trace_digest,
            failures=marks_of(self._trace, Judgement(findings=run.findings)) if failed else (),
            unsteady=_unsteady(run, self._trace),
        )
        self._tried.write(f"{canonical_text(tried)}\n")

    def write(self, request: SuiteRequest) -> int:
        """Write the session, and return its number.

        Raises:
            InputError: the file cannot be written.
        """
        # Imported here: it leads to what simulates.
        from faultclock.cli.sessions import session_settings

        settings = session_settings(
            "run",
            scenarios=request.scenarios,
            binding=request.binding,
            model=request.model,
            readings=request.readings,
            seed=request.seed,
            runs=request.seeds,
            options={} if request.sweep else {"crashes": "none swept"},
        )
        # What a sweep makes of a scenario has variants of its own, and one text.
        digests = {
            (scenario.id, scenario.variant): scenario_digest(scenario)
            for scenario in request.scenarios
        }
        self._tried.seek(0)
        with self._tried, HistoryStore(self._path) as store:
            made = (Tried.model_validate(json.loads(line)) for line in self._tried)
            return store.append(
                settings,
                ((tried, Reached(), _digest_of(tried, digests)) for tried in made),
                started_at=self._started_at,
            )


def _digest_of(tried: Tried, digests: dict[tuple[str, str | None], str]) -> str:
    key = (tried.scenario, tried.variant)
    return digests[key] if key in digests else digests[tried.scenario, cell_of(tried.variant)]


def _unsteady(run: RunReport, trace: Trace) -> Unsteady | None:
    found = next((item for item in run.findings if item.check == REPEATABLE), None)
    if found is None or found.verdict is Verdict.PASS:
        return None
    header = trace.header
    return Unsteady(
        coordinates=Coordinates(
            scenario=run.scenario,
            scenario_digest=header.scenario_digest,
            variant=run.variant,
            subject=header.subject.id,
            seed=run.seed,
            tape=header.tape,
        ),
        first_digest=run.trace_digest,
        # A report does not have the second trace, only what differed.
        second_digest="",
        differs_at=None,
        difference=(found.observed,),
    )
