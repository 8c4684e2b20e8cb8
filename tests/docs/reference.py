"""`python -m tests.docs.reference`: writes `docs/reference/` from the code.

It lies with the tests because what it shows of a check is what the kill matrix runs, and because
nothing that is shipped needs it. With `--quick` the findings are those that the pages have; the
rest is made anew.
"""

from __future__ import annotations

import sys

from harness.load.error_model import load_error_model, model_ids
from harness.load.files import write_text_atomically
from harness.load.scenario import find_scenarios
from harness.model.finding import Verdict
from harness.run.prepare import prepare
from harness.run.suite import SuiteRequest, run_suite
from harness.subjects.registry import SubjectEntry
from tests.docs.reference_checks import (
    REFERENCE,
    Finding,
    checks_page,
    checks_pages,
    shown_by,
    stored_finding,
)
from tests.docs.reference_cli import cli_page
from tests.docs.reference_models import model_page, models_page
from tests.docs.reference_scenario import scenario_page

__all__ = ["finding_of", "main", "pages"]


def pages(finding: Finding = stored_finding) -> dict[str, str]:
    """Return each page by its name."""
    return {
        "cli.md": cli_page(),
        "scenario.md": scenario_page(),
        "models.md": models_page(),
        **{f"model-{id_}.md": model_page(id_) for id_ in model_ids()},
        **{name: checks_page(model, finding) for name, model in checks_pages().items()},
    }


def finding_of(entry: SubjectEntry) -> tuple[str, str]:
    """Run a miniature in the scenario that shows it: what was expected, and what observed."""
    (found,) = find_scenarios((shown_by(entry),))
    request = SuiteRequest(
        scenarios=(found.scenario,),
        binding=prepare(entry.id),
        subject_spec=entry.id,
        model=load_error_model(entry.model),
        wall_limit_s=5.0,
        confirm=False,
    )
    report = run_suite(request)
    every = [*report.seeds_findings, *(item for run in report.runs for item in run.findings)]
    good = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    first = next(item for item in every if item.check == entry.fails and item.verdict not in good)
    return first.expected or "", first.observed or ""


def main(words: list[str]) -> None:
    """Write the pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages(stored_finding if "--quick" in words else finding_of).items():
        write_text_atomically(REFERENCE / name, text)


if __name__ == "__main__":
    main(sys.argv[1:])
