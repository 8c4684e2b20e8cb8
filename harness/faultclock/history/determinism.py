"""Determinism bugs: what was equal in everything that counts, and came out differently.

They are faults of the harness, or leaks of something real into a run; never of the subject.
"""

from __future__ import annotations

import sqlite3

from faultclock.history.findings import DeterminismBug
from faultclock.history.packing import unpacked
from faultclock.history.queries import ALL, Wanted, asked, run_ref

_TRACES = asked(
    """
, counted AS (
  SELECT scenario, world, count(DISTINCT compared.id) AS compared
  FROM compared JOIN told USING (id) WHERE compared.id <> first GROUP BY scenario, world
),
ranked AS (
  SELECT differing.id, first, name, variant, subject, scenario, world,
         row_number() OVER (PARTITION BY scenario, world ORDER BY differing.id, first) AS place
  FROM differing JOIN told USING (id)
),
totals AS (
  SELECT scenario, world, count(DISTINCT id) AS runs FROM ranked GROUP BY scenario, world
)
SELECT name, variant, subject, runs, counted.compared, first, ranked.id
FROM ranked JOIN totals USING (scenario, world) JOIN counted USING (scenario, world)
WHERE place = 1 ORDER BY ranked.id
""",
    differing=True,
)
#: Only among sessions of one command: an exploration also judges how a subject settles.
_VERDICTS = asked(
    """
, judged AS (
  SELECT id, name, variant, subject, scenario, world, judge, command, verdict,
         first_value(id) OVER w AS first, first_value(verdict) OVER w AS first_verdict
  FROM told WHERE NOT unsteady
  WINDOW w AS (PARTITION BY scenario, world, judge, command, trace_digest ORDER BY id)
),
ranked AS (
  SELECT *, row_number() OVER w AS place, count(*) OVER w AS runs
  FROM judged WHERE verdict <> first_verdict
  WINDOW w AS (PARTITION BY scenario, world, judge, command ORDER BY id
               ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
counted AS (
  SELECT scenario, world, judge, command, count(*) AS compared
  FROM judged WHERE id <> first GROUP BY scenario, world, judge, command
)
SELECT name, variant, subject, runs, compared, first, id
FROM ranked JOIN counted USING (scenario, world, judge, command)
WHERE place = 1 ORDER BY id
"""
)
_UNSTEADY = asked(
    """
, counted AS (
  SELECT name, variant, subject, count(*) AS runs, min(id) AS first
  FROM told WHERE unsteady GROUP BY scenario, world
)
SELECT name, variant, subject, runs, runs, first, first, packed
FROM counted LEFT JOIN evidence ON evidence.run = first ORDER BY first
"""
)


def determinism_bugs(
    connection: sqlite3.Connection, wanted: Wanted = ALL
) -> tuple[DeterminismBug, ...]:
    """Return one for each scenario, subject in one state, and kind."""
    bugs = []
    for kind, query in (("traces", _TRACES), ("verdicts", _VERDICTS), ("unsteady", _UNSTEADY)):
        for row in connection.execute(query, wanted.values).fetchall():
            name, variant, subject, runs, compared, first, other, *blob = row
            told = unpacked(blob[0]).get("unsteady", {}) if blob else {}
            bugs.append(
                DeterminismBug(
                    kind=kind,  # type: ignore[arg-type]
                    scenario=name,
                    variant=variant or None,
                    subject=subject,
                    runs=runs,
                    compared=compared,
                    first=run_ref(connection, first),
                    other=run_ref(connection, other),
                    difference=tuple(told.get("difference", ())),
                    leaks=tuple(told.get("leaks", ())),
                )
            )
    return tuple(bugs)
