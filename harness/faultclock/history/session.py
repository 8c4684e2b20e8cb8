"""One session in a history: what was done of it, and what is added, batch by batch.

It is what the engine of an exploration calls a ledger. A batch is one transaction, so a process
that is killed at any moment loses the batch that it had not finished, and nothing is counted twice.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from faultclock.errors import InputError, InternalError
from faultclock.history.file import reading, sound, told
from faultclock.history.rows import RunRows
from faultclock.history.schema import writing
from faultclock.model.report.exploration import Reached, Tried
from faultclock.model.report.session import SessionSettings


class Session:
    """One session of a history that is being written.

    Attributes:
        number: by which a person knows it, from 1.
        settings: what its runs follow from.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        shown: str,
        number: int,
        settings: SessionSettings,
        *,
        turn: int,
        now: Callable[[], datetime],
    ) -> None:
        self.number = number
        self.settings = settings
        self._connection = connection
        self._shown = shown
        self._turn = turn
        self._now = now
        self._process = os.getpid()
        self._rows = RunRows(connection)
        self._digests = {(item.scenario, item.variant): item.digest for item in settings.scenarios}

    def done(
        self, scenario: str, variant: str | None, digest: str
    ) -> Iterator[tuple[Tried, Reached]]:
        """Yield what this session has of a scenario, in the order of the numbers.

        Args:
            digest: of the scenario that is written.
        """
        with reading(self._shown):
            yield from self._rows.read(self.number, scenario, variant, digest)

    def record(self, batch: Sequence[tuple[Tried, Reached]]) -> None:
        """Add runs, all or none; each number of a scenario and variant once.

        Raises:
            InputError: the file cannot be written, or another process has resumed this session.
            InternalError: a run is there already, or is of no scenario of this session.
        """
        if os.getpid() != self._process:
            raise InternalError("a history is written by the process that opened it")
        with told(self._shown):
            try:
                with sound(self._connection, self._shown), writing(self._connection):
                    self._check_turn()
                    for tried, reached in batch:
                        self._rows.write(self.number, tried, reached, self._digest(tried))
            except sqlite3.IntegrityError as error:
                self._rows.forget()
                raise InternalError(
                    f"session {self.number}: a run was recorded twice: {error}"
                ) from None
            except BaseException:
                self._rows.forget()
                raise

    def finish(self, *, complete: bool) -> None:
        """Note that it ended: with all of its runs, or stopped before, and can be resumed.

        Raises:
            InputError: the file cannot be written, or another process has resumed this session.
        """
        with told(self._shown), writing(self._connection):
            self._check_turn()
            self._connection.execute(
                "UPDATE session SET state = ?, ended_at = ? WHERE id = ?",
                ("done" if complete else "stopped", time_text(self._now()), self.number),
            )

    def _check_turn(self) -> None:
        """Two processes may not both go on with one session: the one that came later has it."""
        row = self._connection.execute(
            "SELECT turn FROM session WHERE id = ?", (self.number,)
        ).fetchone()
        if row is None or row[0] != self._turn:
            raise InputError(
                f"{self._shown}: session {self.number} was resumed by another process, which has"
                " it now",
                hint="the other process makes the runs that this one has not recorded",
            )

    def _digest(self, tried: Tried) -> str:
        digest = self._digests.get((tried.scenario, tried.variant))
        if digest is None:
            raise InternalError(f"session {self.number} has no scenario {tried.scenario!r}")
        return digest


def time_text(at: datetime) -> str:
    """Return an instant to the second, as `2026-01-31T12:00:00+00:00`."""
    return at.isoformat(timespec="seconds")
