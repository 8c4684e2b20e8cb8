"""The guide to what one adds: each thing is added to a copy of the project, in the named files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGE, PROJECT

#: The name of everything that is added.
NAME = "guide-example"
SCENARIO = "rate-limits/retry-after-integer"
MODEL = "harness/faultclock/error_models/common.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """One thing that a contributor adds.

    Attributes:
        row: how its row in the guide begins.
        files: what becomes of each file that is touched: its text before (empty where it is new) to
            its text after.
        command: what shows that it is there, and with which exit code it ends.
        shows: what the command then prints.
    """

    row: str
    files: dict[str, Callable[[str], str]]
    command: tuple[str, ...]
    exit_code: int = 0
    shows: str = NAME


def after(mark: str, text: str) -> Callable[[str], str]:
    """Return an edit that puts `text` right behind the first `mark`."""

    def edit(before: str) -> str:
        assert mark in before
        return before.replace(mark, f"{mark}{text}", 1)

    return edit


def like(path: str, *changes: tuple[str, str]) -> Callable[[str], str]:
    """Return an edit that makes a new file of another one, with each of `changes` made in it."""

    def edit(before: str) -> str:
        assert before == ""
        text = (PROJECT / path).read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        return text

    return edit


def both(*edits: Callable[[str], str]) -> Callable[[str], str]:
    """Return one edit after the other."""

    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit


def at_the_end(text: str) -> Callable[[str], str]:
    """Return an edit that adds `text`."""
    return lambda before: f"{before}{text}"


CHECK = '''

@check(
    "handler.guide-example",
    title="Example",
    says="Every call is looked at.",
    unjudged="there was no call",
)
def example(history: History, model: ErrorModel) -> Verdicts:
    """Look at each call."""
    for _ in history.calls:
        yield held("COMMON-END-01")
'''

ADDITIONS = (
    Addition(
        row="a scenario",
        files={
            f"scenarios/rate-limits/{NAME}.yaml": like(
                f"scenarios/{SCENARIO}.yaml", (f"id: {SCENARIO}", f"id: rate-limits/{NAME}")
            )
        },
        command=("run", f"rate-limits/{NAME}", "--subject", "reference-common"),
    ),
    Addition(
        row="an ordering rule",
        files={
            MODEL: both(
                after(
                    "\nordering:\n",
                    f"  - id: {NAME}\n    pattern: existence\n    event: {{kinds: [net.sent]}}\n"
                    "    roles: [provider_adapter]\n    says: It asks at least once.\n"
                    "    requirement: COMMON-END-01\n",
                ),
                lambda text: text.replace(
                    "checks: [calls.end]", f"checks: [calls.end, ordering.{NAME}]", 1
                ),
            )
        },
        command=("run", SCENARIO, "--subject", "reference-common", "--json", "-", "--quiet"),
        shows=f"ordering.{NAME}",
    ),
    Addition(
        row="a check",
        files={
            "harness/faultclock/oracle/checks/provider/handling.py": at_the_end(CHECK),
            MODEL: lambda text: text.replace(
                "checks: [calls.end]", f"checks: [calls.end, handler.{NAME}]", 1
            ),
        },
        command=("run", SCENARIO, "--subject", "reference-common", "--json", "-", "--quiet"),
        shows=f"handler.{NAME}",
    ),
    Addition(
        row="a provider dialect",
        files={
            f"harness/faultclock/fakes/dialects/{NAME}.yaml": at_the_end("like: deepseek\n"),
            f"fixtures/payloads/{NAME}.yaml": like(
                "fixtures/payloads/deepseek.yaml", ("dialect: deepseek", f"dialect: {NAME}")
            ),
        },
        command=("list", "dialects"),
    ),
    Addition(
        row="a real client",
        files={
            "harness/faultclock/subjects/clients/guide_example.py": at_the_end(
                '"""An example."""\n\n'
                "from faultclock import ProviderRequest, provider_adapter\n\n\n"
                "@provider_adapter\ndef example(request: ProviderRequest) -> str:\n"
                '    """Answer without asking."""\n    return "Hello."\n'
            ),
            "harness/faultclock/subjects/clients/catalog.py": after(
                "\nCLIENTS = {\n",
                f'    "{NAME}": Shipped(\n        "subjects.clients.guide_example:example",\n'
                '        "An example",\n        needs=("json",),\n    ),\n',
            ),
        },
        command=("run", SCENARIO, "--subject", NAME),
        exit_code=3,
    ),
    Addition(
        row="a miniature",
        files={
            "harness/faultclock/mutants/common.yaml": at_the_end(
                f"  - {{id: {NAME}, does: Waits for no answer, fails: retries.floor,\n"
                f"     shown_by: {SCENARIO}, return: {{step: retry_after_s, value: null}}}}\n"
            )
        },
        command=("run", SCENARIO, "--subject", f"mini-common-{NAME}"),
        exit_code=1,
        shows="retries.floor",
    ),
    Addition(
        row="an error model",
        files={
            f"harness/faultclock/error_models/{NAME}.yaml": like(
                MODEL, ("\nid: common\n", f"\nid: {NAME}\n")
            )
        },
        command=("run", SCENARIO, "--subject", "reference-common", "--model", NAME),
    ),
    Addition(
        row="a report format",
        files={
            "harness/faultclock/render/guide_text.py": at_the_end(
                '"""An example."""\n\nfrom faultclock.model.report.finding import Report\n\n\n'
                "def guide_report(report: Report) -> str:\n"
                f'    """Return the verdict."""\n    return f"{NAME} {{report.verdict}}"\n'
            ),
            "harness/faultclock/cli/report_options.py": after(
                "\nFORMATS = (\n",
                f'    ReportFormat(option="{NAME}", help="-",'
                ' renderer="guide_text:guide_report"),\n',
            ),
        },
        command=("run", SCENARIO, "--subject", "reference-common", f"--{NAME}", "-", "--quiet"),
        shows=f"{NAME} PASS",
    ),
)


def row_of(thing: str) -> str:
    """Return what the guide says of where `thing` goes."""
    page = (PROJECT / "docs/architecture.md").read_text("utf-8")
    found = re.search(rf"^\| {re.escape(thing)} \| (.*) \|$", page, re.MULTILINE)
    assert found is not None, f"the guide has no row for {thing}"
    return found[1]


def is_named(path: str, row: str) -> bool:
    """Return whether a row of the guide names a file, the folder that it is in, or its kind."""
    short = path.removeprefix("harness/faultclock/")
    folder, _, name = short.rpartition("/")
    places = {f"`{short}`", f"`{name}`", f"`{folder}/`", f"`{folder.rpartition('/')[0]}/`"}
    places |= {f"`{folder.partition('/')[0]}/<family>/`", f"`{folder}/<dialect>.yaml`"}
    return any(place in row for place in places)


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda item: item.row)
def test_what_is_added_in_the_files_that_the_guide_names_is_there(
    addition: Addition, tmp_path: Path
) -> None:
    """One or two files are touched, and a command shows the new thing at work."""
    assert 1 <= len(addition.files) <= 2
    # With what is compiled already: the times of the files are kept.
    shutil.copytree(PACKAGE, tmp_path / "harness/faultclock")
    for folder in ("scenarios", "fixtures"):
        shutil.copytree(PROJECT / folder, tmp_path / folder)
    for path, edit in addition.files.items():
        file = tmp_path / path
        file.write_text(edit(file.read_text("utf-8") if file.exists() else ""), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "faultclock.cli", *addition.command],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "harness"), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == addition.exit_code, done.stdout + done.stderr
    assert addition.shows in done.stdout


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda item: item.row)
def test_the_guide_names_each_file_that_is_touched(addition: Addition) -> None:
    """Otherwise the guide would send a contributor somewhere else than this test."""
    row = row_of(addition.row)
    assert [path for path in addition.files if not is_named(path, row)] == []
