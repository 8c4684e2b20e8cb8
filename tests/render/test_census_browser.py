"""The census in a real browser: quiet, accessible, narrow, filtered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultclock.render.census import CENSUS_PAGE, census_page, client_pages
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
    beside = {CENSUS_PAGE: census_page(made["sample"], client_files=True)}
    beside |= client_pages(made["sample"])
    for file, text in beside.items():
        (folder / file).write_text(text, encoding="utf-8")
        paths[file.removesuffix(".html")] = folder / file
    return paths


@pytest.mark.parametrize("name", ["sample", "empty", "hostile", "census", "census-hasty"])
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


@pytest.mark.parametrize("name", ["sample", "census", "census-hasty"])
def test_a_narrow_census_never_scrolls_sideways(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    """Wide tables scroll in place."""
    with visit(browser, pages[name], viewport={"width": 390, "height": 800}) as seen:
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


def test_links_lead_to_a_client_and_back(browser: Any, pages: dict[str, Path]) -> None:
    """From the census to its page, to the next client, and back to its row."""
    with visit(browser, pages["census"]) as seen:
        page = seen.page
        page.locator("#client-patient a").click()
        assert page.locator("h1").inner_text() == "What patient does in 2 scenarios"
        page.locator('a[rel="next"]').click()
        assert page.locator("h1").inner_text() == "What hasty does in 2 scenarios"
        page.locator(".trail a").click()
        assert page.url.endswith("census.html#client-hasty")
        assert seen.messages == []


def test_the_page_of_a_client_is_filtered_by_scenario(browser: Any, pages: dict[str, Path]) -> None:
    """All rows of a scenario go together."""
    with visit(browser, pages["census-hasty"]) as seen:
        page = seen.page
        assert page.locator(".conduct tbody tr:visible").count() == 3
        page.locator("[data-filter-name]").fill("stream")
        assert page.locator(".conduct tbody tr:visible").count() == 1
        assert page.locator("[data-shown]").inner_text() == "1 of 2 scenarios shown"


def test_a_link_to_a_client_on_a_single_page_opens_its_section(
    browser: Any, pages: dict[str, Path]
) -> None:
    """The address of a section can be passed on."""
    with visit(browser, pages["sample"]) as seen:
        assert seen.page.locator("#client-hasty table").is_hidden()
        seen.page.goto(f"{pages['sample'].as_uri()}#client-hasty")
        seen.page.reload()
        assert seen.page.locator("#client-hasty table").is_visible()


def test_the_census_is_complete_with_scripts_off(browser: Any, pages: dict[str, Path]) -> None:
    """Every row is there, and no control that would do nothing."""
    with visit(browser, pages["sample"], java_script_enabled=False) as seen:
        assert seen.page.locator("[data-row]:visible").count() == 2
        assert seen.page.locator("button:visible, form:visible").count() == 0
