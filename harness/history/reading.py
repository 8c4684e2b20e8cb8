"""Reads a history as it is at one moment, whoever is writing to it meanwhile."""

from __future__ import annotations

import os
import sqlite3

from harness.history.determinism import determinism_bugs
from harness.history.file import WAIT_S, opened_to_read, told
from harness.history.findings import History, SessionLine
from harness.history.flaky import flaky_subjects
from harness.history.flips import flips
from harness.history.queries import ALL, Wanted, asked
from harness.model.session import SessionSettings

__all__ = ["read_history"]

_SESSIONS = """
SELECT id, settings, state, started_at, ended_at,
       (SELECT count(*) FROM session_scenario WHERE session = session.id)
FROM session WHERE :subject IS NULL OR subject = :subject ORDER BY id
"""
_VERDICTS = asked(
    """
SELECT session, CASE WHEN unsteady THEN 'UNSTEADY' ELSE verdict END AS said, count(*)
FROM told GROUP BY session, said ORDER BY session, said
"""
)


def read_history(
    path: str | os.PathLike[str], wanted: Wanted = ALL, *, wait_s: float = WAIT_S
) -> History:
    """Return what a history says.

    Raises:
        InputError: the file cannot be used; one sentence that says why.
    """
    connection = opened_to_read(path, wait_s)
    try:
        with told(os.fspath(path), wait_s):
            # One transaction, so that all questions are about one state.
            connection.execute("BEGIN")
            return History(
                sessions=_sessions(connection, wanted),
                bugs=determinism_bugs(connection, wanted),
                flaky=flaky_subjects(connection, wanted),
                flips=flips(connection, wanted),
            )
    finally:
        connection.close()


def _sessions(connection: sqlite3.Connection, wanted: Wanted) -> tuple[SessionLine, ...]:
    verdicts: dict[int, dict[str, int]] = {}
    for session, verdict, runs in connection.execute(_VERDICTS, wanted.values):
        verdicts.setdefault(session, {})[verdict] = runs
    lines = []
    rows = connection.execute(_SESSIONS, {"subject": wanted.subject})
    for number, text, state, started_at, ended_at, scenarios in rows:
        totals = verdicts.get(number, {})
        if wanted.scenario is not None and not totals:
            continue
        settings = SessionSettings.model_validate_json(text)
        lines.append(
            SessionLine(
                number=number,
                command=settings.command,
                subject=settings.subject.id,
                model=settings.model,
                model_revision=settings.model_revision,
                faultclock=settings.versions.get("faultclock", ""),
                seed=settings.seed,
                asked=settings.runs,
                state=state,
                started_at=started_at,
                ended_at=ended_at,
                scenarios=scenarios,
                runs=sum(totals.values()),
                verdicts=totals,
            )
        )
    return tuple(lines)
