"""Examines a subject before it is judged: is it bound right, does it answer, what does it emit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.payload import ErrorPayload
from harness.model.trace import SubjectInfo, Trace
from harness.run.prepare import healthy_scenario
from harness.run.suite import run_one
from harness.subjects.binding import Binding

__all__ = ["Examination", "examine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What one healthy call showed.

    Attributes:
        answers: task id to what came out: `returned`, `raised Name` or `never ended`.
        requests: HTTP requests that the provider saw.
        emits: kinds of declared facts, with counts.
        problems: what must be mended before a verdict means anything; empty is healthy.
    """

    subject: SubjectInfo
    answers: Mapping[str, str]
    requests: int
    emits: Mapping[str, int]
    problems: tuple[str, ...]
    trace: Trace


def examine(
    binding: Binding, payloads: Mapping[str, ErrorPayload], *, isolate: bool = True
) -> Examination:
    """Run `binding` through a healthy scenario and say what is wrong with it."""
    trace = run_one(healthy_scenario(), binding, 0, payloads, isolate=isolate)
    answers = {task.id: "never ended" for task in trace.header.scenario.tasks}
    for event in trace.of_kind("call.returned", "call.raised"):
        task = str(event.payload["call"]).split("/", 1)[0]
        if event.kind == "call.returned":
            answers[task] = "returned"
        else:
            outer = event.payload["chain"][0]
            answers[task] = f"raised {outer['type']}: {outer['message']}"
    requests = sum(1 for _ in trace.of_kind("http.request"))
    emits = Counter(event.kind for event in trace.events if event.kind.startswith("declared."))
    return Examination(
        subject=trace.header.subject,
        answers=answers,
        requests=requests,
        emits=dict(sorted(emits.items())),
        problems=tuple(_problems(trace, answers, requests)),
        trace=trace,
    )


def _problems(trace: Trace, answers: Mapping[str, str], requests: int) -> list[str]:
    problems = [
        f"task {task!r} did not answer a healthy provider: {answer}"
        for task, answer in answers.items()
        if answer != "returned"
    ]
    if requests == 0:
        problems.append("the provider saw no request: is the client pointed at the real URL?")
    if requests and not any(e.payload["stream"] for e in trace.of_kind("http.request")):
        problems.append("it ignores request.stream: faults inside a stream would never be met")
    problems += [
        f"{event.payload['what']} at {event.payload['site']} cannot be simulated: every run "
        "will be INCONCLUSIVE"
        for event in trace.of_kind("leak")
    ]
    if trace.footer.ending != "completed":
        problems.append(f"the run ended by {trace.footer.ending}: {'; '.join(trace.footer.detail)}")
    return problems
