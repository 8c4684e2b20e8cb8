"""A provider on a real socket, and programs with real clients that ask it and are recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from faultclock.live.kernel import LiveKernel
from faultclock.live.server import LiveServer
from faultclock.load.scenario import checked_scenario
from faultclock.load.yaml_file import parse_document
from faultclock.model.scenario.scenario import Scenario

#: Nobody's; it has the shape of a real one, and must stand in nothing that is written.
KEY = "sk-proj-Recorded0000Recorded0000Recorded0000"
#: What a prompt says that nobody else should read.
PERSON = "Jane Recorded of 7 Recorded Street"
THINK_MS = 40
CHUNK_MS = 30

_TASKS = ("limited", "streamed", "plain", "raw", "asked", "child", "reset", "cut")
_SCENARIO = f"""\
id: tests/recorded
title: What programs meet that are recorded
why: Each call is another client's.
provider:
  dialect: openai-chat
  latency: 0ms
  think_time: {THINK_MS}ms
  chunk_interval: {CHUNK_MS}ms
  reply: Hello from the provider that is recorded.
  faults:
    - id: limited
      when: {{task: limited, attempts: 1}}
      then:
        kind: http_error
        status: 429
        error: rate_limit_exceeded
        headers: {{retry-after: "0.1"}}
    - id: reset
      when: {{task: reset}}
      then: {{kind: reset_before_response}}
    - id: cut
      when: {{task: cut}}
      then: {{kind: truncate, how: reset, after_chunks: 2}}
tasks:
""" + "".join(f"  - id: {task}\n" for task in _TASKS)

#: One call of each client; it prints what it got, and when each piece of a stream came.
PROGRAM = '''
import asyncio, json, os, subprocess, sys, time, urllib.request
import aiohttp, httpx2, openai, requests

CALLS, KEY = json.loads(os.environ["CALLS"]), os.environ["OPENAI_API_KEY"]
SAID = "Write to Jane Recorded of 7 Recorded Street, please."
ASKED = [{"role": "user", "content": SAID}]
HEAD = {"authorization": "Bearer " + KEY}


def body(**more):
    return {"model": "gpt-4o-mini", "messages": ASKED, **more}


def url(task):
    return CALLS[task + "/1"] + "/chat/completions"


def told(task, text, **more):
    print(json.dumps({"task": task, "text": text, **more}), flush=True)


def failed(task, error):
    told(task, None, error=type(error).__name__)


def limited():
    client = openai.OpenAI(base_url=CALLS["limited/1"])
    told("limited", client.chat.completions.create(**body()).choices[0].message.content)


async def streamed():
    client = openai.AsyncOpenAI(base_url=CALLS["streamed/1"])
    words, came = [], []
    async for event in await client.chat.completions.create(**body(stream=True)):
        words.append(event.choices[0].delta.content or "")
        came.append(time.monotonic())
    told("streamed", "".join(words), took_s=came[-1] - came[0])


async def asked():
    words, came = b"", []
    async with aiohttp.ClientSession(headers=HEAD) as session:
        async with session.post(url("asked"), json=body(stream=True)) as answer:
            async for piece in answer.content.iter_any():
                words += piece
                came.append(time.monotonic())
    told("asked", words.decode(), took_s=came[-1] - came[0])


def plain():
    answer = requests.post(url("plain"), json=body(stream=True), headers=HEAD, stream=True)
    words, came = b"", []
    for piece in answer.iter_content(chunk_size=None):
        words += piece
        came.append(time.monotonic())
    told("plain", words.decode(), took_s=came[-1] - came[0])


def raw():
    with httpx2.Client(headers=HEAD) as client:
        answer = client.post(url("raw"), json=body())
    told("raw", answer.json()["choices"][0]["message"]["content"])


def broken(task):
    client = openai.OpenAI(base_url=CALLS[task + "/1"], max_retries=0)
    try:
        for _ in client.chat.completions.create(**body(stream=task == "cut")):
            pass
    except openai.APIError as error:
        failed(task, error)


def unheard():
    for scheme in ("http", "https"):
        address = os.environ["REFUSING"].replace("http", scheme, 1) + "/unheard/chat/completions"
        try:
            requests.post(address, json=body(), headers=HEAD)
        except requests.ConnectionError as error:
            failed("unheard", error)


def refused():
    client = openai.OpenAI(base_url=os.environ["REFUSING"], max_retries=1)
    try:
        client.chat.completions.create(**body())
    except openai.APIError as error:
        failed("refused", error)


CHILD = """
import json, os, sys, urllib.request
url, data = sys.argv[1], sys.argv[2].encode()
head = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "text/json"}
with urllib.request.urlopen(urllib.request.Request(url, data, head)) as answer:
    json.load(answer)
"""

if __name__ == "__main__":
    limited()
    asyncio.run(streamed())
    asyncio.run(asked())
    plain()
    raw()
    subprocess.run([sys.executable, "-c", CHILD, url("child"), json.dumps(body())], check=True)
    broken("reset")
    broken("cut")
    unheard()
    refused()
    sys.exit(int(os.environ.get("EXIT_CODE", "0")))
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A provider that listens.

    Attributes:
        by_call: the base URL of each call.
    """

    base_url: str
    by_call: dict[str, str]

    @property
    def variables(self) -> dict[str, str]:
        """What PROGRAM wants to find in its environment."""
        return {
            "CALLS": json.dumps(self.by_call),
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": self.base_url,
            "REFUSING": f"http://127.0.0.1:{closed_port()}/v1",
            "NO_PROXY": "127.0.0.1",
        }


@contextlib.contextmanager
def served() -> Iterator[Served]:
    """Serve the provider from a thread, while inside."""
    scenario = checked_scenario(parse_document(_SCENARIO.encode(), "recorded.yaml"))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(_begin(scenario), loop).result(10)
        calls = {call: server.base_url(call) for call in server.routes.calls}
        yield Served(base_url=server.base_url(), by_call=calls)
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _begin(scenario: Scenario) -> LiveServer:
    server = LiveServer(scenario, LiveKernel(asyncio.get_running_loop()))
    await server.start()
    return server


def python(folder: Path, program: str, name: str = "program.py") -> tuple[str, ...]:
    """Return the command that runs a program, which is written into `folder`."""
    path = folder / name
    path.write_text(program, encoding="utf-8")
    return (sys.executable, str(path))


def closed_port() -> int:
    """Return a port at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
