"""A world in which the official openai SDK asks the responses API, async and blocking."""

from __future__ import annotations

import inspect
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Literal

import openai

from faultclock.fakes.provider.provider import FakeProvider, ProviderState
from faultclock.load.payloads import load_dialect
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.patches import installed
from faultclock.sim.world import World

Way = Literal["async", "sync"]
#: Asks a client in steps, each awaited, and returns what it saw.
Steps = Callable[[Any], Awaitable[Any]]

DATA = load_dialect("openai-responses")
MODEL = DATA.model
TOOLS = [
    {
        "type": "function",
        "name": "weather",
        "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
]
#: The model asks for a tool, and says this when it has the answer.
REPLIES = [
    {"tool_calls": [{"name": "weather", "arguments": '{"city": "Bern"}'}]},
    {"text": "It rains in Bern."},
]
_LIMITS = Limits(virtual_ns_max=3_600 * 10**9, events_max=1_000_000, events_per_instant_max=10_000)


def played(steps: Steps, way: Way, state: ProviderState | None = None, **script: Any) -> Any:
    """Return what `steps` return of a client in a world of its own.

    Args:
        state: of the provider, where it has been asked before.
    """
    script_ = ProviderScript.model_validate({"dialect": "openai-responses", **script})
    found: list[Any] = []

    async def main() -> None:
        CALL_ID.set("ask/1")
        async with openai.AsyncOpenAI(api_key="sk-x", max_retries=0) as client:
            found.append(await steps(client))

    def blocking() -> None:
        CALL_ID.set("ask/1")
        with openai.OpenAI(api_key="sk-x", max_retries=0) as client:
            coroutine: Any = _returning(steps(_Awaited(client)), found)
            # Nothing in it ever waits for a loop.
            for _ in iter(lambda: next(coroutine.__await__(), None), None):
                raise AssertionError("a blocking client does not wait")

    platform.platform()  # Asks the operating system now: in the world it may not start a process.
    with installed():
        world = World(seed=0, limits=_LIMITS, latency_ns=script_.latency)
        FakeProvider(script_, DATA.payloads, state=state).mount(world)
        ending = world.run(main if way == "async" else blocking)
    assert ending.reason == "completed", (ending.detail, ending.error)
    return found[0]


async def _returning(value: Awaitable[Any], found: list[Any]) -> None:
    found.append(await value)


class _Awaited:
    """A blocking object whose methods can be awaited, and whose streams can be walked with them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not inspect.ismethod(value):
            return _Awaited(value)

        async def call(*args: Any, **named: Any) -> Any:
            answer = value(*args, **named)
            return _walked(answer) if isinstance(answer, Iterator | openai.Stream) else answer

        return call


async def _walked(items: Any) -> AsyncIterator[Any]:
    for item in items:
        yield item
