"""A function that makes a whole run again, by a loop of its own.

openai-agents 0.20.0 gives each run a `prompt_cache_key` of its own, so no two bodies are equal
(run_internal/prompt_cache_key.py).
"""

from __future__ import annotations

from pathlib import Path

from tests.run.test_asked_anew import LIMITED, broken_by

WRAPPED = """
import asyncio

import openai
from agents import Agent, Runner

agent = Agent(name="a", instructions="Be brief.")


async def ask(prompt):
    for _ in range(3):
        try:
            return (await Runner.run(agent, prompt)).final_output
        except openai.APIError as error:
            last = error
            await asyncio.sleep(0.5)
    raise last
"""


def test_a_loop_around_whole_runs_is_seen_to_ignore_retry_after(tmp_path: Path) -> None:
    """And to multiply the attempts of the SDK below."""
    path = tmp_path / "wrapped.py"
    path.write_text(WRAPPED, encoding="utf-8")
    assert {"retries.floor", "retries.layers"} <= broken_by(f"{path}:ask", LIMITED)
