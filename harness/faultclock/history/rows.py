"""Runs as rows of the file, there and back."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from faultclock.history.names import NameLists
from faultclock.history.packing import packed, unpacked
from faultclock.history.scenarios import ScenarioNumbers
from faultclock.model.report.exploration import Reached, Tried

_INSERT = """
INSERT INTO run (session, scenario, number, seed, schedule, verdict, ending, events, virtual_ns,
                 trace_digest, tape, fingerprints, unsteady, checks, requirements, faults, pairs)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SELECT = """
SELECT run.number, run.seed, run.schedule, run.verdict, run.ending, run.events, run.virtual_ns,
       run.trace_digest, evidence.packed, run.checks, run.requirements, run.faults, run.pairs
FROM run JOIN scenario ON scenario.id = run.scenario LEFT JOIN evidence ON evidence.run = run.id
WHERE run.session = ? AND scenario.name = ? AND scenario.variant = ? AND scenario.digest = ?
ORDER BY run.number
"""


class RunRows:
    """Writes and reads the runs of one file; transactions are the caller's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._names = NameLists(connection)
        self._scenarios = ScenarioNumbers(connection)

    def write(self, session: int, tried: Tried, reached: Reached, digest: str) -> None:
        """Write one run.

        Args:
            digest: of the scenario that is written.

        Raises:
            sqlite3.IntegrityError: this run of the session is there already.
        """
        failed = bool(tried.failures)
        noted = failed or not tried.tape.is_blank
        lists = (reached.checks, reached.requirements, reached.faults, reached.pairs)
        run = self._connection.execute(
            _INSERT,
            (
                session,
                self._scenarios.number_of(tried.scenario, tried.variant, digest),
                *(tried.number, tried.seed, tried.schedule, tried.verdict.value, tried.ending),
                *(tried.events, tried.virtual_ns, bytes.fromhex(tried.trace_digest)),
                _tape_digest(tried) if noted else None,
                json.dumps([mark.fingerprint for mark in tried.failures]) if failed else None,
                int(tried.unsteady is not None),
                *(self._names.number_of(names) for names in lists),
            ),
        ).lastrowid
        if (blob := packed(tried)) is not None:
            self._connection.execute("INSERT INTO evidence VALUES (?, ?)", (run, blob))

    def read(
        self, session: int, scenario: str, variant: str | None, digest: str
    ) -> Iterator[tuple[Tried, Reached]]:
        """Yield the runs of a scenario in a session, in the order of their numbers."""
        rows = self._connection.execute(_SELECT, (session, scenario, variant or "", digest))
        return (self._run(scenario, variant, row) for row in rows)

    def forget(self) -> None:
        """Look up everything anew: what was written with a failed transaction is not there."""
        self._names.forget()
        self._scenarios.forget()

    def _run(
        self, scenario: str, variant: str | None, row: tuple[Any, ...]
    ) -> tuple[Tried, Reached]:
        number, seed, schedule, verdict, ending, events, virtual_ns, digest, blob, *lists = row
        tried = Tried.model_validate(
            {
                "number": number,
                "scenario": scenario,
                "variant": variant,
                "seed": seed,
                "schedule": schedule,
                "verdict": verdict,
                "ending": ending,
                "events": events,
                "virtual_ns": virtual_ns,
                "trace_digest": digest.hex(),
                **unpacked(blob),
            }
        )
        checks, requirements, faults, pairs = (self._names.of_number(item) for item in lists)
        return tried, Reached(checks=checks, requirements=requirements, faults=faults, pairs=pairs)


def _tape_digest(tried: Tried) -> str:
    return hashlib.sha256(tried.tape.model_dump_json().encode()).hexdigest()
