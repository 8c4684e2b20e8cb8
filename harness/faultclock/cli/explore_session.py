"""The session of an exploration in a history: begun or gone on with, and closed however it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from faultclock.explore.engine import ExploreRequest
    from faultclock.history.session import Session
    from faultclock.history.store import HistoryStore
    from faultclock.model.report.exploration import Reached, Tried


class KeptSession:
    """A session while its runs are made; closing it leaves it to be resumed, unless it is done.

    Attributes:
        path: of the history.
        number: of the session in it.
        found: how many runs were there when it was opened.
    """

    def __init__(self, store: HistoryStore, session: Session, path: str) -> None:
        self._store = store
        self._session = session
        self._complete = False
        self.path = path
        self.number = session.number
        self.found = 0

    def done(
        self, scenario: str, variant: str | None, digest: str
    ) -> Iterator[tuple[Tried, Reached]]:
        """Yield the runs of a scenario that are kept already, in the order of their numbers."""
        for run in self._session.done(scenario, variant, digest):
            self.found += 1
            yield run

    def record(self, batch: Sequence[tuple[Tried, Reached]]) -> None:
        """Keep some more runs: all of them or none."""
        self._session.record(batch)

    def completed(self) -> None:
        """Note that nothing is left to resume."""
        self._complete = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._store:
            self._session.finish(complete=self._complete)


def session_of(request: ExploreRequest, path: str | None, *, resume: bool) -> KeptSession | None:
    """Return the session in which the runs are kept; None without a history.

    Raises:
        InputError: the history cannot be used, or there is nothing to resume in it.
    """
    if path is None:
        return None
    from faultclock.cli.sessions import session_settings
    from faultclock.history.store import HistoryStore

    options = {"schedules": ", ".join(request.schedules)}
    if request.wall_limit_s is not None:
        options["wall_limit_s"] = f"{request.wall_limit_s:g}"
    if request.sought is not None:
        options["raises"] = request.sought.text
    settings = session_settings(
        "explore",
        scenarios=request.scenarios,
        binding=request.binding,
        model=request.model,
        readings=request.readings,
        seed=request.seed,
        runs=request.runs,
        options=options,
    )
    store = HistoryStore(path)
    try:
        session = store.resume(settings) if resume else store.begin(settings)
    except BaseException:
        store.close()
        raise
    return KeptSession(store, session, path)
