"""The census in a real browser: quiet, accessible, narrow, filtered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.render.census import census_page
from tests.render import sample_census as sample
from tests.render.test_browser import browser, pytestmark, unfold, violations, visit

__all__ = ["browser", "pytestmark"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sample censuses as files, as a person would open them."""
    folder = tmp_path_factory.mktemp("censuses")
    made = {
        "sample": sample.sample_census(),
        "empty": sample.empty_census(),
        "hostile": sample.hostile_census(),
    }
    paths = {}
    for name, census in made.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(census_page(census), encoding="utf-8")
    return paths


@pytest.mark.parametrize("name", ["sample", "empty", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_census_is_quiet_and_accessible(
    browser: Any, pages: dict[str, Path], name: str, scheme: str
) -> None:
    """No console message, no request but the file itself, nothing that axe objects to."""
    with visit(browser, pages[name], color_scheme=scheme) as seen:
        unfold(seen.page)
        assert violations(seen.page) == []
        assert seen.messages == []
        assert seen.requests == [pages[name].as_uri()]


def test_a_narrow_census_never_scrolls_sideways(browser: Any, pages: dict[str, Path]) -> None:
    """Wide tables scroll in place."""
    with visit(browser, pages["sample"], viewport={"width": 390, "height": 800}) as seen:
        unfold(seen.page)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert violations(seen.page) == []


def test_the_filter_hides_scenarios(browser: Any, pages: dict[str, Path]) -> None:
    """By name, and by whether the clients differ."""
    with visit(browser, pages["sample"]) as seen:
        page = seen.page
        assert page.locator("[data-row]:visible").count() == 2
        page.locator("[data-filter-name]").fill("stream")
        assert page.locator("[data-row]:visible").count() == 1
        page.locator('[data-filter-verdict="differs"]').uncheck()
        assert page.locator("[data-row]:visible").count() == 0


def test_the_census_is_complete_with_scripts_off(browser: Any, pages: dict[str, Path]) -> None:
    """Every row is there, and no control that would do nothing."""
    with visit(browser, pages["sample"], java_script_enabled=False) as seen:
        assert seen.page.locator("[data-row]:visible").count() == 2
        assert seen.page.locator("button:visible, form:visible").count() == 0
