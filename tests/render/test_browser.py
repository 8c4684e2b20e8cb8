"""The page in a real browser: light, dark, scripts off, narrow, on paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.render import html_report
from tests.render import sample_report as sample

CHROMIUM = Path("/usr/bin/chromium")
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the HTML was tried in no browser"
)
axe_api = pytest.importorskip(
    "axe_playwright_python.sync_playwright",
    reason="axe-playwright-python is not installed: accessibility was audited by no browser",
)
pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists(),
    reason=f"{CHROMIUM} is absent: the HTML was tried in no browser (apt-get install chromium)",
)
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass
class Visit:
    """An open page and what it did meanwhile."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests of this file."""
    with sync_api.sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield instance
        instance.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sample reports as files, as a person would open them."""
    folder = tmp_path_factory.mktemp("reports")
    made = {
        "sdk": sample.sdk_report(),
        "reference": sample.reference_report(),
        "empty": sample.empty_report(),
        "hostile": sample.hostile_report(),
    }
    paths = {}
    for name, report in made.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(html_report(report), encoding="utf-8")
    return paths


@contextmanager
def visit(browser: Any, path: Path, **options: Any) -> Iterator[Visit]:
    """Open `path` offline and collect console messages, errors and requests."""
    context = browser.new_context(**{"offline": True, "reduced_motion": "reduce", **options})
    seen = Visit(page=context.new_page())
    seen.page.on("console", lambda message: seen.messages.append(message.text))
    seen.page.on("pageerror", lambda error: seen.messages.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(path.as_uri())
    try:
        yield seen
    finally:
        context.close()


def violations(page: Any) -> list[str]:
    """Return what axe objects to, with the first place of each."""
    found = axe_api.Axe().run(page).response["violations"]
    return [f"{item['id']}: {item['nodes'][0]['html'][:200]}" for item in found]


def unfold(page: Any) -> None:
    """Open every details element, so that hidden content is audited too."""
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")


@pytest.mark.parametrize("name", ["sdk", "reference", "empty", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_quiet_and_accessible(
    browser: Any, pages: dict[str, Path], name: str, scheme: str
) -> None:
    """No console message, no request but the file itself, nothing that axe objects to."""
    with visit(browser, pages[name], color_scheme=scheme) as seen:
        unfold(seen.page)
        assert violations(seen.page) == []
        assert seen.messages == []
        assert seen.requests == [pages[name].as_uri()]


def test_the_page_is_complete_with_scripts_off(browser: Any, pages: dict[str, Path]) -> None:
    """Every row and section is there, and no control that would do nothing is."""
    with visit(browser, pages["sdk"], java_script_enabled=False) as seen:
        page = seen.page
        assert page.locator("[data-row]").count() == 8
        assert page.locator("[data-section]").count() == 8
        assert page.locator("[data-row]").first.is_visible()
        assert page.locator("[data-section]").last.is_visible()
        assert page.locator("button:visible, form:visible").count() == 0
        page.locator("#s-rate-limits--retry-after-integer > summary").click()
        assert page.locator("#s-rate-limits--retry-after-integer .backoff").is_visible()
        assert (seen.messages, len(seen.requests)) == ([], 1)


def test_dark_and_light_differ(browser: Any, pages: dict[str, Path]) -> None:
    """The page follows the system, and the switch overrules it."""
    ground = "getComputedStyle(document.body).backgroundColor"
    with visit(browser, pages["sdk"], color_scheme="light") as light:
        bright = light.page.evaluate(ground)
        light.page.locator("[data-theme-switch]").click()
        assert light.page.evaluate(ground) == bright
        light.page.locator("[data-theme-switch]").click()
        assert light.page.evaluate(ground) != bright
    with visit(browser, pages["sdk"], color_scheme="dark") as dark:
        assert dark.page.evaluate(ground) != bright


def test_the_filter_hides_rows_and_sections_together(browser: Any, pages: dict[str, Path]) -> None:
    """By verdict and by name; the count says what is left, and empty families go too."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        page.locator("[data-filter-name]").fill("retry after")
        assert page.locator("[data-row]:visible").count() == 3
        page.locator('[data-filter-verdict="fail"]').uncheck()
        page.locator('[data-filter-verdict="warn"]').uncheck()
        assert page.locator("[data-row]:visible").count() == 1
        assert page.locator("[data-section]:visible").count() == 1
        assert page.locator("[data-shown]").inner_text() == "1 of 8 scenarios shown"
        assert page.locator(".family:visible").count() == 1


def test_a_link_opens_what_hides_its_target(browser: Any, pages: dict[str, Path]) -> None:
    """A matrix link unfolds its section, an evidence link the event table."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        page.locator("[data-row] a", has_text="retry-after-integer").click()
        page.wait_for_function("document.querySelector('#s-rate-limits--retry-after-integer').open")
        page.locator(".evidence a").first.click()
        page.wait_for_function(
            "document.querySelector(location.hash).getBoundingClientRect().height > 0"
        )


def test_keyboard_reaches_the_results_first(browser: Any, pages: dict[str, Path]) -> None:
    """The first stop skips the head, and Enter unfolds a section."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip-link"
        summary = page.locator("#s-rate-limits--retry-after-integer > summary")
        summary.focus()
        page.keyboard.press("Enter")
        assert page.locator("#s-rate-limits--retry-after-integer .backoff").is_visible()


def test_copy_gives_the_command(browser: Any, pages: dict[str, Path]) -> None:
    """The button says that it copied, or selects the command where the clipboard is refused."""
    with visit(browser, pages["sdk"]) as seen:
        button = seen.page.locator("[data-copy]:visible").first
        button.click()
        seen.page.wait_for_function("text => /Copied|Selected/.test(document.body.innerText)")
        assert seen.messages == []


def test_a_narrow_page_never_scrolls_sideways(browser: Any, pages: dict[str, Path]) -> None:
    """Wide tables scroll in place, and then the keyboard reaches them."""
    with visit(browser, pages["sdk"], viewport={"width": 390, "height": 800}) as seen:
        page = seen.page
        unfold(page)
        page.wait_for_function("document.querySelector('.scroll').tabIndex === 0")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert violations(page) == []


def test_paper_shows_what_is_folded(browser: Any, pages: dict[str, Path]) -> None:
    """A printed report holds the sections that are closed on the screen."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        assert not page.locator("#s-rate-limits--retry-after-integer .why").is_visible()
        page.emulate_media(media="print")
        assert page.locator("#s-rate-limits--retry-after-integer .why").is_visible()
        assert not page.locator(".contents").is_visible()
