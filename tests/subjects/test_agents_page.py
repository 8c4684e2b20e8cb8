"""The bindings of docs/agents.md: whole programs, each tried where its framework is installed."""

from __future__ import annotations

import ast
import re
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.architecture.source_tree import PROJECT
from tests.cli.process import process

PAGE = (PROJECT / "docs/agents.md").read_text("utf-8")
BLOCKS = dict(
    zip(
        ("pydantic_ai", "agents", "langgraph"),
        re.findall(r"```(?:python|py)\n(.*?)```", PAGE, re.DOTALL),
        strict=True,
    )
)


@pytest.mark.parametrize("framework", BLOCKS)
def test_a_binding_is_a_whole_program_with_a_class_and_its_runtime(framework: str) -> None:
    """It imports its framework, and names a runtime that declares what it does not do."""
    body = ast.parse(BLOCKS[framework]).body
    imported = {
        name.split(".")[0]
        for node in body
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert {framework, "faultclock"} <= imported
    assert "\nagent = runtime(\n" in BLOCKS[framework]
    assert all(f"    {name}=False,\n" in BLOCKS[framework] for name in ("approvals", "sessions"))


@pytest.mark.parametrize("framework", BLOCKS)
def test_doctor_finds_nothing_to_mend_in_a_binding(framework: str, tmp_path: Path) -> None:
    """What the page says of each framework that is installed here."""
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    (tmp_path / "my_agent.py").write_text(BLOCKS[framework])
    done = process(tmp_path, "doctor", "my_agent.py:agent")
    assert done.returncode == 0, done.stdout
    assert "tried: a turn, an error, a tool, a tool that fails.\n" in done.stdout


def test_the_page_names_the_version_that_is_installed() -> None:
    """The others are those of the day on which the page was written."""
    assert f"pydantic-ai-slim {version('pydantic-ai-slim')}" in PAGE
