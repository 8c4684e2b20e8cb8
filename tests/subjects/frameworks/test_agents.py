"""Agents of the frameworks that are installed here, in the shipped scenarios."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.subjects.frameworks.agents import SENTENCES


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("name", ["pydantic_ai", "langgraph"])
def test_an_agent_is_taken_as_it_is(name: str, sentence: Callable[[str], None]) -> None:
    """With its own tools, its own approvals and its own session."""
    sentence(name)
