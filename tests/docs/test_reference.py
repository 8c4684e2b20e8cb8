"""The pages of `docs/reference/` say what the code says today."""

from __future__ import annotations

import pytest

from tests.docs.reference import finding_of, pages
from tests.docs.reference_checks import REFERENCE, examples, stored_finding
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
    assert stored_finding(entry) == (" ".join(expected.split()), " ".join(observed.split()))
