"""The scenarios of a history, each kept once, and the settings of a session with them put in."""

from __future__ import annotations

import sqlite3

from faultclock.model.report.session import SessionScenario, SessionSettings

_BEGIN = """
INSERT INTO session (command, subject, settings, settings_digest, world, judge, drawn, state,
                     started_at)
VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?)
"""
_SCENARIOS = """
SELECT name, variant, digest FROM session_scenario
JOIN scenario ON scenario.id = session_scenario.scenario
WHERE session = ? ORDER BY place
"""


class ScenarioNumbers:
    """The numbers of the scenarios of one file; what was looked up is remembered."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str, str], int] = {}

    def number_of(self, name: str, variant: str | None, digest: str) -> int:
        """Return the number of a scenario, which is written on the way if it is new."""
        key = (name, variant or "", digest)
        if key not in self._known:
            row = self._connection.execute(
                "SELECT id FROM scenario WHERE name = ? AND variant = ? AND digest = ?", key
            ).fetchone()
            number = (
                row[0]
                if row is not None
                else self._connection.execute(
                    "INSERT INTO scenario (name, variant, digest) VALUES (?, ?, ?)", key
                ).lastrowid
            )
            assert number is not None
            self._known[key] = number
        return self._known[key]

    def forget(self) -> None:
        """Look up everything anew: what was written with a failed transaction is not there."""
        self._known.clear()


def write_settings(connection: sqlite3.Connection, settings: SessionSettings, at: str) -> int:
    """Write a session that begins, and return its number.

    Args:
        at: when it begins.
    """
    number = connection.execute(
        _BEGIN,
        (
            settings.command,
            settings.subject.id,
            settings.model_dump_json(exclude={"scenarios"}),
            *(settings.digest, settings.world, settings.judge, settings.drawn),
            at,
        ),
    ).lastrowid
    assert number is not None
    numbers = ScenarioNumbers(connection)
    connection.executemany(
        "INSERT INTO session_scenario VALUES (?, ?, ?)",
        [
            (number, place, numbers.number_of(item.scenario, item.variant, item.digest))
            for place, item in enumerate(settings.scenarios, start=1)
        ],
    )
    return number


def settings_of(connection: sqlite3.Connection, number: int) -> SessionSettings:
    """Return the settings of a session as they were when it began."""
    text = connection.execute("SELECT settings FROM session WHERE id = ?", (number,)).fetchone()[0]
    rows = connection.execute(_SCENARIOS, (number,)).fetchall()
    scenarios = tuple(
        SessionScenario(scenario=name, variant=variant or None, digest=digest)
        for name, variant, digest in rows
    )
    return SessionSettings.model_validate_json(text).model_copy(update={"scenarios": scenarios})
