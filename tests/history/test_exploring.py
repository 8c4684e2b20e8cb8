"""A real exploration with a history: killed in the middle of a batch, it ends as if it had not."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from faultclock.explore.engine import ExploreRequest, explore
from faultclock.history.session import Session
from faultclock.history.store import HistoryStore
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.session import SessionScenario, SessionSettings
from faultclock.model.scenario.scenario import scenario_digest
from faultclock.subjects.binding import Binding
from tests.explore.worlds import varying
from tests.history.killing import whole
from tests.run.conftest import _patched, bound, model

__all__ = ["_patched", "bound", "model"]

RUNS = 24


def session_settings(request: ExploreRequest) -> SessionSettings:
    """Return the settings of the session in which `request` is explored."""
    return SessionSettings(
        command="explore",
        subject=request.binding.info(),
        model=request.model.id,
        model_revision=request.model.revision,
        seed=request.seed,
        runs=request.runs,
        scenarios=tuple(
            SessionScenario(scenario=item.id, variant=item.variant, digest=scenario_digest(item))
            for item in request.scenarios
        ),
    )


def killed_at(request: ExploreRequest, path: Path, run: int) -> None:
    """Begin the exploration in a child that is killed when it writes its n-th run."""
    child = os.fork()
    if child == 0:
        try:
            store = HistoryStore(path)
            session: Session = store.begin(session_settings(request))
            left = [run]

            def count(statement: str) -> None:
                left[0] -= "INSERT INTO run" in statement
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            store._connection.set_trace_callback(count)
            explore(request, ledger=session)
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_killed_and_resumed_it_finds_the_same(
    tmp_path: Path, bound: Callable[[str], Binding], model: ErrorModel
) -> None:
    """Equal in every value to an exploration that nobody killed and nobody kept."""
    request = ExploreRequest(
        scenarios=(varying(),),
        binding=bound("reference"),
        subject_spec="reference",
        model=model,
        runs=RUNS,
        chunk=4,
    )
    expected = explore(request)
    path = tmp_path / "h.sqlite"
    killed_at(request, path, 10)
    assert whole(path) == 8
    made = []
    with HistoryStore(path) as store:
        session = store.resume(session_settings(request))
        assert explore(request, ledger=session, on_run=made.append) == expected
        assert len(made) == RUNS - 8
        session.finish(complete=True)
        assert explore(request, ledger=session) == expected
    assert whole(path) == RUNS
