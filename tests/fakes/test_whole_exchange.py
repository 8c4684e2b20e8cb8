"""The unmodified openai SDK against the provider in the simulated world, async and sync."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from faultclock.fakes.provider.provider import FakeProvider
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.patches import installed
from faultclock.sim.world import World

Facts = list[tuple[int, str, dict[str, Any]]]
SECOND = 1_000_000_000
MESSAGES: Any = [{"role": "user", "content": "Say hello."}]


@pytest.fixture(autouse=True)
def known_platform() -> None:
    """Let `platform` ask the operating system now: in the world it may not start a process."""
    platform.platform()


def async_call(stream: bool, **options: Any) -> Callable[[list[Any]], Any]:
    """Return a main coroutine function that puts the text or the exception into a list."""

    def make(out: list[Any]) -> Any:
        async def main() -> None:
            CALL_ID.set("ask/1")
            async with openai.AsyncOpenAI(api_key="sk-not-a-key", **options) as client:
                create: Any = client.chat.completions.create
                try:
                    answer = await create(model="gpt-x", messages=MESSAGES, stream=stream)
                    if not stream:
                        out.append(answer.choices[0].message.content)
                        return
                    pieces = [chunk.choices[0].delta.content or "" async for chunk in answer]
                    out.append("".join(pieces))
                except Exception as error:
                    out.append(error)

        return main

    return make


def sync_call(stream: bool, **options: Any) -> Callable[[list[Any]], Any]:
    """Return the same for the blocking client."""

    def make(out: list[Any]) -> Any:
        def main() -> None:
            CALL_ID.set("ask/1")
            with openai.OpenAI(api_key="sk-not-a-key", **options) as client:
                create: Any = client.chat.completions.create
                try:
                    answer = create(model="gpt-x", messages=MESSAGES, stream=stream)
                    if not stream:
                        out.append(answer.choices[0].message.content)
                        return
                    out.append("".join(chunk.choices[0].delta.content or "" for chunk in answer))
                except Exception as error:
                    out.append(error)

        return main

    return make


def play(make: Callable[[list[Any]], Any], payloads: Any, *faults: Any) -> tuple[Any, Facts]:
    """Run one call, and return its outcome and the facts."""
    rules = [{"id": f"fault-{n}", **fault} for n, fault in enumerate(faults, 1)]
    script = ProviderScript.model_validate({"reply": "Hello, world.", "faults": rules})
    out: list[Any] = []
    with installed():
        limits = Limits(
            virtual_ns_max=3_600 * SECOND, events_max=100_000, events_per_instant_max=10_000
        )
        world = World(seed=0, limits=limits, latency_ns=script.latency)
        provider = FakeProvider(script, payloads)
        provider.mount(world)
        ending = world.run(make(out))
        provider.seal()
    assert ending.reason == "completed", (ending.detail, ending.error)
    facts = [(at_ns, kind, dict(payload)) for _, at_ns, _, kind, payload in world.recorder.events]
    return out[0], facts


def of_kind(facts: Facts, kind: str) -> list[dict[str, Any]]:
    """Return the payloads of one kind."""
    return [payload for _, name, payload in facts if name == kind]


CLIENTS = pytest.mark.parametrize("call", [async_call, sync_call], ids=["async", "sync"])
Call = Callable[..., Callable[[list[Any]], Any]]


@CLIENTS
@pytest.mark.parametrize("stream", [False, True])
def test_a_good_answer_reaches_the_caller(call: Call, stream: bool, payloads: Any) -> None:
    """Whole or streamed, with a ledger of one exchange and nothing unmet."""
    text, facts = play(call(stream), payloads)
    assert text == "Hello, world."
    (asked,) = of_kind(facts, "http.request")
    assert (asked["call"], asked["attempt"], asked["stream"]) == ("ask/1", 1, stream)
    assert asked["headers"]["authorization"] == "<scrubbed>"
    assert of_kind(facts, "http.exchange_ended")[0]["how"] == "complete"
    assert of_kind(facts, "fault.unmet") == []


@CLIENTS
def test_the_sdks_retry_waits_as_long_as_the_provider_says(call: Call, payloads: Any) -> None:
    """The second request comes the whole Retry-After after the 429 was delivered."""
    fault = {
        "when": {"attempts": 1},
        "then": {
            "kind": "http_error",
            "status": 429,
            "error": "rate_limit_exceeded",
            "headers": {"retry-after": "7"},
        },
    }
    text, facts = play(call(False), payloads, fault)
    assert text == "Hello, world."
    assert [item["attempt"] for item in of_kind(facts, "http.request")] == [1, 2]
    delivered = next(at_ns for at_ns, kind, _ in facts if kind == "net.delivered")
    acts = [at for at, kind, _ in facts if kind in {"net.connect", "net.sent"} and at > delivered]
    assert abs(acts[0] - delivered - 7 * SECOND) <= 1_000


@CLIENTS
@pytest.mark.parametrize(
    ("stream", "then", "error"),
    [
        (False, {"kind": "dns_failure"}, openai.APIConnectionError),
        (False, {"kind": "connect_refused"}, openai.APIConnectionError),
        (False, {"kind": "connect_timeout"}, openai.APITimeoutError),
        (False, {"kind": "reset_before_response"}, openai.APIConnectionError),
        (False, {"kind": "reset_before_response", "how": "eof"}, openai.APIConnectionError),
        (False, {"kind": "stall"}, openai.APITimeoutError),
        (
            False,
            {"kind": "truncate", "how": "eof", "after_body_bytes": 20},
            openai.APIConnectionError,
        ),
        (True, {"kind": "truncate", "how": "eof", "after_chunks": 2}, openai.APIConnectionError),
        (True, {"kind": "truncate", "how": "reset", "after_chunks": 2}, openai.APIConnectionError),
        (True, {"kind": "stall", "after_chunks": 2}, openai.APITimeoutError),
        (
            True,
            {"kind": "stream_error", "after_chunks": 2, "error": "server_error"},
            openai.APIError,
        ),
        (
            False,
            {"kind": "http_error", "status": 502, "error": "bad_gateway"},
            openai.InternalServerError,
        ),
    ],
)
def test_a_fault_becomes_the_sdks_exception(
    call: Call, stream: bool, then: dict[str, Any], error: type[Exception], payloads: Any
) -> None:
    """Each was met, and nothing of the world broke."""
    make = call(stream, max_retries=0, timeout=httpx2.Timeout(5.0))
    raised, facts = play(make, payloads, {"then": then})
    assert isinstance(raised, error), raised
    assert len(of_kind(facts, "fault.fired")) == 1
    assert of_kind(facts, "fault.unmet") == []


@CLIENTS
def test_a_clean_truncation_is_believed_by_the_sdk(call: Call, payloads: Any) -> None:
    """The SDK returns half a text; that is a fact about the SDK which checks must catch."""
    then = {"kind": "truncate", "how": "clean_end", "after_chunks": 2}
    text, facts = play(call(True), payloads, {"then": then})
    assert text == "Hello,"
    (ended,) = of_kind(facts, "http.exchange_ended")
    assert (ended["how"], ended["finish_reason"]) == ("clean_end", None)


def test_clients_at_once_have_their_own_attempts(payloads: Any) -> None:
    """Twenty calls on their own connections each meet the fault once and then succeed."""

    def make(out: list[Any]) -> Any:
        async def one(number: int) -> str:
            CALL_ID.set(f"ask/{number}")
            async with openai.AsyncOpenAI(api_key="sk-not-a-key") as client:
                answer = await client.chat.completions.create(model="gpt-x", messages=MESSAGES)
                return answer.choices[0].message.content or ""

        async def main() -> None:
            tasks = [asyncio.create_task(one(number)) for number in range(1, 21)]
            out.append(await asyncio.gather(*tasks))

        return main

    fault = {"kind": "http_error", "status": 503, "error": "overloaded"}
    texts, facts = play(make, payloads, {"when": {"attempts": 1}, "then": fault})
    assert texts == ["Hello, world."] * 20
    attempts: dict[str, list[int]] = {}
    for item in of_kind(facts, "http.request"):
        attempts.setdefault(item["call"], []).append(item["attempt"])
    assert attempts == {f"ask/{number}": [1, 2] for number in range(1, 21)}
