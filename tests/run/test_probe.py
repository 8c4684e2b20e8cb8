"""Code that knows nothing of Faultclock shows in one healthy run whom it asks, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest

from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.run.doctor.probe import Probed, dialect_of, probe
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest

FILE = """
import asyncio
import json
import os
import time
import urllib.error
import urllib.request

import httpx2
import requests
import tenacity

BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}]}
URL = "https://api.openai.com/v1/chat/completions"
HEADERS = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}


def blocking(prompt):
    for attempt in range(4):
        try:
            asked = urllib.request.Request(
                URL,
                data=json.dumps(BODY).encode(),
                headers={**HEADERS, "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return json.load(answer)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError:
            time.sleep(2**attempt)
    raise RuntimeError("gave up")


async def own_loop(messages):
    async with httpx2.AsyncClient() as session:
        for attempt in range(4):
            answer = await session.post(URL, json={**BODY, "messages": messages}, headers=HEADERS)
            if answer.status_code == 200:
                return answer.json()
            await asyncio.sleep(2**attempt)
    raise RuntimeError("gave up")


@tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(1))
async def decorated(prompt: str) -> str:
    async with httpx2.AsyncClient() as session:
        answer = await session.post("https://llm.corp.example/v1/chat/completions", json=BODY)
        answer.raise_for_status()
        return answer.json()["choices"][0]["message"]["content"]


def local(question):
    asked = {"model": "llama3", "stream": False, "messages": BODY["messages"]}
    return requests.post("http://localhost:11434/api/chat", json=asked).json()["message"]["content"]


def tooled(prompt):
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    return requests.post(URL, json={**BODY, "tools": [tool]}, headers=HEADERS).json()


def twice(prompt):
    requests.get("https://flags.example.com/on")
    blocking(prompt)
    return blocking(prompt)


def script():
    print(blocking("Hi"))


def stumbles(prompt):
    return json.loads(blocking(prompt))


def silent(prompt):
    return "from memory"


class Built:
    pass


def build():
    return Built()


def weather(prompt):
    return requests.get("https://weather.example.com/now?key=1").text


def hangs(prompt):
    import threading

    threading.Event().wait()
"""
#: And files of one client each: to make them all takes longer than to probe one.
CLIENTS = {
    "client": """
import openai
client = openai.AsyncOpenAI()
""",
    "elsewhere": """
import os
import openai
elsewhere = openai.OpenAI(
    base_url="https://api.groq.com/openai/v1", api_key=os.environ["GROQ_API_KEY"], max_retries=4
)
""",
    "agent": """
from pydantic_ai import Agent
agent = Agent("openai-chat:gpt-4o-mini")
""",
    "claude": """
import anthropic
claude = anthropic.AsyncAnthropic()
""",
    "gateway": """
import anthropic
gateway = anthropic.Anthropic(base_url="https://gw.example.com/anthropic")
""",
    "gemini": """
from google import genai
gemini = genai.Client()
""",
    "mistral": """
import os
from mistralai.client import Mistral
mistral = Mistral(api_key=os.environ["MISTRAL_API_KEY"])
""",
    "command": """
import cohere
command = cohere.ClientV2()
""",
    "command_async": """
import cohere
command_async = cohere.AsyncClientV2()
""",
    "llama": """
import ollama
llama = ollama.Client()
""",
    "llama_async": """
import ollama
llama_async = ollama.AsyncClient()
""",
    "chat_model": """
from langchain_openai import ChatOpenAI
chat_model = ChatOpenAI(model="gpt-4o-mini")
""",
    "pieces": """
import openai
client = openai.AsyncOpenAI()
BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}]}


async def pieces(prompt):
    chunks = await client.chat.completions.create(**BODY, stream=True)
    async for chunk in chunks:
        yield chunk.choices[0].delta.content or ""
""",
    "bot": """
import openai
client = openai.AsyncOpenAI()


class Bot:
    async def ask(self, prompt):
        answer = await client.responses.create(model="gpt-4o-mini", input=prompt)
        return answer.output_text


bot = Bot()
""",
}


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Probed]:
    """Return what a name in its file turns out to be, each prepared once."""
    folder = tmp_path_factory.mktemp("targets")

    @cache
    def ask(name: str) -> Probed:
        first = name.partition(".")[0]
        path = folder / f"probed_{first}.py"
        path.write_text(CLIENTS.get(first, FILE))
        return probe(prepare(f"{path}:{name}"))

    return ask


@pytest.mark.parametrize(
    ("name", "dialect", "streams", "base_url"),
    [
        ("client", "openai-chat", "as asked", None),
        ("elsewhere", "openai-compatible", "as asked", "https://api.groq.com/openai/v1"),
        ("agent", "openai-chat", "as asked", None),
        ("claude", "anthropic-messages", "as asked", None),
        ("gateway", "anthropic-messages", "as asked", "https://gw.example.com/anthropic"),
        ("gemini", "gemini-generate-content", "as asked", None),
        ("mistral", "mistral", "as asked", None),
        ("command", "cohere", "as asked", None),
        ("command_async", "cohere", "as asked", None),
        ("llama", "ollama", "as asked", "http://127.0.0.1:11434"),
        ("llama_async", "ollama", "as asked", "http://127.0.0.1:11434"),
        ("chat_model", "openai-chat", "as asked", None),
        ("blocking", "openai-chat", "never", None),
        ("own_loop", "openai-chat", "never", None),
        ("decorated", "openai-compatible", "never", "https://llm.corp.example/v1"),
        ("local", "ollama", "never", "http://localhost:11434"),
        ("pieces", "openai-chat", "always", None),
        ("script", "openai-chat", "never", None),
        ("bot.ask", "openai-responses", "never", None),
    ],
)
def test_a_target_shows_where_it_asks_and_whether_it_streams(
    probed: Callable[[str], Probed], name: str, dialect: str, streams: str, base_url: str | None
) -> None:
    """Blocking and async, by any library, and it works in the API that it turned out to speak."""
    seen = probed(name)
    assert seen.why_not == ""
    assert (seen.dialect, seen.streams) == (dialect, streams)
    assert (None if seen.endpoint is None else seen.endpoint.base_url) == base_url
    assert (seen.binding.dialects, seen.binding.dialect_known) == ((dialect,), True)


def test_tools_other_hosts_and_several_requests_are_seen(probed: Callable[[str], Probed]) -> None:
    """What a target does beside its question belongs to what is known of it."""
    assert probed("tooled").tools
    assert not probed("blocking").tools
    assert probed("twice").others == ("GET https://flags.example.com/on",)


def test_an_answer_without_a_text_is_seen(probed: Callable[[str], Probed]) -> None:
    """A script that prints returns nothing, and that is no fault of its."""
    assert not probed("script").text
    assert probed("own_loop").text


def line_of(text: str) -> int:
    """Return the line of the file that holds `text`."""
    return next(number for number, line in enumerate(FILE.splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("name", "trouble", "says", "to_do"),
    [
        ("stumbles", "raises", "json.decoder.JSONDecodeError: Expecting value", "work first"),
        ("silent", "asks nothing", "it asks no model: nothing went over the network", "the call"),
        ("build", "asks nothing", "it asks no model: ", "Built: if that is an agent, add"),
        ("weather", "unknown API", "it asks GET https://weather.example.com/now, which is", "list"),
        ("hangs", "no end", "it does not end when nothing goes wrong: ", "waits for"),
    ],
)
def test_what_does_not_work_in_a_healthy_world_is_said_with_what_to_do(
    probed: Callable[[str], Probed], name: str, trouble: str, says: str, to_do: str
) -> None:
    """No verdict about it would mean anything."""
    seen = probed(name)
    assert (seen.trouble, seen.healthy) == (trouble, False)
    assert seen.why_not.startswith(says) or says in seen.why_not
    assert to_do in seen.what_to_do


def test_an_exception_is_said_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The innermost line of the person's own."""
    (tmp_path / "stumbling.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    said = probe(prepare("stumbling.py:stumbles")).why_not
    assert said.endswith(f"(at stumbling.py:{line_of('json.loads(blocking')})")


def test_a_bound_adapter_that_speaks_another_api_is_told_to_say_so() -> None:
    """Its decorator says which, and a wrong one makes it fail."""

    @provider_adapter
    def wrong(request: Any) -> str:
        import requests

        answer = requests.post("https://api.anthropic.com/v1/messages", json={}, timeout=5)
        answer.raise_for_status()
        return answer.text

    seen = probe(wrong)
    assert (seen.trouble, seen.dialect) == ("raises", "anthropic-messages")
    assert seen.what_to_do == (
        "it speaks anthropic-messages: say so with dialect='anthropic-messages' in its decorator,"
        " or with --dialect anthropic-messages"
    )


def test_what_cannot_be_simulated_is_named() -> None:
    """Every run of it would prove nothing."""

    @provider_adapter
    def real(request: Any) -> str:
        import multiprocessing

        multiprocessing.get_context("spawn").Process(target=print).start()
        return "done"

    assert probe(real).trouble == "cannot be simulated"


def test_a_subject_of_another_role_is_only_run() -> None:
    """It asks no model, and that is right."""
    for id_ in ("reference-tool", "reference-store"):
        seen = probe(prepare(id_))
        assert (seen.healthy, seen.dialect) == (True, None), seen.why_not


def test_pieces_are_in_the_trace_as_delivered(probed: Callable[[str], Probed]) -> None:
    """What comes after the first of them can be judged as what comes after that."""
    trace = probed("pieces").trace
    assert trace is not None
    delivered = [event.payload for event in trace.of_kind("declared.content")]
    calls = {payload["call"] for payload in delivered}
    assert calls == {"plain/1", "streamed/1"}
    said = len("Hello from the simulated provider.")
    assert sum(payload["chars"] for payload in delivered) == said * len(calls)


def limited(binding: Binding, seed: int) -> Trace:
    """Run through one 429, which a second attempt mends."""
    fault = {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}
    scenario = scenario_of(
        {
            "id": "tests/limited",
            "title": "A rate limit",
            "why": "For a test.",
            "provider": {"faults": [{"id": "once", "when": {"attempts": 1}, "then": fault}]},
        }
    )
    return run_one(scenario, binding, seed, isolate=True)


async def _looks_around(request: ProviderRequest) -> str:
    async with httpx2.AsyncClient() as client:
        try:
            await client.get("https://news.example.com/version")
        except httpx2.ConnectError:
            return "nothing there"
    return "something there"


@pytest.mark.parametrize("unreachable", [(), ("news.example.com",)])
def test_what_a_framework_asks_for_itself_has_no_address(unreachable: tuple[str, ...]) -> None:
    """And is no attempt: the provider, which answers at every other host, sees nothing of it."""
    binding = replace(provider_adapter(id="looks")(_looks_around), unreachable=unreachable)
    trace = limited(binding, 0)
    (returned,) = trace.of_kind("call.returned")
    assert returned.payload["text"] == ("nothing there" if unreachable else "something there")
    assert any(trace.of_kind("http.request", "net.connect")) != bool(unreachable)


@pytest.mark.parametrize("name", ["client", "elsewhere", "blocking", "own_loop", "claude"])
def test_a_client_that_is_made_at_import_works_in_every_run(
    probed: Callable[[str], Probed], name: str
) -> None:
    """Each run is a child of its own, which finds the client as it was made."""
    for seed in range(3):
        trace = limited(probed(name).binding, seed)
        assert trace.footer.ending == "completed"
        assert sum(1 for _ in trace.of_kind("http.request")) == 2
        (returned,) = trace.of_kind("call.returned")
        assert returned.payload["text"] == "Hello from the simulated provider."


@pytest.mark.parametrize(
    ("host", "path", "dialect", "begins"),
    [
        ("api.openai.com", "/v1/chat/completions", "openai-chat", "/v1"),
        ("api.openai.com", "/v1/responses", "openai-responses", "/v1"),
        ("api.openai.com", "/v1/responses/resp_1/cancel", "openai-responses", "/v1"),
        ("api.openai.com", "/v1/responses/input_tokens", "openai-responses", "/v1"),
        ("gw", "/a/v1/conversations/conv_1/items", "openai-responses", "/a/v1"),
        ("openrouter.ai", "/api/v1/chat/completions", "openrouter", "/api/v1"),
        ("api.deepseek.com", "/chat/completions", "deepseek", ""),
        ("api.mistral.ai", "/v1/chat/completions", "mistral", "/v1"),
        ("api.groq.com", "/openai/v1/chat/completions", "openai-compatible", "/openai/v1"),
        ("a.openai.azure.com", "/openai/v1/chat/completions", "azure-openai", ""),
        ("gw", "/openai/deployments/d/chat/completions", "azure-openai", ""),
        ("api.anthropic.com", "/v1/messages", "anthropic-messages", ""),
        ("gw", "/anthropic/v1/messages", "anthropic-messages", "/anthropic"),
        (
            "generativelanguage.googleapis.com",
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent",
            "gemini-generate-content",
            "",
        ),
        ("localhost", "/api/chat", "ollama", ""),
        ("api.cohere.com", "/v2/chat", "cohere", ""),
        ("bedrock-runtime.us-east-1.amazonaws.com", "/model/a.b/converse", "bedrock-converse", ""),
    ],
)
def test_host_and_path_say_which_api_it_is(host: str, path: str, dialect: str, begins: str) -> None:
    """Host names alone say little: many servers speak the API of another."""
    assert dialect_of(host, path) == (dialect, begins)


@pytest.mark.parametrize(
    "path", ["/v1/embeddings", "/v1/completions", "/api/generate", "/api/conversations", "/"]
)
def test_a_path_of_no_simulated_api_is_none(path: str) -> None:
    """It is named to the person as it is."""
    assert dialect_of("api.openai.com", path) is None
