"""The page about dialects: its tables are complete, and its example works as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from faultclock.fakes.dialects import dialect_names
from faultclock.load.payloads import load_dialect
from faultclock.load.trace_file import read_trace
from tests.architecture.source_tree import PROJECT

_PAGE = PROJECT / "docs" / "dialects.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Of no provider: its errors have names of their own.
_OF_NO_PROVIDER = ("http-json", "mcp")
_SUBJECT = """
import httpx2

from faultclock import provider_adapter


@provider_adapter(dialect="acme-chat")
def subject(request):
    answer = httpx2.post(
        f"{request.base_url}/chat/completions",
        headers={"x-acme-key": request.api_key},
        json={"model": request.model, "messages": request.messages},
        timeout=request.timeout_s,
    )
    answer.raise_for_status()
    return answer.json()["choices"][0]["message"]["content"]
"""
_SCENARIO = """
id: acme/limited
title: Acme limits once
why: To see whether a dialect that was just added is spoken.
provider:
  faults:
    - id: limit
      when: {attempts: 1}
      then: {kind: http_error, status: 429, error: rate_limit_exceeded}
"""


def error_table() -> list[str]:
    """Return the table of errors that more than one dialect has, as it stands on the page."""
    names = [name for name in dialect_names() if name not in _OF_NO_PROVIDER]
    payloads = {name: load_dialect(name).payloads for name in names}
    count = Counter(error for known in payloads.values() for error in known)
    shared = sorted(error for error, times in count.items() if times > 2)
    rows = [
        f"| `{error}` | "
        + " | ".join(str(payloads[n][error].status) if error in payloads[n] else "" for n in names)
        + " |"
        for error in shared
    ]
    short = [f"`{name}`" for name in names]
    return [f"| error | {' | '.join(short)} |", "|---" * (len(names) + 1) + "|", *rows]


def _text() -> str:
    return _PAGE.read_text("utf-8")


def test_each_dialect_has_a_row_with_its_title() -> None:
    """No dialect is missing, and none is told of that does not exist."""
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \|", _text(), re.MULTILINE)
    told = {name: title for name, title in rows if not title.strip().isdecimal()}
    assert told == {name: load_dialect(name).title for name in dialect_names()}


def test_the_table_of_errors_is_that_of_the_files() -> None:
    """Each name that several dialects share, with its status in each."""
    _, _, rest = _text().partition("<!-- errors -->\n")
    table, _, _ = rest.partition("\n<!-- end -->")
    assert table.splitlines() == error_table()


def test_the_example_is_a_dialect_and_takes_two_files(tmp_path: Path) -> None:
    """A copy of the project with the page's two files beside the others plays it."""
    blocks = {match[1]: match[2] for match in _FENCE.finditer(_text())}
    copy = tmp_path / "project"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "harness", copy / "harness", ignore=ignored)
    for folder in ("fixtures", "scenarios"):
        shutil.copytree(PROJECT / folder, copy / folder)
    (copy / "harness/faultclock/fakes/dialects/acme-chat.yaml").write_text(blocks["yaml"], "utf-8")
    (copy / "fixtures/payloads/acme-chat.yaml").write_text(blocks["yml"], "utf-8")
    (tmp_path / "subject.py").write_text(_SUBJECT, "utf-8")
    (tmp_path / "limited.yaml").write_text(_SCENARIO, "utf-8")
    words = ["run", "./limited.yaml", "--subject", "./subject.py:subject", "--trace-dir", "traces"]
    done = subprocess.run(
        [sys.executable, "-m", "faultclock.cli", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(copy / "harness")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (trace,) = (tmp_path / "traces").rglob("*.jsonl")
    found = read_trace(trace)
    assert found.header.scenario.provider.dialect == "acme-chat"
    (answer,) = [event.payload for event in found.of_kind("http.response")]
    assert (answer["status"], answer["retry_after"]) == (429, "7")
    assert answer["error"]["code"] == "too_fast"
    assert answer["error"]["message"] == "Slow down."
