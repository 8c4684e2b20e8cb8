"""Proves that each planted bug hides: it passes all that is shipped for it, as it is written.

    python -m tests.explore.hiding

Every scenario of its role and error model is run with all its seeds, and with a crash at each point
where it asks for that. It takes some minutes, so it is no test; `make test` has a small part of it.
"""

from __future__ import annotations

import sys

from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict
from faultclock.mutants.by_hand import BY_HAND
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.prepare import prepare
from faultclock.run.suite import SuiteRequest, run_suite


def main() -> int:
    """Run everything; return 1 where something shows."""
    bad = 0
    races = {id_: item for id_, item in BY_HAND.items() if item.found_by == "explore"}
    for id_, miniature in races.items():
        binding = prepare(id_)
        scenarios = tuple(
            scenario
            for item in find_scenarios()
            for scenario in item.runnable
            if scenario.role == binding.role
            and miniature.model in (scenario.models or (miniature.model,))
            and cannot_be_said(scenario, binding) is None
        )
        request = SuiteRequest(
            scenarios=scenarios,
            binding=binding,
            subject_spec=id_,
            model=load_error_model(miniature.model),
        )
        report = run_suite(request)
        bad += report.verdict is not Verdict.PASS
        told = f"{id_}: {len(report.runs)} runs of {len(scenarios)} scenarios, {report.verdict}\n"
        sys.stdout.write(told)
        for run in report.runs:
            for finding in run.findings:
                if finding.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE):
                    sys.stdout.write(f"  {run.scenario} {run.variant or ''}: {finding.check}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
