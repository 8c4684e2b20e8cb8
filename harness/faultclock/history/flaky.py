"""Flaky subjects: each run by itself is always the same, and some of them fail."""

from __future__ import annotations

import sqlite3

from faultclock.history.findings import FlakySubject
from faultclock.history.packing import unpacked
from faultclock.history.queries import ALL, Wanted, asked, run_ref
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.tape import Tape

#: Different coordinates have different traces, whose headers name them; so traces are counted. A
#: run whose coordinates gave two traces says nothing of the subject, with any verdict.
_FLAKY = asked(
    """
, doubtful AS (
  SELECT compared.id FROM compared WHERE first IN (SELECT first FROM differing)
),
steady AS (
  SELECT * FROM told WHERE NOT unsteady AND id NOT IN (SELECT id FROM doubtful)
),
grouped AS (
  SELECT scenario, world, judge, name, variant, subject, max(session) AS last,
         count(DISTINCT CASE WHEN verdict = 'FAIL' THEN trace_digest END) AS failing,
         count(DISTINCT CASE WHEN verdict IN ('PASS', 'WARN') THEN trace_digest END) AS passing,
         count(DISTINCT trace_digest) AS runs,
         min(CASE WHEN verdict = 'FAIL' THEN id END) AS first
  FROM steady GROUP BY scenario, world, judge
),
latest AS (
  SELECT name, variant, subject, max(session) AS last FROM told GROUP BY name, variant, subject
)
SELECT grouped.name, grouped.variant, grouped.subject, failing, passing, runs, first,
       grouped.last = latest.last, digest, session.settings ->> '$.model', packed
FROM grouped JOIN latest USING (name, variant, subject)
JOIN scenario ON scenario.id = grouped.scenario
JOIN run ON run.id = first JOIN session ON session.id = run.session
LEFT JOIN evidence ON evidence.run = first
WHERE failing > 0 AND passing > 0 ORDER BY first
""",
    differing=True,
)


def flaky_subjects(
    connection: sqlite3.Connection, wanted: Wanted = ALL
) -> tuple[FlakySubject, ...]:
    """Return one for each scenario, subject in one state, and model in one reading."""
    found = []
    for row in connection.execute(_FLAKY, wanted.values).fetchall():
        name, variant, subject, failing, passing, runs, id_, is_current, digest, model, blob = row
        first = run_ref(connection, id_)
        where = Coordinates(
            scenario=name,
            scenario_digest=digest,
            variant=variant or None,
            subject=subject,
            seed=first.seed,
            tape=Tape.model_validate(unpacked(blob).get("tape", {})),
        )
        found.append(
            FlakySubject(
                scenario=name,
                variant=variant or None,
                subject=subject,
                model=model,
                failing=failing,
                passing=passing,
                runs=runs,
                first=first,
                coordinates=where,
                is_current=bool(is_current),
            )
        )
    return tuple(found)
