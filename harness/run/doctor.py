"""Examines a subject before it is judged: is it bound right, does it answer, what does it emit.

One healthy run in the simulated world shows it, whatever the role; what has to be there depends
on the role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.model.scenario import Role
from harness.model.trace import SubjectInfo, Trace
from harness.run.prepare import healthy_scenario
from harness.run.suite import run_one
from harness.subjects.binding import Binding

__all__ = ["Examination", "examine"]

#: Who is asked over the network, by role, in words.
_ASKED: Mapping[Role, str] = {
    "provider_adapter": "the provider",
    "runtime": "the provider",
    "tool": "its service",
    "extension": "its service",
    "session_store": "the network",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What one healthy run showed.

    Attributes:
        answers: task id to what came out: `returned`, `raised Name` or `never ended`.
        asked: who is asked over the network, in words.
        requests: HTTP requests that it saw.
        emits: kinds of declared facts, with counts.
        shows: what else is worth knowing before a verdict, one line each.
        problems: what must be mended before a verdict means anything; empty is healthy.
    """

    subject: SubjectInfo
    answers: Mapping[str, str]
    asked: str
    requests: int
    emits: Mapping[str, int]
    shows: tuple[str, ...]
    problems: tuple[str, ...]
    trace: Trace


def examine(binding: Binding, *, isolate: bool = True) -> Examination:
    """Run `binding` through a healthy scenario of its role and say what is wrong with it.

    Args:
    """
    trace = run_one(healthy_scenario(binding.role), binding, 0, isolate=isolate)
    answers = _answers(trace)
    requests = sum(1 for _ in trace.of_kind("http.request"))
    emits = Counter(event.kind for event in trace.events if event.kind.startswith("declared."))
    problems = [
        f"task {task!r} did not work in a healthy world: {answer}"
        for task, answer in answers.items()
        if answer != "returned"
    ]
    return Examination(
        subject=trace.header.subject,
        answers=answers,
        asked=_ASKED[binding.role],
        requests=requests,
        emits=dict(sorted(emits.items())),
        shows=tuple(_SHOWS.get(binding.role, _nothing)(trace)),
        problems=(*problems, *_OF_ROLE[binding.role](trace), *_of_any(trace)),
        trace=trace,
    )


def _answers(trace: Trace) -> dict[str, str]:
    answers = {task.id: "never ended" for task in trace.header.scenario.tasks}
    for event in trace.of_kind("call.returned", "call.raised"):
        task = str(event.payload["call"]).split("/", 1)[0]
        if event.kind == "call.returned":
            answers[task] = "returned"
        else:
            outer = event.payload["chain"][0]
            answers[task] = f"raised {outer['type']}: {outer['message']}"
    return answers


def _of_any(trace: Trace) -> Iterator[str]:
    for event in trace.of_kind("leak"):
        yield (
            f"{event.payload['what']} at {event.payload['site']} cannot be simulated: every run "
            "will be INCONCLUSIVE"
        )
    if trace.footer.ending != "completed":
        yield f"the run ended by {trace.footer.ending}: {'; '.join(trace.footer.detail)}"


def _of_runtime(trace: Trace) -> Iterator[str]:
    if not any(trace.of_kind("http.request")):
        yield "the provider saw no request: is the client pointed at the real URL?"


def _of_adapter(trace: Trace) -> Iterator[str]:
    yield from _of_runtime(trace)
    requests = list(trace.of_kind("http.request"))
    if requests and not any(event.payload["stream"] for event in requests):
        yield "it ignores request.stream: faults inside a stream would never be met"


def _of_tool(trace: Trace) -> Iterator[str]:
    for event in trace.of_kind("tool.replied"):
        payload = event.payload
        if payload.get("untyped"):
            yield f"its reply cannot be used: {payload['untyped']}"
        elif not payload["ok"]:
            said = f"{payload.get('class')}/{payload.get('code')}: {payload.get('message')}"
            yield (
                f"it failed on its fixture `valid`, though its service is well: {said}; does the "
                "contract say what that service answers (service=…)?"
            )
        elif payload.get("output_problem"):
            yield f"its value does not fit its output schema: {payload['output_problem']}"


def _of_extension(trace: Trace) -> Iterator[str]:
    for event in trace.of_kind("extension.capabilities"):
        if event.payload["phase"] == "activate":
            offered = event.payload["names"]
            missing = [name for name in _contract(trace)["capabilities"] if name not in offered]
            if missing:
                yield f"it declares the capability {missing[0]!r} and does not offer it once active"
    for event in trace.of_kind("extension.residue"):
        left = event.payload["tasks"] + event.payload["threads"]
        if left:
            yield f"{left} of its tasks or threads are left after dispose"


def _nothing(trace: Trace) -> Iterator[str]:
    del trace
    return iter(())


def _contract(trace: Trace) -> Mapping[str, Any]:
    """Return the contract that was declared; empty where the run died before that."""
    declared = next(trace.of_kind("contract.declared"), None)
    return {} if declared is None else declared.payload["contract"]


def _contract_of_tool(trace: Trace) -> Iterator[str]:
    contract = _contract(trace)
    if not contract:
        return
    retry = contract["retry"]
    policy = (
        f"{retry['attempts_max']} attempts, {retry['backoff']} backoff" if retry else "no retry"
    )
    gate = "gated" if contract["gated"] else "not gated"
    yield f"contract of {contract['name']!r}: {policy}, {gate}"
    for name in ("input_schema", "output_schema"):
        if not contract[name]:
            yield f"its {name} accepts anything, so nothing that it is about can be shown"


def _contract_of_extension(trace: Trace) -> Iterator[str]:
    contract = _contract(trace)
    if not contract:
        return
    offers = ", ".join(contract["capabilities"]) or "nothing"
    slot = contract["state_slot"]
    state = "keeps no state" if slot is None else f"keeps state of version {slot}"
    yield f"{contract['kind']} {contract['contract_version']}, offers {offers}, {state}"


_Look = Callable[[Trace], Iterator[str]]
_SHOWS: Mapping[Role, _Look] = {"tool": _contract_of_tool, "extension": _contract_of_extension}
_OF_ROLE: Mapping[Role, _Look] = {
    "provider_adapter": _of_adapter,
    "runtime": _of_runtime,
    "tool": _of_tool,
    "extension": _of_extension,
    "session_store": _nothing,
}
