"""The page in a real browser: light, dark, scripts off, narrow, filtered, by keys, on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from faultclock.render.checkup_html import checkup_page
from faultclock.render.html_text import html_report
from tests.render import sample_report as sample
from tests.render.sample_agent import agent_run
from tests.render.test_checkup_text import sample as answer

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
        "agent": sample.report([agent_run()]),
        "large": sample.large_report(106),
    }
    texts = {name: html_report(report) for name, report in made.items()}
    texts["check"] = checkup_page(answer())
    paths = {name: folder / f"{name}.html" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name], encoding="utf-8")
    return paths


@contextmanager
def visit(browser: Any, path: Path, address: str = "", **options: Any) -> Iterator[Visit]:
    """Open `path` offline and collect console messages, errors and requests.

    Args:
        address: what follows the path, such as `#s-a` or `?verdict=fail`.
    """
    context = browser.new_context(**{"offline": True, "reduced_motion": "reduce", **options})
    seen = Visit(page=context.new_page())
    seen.page.on("console", lambda message: seen.messages.append(message.text))
    seen.page.on("pageerror", lambda error: seen.messages.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(f"{path.as_uri()}{address}")
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
    page.locator("details[open] > noscript").first.wait_for(state="detached")
    page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")


@pytest.mark.parametrize("name", ["sdk", "reference", "empty", "hostile", "agent", "check"])
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
    """Every section is there with its drawing, and no control that would do nothing is."""
    with visit(browser, pages["sdk"], java_script_enabled=False) as seen:
        page = seen.page
        assert page.locator("[data-section]").count() == 8
        assert page.locator("[data-section] figure svg").count() == 8
        assert page.locator("button:visible, form:visible, dialog:visible").count() == 0
        page.locator("#s-rate-limits--no-header > summary").click()
        assert page.locator("#s-rate-limits--no-header .events").is_visible()
        assert page.locator("#s-rate-limits--no-header .window").first.is_visible()
        assert (seen.messages, len(seen.requests)) == ([], 1)


NODES = """() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let nodes = 0;
  while (walker.nextNode()) nodes++;
  return nodes;
}"""


def test_a_hundred_runs_are_few_nodes_before_anything_is_opened(
    browser: Any, pages: dict[str, Path]
) -> None:
    """Under 10,000 nodes and 600 kB; a timeline is drawn when its section is opened."""
    assert pages["large"].stat().st_size < 600_000
    with visit(browser, pages["large"]) as seen:
        page = seen.page
        before = page.evaluate(NODES)
        assert before < 10_000
        assert page.locator("figure").count() == 0
        page.locator(".see a").first.click()
        page.locator("figure .window").first.wait_for()
        assert page.locator("figure").count() == 1
        assert page.evaluate(NODES) < before + 1_000


def test_the_script_reads_the_layout_once_while_the_page_opens(
    browser: Any, pages: dict[str, Path]
) -> None:
    """Reads and writes of layout never alternate: the number of layouts does not grow with runs."""
    layouts = {}
    for name in ("sdk", "large"):
        with visit(browser, pages[name]) as seen:
            session = seen.page.context.new_cdp_session(seen.page)
            session.send("Performance.enable")
            seen.page.reload()
            metrics = session.send("Performance.getMetrics")["metrics"]
            layouts[name] = next(item["value"] for item in metrics if item["name"] == "LayoutCount")
    assert layouts["large"] <= layouts["sdk"] + 5


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


def shown(page: Any) -> list[str]:
    """Return the ids of the scenarios that the filter leaves."""
    ids: list[str] = page.evaluate(
        "[...document.querySelectorAll('[data-section]:not([hidden])')].map(item => item.id)"
    )
    return ids


def test_the_filter_is_kept_in_the_address(browser: Any, pages: dict[str, Path]) -> None:
    """By text, check, exception and verdict; the address alone gives the same page again."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        assert len(shown(page)) == 8
        page.locator("[data-filter-name]").fill("retry-after")
        assert len(shown(page)) == 3
        page.locator('[data-filter-verdict="fail"]').uncheck()
        page.locator('[data-filter-verdict="warn"]').uncheck()
        assert shown(page) == ["s-rate-limits--retry-after-integer"]
        assert page.locator("[data-section]:visible").count() == 1
        assert page.locator("[data-shown]").inner_text() == "1 of 8 scenarios shown"
        kept = page.evaluate("location.search")
        assert "q=retry-after" in kept
        assert "fail" not in kept
    with visit(browser, pages["sdk"], kept) as again:
        assert shown(again.page) == ["s-rate-limits--retry-after-integer"]
        assert again.page.locator("[data-filter-name]").input_value() == "retry-after"
        assert again.messages == []


def test_check_and_exception_are_filters_too(browser: Any, pages: dict[str, Path]) -> None:
    """A name that is not in the report filters nothing; an anchor stays in the address."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        every = set(shown(page))
        page.locator("[data-filter-check]").select_option("backoff.attempts")
        some = set(shown(page))
        assert set() < some < every
        page.locator("[data-filter-check]").select_option("any")
        exception = page.locator("[data-filter-exception] option").nth(1).inner_text()
        page.locator("[data-filter-exception]").select_option(exception)
        raised = set(shown(page))
        assert set() < raised < every
        page.evaluate("location.hash = '#coverage'")
        page.locator("[data-filter-name]").fill("x")
        address = page.evaluate("location.search + location.hash")
        assert address == f"?q=x&exception={exception}#coverage"
    with visit(browser, pages["sdk"], "?check=no.such&exception=NoSuch") as seen:
        assert set(shown(seen.page)) == every


def test_a_link_opens_what_hides_its_target(browser: Any, pages: dict[str, Path]) -> None:
    """A problem leads to its timeline, an address to an event of a section that was never drawn."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        page.locator(".see a").first.click()
        page.locator("[data-section][open] figure").wait_for()
        assert page.locator("[data-section][open] figure").count() == 1
        link = page.locator("[data-section][open] .card .note a").first
        address = link.get_attribute("href")
        link.click()
        page.locator(".events li:target").wait_for()
    with visit(browser, pages["sdk"], address) as seen:
        page = seen.page
        page.locator(address).wait_for()
        assert seen.messages == []
    with visit(browser, pages["sdk"], "#q-STUD-RL-03") as seen:
        assert seen.page.locator("#q-STUD-RL-03").is_visible()


def test_keyboard_reaches_the_results_first(browser: Any, pages: dict[str, Path]) -> None:
    """The first stop skips the head, and Enter unfolds a section."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip-link"
        summary = page.locator("#s-rate-limits--no-header > summary")
        summary.focus()
        page.keyboard.press("Enter")
        page.locator("#s-rate-limits--no-header figure").wait_for(state="visible")


def test_single_keys_move_filter_and_explain(browser: Any, pages: dict[str, Path]) -> None:
    """`j` and `k` walk over problems and open groups, `/` filters, `?` opens a list of them."""
    focused = "document.activeElement.parentElement.id"
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        problems = page.evaluate("[...document.querySelectorAll('.problem')].map(item => item.id)")
        page.keyboard.press("j")
        assert page.evaluate(focused) == problems[0]
        for _ in problems:
            page.keyboard.press("j")
        assert page.evaluate(focused).startswith("s-")
        page.keyboard.press("k")
        assert page.evaluate(focused) == problems[-1]
        page.keyboard.press("/")
        page.keyboard.type("jk?")
        assert page.locator("[data-filter-name]").input_value() == "jk?"
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.tagName") == "BODY"
        page.keyboard.press("?")
        assert page.locator("dialog").is_visible()
        assert violations(page) == []
        page.keyboard.press("Escape")
        assert not page.locator("dialog").is_visible()
        page.keyboard.press("?")
        page.locator("[data-keys-on]").uncheck()
        page.locator("[data-keys-close]").click()
        page.keyboard.press("?")
        assert not page.locator("dialog").is_visible()
        assert seen.messages == []


def test_copy_gives_the_command(browser: Any, pages: dict[str, Path]) -> None:
    """The button says that it copied, or selects the command where the clipboard is refused."""
    with visit(browser, pages["sdk"]) as seen:
        seen.page.locator(".problem .others summary").first.click()
        seen.page.locator("[data-copy]:visible").first.click()
        seen.page.locator("[data-copy]", has_text=re.compile("Copied|Selected")).wait_for()
        assert seen.messages == []


@pytest.mark.parametrize("name", ["sdk", "agent", "check"])
@pytest.mark.parametrize("width", [390, 1440])
def test_a_page_never_scrolls_sideways(
    browser: Any, pages: dict[str, Path], name: str, width: int
) -> None:
    """Wide tables and drawings scroll in place, and then the keyboard reaches them."""
    with visit(browser, pages[name], viewport={"width": width, "height": 800}) as seen:
        page = seen.page
        unfold(page)
        if width == 390:
            page.locator("figure .scroll[tabindex]").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page) == []


def test_paper_shows_what_is_folded(browser: Any, pages: dict[str, Path]) -> None:
    """A printed report holds the sections that were never opened, and the screen stays folded."""
    with visit(browser, pages["sdk"]) as seen:
        page = seen.page
        assert page.locator("figure").count() == 0
        page.emulate_media(media="print")
        page.locator("figure").nth(7).wait_for()
        assert page.locator("figure").last.is_visible()
        assert page.locator("#coverage table").is_visible()
        assert not page.locator(".contents").is_visible()
        page.emulate_media(media="screen")
        page.locator("[data-section][open]").first.wait_for(state="detached")
    with visit(browser, pages["sdk"]) as seen:
        seen.page.pdf()
        assert seen.page.locator("figure").count() == 8
