"""Finds out, in a healthy world, which provider a subject asks and how.

A program names its own address. The simulated provider answers at any host, so one run shows where
the program asks; the path says which API that is, and a second run is answered in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from faultclock.fakes.dialects import dialect_named
from faultclock.load.payloads import load_dialect
from faultclock.model.scenario.provider_script import Endpoint
from faultclock.model.trace.notes import RaisedError
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.doctor.healthy import healthy_scenario
from faultclock.run.execute import sealed, trace_header
from faultclock.run.process.hosting import make_run
from faultclock.run.run_request import NO_MEMORY, RunRequest
from faultclock.subjects.binding import Binding

Streams = Literal["never", "always", "as asked"]
#: What keeps a verdict from meaning anything.
Trouble = Literal[
    "", "raises", "asks nothing", "refused", "unknown API", "cannot be simulated", "no end"
]

#: Types of what calls return that are no agents.
_VALUES = {"NoneType", "str", "bytes", "bool", "int", "float", "dict", "list", "tuple"}
#: Statuses from which on an answer is a refusal.
_REFUSED = 400
#: Real seconds that a healthy run may take.
_LIMIT_S = 20.0
#: Longest message of an exception that is repeated, in characters.
_MESSAGE_MAX = 200

#: Ends of paths, and the API that they belong to.
_PATHS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(f"{end}$"), dialect)
    for end, dialect in (
        (r"/openai(/v1|/deployments/[^/]+)/chat/completions", "azure-openai"),
        (r"/chat/completions", "openai-compatible"),
        (r"/responses(/(resp_|input_tokens).*)?", "openai-responses"),
        (r"(?<=/v1)/conversations(/conv_.*)?", "openai-responses"),
        (r"/v1/messages", "anthropic-messages"),
        (r"/v1(alpha|beta)?/models/[^/:]+:(generateContent|streamGenerateContent)", "gemini"),
        (r"/api/chat", "ollama"),
        (r"/v2/chat", "cohere"),
        (r"/model/[^/]+/converse(-stream)?", "bedrock-converse"),
    )
)
_NAMES = {"gemini": "gemini-generate-content"}
#: Hosts whose chat completions have a dialect of their own.
_OWN_HOSTS = {
    "api.openai.com": "openai-chat",
    "openrouter.ai": "openrouter",
    "api.deepseek.com": "deepseek",
    "api.mistral.ai": "mistral",
}
#: Groq and others have `/openai/v1` in their paths and are not Azure.
_AZURE_HOSTS = (".azure.com", ".azure.us", ".azure-api.net")
_ROLES_THAT_ASK = ("provider_adapter", "runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request of a healthy run.

    Attributes:
        call: that sent it; None where that is not known.
        url: without its query.
        dialect: the API that its path belongs to; None for none that is simulated.
        base_url: where that API begins.
        tools: how many tools it offers to the model.
    """

    call: str | None
    method: str
    url: str
    dialect: str | None
    base_url: str
    model: str | None
    stream: bool
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What a subject does when nothing goes wrong.

    Attributes:
        binding: the subject, with the API that it speaks.
        dialect: that API; None where it asks none that is simulated.
        endpoint: where it asks, if that is another place than clients of the API go by default.
        streams: whether it asks for streams.
        tools: whether it offers tools to the model.
        others: what else it asked, such as `GET https://api.example.com/status`.
        text: whether its answers have a text that can be read.
        trouble: what keeps a verdict from meaning anything; empty: nothing does.
        why_not: that in one sentence.
        what_to_do: about it.
        trace: of the run; None where it did not end.
    """

    binding: Binding
    dialect: str | None = None
    endpoint: Endpoint | None = None
    streams: Streams = "never"
    tools: bool = False
    others: tuple[str, ...] = ()
    text: bool = True
    trouble: Trouble = ""
    why_not: str = ""
    what_to_do: str = ""
    trace: Trace | None = None

    @property
    def healthy(self) -> bool:
        """Whether it works in a healthy world."""
        return not self.trouble


def probe(binding: Binding, wall_limit_s: float | None = None) -> Probed:
    """Run `binding` once where nothing goes wrong, and once more in the API that it turns out to
    speak.

    Args:
        wall_limit_s: real seconds that a run may take, if a person has said that.

    Raises:
        UnknownNameError: a dialect was named that does not exist.
    """
    dialect_named(binding.dialect)
    limit_s = _LIMIT_S if wall_limit_s is None else wall_limit_s
    seen = _look(binding, limit_s)
    if binding.dialect_known or seen.dialect in (None, binding.dialect):
        return seen
    assert seen.dialect is not None
    return _look(replace(binding, dialects=(seen.dialect,)), limit_s)


def dialect_of(host: str, path: str) -> tuple[str, str] | None:
    """Return the API that is asked at `path` of `host`, and where in the path it begins.

    Returns:
        None where it is none that is simulated.
    """
    for pattern, name in _PATHS:
        found = pattern.search(path)
        if found is None:
            continue
        if name == "azure-openai" and not (
            host.endswith(_AZURE_HOSTS) or "/deployments/" in found[1]
        ):
            continue
        dialect = _OWN_HOSTS.get(host, name) if name == "openai-compatible" else name
        return _NAMES.get(dialect, dialect), path[: found.start()]
    return None


def _look(binding: Binding, limit_s: float) -> Probed:
    scenario = healthy_scenario(binding.role)
    spoken_ = bind_scenario(scenario, binding)
    made = make_run(binding, RunRequest(scenario=spoken_, seed=0, wall_limit_s=limit_s))
    if NO_MEMORY in made.detail:
        return Probed(
            binding=binding,
            trouble="no end",
            why_not=f"when nothing goes wrong, {NO_MEMORY}",
            what_to_do="allow more with --memory-limit, or let it take less",
        )
    if made.ending == "watchdog":
        return Probed(
            binding=binding,
            trouble="no end",
            why_not=f"it does not end when nothing goes wrong: {'; '.join(made.detail)}",
            what_to_do="make it end within seconds: something in it waits in real time, or the"
            " machine is too busy",
        )
    if made.ending == "harness_error" and not made.facts:
        return Probed(
            binding=binding,
            trouble="no end",
            why_not=f"its process died when nothing went wrong: {'; '.join(made.detail)}",
            what_to_do="run it by itself first",
        )
    trace = sealed(trace_header(spoken_, binding, 0), made)
    return _judged(binding, trace, tuple(_requests(trace)))


def _judged(binding: Binding, trace: Trace, asked: tuple[Asked, ...]) -> Probed:
    of_model = [item for item in asked if item.dialect is not None]
    seen = Probed(
        binding=binding,
        dialect=of_model[0].dialect if of_model else None,
        endpoint=_endpoint(of_model[0]) if of_model else None,
        streams=_streams(of_model),
        tools=any(item.tools for item in of_model),
        others=tuple(
            dict.fromkeys(f"{item.method} {item.url}" for item in asked if item.dialect is None)
        ),
        text=all(event.payload.get("text") is not None for event in trace.of_kind("call.returned")),
        trace=trace,
    )
    if not binding.dialect_known and seen.dialect == binding.dialect:
        seen = replace(seen, binding=replace(binding, dialect_known=True))
    trouble = next(_troubles(seen, trace), None)
    if trouble is None:
        return seen
    kind, why_not, what_to_do = trouble
    return replace(seen, trouble=kind, why_not=why_not, what_to_do=what_to_do)


# ---------------------------------------------------------------------- what was asked


def _requests(trace: Trace) -> Iterator[Asked]:
    ports = {
        event.payload["connection"]: event.payload["port"] for event in trace.of_kind("net.connect")
    }
    for event in trace.of_kind("http.request"):
        if event.payload.get("counts"):
            # It is asked in one API what will be asked in another.
            continue
        yield _asked(event, ports.get(event.payload["connection"], 443))


def _asked(event: TraceEvent, port: int) -> Asked:
    said = event.payload
    target = urlsplit(said["target"])
    scheme = "http" if port not in (443, 8443) else "https"
    origin = f"{scheme}://{said['headers'].get('host', 'unknown')}"
    host = urlsplit(origin).hostname or ""
    known = dialect_of(host, target.path)
    return Asked(
        call=said["call"],
        method=said["method"],
        url=f"{origin}{target.path}",
        dialect=None if known is None else known[0],
        base_url=origin if known is None else f"{origin}{known[1]}",
        model=said["model"],
        stream=said["stream"],
        tools=said.get("tools", 0),
    )


def _endpoint(asked: Asked) -> Endpoint | None:
    usual = load_dialect(asked.dialect or "")
    if urlsplit(asked.base_url).netloc == urlsplit(usual.base_url).netloc:
        return None
    return Endpoint(base_url=asked.base_url, model=asked.model or usual.model)


def _streams(asked: list[Asked]) -> Streams:
    plain = {item.stream for item in asked if (item.call or "").startswith("plain/")}
    streamed = {item.stream for item in asked if (item.call or "").startswith("streamed/")}
    if True in plain:
        return "always"
    return "as asked" if True in streamed else "never"


# ---------------------------------------------------------------------- what is wrong


def _troubles(seen: Probed, trace: Trace) -> Iterator[tuple[Trouble, str, str]]:
    for event in trace.of_kind("leak"):
        yield (
            "cannot be simulated",
            f"{event.payload['what']} at {event.payload['site']} cannot be simulated",
            "name a function that leaves this out",
        )
    asks_a_model = seen.binding.role in _ROLES_THAT_ASK
    if asks_a_model and seen.dialect is None and seen.others:
        yield (
            "unknown API",
            f"it asks {seen.others[0]}, which is none of the APIs that are simulated",
            "let it ask one of those that `faultclock list dialects` names",
        )
    elsewhere = asks_a_model and seen.dialect not in (None, *seen.binding.dialects)
    for event in trace.of_kind("call.raised"):
        what_to_do = "make it work first, or name another function"
        if elsewhere:
            what_to_do = (
                f"it speaks {seen.dialect}: say so with dialect={seen.dialect!r} in its decorator,"
                f" or with --dialect {seen.dialect}"
            )
        yield (
            "raises",
            f"it raises when nothing goes wrong: {what_was_raised(event, trace)}",
            what_to_do,
        )
    ended = {event.payload["call"] for event in trace.of_kind("call.returned", "call.raised")}
    if trace.footer.ending != "completed" or not ended:
        detail = "; ".join(trace.footer.detail) or trace.footer.ending
        yield (
            "no end",
            f"it does not end when nothing goes wrong: {detail}",
            "look at what it waits for",
        )
    statuses = [int(event.payload["status"]) for event in trace.of_kind("http.response")]
    if asks_a_model and statuses and min(statuses) >= _REFUSED:
        yield (
            "refused",
            f"the provider refuses its request when nothing goes wrong: {_refusal(trace)}",
            "look at the key, the model and the shape of the request",
        )
    if asks_a_model and not any(trace.of_kind("http.request")):
        yield (
            "asks nothing",
            "it asks no model: nothing went over the network",
            maybe_an_agent(trace)
            or "name the function that makes the call, and take away what stands in for the model",
        )


def maybe_an_agent(trace: Trace) -> str:
    """Return what to say where a call asked nothing and returned an object; empty for a value."""
    returned = (str(event.payload.get("type", "")) for event in trace.of_kind("call.returned"))
    made = next((name for name in returned if name and name not in _VALUES), None)
    if made is None:
        return ""
    return f"it returned an object of the class {made}: if that is an agent, add --as agent"


def _refusal(trace: Trace) -> str:
    """Return status and error of the first answer."""
    answer = next(trace.of_kind("http.response")).payload
    error = answer.get("error") or {}
    named = error.get("code") or error.get("type") or ""
    return f"{answer['status']} {named}".rstrip()


def what_was_raised(event: TraceEvent, trace: Trace) -> str:
    """Return type, message and line of what a call raised."""
    outer = event.payload["chain"][0]
    message = " ".join(str(outer["message"]).split())
    text = f"{outer['type']}: {message}" if message else str(outer["type"])
    if len(text) > _MESSAGE_MAX:
        text = f"{text[: _MESSAGE_MAX - 1]}…"
    raised = () if trace.notes is None else trace.notes.raised
    mine = next((item for item in raised if item.call == event.payload["call"]), None)
    return f"{text}{_line(mine)}"


def _line(raised: RaisedError | None) -> str:
    own = [frame for frame in raised.frames if frame.own] if raised is not None else []
    return f" (at {own[-1].file}:{own[-1].line})" if own else ""
