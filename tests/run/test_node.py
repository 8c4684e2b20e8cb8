"""A module for Node lives in virtual time: its clock, its chance, its network and its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import WALL_EPOCH_NS, Trace
from faultclock.oracle.judge import judge
from faultclock.run.replay import replay
from faultclock.run.report_places import source_of
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.node.modules import fixture, needs_node, needs_packages, subject_of

pytestmark = needs_node

URL = "https://api.openai.com/v1/chat/completions"
#: Of a request that is right.
OPTIONS = """{ method: "POST",
  headers: { authorization: "Bearer x", "content-type": "application/json" },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }) }"""
EPOCH_MS = WALL_EPOCH_NS // MILLISECOND_NS


def world(*faults: dict[str, Any], **more: Any) -> Any:
    """Return a scenario with these faults of its provider."""
    named = [{"id": f"f{n}", **fault} for n, fault in enumerate(faults)]
    head = {"id": "test/node", "title": "A test", "why": "It is one."}
    return scenario_of(
        {**head, "provider": {"faults": named}, "limits": {"virtual_time": "10h"}, **more}
    )


def refusal(headers: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a provider whose limit is reached, with such headers."""
    return {
        "kind": "http_error",
        "status": 429,
        "error": "rate_limit_exceeded",
        "headers": headers,
    }


HEALTHY = world()


def limited(headers: dict[str, Any], attempts: str = "1-2") -> Any:
    """Return a scenario whose provider refuses these attempts with such headers."""
    return world({"when": {"attempts": attempts}, "then": refusal(headers)})


def run(subject: Binding, scenario: Any = HEALTHY, seed: int = 1) -> Trace:
    """Run a subject once, in a process of its own."""
    return run_one(scenario, subject, seed, isolate=True)


def end_of(trace: Trace) -> dict[str, Any]:
    """Return what the first call ended with: its text, or its chain."""
    ends = [it for it in trace.events if it.kind in ("call.returned", "call.raised")]
    return dict(ends[0].payload)


def said_by(tmp_path: Path, body: str, head: str = "") -> Any:
    """Return what a function with this body returns, as JSON."""
    call = f"JSON.stringify(await (async () => {{{body}}})())"
    text = f"{head}\nexport async function ask(prompt) {{ return {call}; }}"
    return json.loads(end_of(run(subject_of(tmp_path, text, dialect="openai-chat")))["text"])


# ---------------------------------------------------------------------- the clock


def test_an_hour_passes_on_every_clock_at_once(tmp_path: Path) -> None:
    """Date, performance, hrtime and uptime agree, and a wait has whole milliseconds."""
    said = said_by(
        tmp_path,
        """
        const before = [Date.now(), performance.now(), process.hrtime.bigint(), process.uptime()];
        await sleep(3_600_000.7);
        const after = [new Date().getTime(), now(), process.hrtime.bigint(), process.uptime()];
        return [before[0], ...after.map((it, n) => Number(it) - Number(before[n]))];
        """,
        "import { setTimeout as sleep } from 'node:timers/promises';"
        "import { performance as p } from 'node:perf_hooks'; const now = () => p.now();",
    )
    assert said == [EPOCH_MS, 3_600_000, 3_600_000, 3_600_000 * MILLISECOND_NS, 3_600]


def test_what_is_due_at_once_comes_in_the_order_of_node(tmp_path: Path) -> None:
    """Promises and ticks come first, then immediates; equal timers in the order they were set."""
    said = said_by(
        tmp_path,
        """
        const order = [];
        const done = new Promise(resolve => setTimeout(resolve, 5));
        setTimeout(() => order.push('timer 2'), 2);
        setTimeout(() => order.push('timer 1'), 1);
        setTimeout(() => order.push('timer 1, later'), 1);
        setImmediate(() => order.push('immediate'));
        Promise.resolve().then(() => order.push('promise'));
        process.nextTick(() => order.push('tick'));
        const gone = setTimeout(() => order.push('never'), 1);
        clearTimeout(gone);
        let left = 2;
        const again = () => { order.push('again'); if (!--left) clearInterval(every); };
        const every = setInterval(again, 1);
        await done;
        return order;
        """,
    )
    # `ask` is an async function: its promises are served before the first tick.
    first = ["promise", "tick", "immediate"]
    assert said == [*first, "timer 1", "timer 1, later", "again", "timer 2", "again"]


def test_a_deadline_of_abort_signal_is_virtual(tmp_path: Path) -> None:
    """AbortSignal.timeout rings at its time, with the reason that Node gives."""
    said = said_by(
        tmp_path,
        """
        const signal = AbortSignal.timeout(90_000);
        await new Promise(resolve => signal.addEventListener('abort', resolve));
        return [signal.reason.name, Date.now()];
        """,
    )
    assert said == ["TimeoutError", EPOCH_MS + 90_000]


# ---------------------------------------------------------------------- chance


CHANCE = """
import crypto, { randomUUID, randomInt, getRandomValues } from 'node:crypto';
export async function ask(prompt) {
  return JSON.stringify([Math.random(), randomUUID(), globalThis.crypto.randomUUID(),
    crypto.randomBytes(4).toString('hex'), randomInt(1000), [...getRandomValues(new Uint8Array(3))],
    [...globalThis.crypto.getRandomValues(new Uint8Array(3))]]);
}
"""


def test_chance_is_drawn_from_the_seed(tmp_path: Path) -> None:
    """Equal seeds draw equally in every way to draw, other seeds draw otherwise."""
    subject = subject_of(tmp_path, CHANCE, dialect="openai-chat")
    first, again, other = (end_of(run(subject, seed=seed))["text"] for seed in (1, 1, 2))
    assert first == again
    assert all(one != two for one, two in zip(json.loads(first), json.loads(other), strict=True))


# ---------------------------------------------------------------------- the network


def test_the_first_request_needs_no_warm_up_and_its_deadline_holds(tmp_path: Path) -> None:
    """Its parser is compiled on this thread; a silent provider meets the client's deadline."""
    subject = fixture(tmp_path, "fetch.mjs")
    silent = world({"then": {"kind": "stall"}})
    trace = run(subject, silent)
    assert end_of(trace)["chain"][0]["type"] == "TimeoutError"
    raised = next(trace.of_kind("call.raised"))
    assert raised.at_ns == 60 * SECOND_NS
    assert trace.footer.ending == "completed"


def test_the_deadline_of_fetch_itself_still_rings(tmp_path: Path) -> None:
    """undici gives up after five minutes without headers; its timer has a step of half a second."""
    text = f"export async function ask(prompt) {{ await fetch('{URL}', {OPTIONS}); }}"
    trace = run(
        subject_of(tmp_path, text, dialect="openai-chat"), world({"then": {"kind": "stall"}})
    )
    chain = end_of(trace)["chain"]
    assert [item["type"] for item in chain] == ["TypeError", "HeadersTimeoutError"]
    assert "accident" not in chain[0], "fetch has raised it on purpose"
    assert 300 <= next(trace.of_kind("call.raised")).at_ns / SECOND_NS <= 301


def test_a_connection_is_kept_and_used_again(tmp_path: Path) -> None:
    """As outside: fetch frees a connection a moment after its answer, and then uses it again."""
    text = f"""
    const once = async () => (await fetch("{URL}", {OPTIONS})).text();
    export async function ask(prompt) {{
      await once(); await once(); await new Promise(resolve => setTimeout(resolve, 5));
      await once();
    }}
    """
    trace = run(subject_of(tmp_path, text, dialect="openai-chat"))
    assert len(list(trace.of_kind("net.connect"))) == 2
    assert [it.payload["call"] for it in trace.of_kind("http.request")] == ["ask/1"] * 3


def test_calls_side_by_side_keep_their_requests_apart(tmp_path: Path) -> None:
    """Of many calls in one process, each request belongs to the call that made it."""
    scenario = world(tasks=[{"id": "ask", "copies": 5}])
    trace = run(fixture(tmp_path, "fetch.mjs"), scenario)
    asked = sorted(it.payload["call"] for it in trace.of_kind("http.request"))
    assert asked == [f"ask/{n}" for n in range(1, 6)]


def test_clients_of_http_and_of_sockets_meet_the_same_network(tmp_path: Path) -> None:
    """node:https asks the provider too, and a name that does not resolve says so as in Node."""
    text = """
    import https from "node:https";
    export const ask = prompt => new Promise((resolve, reject) => {
      const url = "https://api.openai.com/v1/chat/completions";
      const request = https.request(url, { method: "POST" }, answer => {
        answer.resume();
        answer.on("end", () => resolve(`status ${answer.statusCode}`));
      });
      request.on("error", reject);
      request.end("{}");
    });
    """
    subject = subject_of(tmp_path, text, dialect="openai-chat")
    assert end_of(run(subject))["text"].startswith("status ")
    chain = end_of(run(subject, world({"then": {"kind": "dns_failure"}})))["chain"]
    assert chain[0]["message"] == "getaddrinfo ENOTFOUND api.openai.com"


def test_a_compressed_answer_is_unpacked(tmp_path: Path) -> None:
    """What libuv's thread unpacks is there before virtual time goes on."""
    said = said_by(
        tmp_path,
        """
        const packed = await promisify(zlib.gzip)(Buffer.alloc(300_000, 'text'));
        const [size] = [(await promisify(zlib.gunzip)(packed)).length];
        return [size, (await readFile(process.argv[1], 'utf8')).length > 0, Date.now()];
        """,
        "import zlib from 'node:zlib'; import { promisify } from 'node:util';"
        "import { readFile } from 'node:fs/promises';",
    )
    assert said == [300_000, True, EPOCH_MS]


# ---------------------------------------------------------------------- what cannot be simulated


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("(await import('node:child_process')).exec('true')", "child_process.exec"),
        ("new (await import('node:worker_threads')).Worker('x')", "worker_threads.Worker"),
        ("(await import('node:http')).createServer().listen(80)", "net.Server.listen"),
        ("(await import('node:fs')).watchFile('x.txt', () => {})", "fs.watchFile"),
        ("(await import('node:dns')).resolve4('a.example', () => {})", "dns.resolve4"),
        ("(await import('node:http2')).connect('https://a.example')", "http2.connect"),
        ("new (await import('node:net')).Socket().connect(1)", "net.Socket.connect"),
    ],
)
def test_what_cannot_be_simulated_spoils_the_run_by_its_name(
    tmp_path: Path, code: str, what: str
) -> None:
    """Even where the code hides the refusal, nothing is shown by such a run."""
    tried = f"try {{ {code}; }} catch {{}}"
    text = f"export async function ask(prompt) {{\n  {tried}\n  return 'fine';\n}}"
    trace = run(subject_of(tmp_path, text, dialect="openai-chat"))
    assert trace.footer.ending == "escape"
    assert trace.footer.detail == (f"{what} at app.mjs:2",)


# ---------------------------------------------------------------------- errors and ends


def test_an_error_has_the_lines_of_the_module(tmp_path: Path) -> None:
    """The user's own line is noted, and what an operation raises is an accident."""
    text = (
        "export async function ask(prompt) {\n  const answer = {};\n  return answer.choices[0];\n}"
    )
    trace = run(subject_of(tmp_path, text, dialect="openai-chat"))
    link = end_of(trace)["chain"][0]
    assert (link["type"], link["accident"]) == ("TypeError", True)
    assert trace.notes is not None
    (frame,) = trace.notes.raised[0].frames
    assert (frame.line, frame.function, frame.code) == (3, "ask", "return answer.choices[0];")
    assert trace.notes.raised[0].raised_by == "operation"


def test_a_thrown_error_is_a_decision_and_keeps_its_causes(tmp_path: Path) -> None:
    """What `throw new` makes is no accident, whatever its type; the cause stands behind it."""
    text = (
        "export async function ask(p) { throw new TypeError('no', { cause: new Error('why') }); }"
    )
    chain = end_of(run(subject_of(tmp_path, text, dialect="openai-chat")))["chain"]
    assert [(it["type"], it["message"], it["link"]) for it in chain] == [
        ("TypeError", "no", "outer"),
        ("Error", "why", "cause"),
    ]
    assert all("accident" not in it for it in chain)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("process.exit(3);", "process.exit(3)"),
        (
            "setTimeout(() => { throw new Error('late'); }, 5); await new Promise(() => {});",
            "an uncaught error",
        ),
        ("Promise.reject(new Error('lost')); await new Promise(() => {});", "an uncaught error"),
    ],
)
def test_the_end_of_the_process_is_an_outcome_of_its_calls(
    tmp_path: Path, code: str, message: str
) -> None:
    """A program that ends itself has failed each call that was open; that is no escape."""
    text = f"export async function ask(prompt) {{ {code} }}"
    trace = run(subject_of(tmp_path, text, dialect="openai-chat"))
    link = end_of(trace)["chain"][0]
    assert (link["type"], link["message"]) == ("ProcessEnded", message)
    assert trace.footer.ending == "completed"


def test_what_is_printed_is_noted_with_its_call(tmp_path: Path) -> None:
    """console.log and console.error go to the notes of the run, at their virtual time."""
    text = """
    export async function ask(prompt) {
      await new Promise(resolve => setTimeout(resolve, 1500));
      console.log("asked %s", prompt.length); console.error("and failed");
      return "x";
    }
    """
    notes = run(subject_of(tmp_path, text, dialect="openai-chat")).notes
    assert notes is not None
    assert [(it.at_ns, it.stream, it.text, it.call) for it in notes.output] == [
        (1500 * MILLISECOND_NS, "stdout", "asked 10", "ask/1"),
        (1500 * MILLISECOND_NS, "stderr", "and failed", "ask/1"),
    ]


def test_a_timer_that_has_rung_is_not_where_a_call_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that of a log, which is written by the way; and nothing of ours is shown."""
    monkeypatch.chdir(tmp_path)
    text = f"""
    export async function ask(prompt) {{
      setTimeout(() => {{}}, 120);
      await fetch("{URL}", {OPTIONS}); await new Promise(() => {{}});
    }}
    """
    trace = run(subject_of(tmp_path, text, dialect="openai-chat"))
    assert trace.footer.ending == "deadlock"
    assert "faultclock" not in " ".join(trace.footer.detail)
    assert trace.notes is not None
    assert trace.notes.waits
    judgement = judge(load_error_model("common"), trace)
    (hang,) = (it for it in judgement.findings if it.requirement == "COMMON-END-01")
    assert hang.verdict is Verdict.FAIL
    assert source_of(hang, trace, judgement) is None


# ---------------------------------------------------------------------- equal traces


@needs_packages
def test_a_wait_of_an_sdk_is_noted_at_the_users_line(tmp_path: Path) -> None:
    """The stack of a retry leads through the SDK to the line that asked it."""
    notes = run(fixture(tmp_path, "openai.mjs"), limited({"retry-after": "30"})).notes
    assert notes is not None
    slept = [it for it in notes.waits if it.until_ns and it.until_ns - it.from_ns == 30 * SECOND_NS]
    assert [frame.line for it in slept for frame in it.frames if frame.own] == [6, 6]


@needs_packages
def test_fresh_processes_leave_equal_traces(tmp_path: Path) -> None:
    """Retries with jitter, a reset and a stall give the same bytes in every process."""
    subject = fixture(tmp_path, "openai.mjs")
    scenario = world(
        {
            "when": {"attempts": 1},
            "then": {"kind": "http_error", "status": 500, "error": "server_error"},
        },
        {"when": {"attempts": 2}, "then": {"kind": "stall"}},
    )
    digests = {run(subject, scenario).footer.digest for _ in range(5)}
    assert len(digests) == 1


@needs_packages
def test_a_run_is_replayed_from_its_trace(tmp_path: Path) -> None:
    """A stored trace of a module is made again, byte for byte."""
    subject = fixture(tmp_path, "openai.mjs")
    trace = run(subject, limited({}))
    assert replay(trace, subject).identical


CLIENTS = {
    "openai": "import C from 'openai'; export default new C();",
    "anthropic": "import C from '@anthropic-ai/sdk'; export default new C();",
    "google-genai": "import { GoogleGenAI as C } from '@google/genai';"
    " export default new C({ apiKey: process.env.GEMINI_API_KEY });",
    "mistralai": "import { Mistral as C } from '@mistralai/mistralai';"
    " export default new C({ apiKey: process.env.MISTRAL_API_KEY });",
}


@needs_packages
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_object_answers_whole_and_streamed(tmp_path: Path, client: str) -> None:
    """It is asked with its own methods, and both answers have the same text."""
    scenario = world(tasks=[{"id": "whole"}, {"id": "streamed", "stream": True, "after": "whole"}])
    trace = run(subject_of(tmp_path, CLIENTS[client]), scenario)
    said = [event.payload.get("text") for event in trace.of_kind("call.returned")]
    assert said == ["Hello from the simulated provider."] * 2
    assert trace.footer.ending == "completed"
