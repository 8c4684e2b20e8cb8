"""What the questions to a history have in common: the runs with all that they follow from.

Two runs have equal coordinates where scenario (with its text), variant, world (subject with its
source, versions of everything, Faultclock's own source) and seed are equal, and either

- both were made by `run`, so that both are the scenario as it is written, or
- both were run n of explorations with equal seed and options, or
- both noted a tape, and it is the same.

Then their traces are equal, or something is wrong. What the real clock ended is compared with
nothing: on a busy machine that is no fault.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from msgspec import Struct

from faultclock.history.findings import RunRef
from faultclock.model.report.finding import Verdict

#: A digest is replaced by the first session that has it: a small number is quick to sort by.
#: `drawn` and `step` say which run it is: 0 and 0 for what `run` makes.
_TOLD = """
WITH known AS (
  SELECT id, command, subject,
         min(id) OVER (PARTITION BY world) AS world,
         min(id) OVER (PARTITION BY judge) AS judge,
         CASE command WHEN 'run' THEN 0 ELSE min(id) OVER (PARTITION BY drawn) END AS drawn
  FROM session WHERE :subject IS NULL OR subject = :subject
),
told AS (
  SELECT run.id, run.session, run.number, run.scenario, run.seed, run.verdict, run.trace_digest,
         run.tape, run.unsteady, known.command, known.subject, known.world, known.judge,
         known.drawn, CASE known.drawn WHEN 0 THEN 0 ELSE run.number END AS step,
         scenario.name, scenario.variant,
         run.ending IN ('watchdog', 'harness_error') AS by_clock
  FROM run JOIN known ON known.id = run.session JOIN scenario ON scenario.id = run.scenario
  WHERE :scenario IS NULL OR scenario.name GLOB :scenario OR scenario.name GLOB :scenario || '/*'
)
"""
#: Runs that are not like the first of equal coordinates, with that first one.
_DIFFERING = """
, compared AS (
  SELECT id, trace_digest, first_value(id) OVER w AS first,
         first_value(trace_digest) OVER w AS first_digest
  FROM told WHERE NOT by_clock
  WINDOW w AS (PARTITION BY scenario, world, seed, drawn, step ORDER BY id)
  UNION ALL
  SELECT id, trace_digest, first_value(id) OVER w, first_value(trace_digest) OVER w
  FROM told WHERE NOT by_clock AND tape IS NOT NULL
  WINDOW w AS (PARTITION BY scenario, world, seed, tape ORDER BY id)
),
differing AS (SELECT id, first FROM compared WHERE trace_digest <> first_digest)
"""

_RUN = """
SELECT session, number, seed, schedule, verdict, ending, trace_digest, fingerprints
FROM run WHERE id = ?
"""


class Wanted(Struct, frozen=True, kw_only=True):
    """Which part of a history is asked for; None is all of it.

    Attributes:
        subject: its id.
        scenario: an id, a family, or a pattern such as `*/retry-after-*`.
    """

    subject: str | None = None
    scenario: str | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of every query that `asked` makes."""
        return {"subject": self.subject, "scenario": self.scenario}


#: Everything.
ALL = Wanted()


def asked(question: str, *, differing: bool = False) -> str:
    """Return a query with the tables `known` and `told` before it.

    Args:
        question: begins with a comma where it makes more such tables.
        differing: also with `compared` and `differing`.
    """
    return "".join((_TOLD, _DIFFERING if differing else "", question))


def run_ref(connection: sqlite3.Connection, id_: int) -> RunRef:
    """Return one run."""
    session, number, seed, schedule, verdict, ending, digest, fingerprints = connection.execute(
        _RUN, (id_,)
    ).fetchone()
    return RunRef(
        session=session,
        number=number,
        seed=seed,
        schedule=schedule,
        verdict=Verdict(verdict),
        ending=ending,
        trace_digest=digest.hex(),
        fingerprints=() if fingerprints is None else tuple(json.loads(fingerprints)),
    )
