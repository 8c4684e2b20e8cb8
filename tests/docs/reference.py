"""`python -m tests.docs.reference`: writes `docs/reference/` from the code.

It lies with the tests because what it shows of a check is what the kill matrix runs, and because
nothing that is shipped needs it. With `--quick` the findings are those that the pages have; the
rest is made anew.
"""

from __future__ import annotations

import sys

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.load.files import write_text_atomically
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Report, Verdict
from faultclock.run.prepare import prepare
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.registry import SubjectEntry
from tests.docs.reference_checks import (
    REFERENCE,
    Finding,
    checks_page,
    checks_pages,
    shown_by,
    stored_finding,
    without_lines,
)
from tests.docs.reference_cli import cli_page
from tests.docs.reference_events import events_page
from tests.docs.reference_models import model_page, models_page
from tests.docs.reference_scenario import scenario_page


def pages(finding: Finding = stored_finding) -> dict[str, str]:
    """Return each page by its name."""
    return {
        "cli.md": cli_page(),
        "scenario.md": scenario_page(),
        "events.md": events_page(),
        "models.md": models_page(),
        **{f"model-{id_}.md": model_page(id_) for id_ in model_ids()},
        **{name: checks_page(model, finding) for name, model in checks_pages().items()},
    }


def report_of(entry: SubjectEntry, *, by: str, scenario: str) -> Report:
    """Run a miniature in a scenario, and judge it by a model."""
    (found,) = find_scenarios((scenario,))
    request = SuiteRequest(
        scenarios=(found.scenario,),
        binding=prepare(entry.id),
        subject_spec=entry.id,
        model=load_error_model(by),
        wall_limit_s=5.0,
        confirm=False,
    )
    return run_suite(request)


def finding_of(entry: SubjectEntry) -> tuple[str, str]:
    """Run a miniature in the scenario that shows it: what was expected, and what observed."""
    report = report_of(entry, by=entry.model, scenario=shown_by(entry))
    every = [*report.seeds_findings, *(item for run in report.runs for item in run.findings)]
    good = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    first = next(item for item in every if item.check == entry.fails and item.verdict not in good)
    return without_lines(first.expected or ""), without_lines(first.observed or "")


def _kept_finding(entry: SubjectEntry) -> tuple[str, str]:
    """Return the finding that a page has.

    Raises:
        SystemExit: it has none.
    """
    found = stored_finding(entry)
    if not any(found):
        raise SystemExit(f"no page has a finding of {entry.id} yet: run this without --quick")
    return found


def main(words: list[str]) -> None:
    """Write the pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages(_kept_finding if "--quick" in words else finding_of).items():
        write_text_atomically(REFERENCE / name, text)


if __name__ == "__main__":
    main(sys.argv[1:])
