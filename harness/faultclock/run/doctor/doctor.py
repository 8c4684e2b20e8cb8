"""Examines a subject before it is judged: what of it was tried in a simulated world, and worked.

Nothing is said to be well that was not tried. A provider adapter is asked for an answer, for a
stream and under a refusal; a runtime is given a tool, a tool that fails, a tool that needs a yes, a
no, and a restart; anything else makes one healthy run. How good the error handling is, is the
business of `check`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from faultclock.model.scenario.scenario import Role
from faultclock.model.trace.trace import SubjectInfo, Trace
from faultclock.run.doctor.healthy import healthy_scenario
from faultclock.run.doctor.probe import maybe_an_agent
from faultclock.run.doctor.trials import Trial, raised_in, runtime_trials, trial_of_error
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding

__all__ = ["Examination", "Trial", "examine"]

#: Who is asked over the network, by role, in words.
_ASKED: Mapping[Role, str] = {
    "provider_adapter": "the provider",
    "runtime": "the provider",
    "tool": "its service",
    "extension": "its service",
    "session_store": "the network",
}
#: What each task of the healthy run tries, where the task's own name does not say it.
_TRIED: Mapping[tuple[Role, str], str] = {
    ("provider_adapter", "plain"): "a plain answer",
    ("provider_adapter", "streamed"): "a streamed answer",
    ("runtime", "plain"): "a turn",
    ("runtime", "streamed"): "a turn in a stream",
    ("tool", "plain"): "a call with its fixture `valid`",
    ("session_store", "write"): "a write",
    ("session_store", "read"): "a read",
}


class Examination(Struct, frozen=True, kw_only=True):
    """What the runs showed.

    Attributes:
        trials: what was tried, and what was not, with the reason.
        asked: who is asked over the network, in words.
        requests: HTTP requests that it saw in the healthy run.
        emits: kinds of declared facts of the healthy run, with counts.
        shows: what else is worth knowing before a verdict, one line each.
        problems: what else must be mended before a verdict means anything.
        trace: of the healthy run.
    """

    subject: SubjectInfo
    trials: tuple[Trial, ...]
    asked: str
    requests: int
    emits: Mapping[str, int]
    shows: tuple[str, ...]
    problems: tuple[str, ...]
    trace: Trace


def examine(binding: Binding, *, isolate: bool = True, given_requests: bool = True) -> Examination:
    """Try `binding` out, and say what works, what does not, and what was not tried.

    Args:
        isolate: give each run a process of its own.
        given_requests: whether its function takes the request, which says when to stream; False
            for a function of a prompt, which cannot know.
    """
    trace = run_one(healthy_scenario(binding.role), binding, 0, isolate=isolate)
    trials = [_of_task(trace, task.id) for task in trace.header.scenario.tasks]
    if binding.role in ("provider_adapter", "runtime"):
        trials = [trials[0], _streamed(trials[1], trace, binding, given_requests=given_requests)]
    problems = (*_OF_ROLE[binding.role](trace), *_of_any(trace))
    if not problems and all(item.state != "broken" for item in trials):
        if binding.role == "provider_adapter":
            trials.append(trial_of_error(binding, isolate=isolate))
        elif binding.role == "runtime":
            trials += runtime_trials(binding, isolate=isolate)
    emits = Counter(event.kind for event in trace.events if event.kind.startswith("declared."))
    return Examination(
        subject=trace.header.subject,
        trials=tuple(trials),
        asked=_ASKED[binding.role],
        requests=sum(1 for _ in trace.of_kind("http.request")),
        emits=dict(sorted(emits.items())),
        shows=tuple(_SHOWS.get(binding.role, _nothing)(trace)),
        problems=problems,
        trace=trace,
    )


def _of_task(trace: Trace, task: str) -> Trial:
    role = trace.header.scenario.role
    what = _TRIED.get((role, task), f"`{task}`")
    raised = raised_in(trace, task)
    if raised is not None:
        return Trial(what=what, state="broken", found=f"nothing goes wrong, and it raises {raised}")
    if not any(
        str(event.payload["call"]).split("/", 1)[0] == task
        for event in trace.of_kind("call.returned")
    ):
        return Trial(what=what, state="broken", found="nothing goes wrong, and it never ends")
    return Trial(what=what, state="works", found="it returns")


def _streamed(trial: Trial, trace: Trace, binding: Binding, *, given_requests: bool) -> Trial:
    """Return what is known of streams: a call that returned need not have asked for one."""
    requests = list(trace.of_kind("http.request"))
    if trial.state == "broken" or not requests:
        return trial
    if any(event.payload["stream"] for event in requests):
        return Trial(what=trial.what, state="works", found="it asks for a stream, and returns")
    if binding.abilities.streams == "never":
        return Trial(
            what=trial.what,
            state="not tried",
            found="the agent is not run in a stream"
            if binding.is_run_in_one_piece
            else "it declares that it never asks for a stream",
        )
    if binding.role == "runtime":
        return Trial(what=trial.what, state="not tried", found="it never asks for a stream")
    if not given_requests:
        return Trial(
            what=trial.what,
            state="not tried",
            found="it never asks for a stream; @no-streams after its name declares that",
        )
    return Trial(
        what=trial.what,
        state="broken",
        found="it ignores request.stream: faults inside a stream would never be met",
        hint="ask for a stream where request.stream is true, or declare streams=False",
    )


def _of_any(trace: Trace) -> Iterator[str]:
    for event in trace.of_kind("leak"):
        yield (
            f"{event.payload['what']} at {event.payload['site']} cannot be simulated: every run "
            "will be INCONCLUSIVE"
        )
    if trace.footer.ending != "completed":
        yield f"the run ended by {trace.footer.ending}: {'; '.join(trace.footer.detail)}"


def _asks_a_model(trace: Trace) -> Iterator[str]:
    if not any(trace.of_kind("http.request")):
        pointed = "is the client pointed at the real URL?"
        yield f"the provider saw no request: {maybe_an_agent(trace) or pointed}"


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
    "provider_adapter": _asks_a_model,
    "runtime": _asks_a_model,
    "tool": _of_tool,
    "extension": _of_extension,
    "session_store": _nothing,
}
