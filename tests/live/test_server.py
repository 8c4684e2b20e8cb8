"""One provider at one port: its addresses, its calls, and the trace that it leaves."""

from __future__ import annotations

import asyncio

import pytest

from faultclock.fakes.dialects import dialect_names
from faultclock.live.environment import environment
from faultclock.live.sealing import sealed_live
from faultclock.live.servable import program_binding
from faultclock.load.trace_file import parse_trace
from faultclock.model.trace.trace import Trace, trace_lines
from tests.live.wires import Bench, post, scenario

_STATUS = {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}


def _sealed(bench: Bench) -> Trace:
    binding = program_binding("client", "openai-chat")
    elsewhere = [(1, 500, "harness", "call.crashed", {"call": "ask/1", "life": 1})]
    return sealed_live(bench.server.scenario, binding, 7, bench.kernel, elsewhere=elsewhere)


def test_each_call_has_a_base_url_of_its_own() -> None:
    """Beside the one for all of them."""
    server = Bench(scenario(tasks=[{"id": "ask", "copies": 2}])).server
    server.place = {"host": "127.0.0.1", "port": 8080}
    assert server.base_url() == "http://127.0.0.1:8080/v1"
    assert server.base_url("ask/2") == "http://127.0.0.1:8080/call/ask-2/v1"


def test_a_call_begins_once() -> None:
    """With its first connection, or when its program starts."""
    bench = Bench(scenario(tasks=[{"id": "ask", "copies": 2, "prompt": "Well?"}]))
    bench.server.begin_calls()
    bench.connect().says(post("/call/ask-2/v1/chat/completions"))
    begun = [(fact["call"], fact["copy"], fact["prompt"]) for fact in bench.facts("call.started")]
    assert begun == [("ask/1", 1, "Well?"), ("ask/2", 2, "Well?")]
    assert bench.server.begun == ("ask/1", "ask/2")


def test_at_the_end_connections_are_dropped_and_unmet_faults_told() -> None:
    """A fault that nobody met spoils a run here as anywhere."""
    bench = Bench(scenario({"when": {"attempts": 2}, "then": _STATUS}))
    wire = bench.connect()
    wire.says(post())
    asyncio.run(bench.server.stop())
    assert wire.ended == "abort"
    assert [fact["fault"] for fact in bench.facts("fault.unmet")] == ["f1"]


def test_a_trace_of_it_says_that_its_time_is_real() -> None:
    """Facts stand in the order of their times, whoever recorded them, and it can be read again."""
    bench = Bench(scenario())
    wire = bench.connect()
    bench.time.pass_ms(40)
    wire.says(post())
    bench.time.pass_ms(60)
    trace = _sealed(bench)
    assert trace.header.time_base == "wall"
    assert trace.header.epoch_ns == 1_800_000_000_000_000_000
    assert (trace.header.seed, trace.header.subject.id) == (7, "client")
    assert [event.seq for event in trace.events] == list(range(1, len(trace.events) + 1))
    times = [event.at_ns for event in trace.events]
    assert times == sorted(times)
    assert [event.kind for event in trace.events][:5] == [
        "run.started",
        "call.started",
        "net.connect",
        "net.connected",
        "call.crashed",
    ]
    text = "".join(trace_lines(trace))
    assert '"time_base":"wall"' in text
    assert parse_trace(text.encode(), "served.jsonl") == trace


def test_clients_of_each_api_are_told_in_their_own_variables() -> None:
    """And no proxy comes between a client and its own machine."""
    url = "http://127.0.0.1:8080/v1"
    told = environment("openai-chat", url, {"ask/1": url})
    assert told["OPENAI_BASE_URL"] == url
    assert told["OPENAI_API_KEY"].startswith("sk-simulated-")
    assert told["FAULTCLOCK_CALLS"] == '{"ask/1":"http://127.0.0.1:8080/v1"}'
    assert told["NO_PROXY"] == told["no_proxy"] == "127.0.0.1,localhost"
    assert environment("anthropic-messages", url, {})["ANTHROPIC_BASE_URL"] == url
    assert environment("something-else", url, {})["FAULTCLOCK_BASE_URL"] == url


@pytest.mark.parametrize("dialect", sorted(set(dialect_names()) - {"http-json", "mcp"}))
def test_every_api_that_models_are_asked_by_has_variables(dialect: str) -> None:
    """A new dialect is not forgotten here."""
    shared = environment(None, "", {}).keys() - {"OPENAI_BASE_URL", "OPENAI_API_KEY"}
    assert environment(dialect, "http://127.0.0.1:1", {}).keys() - shared
