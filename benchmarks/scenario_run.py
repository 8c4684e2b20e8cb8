"""A whole scenario run of the unmodified OpenAI SDK against the same call without Faultclock.

    python -m benchmarks.scenario_run

Three peers, all with the SDK's sleep patched out, and with no clock, trace or judgement.
MockTransport is what people do today: the SDK's own network code does not run at all. On a list
of bytes it does run, but for connecting. Over loopback all of it runs, certificates are read, and
a server answers from a constant. The simulated run has all of the SDK's network code in it, the
provider's side, and a sealed trace.

All take turns; the best turn of each counts, in seconds of processor time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpcore2
import httpx2
import openai

from benchmarks._turns import Aside, best_rates, machine
from faultclock.load.error_model import load_error_model
from faultclock.load.payloads import load_payloads
from faultclock.load.scenario import find_scenarios
from faultclock.run.execute import execute, simulate
from faultclock.run.prepare import prepare
from faultclock.run.process.isolate import run_isolated
from faultclock.run.suite import SuiteRequest, of_role, run_suite

ROUNDS, TURN_S = 8, 0.25
SCENARIO = "rate-limits/retry-after-integer"
SUBJECTS = ("reference", "openai-async", "openai-sync")
MOCKED = "openai-async on MockTransport"
BYTES = "openai-async on a list of bytes"
LOOPBACK = "openai-async over loopback"
FORK = "fork and wait, nothing else"

_LIMITED = json.dumps({"error": {"message": "slow down", "type": "requests", "code": "x"}}).encode()
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
_JSON = "application/json"


async def ask(client: openai.AsyncOpenAI) -> None:
    """Make the call of the scenario; waiting costs nothing."""
    client._sleep_for_retry = _no_sleep  # type: ignore[method-assign]
    await client.chat.completions.create(
        model="gpt-simulated", messages=[{"role": "user", "content": "Say hello."}]
    )
    await client.close()


async def _no_sleep(**_: object) -> None:
    return None


def mocked_call() -> None:
    """One 429 with Retry-After, then a good answer, through a mock transport."""
    answers = iter(
        (
            httpx2.Response(
                429, headers={"retry-after": "7", "content-type": _JSON}, content=_LIMITED
            ),
            httpx2.Response(200, headers={"content-type": _JSON}, content=_GOOD),
        )
    )

    async def main() -> None:
        transport = httpx2.MockTransport(lambda _: next(answers))
        http_client = httpx2.AsyncClient(transport=transport)
        await ask(openai.AsyncOpenAI(api_key="sk-simulated", http_client=http_client))

    asyncio.run(main())


def bytes_call(context: ssl.SSLContext) -> None:
    """The same through the SDK's HTTP client, whose connection is a list of bytes."""

    async def main() -> None:
        transport = httpx2.AsyncHTTPTransport(verify=context)
        answers = [_response("429 Too Many Requests", _LIMITED), _response("200 OK", _GOOD)]
        transport._pool._network_backend = httpcore2.AsyncMockBackend(answers)
        http_client = httpx2.AsyncClient(transport=transport)
        await ask(openai.AsyncOpenAI(api_key="sk-simulated", http_client=http_client))

    asyncio.run(main())


def loopback_call() -> None:
    """The same through real sockets, in one event loop with the server."""
    answers = iter((_response("429 Too Many Requests", _LIMITED), _response("200 OK", _GOOD)))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            answer = next(answers)
            writer.write(answer)
            if answer.startswith(b"HTTP/1.1 200"):
                break
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        await ask(openai.AsyncOpenAI(api_key="sk-simulated", base_url=url))
        server.close()

    asyncio.run(main())


def _response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {_JSON}\r\nretry-after: 7\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def fork_and_wait() -> None:
    """What any isolated run costs before it begins, on this machine and with this heap."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def whole_set_s() -> tuple[int, float]:
    """Run and judge all scenarios of its role with the reference; return runs and seconds."""
    binding = prepare("reference", load_payloads("openai-chat"))
    found = (item.scenario for item in find_scenarios(()))
    request = SuiteRequest(
        scenarios=tuple(scenario for scenario in found if of_role(scenario, binding)),
        binding=binding,
        subject_spec="reference",
        model=load_error_model("stud-cli", {}),
        jobs=2,
    )
    started = time.perf_counter()
    report = run_suite(request)
    return len(report.runs), time.perf_counter() - started


def main() -> None:
    """Print the table."""
    print(machine())
    logging.disable(logging.CRITICAL)
    on_bytes = partial(bytes_call, ssl.create_default_context())
    aside = Aside({MOCKED: mocked_call, BYTES: on_bytes, LOOPBACK: loopback_call})
    payloads = load_payloads("openai-chat")
    (found,) = find_scenarios((SCENARIO,))
    scenario = found.scenario
    pieces: dict[str, Callable[[], object]] = {}
    simulated_s: dict[str, float] = {}
    for subject in SUBJECTS:
        arguments: tuple[Any, ...] = (scenario, prepare(subject, payloads), 0, payloads)
        returned = max(event.at_ns for event in execute(*arguments).of_kind("call.returned"))
        inline, alone = partial(execute, *arguments), partial(simulate, *arguments)
        pieces[f"{subject} inline"] = inline
        pieces[f"{subject} isolated"] = partial(run_isolated, alone, wall_limit_s=30)
        simulated_s |= dict.fromkeys((f"{subject} inline", f"{subject} isolated"), returned / 1e9)
    pieces[FORK] = fork_and_wait
    rates = best_rates(pieces, aside, turn_s=TURN_S, rounds=ROUNDS)
    aside.close()
    print(f"\n{SCENARIO}: two requests, one wait of 7 s")
    for name, rate in rates.items():
        line = (
            f"  {name:32s} {rate:6.0f} runs/s   time against the mock {rates[MOCKED] / rate:6.2f}"
        )
        if name in simulated_s:
            line += f"   simulated/wall {rate * simulated_s[name]:8,.0f}"
        print(line)
    runs, seconds = whole_set_s()
    print(f"\nall shipped scenarios x reference, two jobs: {runs} runs judged in {seconds:.2f} s")


if __name__ == "__main__":
    main()
