"""A whole scenario run of the unmodified OpenAI SDK against the same call on a mock transport.

The peer is what people do today: `httpx2.MockTransport` and a patched-out sleep. It has no
network, no clock, no trace and no judgement; the ratio is the price of having them.
Also: runs per second, and simulated over wall seconds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import time
from collections.abc import Callable

from harness.load.payloads import load_payloads
from harness.load.scenario import find_scenarios
from harness.run.execute import execute
from harness.run.prepare import prepare
from harness.run.suite import run_one

logging.disable(logging.CRITICAL)
clock, SECONDS = time.perf_counter, 2.0
RETRIED = "rate-limits/retry-after-integer"


def rate(run: Callable[[], object], seconds: float = SECONDS) -> float:
    """Return how many times `run` runs per second of wall time."""
    run()
    gc.collect()
    started, count = clock(), 0
    while clock() - started < seconds:
        run()
        count += 1
    return count / (clock() - started)


def mocked_call() -> None:
    """One 429 with Retry-After, then a good answer: real SDK, mock transport, no waiting."""
    import httpx2
    import openai

    answers = iter(
        [
            httpx2.Response(
                429,
                headers={"retry-after": "7"},
                json={"error": {"message": "slow down", "type": "requests", "code": "x"}},
            ),
            httpx2.Response(200, content=_GOOD, headers={"content-type": "application/json"}),
        ]
    )

    async def main() -> None:
        transport = httpx2.MockTransport(lambda _: next(answers))
        client = openai.AsyncOpenAI(
            api_key="sk-simulated", http_client=httpx2.AsyncClient(transport=transport)
        )
        client._sleep_for_retry = _no_sleep  # type: ignore[method-assign]
        await client.chat.completions.create(
            model="gpt-simulated", messages=[{"role": "user", "content": "Say hello."}]
        )

    asyncio.run(main())


async def _no_sleep(**_: object) -> None:
    return None


_GOOD = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-simulated",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Hello."},
            }
        ],
    }
).encode()


def main() -> None:
    """Print the table."""
    payloads = load_payloads("openai-chat")
    (found,) = find_scenarios((RETRIED,))
    scenario = found.scenario
    rows: list[tuple[str, float]] = []
    simulated_s = 0.0
    for subject in ("reference", "openai-async", "openai-sync"):
        binding = prepare(subject, payloads)
        trace = execute(scenario, binding, 0, payloads)
        end_ns = max(e.at_ns for e in trace.of_kind("call.returned", "call.raised"))
        simulated_s = end_ns / 1e9
        rows.append((f"{subject} inline", rate(lambda b=binding: execute(scenario, b, 0, payloads))))
        rows.append(
            (
                f"{subject} isolated",
                rate(lambda b=binding: run_one(scenario, b, 0, payloads, isolate=True)),
            )
        )
    mocked = rate(mocked_call)
    print(f"{RETRIED}: {simulated_s:.1f} simulated seconds a run")
    print(f"  {'openai-async on MockTransport':32s} {mocked:8.0f} runs/s")
    for name, per_second in rows:
        print(
            f"  {name:32s} {per_second:8.0f} runs/s   time against the mock "
            f"{mocked / per_second:5.2f}   simulated/wall {per_second * simulated_s:10,.0f}"
        )


if __name__ == "__main__":
    main()
