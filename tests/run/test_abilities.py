"""What a target does in a healthy world."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from faultclock.run.doctor.abilities import abilities_of
from faultclock.run.doctor.probe import probe
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.registry import load_subject


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("reference", Abilities()),
        ("reference-sync", Abilities(cancels=False)),
        ("reference-tool", Abilities()),
        ("reference-runtime", Abilities(streams="always")),
    ],
)
def test_a_target_shows_what_it_does(subject: str, expected: Abilities) -> None:
    """What is not shown here is left out of the check by name."""
    assert abilities_of(probe(load_subject(subject))) == expected


def test_what_hangs_in_its_trial_is_not_said_to_lack_anything() -> None:
    """What it would have done next is not known, so no situation is left out for it."""

    @provider_adapter(id="hangs-on-tools")
    def hangs(request: ProviderRequest) -> str:
        body = {"model": request.model, "messages": request.messages}
        headers = {"authorization": f"Bearer {request.api_key}"}
        answer = httpx2.post(f"{request.base_url}/chat/completions", json=body, headers=headers)
        message = answer.json()["choices"][0]["message"]
        while message.get("tool_calls"):
            pass
        return str(message["content"])

    probed = probe(hangs)
    assert probed.healthy, probed.why_not
    assert abilities_of(probed, 0.5).tools


def _with_a_loop(prices: dict[str, str]) -> Binding:
    """Return a function that offers `price` to the model, and runs it until the model has done."""
    schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    tools = [{"type": "function", "function": {"name": "price", "parameters": schema}}]

    @provider_adapter(id="loops-with-tools")
    def loops(request: ProviderRequest) -> str:
        messages: list[dict[str, Any]] = [*request.messages]
        while True:
            answer = httpx2.post(
                f"{request.base_url}/chat/completions",
                json={"model": request.model, "messages": messages, "tools": tools},
                headers={"authorization": f"Bearer {request.api_key}"},
            )
            message = answer.json()["choices"][0]["message"]
            if not message.get("tool_calls"):
                return str(message["content"])
            messages.append(message)
            for call in message["tool_calls"]:
                told = {"price": prices.__getitem__}[call["function"]["name"]]
                content = told(json.loads(call["function"]["arguments"])["item"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    return loops


def test_a_function_that_runs_its_own_tools_is_asked_for_one_of_them() -> None:
    """A model calls no tool that a request does not offer, so its table of tools holds the name."""
    able = abilities_of(probe(_with_a_loop({"notes.txt": "3"})))
    assert able.runs_tools
    assert able.tool_error == ""


def test_what_a_tool_raises_for_arguments_that_are_made_up_is_kept_with_its_line() -> None:
    """It may be right to raise: what is made up fits the schema, and no more."""
    able = abilities_of(probe(_with_a_loop({})))
    assert able.runs_tools
    assert able.tool_error.startswith("KeyError: 'notes.txt' (at ")
