"""The truth table: each dialect's answers, given to the official SDKs that speak it.

`python -m tests.fakes.dialects.truth` prints it. Everything runs in the simulated world: the fake
provider serves each error payload in turn to one client of the SDK, once as an answer and once
inside a stream, then the good answers. See `driver` for what an SDK has to offer.
"""

from __future__ import annotations

import importlib
import json
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.provider.conversation import EXAMPLES
from faultclock.fakes.provider.planned import PlannedExchange
from faultclock.fakes.provider.provider import FakeProvider
from faultclock.fakes.provider.refusal_words import filled
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.delivery import Start
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_dialect
from faultclock.model.scenario.fault import AnswerEnd, FaultRule
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.patches import installed
from faultclock.sim.world import World
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Sdk, Way

REPLY = "Grüße from the simulated provider, in several words."
TOOLS = (
    ToolCallReply(name="weather", arguments='{"city": "Bern", "unit": "celsius"}'),
    ToolCallReply(name="weather", arguments='{"city": "Köln", "unit": "kelvin"}'),
)
_KINDS: dict[Place, str] = {
    "answer": "http_error",
    "stream": "stream_error",
    "ok_body": "ok_with_error_body",
}
_LIMITS = Limits(
    virtual_ns_max=24 * 3_600 * 10**9, events_max=1_000_000, events_per_instant_max=10_000
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question to an SDK: an error payload at a place, or a good answer.

    Attributes:
        payload: its name; None for a good answer.
        ends: how a good answer is not a whole one.
        null: whether nothing at all stands in the place of an empty text.
    """

    payload: str | None = None
    place: Place = "answer"
    stream: bool = False
    tools: bool = False
    ends: AnswerEnd | None = None
    null: bool = False

    @property
    def id(self) -> str:
        """What the call is named after."""
        if self.payload is not None:
            return f"{self.place}:{self.payload}"
        ends = "" if self.ends is None else f":{self.ends}{':null' * self.null}"
        return f"good{':stream' * self.stream}{':tools' * self.tools}{ends}"


@dataclass(slots=True, kw_only=True)
class Seen:
    """What came of a case.

    Attributes:
        reply: None where it raised.
        answers: what the provider sent, one for each request of the SDK.
    """

    reply: Reply | None = None
    error: BaseException | None = None
    answers: list[Answer] = field(default_factory=list)

    @property
    def error_name(self) -> str | None:
        """Package and class of the exception."""
        if self.error is None:
            return None
        kind = type(self.error)
        return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


class _Watched(FakeProvider):
    """The fake provider, which also keeps what it means to send, by call."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sent: dict[str | None, list[Answer]] = {}

    def plan(self, request: HttpRequest, connection: str, call: str | None) -> PlannedExchange:
        planned = super().plan(request, connection, call)
        answers = [step.answer for step in planned.steps if isinstance(step, Start)]
        self.sent.setdefault(call, []).extend(answers)
        return planned


@cache
def sdks() -> tuple[Sdk, ...]:
    """Return the drivers of all files `sdk_*.py` beside this one."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("sdk_*.py"))
    modules = [importlib.import_module(f"tests.fakes.dialects.{name}") for name in names]
    return tuple(sdk for module in modules for sdk in module.SDKS)


def cases_of(sdk: Sdk) -> tuple[Case, ...]:
    """Return every case of an SDK: good answers first, then each payload of its dialect."""
    good = [Case(stream=stream, tools=tools) for tools in (False, True) for stream in (False, True)]
    errors = [
        Case(payload=name, place=place, stream=place == "stream")
        for place in sdk.places
        for name, payload in load_dialect(sdk.dialect).payloads.items()
        if place == "answer" or _has_error_object(sdk.dialect, payload)
    ]
    ways = [(end, False) for end in sorted(dialect_named(sdk.dialect).ends)]
    ends = [
        Case(stream=stream, ends=end, null=null)
        for end, null in (*ways, ("empty", True))
        for stream in (False, True)
    ]
    return (*good, *ends, *errors)


def _has_error_object(dialect: str, payload: ErrorPayload) -> bool:
    """Whether it can stand inside a stream or a good answer at all: a proxy's page cannot."""
    return payload.body is not None and dialect_named(dialect).error_facts(payload.body) is not None


@cache
def seen_by(sdk: Sdk, way: Way) -> dict[Case, Seen]:
    """Ask every case of `sdk` through one client, and return what came of each."""
    cases = cases_of(sdk)
    plain = [case for case in cases if not case.tools]
    tools = [case for case in cases if case.tools]
    return {
        **_played(sdk, way, plain, {"reply": REPLY}),
        **_played(sdk, way, tools, {"tool_calls": TOOLS}),
    }


def _played(sdk: Sdk, way: Way, cases: list[Case], says: dict[str, Any]) -> dict[Case, Seen]:
    data = load_dialect(sdk.dialect)
    script = ProviderScript(dialect=sdk.dialect, faults=tuple(_rules(cases, data.payloads)), **says)
    seen = {case: Seen() for case in cases}
    run = _asking_async if way == "async" else _asking
    platform.platform()  # Asks the operating system now: in the world it may not start a process.
    with installed():
        world = World(seed=0, limits=_LIMITS, latency_ns=script.latency)
        provider = _Watched(script, data.payloads)
        provider.mount(world)
        ending = world.run(run(sdk, seen, data.base_url, data.model))
    assert ending.reason == "completed", (sdk.client_name, ending.detail, ending.error)
    for case, found in seen.items():
        found.answers = provider.sent.get(f"{case.id}/1", [])
    return seen


def _rules(cases: list[Case], payloads: Any) -> Iterator[FaultRule]:
    for number, case in enumerate(cases):
        if case.ends is not None:
            ending = {"kind": "answer_ends", "how": case.ends, "null": case.null}
            rule = {"id": f"case-{number}", "when": {"task": case.id}, "then": ending}
            yield FaultRule.model_validate(rule)
        if case.payload is None:
            continue
        then: dict[str, Any] = {"kind": _KINDS[case.place], "error": case.payload}
        if case.place == "answer":
            then["status"] = payloads[case.payload].status
        if case.place == "stream":
            then["after_chunks"] = 1
        when = {"task": case.id}
        yield FaultRule.model_validate({"id": f"case-{number}", "when": when, "then": then})


def _asking(sdk: Sdk, seen: dict[Case, Seen], base_url: str, model: str) -> Callable[[], None]:
    def main() -> None:
        CALL_ID.set("client/1")
        with sdk.client(base_url) as client:
            for case, found in seen.items():
                CALL_ID.set(f"{case.id}/1")
                try:
                    found.reply = sdk.ask(client, _ask(case, model))
                except Exception as error:
                    found.error = error

    return main


def _asking_async(sdk: Sdk, seen: dict[Case, Seen], base_url: str, model: str) -> Callable[[], Any]:
    async def main() -> None:
        CALL_ID.set("client/1")
        async with sdk.async_client(base_url) as client:
            for case, found in seen.items():
                CALL_ID.set(f"{case.id}/1")
                try:
                    found.reply = await sdk.ask_async(client, _ask(case, model))
                except Exception as error:
                    found.error = error

    return main


def _ask(case: Case, model: str) -> Ask:
    return Ask(model=model, stream=case.stream, tools=case.tools)


# ---------------------------------------------------------------------- comparing


def complaint(sdk: Sdk, way: Way, case: Case, seen: Seen) -> str:
    """Return in what the SDK disagrees with what is written of it; empty where in nothing."""
    find = _bad_answer if case.payload is None else _bad_error
    found = list(find(sdk, case, seen))
    if len(seen.answers) != 1:
        found.append(f"it made {len(seen.answers)} requests, not one")
    if not found:
        return ""
    installed_version = version(sdk.distribution)
    head = f"{sdk.distribution} {installed_version} disagrees"
    return f"{head}: {sdk.dialect}, {case.id}, {sdk.client_name} ({way}): {'; '.join(found)}"


def _bad_answer(sdk: Sdk, case: Case, seen: Seen) -> Iterator[str]:
    raised = getattr(sdk, "raises", {}).get(case.id)
    if raised is not None and seen.error_name == raised:
        return
    if seen.reply is None:
        yield f"it raised {seen.error_name}: {seen.error}"
        return
    reply = seen.reply
    (said,) = seen.answers[:1]
    text = "" if case.tools else said.text or "" if case.ends else REPLY
    calls = [(call.name, call.arguments) for call in TOOLS] if case.tools else []
    if reply.text != text:
        yield f"the text is {reply.text!r}, not {text!r}"
    if [name for name, _ in reply.tool_calls] != [name for name, _ in calls] or any(
        value != json.loads(arguments)
        for (_, value), (_, arguments) in zip(reply.tool_calls, calls, strict=True)
    ):
        yield f"the tool calls are {reply.tool_calls}"
    word = sdk.finish_words[said.finish_reason or "none"]
    if reply.finish_reason != word:
        yield f"the finish reason is {reply.finish_reason!r}, not {word!r}"
    if bool(reply.refusal) != (case.ends == "refused"):
        yield f"the refusal is {reply.refusal!r}"
    if said.ends != case.ends:
        yield f"it was to end so: {case.ends}, and was meant so: {said.ends}"
    ask = Ask(model=load_dialect(sdk.dialect).model, stream=case.stream, tools=case.tools)
    for answer in seen.answers:
        yield from sdk.problems(answer, ask)


def _bad_error(sdk: Sdk, case: Case, seen: Seen) -> Iterator[str]:
    expected, payload = _expected(sdk, case)
    if seen.error_name != expected.error:
        got = (
            f"{seen.error_name}: {seen.error}" if seen.error else f"nothing, and said {seen.reply}"
        )
        yield f"it raised {got}; expected is {expected.error} ({expected.because})"
        return
    if seen.error is None:
        return
    told = sdk.status_told(seen.error)
    if case.place == "answer" and told != payload.status:
        yield f"the exception tells the status {told}, not {payload.status}"
    facts = None
    if payload.body is not None:
        facts = dialect_named(sdk.dialect).error_facts(payload.body)
    words = str((facts or {}).get("message") or "")
    if not expected.mute and words not in str(seen.error):
        yield f"the exception says {str(seen.error)!r}, and not {words!r}"
    if expected.mute and words and words in str(seen.error):
        yield f"the exception has the provider's words, though {expected.mute}"


def _expected(sdk: Sdk, case: Case) -> tuple[Expected, ErrorPayload]:
    assert case.payload is not None
    payload = filled(load_dialect(sdk.dialect).payloads[case.payload], EXAMPLES)
    return sdk.expected(case.payload, payload, case.place), payload


# ---------------------------------------------------------------------- printing


def lines_of_table() -> Iterator[str]:
    """Yield the table as Markdown: dialect x error x SDK, and what each way disagrees with."""
    yield f"{'dialect':18} {'SDK':28} {'error':34} {'status':6} answer -> in the stream"
    cells, disagreements = 0, list[str]()
    for sdk in sdks():
        seen = {way: seen_by(sdk, way) for way in sdk.ways}
        for way, cases in seen.items():
            cells += len(cases)
            disagreements += filter(None, (complaint(sdk, way, *pair) for pair in cases.items()))
        yield from _rows(sdk, seen[sdk.ways[0]])
        yield from _notes(sdk)
    yield f"{cells} cells, {len(disagreements)} disagree"
    yield from disagreements


def _rows(sdk: Sdk, seen: dict[Case, Seen]) -> Iterator[str]:
    name = f"{sdk.client_name} ({sdk.distribution} {version(sdk.distribution)})"
    errors: dict[str, list[str]] = {}
    for case, found in seen.items():
        if case.payload is None:
            fine = "raises nothing" if found.error is None else f"raises {found.error_name}"
            yield f"{sdk.dialect:18} {name:28} {case.id:34} {200:<6} {fine}"
        else:
            ended = found.reply.finish_reason if found.reply else None
            told = found.error_name or f"nothing (finish {ended!r})"
            errors.setdefault(case.payload, []).append(f"{case.place}: {told}")
    payloads = load_dialect(sdk.dialect).payloads
    for payload, told in errors.items():
        status = payloads[payload].status
        yield f"{sdk.dialect:18} {name:28} {payload:34} {status:<6} {', '.join(told)}"


def _notes(sdk: Sdk) -> Iterator[str]:
    """Yield where the SDK does not do what its provider's documents lead one to expect."""
    yield from (f"  note: {text}" for text in getattr(sdk, "remarks", ()))
    notes: dict[tuple[str, str], int] = {}
    for case in cases_of(sdk):
        if case.payload is not None:
            expected, _ = _expected(sdk, case)
            for text in filter(None, (expected.differs, expected.mute)):
                key = (text, expected.because)
                notes[key] = notes.get(key, 0) + 1
    for (text, because), count in notes.items():
        yield f"  note ({count} cell{'s' * (count > 1)}): {text} [{because}]"


if __name__ == "__main__":
    for line in lines_of_table():
        sys.stdout.write(f"{line}\n")
