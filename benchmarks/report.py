"""What a report weighs in a browser: bytes, nodes, height, processor time until it can be used.

The runs are those of the unmodified OpenAI SDK, judged by `stud-cli`, so most of them fail.
Chromium opens each page from the disk, in a context of its own, and is asked for the time that its
main thread has worked until one frame is drawn after everything is loaded.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._table import Row, Size, installed, rows_of
from benchmarks.scenario_run import SCENARIO
from benchmarks.suite import suite
from faultclock.model.report.finding import Report
from faultclock.render.html_text import html_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")
PEERS = {"playwright": installed("playwright"), "chromium": CHROMIUM.exists()}
SUBJECT = "openai-async" if installed("openai") else "reference"
#: Runs of a report, and how many seeds give at least that many.
SIZES = {"runs: 106": (106, 1), "runs: 320": (320, 3), "runs: 1,000": (1_000, 10)}
_COUNT = """() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let nodes = 0;
  while (walker.nextNode()) nodes++;
  return [nodes, document.documentElement.scrollHeight];
}"""
_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))"


def cut(report: Report, runs: int) -> Report:
    """Return a report with its first `runs` runs alone, and totals that agree."""
    assert len(report.runs) >= runs, len(report.runs)
    kept = report.runs[:runs]
    totals = Counter(run.verdict for run in kept)
    return report.model_copy(update={"runs": kept, "totals": dict(totals)})


def weigh(browser: Browser, page: Path) -> dict[tuple[str, str], float]:
    """Open `page` once, offline; return its figures by what they are of and their unit."""
    context = browser.new_context(offline=True, viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    session = context.new_cdp_session(opened)
    session.send("Performance.enable")
    opened.goto(page.as_uri(), wait_until="load")
    opened.evaluate(_FRAME)
    metrics = {
        item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]
    }
    nodes, height = opened.evaluate(_COUNT)
    context.close()
    return {
        ("main thread until the page can be used", "ms"): metrics["TaskDuration"] * 1_000,
        ("layout was computed", "times"): metrics["LayoutCount"],
        ("document before anything is opened", "nodes"): nodes,
        ("height in a window 1440 wide", "px"): height,
    }


def measure(size: Size) -> Iterator[Row]:
    """Yield what the pages of reports of some lengths cost; without a browser, only their bytes."""
    subject, scenarios = size.of((SUBJECT, ()), ("reference", (SCENARIO,)))
    sizes = size.of(SIZES, {"runs: 1": (1, 1)})
    figures: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as folder:
        pages = {name: Path(folder, f"{runs}.html") for name, (runs, _) in sizes.items()}
        for name, (runs, seeds) in sizes.items():
            report = cut(suite(subject, "stud-cli", scenarios, seeds)(), runs)
            pages[name].write_text(html_report(report), "utf-8")
            figures["page", "bytes"][name] = pages[name].stat().st_size
        if all(PEERS.values()):
            for key, name, figure in weighed(pages, size.rounds):
                known = figures[key].get(name, figure)
                figures[key][name] = min(known, figure)
    for (case, unit), of_sizes in figures.items():
        yield from rows_of(case, unit, of_sizes, next(iter(sizes)))


def weighed(pages: Mapping[str, Path], rounds: int) -> Iterator[tuple[tuple[str, str], str, float]]:
    """Yield each figure of each page in each round; the pages take turns."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(rounds):
            for name, page in pages.items():
                for key, figure in weigh(browser, page).items():
                    yield key, name, figure
        browser.close()
