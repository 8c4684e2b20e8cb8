"""The page of an exploration in a real browser: quiet, accessible, complete without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultclock.render.exploration import exploration_html
from tests.render import sample_exploration as sample
from tests.render.test_browser import browser, pytestmark, unfold, violations, visit

__all__ = ["browser", "pytestmark"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as a file, as a person would open it."""
    path = tmp_path_factory.mktemp("explorations") / "sample.html"
    path.write_text(exploration_html(sample.sample_exploration()), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_quiet_and_accessible(browser: Any, page: Path, scheme: str) -> None:
    """No console message, no request but the file itself, nothing that axe objects to."""
    with visit(browser, page, color_scheme=scheme) as seen:
        unfold(seen.page)
        assert violations(seen.page) == []
        assert seen.messages == []
        assert seen.requests == [page.as_uri()]


def test_the_page_is_narrow_where_the_screen_is(browser: Any, page: Path) -> None:
    """Wide tables scroll in place."""
    with visit(browser, page, viewport={"width": 390, "height": 800}) as seen:
        unfold(seen.page)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert violations(seen.page) == []


def test_keys_lead_from_failure_to_failure(browser: Any, page: Path) -> None:
    """As in the report: `j` to the next one, `k` back, `/` to the filter."""
    with visit(browser, page) as seen:
        focused = "document.activeElement.closest('.failure')?.id"
        seen.page.keyboard.press("j")
        assert seen.page.evaluate(focused) == "failure-1"
        seen.page.keyboard.press("j")
        assert seen.page.evaluate(focused) == "failure-2"
        seen.page.keyboard.press("k")
        assert seen.page.evaluate(focused) == "failure-1"
        seen.page.keyboard.press("/")
        assert seen.page.evaluate("document.activeElement.matches('[data-filter-name]')")


def test_the_page_is_complete_with_scripts_off(browser: Any, page: Path) -> None:
    """Every failure and every scenario is there, and no control that would do nothing."""
    with visit(browser, page, java_script_enabled=False) as seen:
        assert seen.page.locator(".failure:visible").count() == 3
        assert seen.page.locator("[data-row]:visible").count() == 3
        assert seen.page.locator(".parting:visible").count() == 2
        assert seen.page.locator("button:visible, form:visible").count() == 0
