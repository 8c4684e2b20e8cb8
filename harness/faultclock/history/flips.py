"""Verdicts that changed from one session to the next, and why."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any

from faultclock.history.differences import run_differences, state_differences
from faultclock.history.findings import Flip, FlipCause
from faultclock.history.queries import ALL, Wanted, asked
from faultclock.history.scenarios import settings_of
from faultclock.model.report.finding import Verdict
from faultclock.model.report.session import SessionSettings

#: Worst first, as `faultclock.model.report.finding.overall` folds them. `run` is compared with `run`, and
#: exploration with exploration: they do not make the same runs.
_FLIPS = asked(
    """
, ranked AS (
  SELECT *, CASE verdict WHEN 'FAIL' THEN 1 WHEN 'INCONCLUSIVE' THEN 2 WHEN 'WARN' THEN 3
                         WHEN 'PASS' THEN 4 ELSE 5 END AS rank
  FROM told
),
folded AS (
  SELECT session, scenario, name, variant, subject, command, world, judge, drawn, min(rank),
         verdict, sum(unsteady) AS unsteady
  FROM ranked GROUP BY session, scenario
),
beside AS (
  SELECT *, lag(session) OVER w AS before, lag(verdict) OVER w AS was,
         lag(scenario) OVER w AS old_scenario, lag(world) OVER w AS old_world,
         lag(judge) OVER w AS old_judge, lag(drawn) OVER w AS old_drawn,
         lag(unsteady) OVER w AS old_unsteady
  FROM folded
  WINDOW w AS (PARTITION BY name, variant, subject, command ORDER BY session, scenario)
)
SELECT beside.session, verdict, before, was, name, variant, beside.subject, beside.command,
       scenario, old_scenario, beside.world = old_world AS same_world,
       beside.judge = old_judge AS same_judge, beside.drawn = old_drawn AS same_runs,
       unsteady + old_unsteady AS unsteady, old.state AS old_state, new.state AS new_state
FROM beside JOIN session AS old ON old.id = before
JOIN session AS new ON new.id = beside.session
WHERE verdict <> was ORDER BY beside.session, name, variant
"""
)
_RUNS = """
SELECT seed, CASE command WHEN 'run' THEN 0 ELSE number END, trace_digest, verdict
FROM run JOIN session ON session.id = run.session
WHERE session = ? AND scenario = ? AND ending NOT IN ('watchdog', 'harness_error')
"""


def flips(connection: sqlite3.Connection, wanted: Wanted = ALL) -> tuple[Flip, ...]:
    """Return the flips, in the order of the sessions in which they are first seen."""
    rows = connection.execute(_FLIPS, wanted.values)
    names = [column[0] for column in rows.description]
    # A model that changed flips many scenarios between the same two sessions.
    settings = cache(lambda number: settings_of(connection, number))
    return tuple(
        _flip(connection, dict(zip(names, row, strict=True)), settings) for row in rows.fetchall()
    )


def _flip(connection: sqlite3.Connection, row: dict[str, Any], settings: Any) -> Flip:
    before, after = row["before"], row["session"]
    edited = row["scenario"] != row["old_scenario"]
    cause, changes = _cause(
        settings(before),
        settings(after),
        edited=edited,
        clashes=not edited and bool(row["same_world"]) and _clash(connection, row),
    )
    sessions = ((before, row["old_state"]), (after, row["new_state"]))
    return Flip(
        scenario=row["name"],
        variant=row["variant"] or None,
        subject=row["subject"],
        command=row["command"],
        before=before,
        was=Verdict(row["was"]),
        after=after,
        now=Verdict(row["verdict"]),
        cause=cause,
        changes=changes,
        unfinished=tuple(number for number, state in sessions if state != "done"),
    )


def _cause(
    old: SessionSettings, new: SessionSettings, *, edited: bool, clashes: bool
) -> tuple[FlipCause, tuple[str, ...]]:
    if clashes:
        return "determinism", ()
    changes = (("the scenario was edited",) if edited else ()) + state_differences(old, new)
    return ("changed" if changes else "other_runs"), changes + run_differences(old, new)


def _clash(connection: sqlite3.Connection, row: dict[str, Any]) -> bool:
    """Return whether runs that both sessions made, in one world, did not come to the same."""
    if row["unsteady"]:
        return True
    if not row["same_runs"]:
        return False
    old, new = (
        {(seed, step): rest for seed, step, *rest in connection.execute(_RUNS, (number, scenario))}
        for number, scenario in (
            (row["before"], row["scenario"]),
            (row["session"], row["scenario"]),
        )
    )
    places = slice(None) if row["same_judge"] else slice(1)
    return any(old[key][places] != new[key][places] for key in old.keys() & new.keys())
