"""Reads a history as it is at one moment, also while another process writes to it."""

from __future__ import annotations

import os
import sqlite3

from faultclock.history.determinism import determinism_bugs
from faultclock.history.file import WAIT_S, check_content, opened_to_read, reading
from faultclock.history.findings import UNSTEADY, History, SessionLine
from faultclock.history.flaky import flaky_subjects
from faultclock.history.flips import flips
from faultclock.history.queries import ALL, Wanted, asked
from faultclock.model.report.finding import Verdict
from faultclock.model.report.session import SessionSettings

_SESSIONS = """
SELECT id, settings, state, started_at, ended_at,
       (SELECT count(*) FROM session_scenario WHERE session = session.id)
FROM session WHERE :subject IS NULL OR subject = :subject ORDER BY id
"""
_VERDICTS = asked(
    """
SELECT session, CASE WHEN unsteady THEN :unsteady ELSE verdict END AS said, count(*)
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
        with reading(os.fspath(path), wait_s):
            check_content(connection, os.fspath(path))
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
    for session, verdict, runs in connection.execute(
        _VERDICTS, {**wanted.values, "unsteady": UNSTEADY}
    ):
        known = verdict if verdict == UNSTEADY else Verdict(verdict)
        verdicts.setdefault(session, {})[known] = runs
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
