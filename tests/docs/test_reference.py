"""The pages of `docs/reference/` say what the code says today."""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.subjects.registry import catalog
from tests.docs.reference import finding_of, pages, report_of
from tests.docs.reference_checks import BORROWED, REFERENCE, examples, shown_by, stored_finding
from tests.docs.reference_scenario import meanings

_PAGES = pages()
#: Run anew here; `tests/run/test_kill_matrix.py` compares all the others when it runs them.
_RUN_AGAIN = ("backoff.retry-after", "classification.disposition")


@pytest.mark.parametrize("name", _PAGES)
def test_a_page_is_not_stale(name: str) -> None:
    """`python -m tests.docs.reference` writes it anew."""
    path = REFERENCE / name
    assert path.exists(), f"{name} is missing: python -m tests.docs.reference"
    assert path.read_text("utf-8") == _PAGES[name], "stale: python -m tests.docs.reference"


def test_every_key_of_a_scenario_has_a_meaning() -> None:
    """A new key needs a docstring, or a line in the table of the reference."""
    assert [key for key, meaning in meanings() if not meaning] == []


@pytest.mark.parametrize("check", _RUN_AGAIN)
def test_a_finding_on_a_page_is_a_real_one(check: str) -> None:
    """What the page shows of a miniature is what a run of it says."""
    entry = examples()[check, None]
    expected, observed = finding_of(entry)
    assert stored_finding(entry) == (expected, observed)


@pytest.mark.parametrize(("check", "model"), BORROWED)
def test_a_borrowed_subject_fails_the_check_by_the_model_that_names_it(
    check: str, model: str
) -> None:
    """It was made for another model, so only a run shows that it is wrong by this one, too."""
    (entry,) = (item for item in catalog() if item.id == BORROWED[check, model])
    assert entry.model != model
    report = report_of(entry, by=model, scenario=shown_by(entry))
    failed = {item.check for run in report.runs for item in run.findings if item.verdict == "FAIL"}
    assert check in failed


def test_a_neutral_model_shows_harm_remedy_and_sources_and_links_them() -> None:
    """A bug leads to its issue, and an address to itself."""
    page = _PAGES["model-common.md"]
    for requirement in load_error_model("common").requirements:
        assert f"### {requirement.id}\n\n**{str(requirement.harm).capitalize()}.**" in page
    assert "Bug: <https://github.com/earendil-works/pi/issues/8331>, an open" in page
    assert "<https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>" in page
    assert "## Harm" not in _PAGES["model-afk.md"]
