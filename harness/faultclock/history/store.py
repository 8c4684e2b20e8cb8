"""The history: one SQLite file with every session that is kept in it.

It holds no path, no user and no host. When a session was is noted, as in a log; nothing that is
judged reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from faultclock.errors import InputError
from faultclock.history.differences import differences
from faultclock.history.file import WAIT_S, opened_to_write, reading, sound, told
from faultclock.history.rows import RunRows
from faultclock.history.scenarios import settings_of, write_settings
from faultclock.history.schema import writing
from faultclock.history.session import Session, time_text
from faultclock.model.report.exploration import Reached, Tried
from faultclock.model.report.session import SessionSettings

#: Listed differences to a session of other settings; the rest is counted.
_TOLD_MOST = 4


class HistoryStore:
    """A history that is open for writing. Several processes may have one file open at once.

    Raises:
        InputError: the file cannot be used; one sentence that says why.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        wait_s: float = WAIT_S,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._shown = os.fspath(path)
        self._now = now
        self._connection = opened_to_write(path, wait_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was recorded is in it."""
        self._connection.close()

    def begin(self, settings: SessionSettings) -> Session:
        """Begin a session.

        Raises:
            InputError: the file cannot be written.
        """
        with told(self._shown), sound(self._connection, self._shown), writing(self._connection):
            number = write_settings(self._connection, settings, time_text(self._now()))
        return self._session(number, settings, turn=1)

    def append(
        self,
        settings: SessionSettings,
        runs: Iterable[tuple[Tried, Reached, str]],
        *,
        started_at: datetime,
    ) -> int:
        """Add a session that is over, all of it or nothing, and return its number.

        Args:
            runs: each with the digest of its scenario as it is written.

        Raises:
            InputError: the file cannot be written.
        """
        rows = RunRows(self._connection)
        with told(self._shown), sound(self._connection, self._shown), writing(self._connection):
            number = write_settings(self._connection, settings, time_text(started_at))
            for tried, reached, digest in runs:
                rows.write(number, tried, reached, digest)
            self._connection.execute(
                "UPDATE session SET state = 'done', ended_at = ? WHERE id = ?",
                (time_text(self._now()), number),
            )
        return number

    def resume(self, settings: SessionSettings) -> Session:
        """Go on with the last unfinished session of equal settings.

        Where all of them are complete it is the last of these: who was stopped after the last run
        and before the report has nothing to make again.

        Raises:
            InputError: there is none; it says what differs.
        """
        with reading(self._shown), writing(self._connection):
            row = self._connection.execute(
                "SELECT id, turn FROM session WHERE settings_digest = ?"
                " ORDER BY state = 'done', id DESC LIMIT 1",
                (settings.digest,),
            ).fetchone()
            if row is None:
                raise self._nothing_to_resume(settings)
            number, turn = int(row[0]), int(row[1]) + 1
            self._connection.execute(
                "UPDATE session SET turn = ?, state = 'open', ended_at = NULL WHERE id = ?",
                (turn, number),
            )
        return self._session(number, settings, turn=turn)

    def _session(self, number: int, settings: SessionSettings, *, turn: int) -> Session:
        return Session(self._connection, self._shown, number, settings, turn=turn, now=self._now)

    def _nothing_to_resume(self, settings: SessionSettings) -> InputError:
        command, subject = settings.command, settings.subject.id
        other = (
            self._last("state <> 'done' AND command = ? AND subject = ?", command, subject)
            or self._last("state <> 'done' AND command = ?", command)
            or self._last("command = ?", command)
        )
        if other is None:
            return InputError(
                f"{self._shown}: no session of this command to resume",
                hint="leave --resume out to begin one",
            )
        found = differences(settings_of(self._connection, other), settings)
        more = f"; and {len(found) - _TOLD_MOST} more" if len(found) > _TOLD_MOST else ""
        return InputError(
            f"{self._shown}: no session has these settings. Session {other} differs:"
            f" {'; '.join(found[:_TOLD_MOST])}{more}",
            hint="ask for the same again to resume it, or leave --resume out to begin a new one",
        )

    def _last(self, condition: str, *values: str) -> int | None:
        query = f"SELECT max(id) FROM session WHERE {condition}"  # noqa: S608 - our own words
        number: int | None = self._connection.execute(query, values).fetchone()[0]
        return number
