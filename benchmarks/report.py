"""What a report weighs in a browser: bytes, nodes, height, processor time until it can be used.

    python -m benchmarks.report                           # 106, 320 and 1,000 runs
    python -m benchmarks.report --against ../old/harness  # beside another version of Faultclock

The runs are those of the unmodified OpenAI SDK, judged by `stud-cli`, so most of them fail. Each
version renders the same JSON report in a process of its own. Chromium opens each page from the
disk, in a context of its own, and is asked for the time that its main thread has worked until one
frame is drawn after everything is loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["Weight", "cut", "main", "weigh"]

CHROMIUM = "/usr/bin/chromium"
SUBJECT, MODEL = "openai-async", "stud-cli"
#: Runs of a report, and how many seeds give at least that many.
SIZES = {106: 1, 320: 3, 1_000: 10}
_RENDER = """
import sys
from pathlib import Path
from faultclock.model.report.finding import Report
from faultclock.render import html_report
report = Report.model_validate_json(Path(sys.argv[1]).read_text("utf-8"))
Path(sys.argv[2]).write_text(html_report(report), "utf-8")
"""
_COUNT = """() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let nodes = 0;
  while (walker.nextNode()) nodes++;
  return [nodes, document.documentElement.scrollHeight];
}"""
_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What one page costs.

    Attributes:
        nodes: of the document before anything is opened, texts included.
        height: of the page, in CSS pixels, in a window 1440 wide.
        cpu_s: seconds in which the main thread worked.
        layouts: how often the layout was computed.
    """

    bytes: int
    nodes: int
    height: int
    cpu_s: float
    layouts: int


def cut(report: dict[str, Any], runs: int) -> dict[str, Any]:
    """Return a JSON report with its first `runs` runs alone, and totals that agree."""
    kept = report["runs"][:runs]
    totals: dict[str, int] = {}
    for run in kept:
        totals[run["verdict"]] = totals.get(run["verdict"], 0) + 1
    return {**report, "runs": kept, "totals": totals}


def weigh(browser: Browser, page: Path) -> Weight:
    """Open `page` once, offline."""
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
    return Weight(
        bytes=page.stat().st_size,
        nodes=nodes,
        height=height,
        cpu_s=metrics["TaskDuration"],
        layouts=int(metrics["LayoutCount"]),
    )


def main(arguments: list[str]) -> None:
    """Print one row for each version and size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", type=Path, help="folder that holds the package `faultclock`")
    parser.add_argument("--turns", type=int, default=3, help="how often each page is opened")
    chosen = parser.parse_args(arguments)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("playwright is not installed (extra `dev`): no page was opened")
        return
    versions: dict[str, Path | None] = {"this one": None}
    if chosen.against:
        versions = {"the other": chosen.against.resolve(), **versions}
    print("| runs | version | kB | nodes | height | CPU until usable | layouts |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for runs, seeds in SIZES.items():
            report = Path(folder) / f"{runs}.json"
            _run(report, seeds)
            report.write_text(json.dumps(cut(json.loads(report.read_text("utf-8")), runs)))
            pages = {name: _rendered(report, name, path) for name, path in versions.items()}
            # In turns, so that a busy moment of the machine hits all of them alike.
            turns = [
                {name: weigh(browser, page) for name, page in pages.items()}
                for _ in range(chosen.turns)
            ]
            for name in pages:
                best = min((turn[name] for turn in turns), key=lambda weight: weight.cpu_s)
                print(
                    f"| {runs:,} | {name} | {best.bytes / 1000:,.0f} | {best.nodes:,} | "
                    f"{best.height:,} px | {best.cpu_s:.2f} s | {best.layouts} |",
                    flush=True,
                )
        browser.close()


def _run(report: Path, seeds: int) -> None:
    words = ["run", "--subject", SUBJECT, "--model", MODEL, "--seeds", str(seeds), "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "faultclock.cli", *words, "--json", str(report)],
        stdout=subprocess.DEVNULL,
        check=False,  # it ends with 1, because most of the runs fail
    )


def _rendered(report: Path, name: str, package: Path | None) -> Path:
    page = report.with_name(f"{report.stem}-{name.replace(' ', '-')}.html")
    environment = {**os.environ, **({"PYTHONPATH": str(package)} if package else {})}
    command = [sys.executable, "-P", "-c", _RENDER, str(report), str(page)]
    subprocess.run(command, env=environment, check=True)
    return page


if __name__ == "__main__":
    main(sys.argv[1:])
