"""The agents of docs/agents.md, each tried where its framework is installed."""

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

#: What an agent of each framework is imported from.
PACKAGES = {"pydantic_ai": "pydantic_ai", "agents": "agents", "langgraph": "langchain"}


@pytest.mark.parametrize("framework", BLOCKS)
def test_an_agent_of_the_page_needs_nothing_of_ours(framework: str) -> None:
    """It is a program as the framework's own documentation has it."""
    body = ast.parse(BLOCKS[framework]).body
    imported = [node.module or "" for node in body if isinstance(node, ast.ImportFrom)]
    assert imported
    assert {name.split(".")[0] for name in imported} == {PACKAGES[framework]}


@pytest.mark.parametrize("framework", BLOCKS)
def test_doctor_tries_everything_with_an_agent_of_the_page(framework: str, tmp_path: Path) -> None:
    """Its tools, its approvals and its session are found, in each framework installed here."""
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    (tmp_path / "my_agent.py").write_text(BLOCKS[framework])
    done = process(tmp_path, "doctor", "my_agent.py:agent")
    assert done.returncode == 0, done.stdout
    assert "a tool that the person denies, a restart that resumes the session.\n" in done.stdout


def test_the_page_names_the_version_that_is_installed() -> None:
    """The others are those of the day on which the page was written."""
    assert f"pydantic-ai-slim {version('pydantic-ai-slim')}" in PAGE
