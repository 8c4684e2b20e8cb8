"""Agents of the OpenAI Agents SDK, in the shipped scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from faultclock.sim.patches import installed
from tests.subjects.frameworks.agents import SENTENCES


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
def test_an_agent_is_taken_as_it_is(sentence: Callable[[str], None]) -> None:
    """With its own tools, its own approvals and its own session."""
    sentence("openai_agents")
