"""Keeps what `run` came to in a history: one session, written in one step after its reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from harness.explore.fingerprint import marks_of
from harness.history.store import HistoryStore
from harness.model.exploration import Coordinates, Reached, Tried, Unsteady
from harness.model.finding import Judgement, RunReport, Verdict
from harness.model.scenario import scenario_digest
from harness.model.trace import Trace
from harness.run.confirm import REPEATABLE
from harness.run.expand import cell_of

if TYPE_CHECKING:
    from harness.run.suite import SuiteRequest

__all__ = ["KeptRuns"]


class KeptRuns:
    """Collects the runs of one suite, then writes them.

    Args:
        path: of the history, which is opened once before the runs: nobody should wait for a
            session that cannot be kept.

    Raises:
        InputError: the file cannot be used.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._started_at = datetime.now(UTC)
        self._numbers = Counter[tuple[str, str | None]]()
        self._trace: Trace | None = None
        self._tried: list[Tried] = []
        HistoryStore(path).close()

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
        self._tried.append(
            Tried(
                number=self._numbers[run.scenario, run.variant],
                scenario=run.scenario,
                variant=run.variant,
                seed=run.seed,
                schedule="tape",
                verdict=run.verdict,
                ending=run.ending,
                events=len(self._trace.events),
                virtual_ns=run.virtual_ns,
                trace_digest=run.trace_digest,
                failures=marks_of(self._trace, Judgement(findings=run.findings)) if failed else (),
                unsteady=_unsteady(run, self._trace),
            )
        )

    def write(self, request: SuiteRequest) -> int:
        """Write the session, and return its number.

        Raises:
            InputError: the file cannot be written.
        """
        # Imported here: it leads to what simulates.
        from harness.cli.sessions import session_settings

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
        with HistoryStore(self._path) as store:
            return store.append(
                settings,
                [(tried, Reached(), _digest_of(tried, digests)) for tried in self._tried],
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
