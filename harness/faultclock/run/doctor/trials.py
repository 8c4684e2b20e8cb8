"""The trials of `doctor` beyond a healthy run: an error, tools, approvals, a restart.

Each trial is one small scenario and one question about its trace. What the subject does not do is
not tried, and the reason says how to declare that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.facts.stored_state import says_more
from faultclock.run.bind_scenario import agent_lacks
from faultclock.run.doctor.probe import what_was_raised
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding

#: `works` and `broken` were tried; `look` was, and a person has to say whether it is meant.
State = Literal["works", "broken", "look", "not tried"]

_TOOL = "write_file"
_NO_CALL = "no tool was called before"
#: The calls of a run with a restart.
_RESTARTED = ("write", "restart", "start", "go-on")
_NO_SUCH_THING = "no such thing"
#: How a framework says in its own words that a tool failed, and may keep to itself why.
_FAILED = re.compile(r"error|fail|exception", re.IGNORECASE)
_REFUSED = {
    "id": "refused",
    "then": {"kind": "http_error", "status": 401, "error": "invalid_api_key"},
}
#: Longest answer that a line shows, in characters.
_TEXT_MAX = 60


class Trial(Struct, frozen=True, kw_only=True):
    """One thing that was tried, or was not.

    Attributes:
        what: such as `a failing tool`.
        found: what came of it; for what was not tried, the reason.
        hint: what to do about it.
    """

    what: str
    state: State
    found: str
    hint: str | None = None


def raised_in(trace: Trace, task: str) -> str | None:
    """Return what left the calls of `task`: type, message and line; None where nothing did."""
    for event in trace.of_kind("call.raised"):
        if str(event.payload["call"]).split("/", 1)[0] == task:
            return what_was_raised(event, trace)
    return None


def trial_of_error(binding: Binding, *, isolate: bool = True) -> Trial:
    """Let the provider refuse the key, always, and see what the caller gets."""
    what = "an error"
    task = {"id": "refused", "do": "turn"} if binding.role == "runtime" else {"id": "refused"}
    trace = run_one(
        _scenario(binding, "refused", tasks=[task], provider={"faults": [_REFUSED]}),
        binding,
        0,
        isolate=isolate,
    )
    met = "the provider refuses the key"
    raised = raised_in(trace, "refused")
    if raised is not None:
        return Trial(what=what, state="works", found=f"{met}, and it raises {raised}")
    returned = next(
        (
            event
            for event in trace.of_kind("call.returned")
            if str(event.payload["call"]).startswith("refused/")
        ),
        None,
    )
    if returned is None:
        return Trial(
            what=what,
            state="broken",
            found=f"{met}, and the call never ends ({trace.footer.ending})",
            hint="look at what it waits for",
        )
    text = returned.payload.get("text")
    said = "an object" if text is None else repr(text[:_TEXT_MAX])
    return Trial(
        what=what,
        state="look",
        found=f"{met}, and it returns {said} as if that were an answer",
        hint="let the error leave the call, unless that is meant",
    )


def runtime_trials(binding: Binding, *, isolate: bool = True) -> Iterator[Trial]:
    """Try what a runtime does beside answering: errors, tools, approvals, sessions."""

    def run(name: str, **values: Any) -> Trace:
        return run_one(_scenario(binding, name, **values), binding, 0, isolate=isolate)

    def lacks(name: str, **values: Any) -> str | None:
        lacking = agent_lacks(_scenario(binding, name, **values), binding)
        return None if lacking is None else "the agent has no tool that could be called for it"

    yield trial_of_error(binding, isolate=isolate)
    no_tool = lacks("tool", **_with_tool())
    if no_tool is not None:
        for what in ("a tool", "a tool that fails"):
            yield Trial(what=what, state="not tried", found=no_tool)
        calls_tools = lacks("approved", **_with_tool(gated=True)) is None
    else:
        calls_tools = yield from _tool_trials(binding, run)
    if not calls_tools:
        found = "it declares tools=False" if not binding.abilities.tools else no_tool or _NO_CALL
        for what in ("a tool that needs a yes", "a tool that the person denies"):
            yield Trial(what=what, state="not tried", found=found)
    elif not binding.abilities.approvals:
        for what in ("a tool that needs a yes", "a tool that the person denies"):
            yield Trial(what=what, state="not tried", found="it declares approvals=False")
    elif (no_gate := lacks("approved", **_with_tool(gated=True))) is not None:
        for what in ("a tool that needs a yes", "a tool that the person denies"):
            yield Trial(what=what, state="not tried", found=no_gate)
    else:
        yield from _approval_trials(run)
    yield _restart_trial(binding, run)


#: What breaks when a failed tool ends the turn.
_FAILED_TOOL = "COMMON-RESULT-05"
_Run = Callable[..., Trace]


def _tool_trials(binding: Binding, run: _Run) -> Generator[Trial, None, bool]:
    """Yield two trials; the value is whether the runtime calls tools."""
    failing = "a tool that fails"
    if not binding.abilities.tools:
        for what in ("a tool", failing):
            yield Trial(what=what, state="not tried", found="it declares tools=False")
        return False
    trace = run("tool", **_with_tool())
    trial = _tool_trial(trace, is_own=binding.own_tools is not None)
    yield trial
    if not any(trace.of_kind("tool.called")):
        yield Trial(what=failing, state="not tried", found=_NO_CALL)
        return False
    fault = {"kind": "not_found", "message": _NO_SUCH_THING}
    yield _failing_trial(run("failing-tool", **_with_tool(rule={"fault": fault})), binding)
    return True


def _tool_trial(trace: Trace, *, is_own: bool) -> Trial:
    what = "a tool"
    for event in trace.of_kind("service.unanswered"):
        asked = "{host}, {method} {target}".format_map(event.payload)
        return Trial(
            what=what,
            state="broken",
            found=f"the tool asks {asked}, and nothing says what that host answers",
            hint="say it in a file, and name that with --services: docs/agents.md has an example",
        )
    raised = raised_in(trace, "write")
    called = any(trace.of_kind("tool.called"))
    given = {
        call["id"]
        for event in trace.of_kind("http.exchange_ended")
        for call in event.payload.get("tool_calls", ())
    }
    for event in trace.of_kind("tool.called"):
        if event.payload["tool_call"] not in {*given, ""}:
            return Trial(
                what=what,
                state="broken",
                found=f"it is called with the id {event.payload['tool_call']!r}, which is none of"
                " those that the model gave",
                hint="hand on the id of the model's call: tool.execute(arguments, call_id=…)",
            )
    if raised is not None:
        return Trial(what=what, state="broken", found=f"the model calls it, and {raised} is raised")
    requests = list(trace.of_kind("http.request"))
    made_up = _results(requests[-1].payload) if requests and not called else []
    if made_up:
        said = f"the model is sent a result: {made_up[-1][:_TEXT_MAX]}"
        if is_own:
            return Trial(
                what=what,
                state="broken",
                found=f"no call of it is observed, and {said}",
                hint="call it through its framework: what goes past that is not observed",
            )
        return Trial(
            what=what,
            state="broken",
            found=f"it is never called, and {said}",
            hint="look at how the tool is called: tool.execute(arguments, call_id=…)",
        )
    if not called:
        return Trial(
            what=what,
            state="not tried",
            found="the model calls a tool that it was given, and it calls none",
            hint="call the tool that the model asks for, or declare tools=False",
        )
    if len(requests) < 2:
        return Trial(
            what=what,
            state="broken",
            found="the tool is called, and the model never gets its result",
            hint="ask the model again with the result as a message",
        )
    return Trial(what=what, state="works", found="it is called, and the model gets its result")


def _failing_trial(trace: Trace, binding: Binding) -> Trial:
    what, happens = "a tool that fails", "the tool replies with a problem"
    if binding.own_tools is not None:
        happens = "FileNotFoundError is raised in the place of the tool"
    raised = raised_in(trace, "write")
    if raised is not None:
        return Trial(
            what=what,
            state="look",
            found=f"{happens}, and the turn ends with {raised}",
            hint="give the model the failure as a result, so that it can go on without the tool."
            f" {binding.remedies.get(_FAILED_TOOL, '')}".rstrip(),
        )
    # An agent that is a tool of another has a conversation of its own.
    told = [text for event in trace.of_kind("http.request") for text in _results(event.payload)]
    if not told:
        return Trial(
            what=what,
            state="broken",
            found=f"{happens}, and the model hears nothing of the call",
            hint="ask the model again with the problem as a message",
        )
    says_why = any(_NO_SUCH_THING in text or "NotFound" in text for text in told)
    says_so = binding.own_tools is not None and any(map(_FAILED.search, told))
    if not says_why and not says_so:
        return Trial(
            what=what,
            state="broken",
            found=f"{happens}, and the model is sent {told[-1][:_TEXT_MAX]}",
            hint="say in the message what failed, and why",
        )
    return Trial(what=what, state="works", found="the model gets the problem, and goes on")


def _approval_trials(run: _Run) -> Iterator[Trial]:
    yes, no = "a tool that needs a yes", "a tool that the person denies"
    trace = run("approved", **_with_tool(gated=True))
    if not any(trace.of_kind("interaction.shown")):
        found = "it asks no person before it calls a tool that needs a yes"
        hint = "ask one of surroundings.interactors, or declare approvals=False"
        yield Trial(what=yes, state="not tried", found=found, hint=hint)
        yield Trial(what=no, state="not tried", found=found)
        return
    raised = raised_in(trace, "write")
    called = any(trace.of_kind("tool.called"))
    if raised is not None:
        found = f"the person says yes, and {raised} is raised"
    else:
        found = f"the person says yes, and the tool is {'called' if called else 'not called'}"
    yield Trial(what=yes, state="works" if called and raised is None else "broken", found=found)
    rules = [{"id": "no", "then": {"kind": "deny"}}]
    trace = run("denied", **_with_tool(gated=True, rules=rules))
    raised = raised_in(trace, "write")
    if any(trace.of_kind("tool.called")):
        yield Trial(what=no, state="broken", found="the person says no, and the tool is called")
    elif raised is not None:
        yield Trial(
            what=no,
            state="look",
            found=f"the person says no, and the turn ends with {raised}",
            hint="give the no to the model as the result of that call, unless that is meant",
        )
    else:
        yield Trial(what=no, state="works", found="the person says no, and the tool is not called")


def _restart_trial(binding: Binding, run: _Run) -> Trial:
    what = "a restart that resumes the session"
    if not binding.abilities.sessions:
        return Trial(what=what, state="not tried", found="it declares sessions=False")
    trace = run(
        "restart",
        tasks=[
            {"id": "write", "prompt": "Write it."},
            {"id": "restart", "do": "restart", "at": "15m"},
            {"id": "go-on", "prompt": "And now?", "at": "20m"},
        ],
    )
    raised = next((item for item in map(partial(raised_in, trace), _RESTARTED) if item), None)
    if raised is None and not any(trace.of_kind("store.asked")) and goes_on(trace):
        found = "it has kept its session itself, and answers the next turn"
        return Trial(what=what, state="works", found=found)
    if not any(trace.of_kind("store.asked")) and binding.own_tools is not None:
        found = "a fresh process knows nothing of what was said before"
        if lost := binding.session[1]:
            found += f": {lost}"
        return Trial(what=what, state="not tried", found=found)
    if not any(trace.of_kind("store.asked")):
        return Trial(
            what=what,
            state="not tried",
            found="it stores no session",
            hint="write it to surroundings.store, or declare sessions=False",
        )
    if raised is not None:
        return Trial(what=what, state="broken", found=f"it raises {raised}")
    if not any(event.payload["operation"] == "read" for event in trace.of_kind("store.asked")):
        return Trial(
            what=what,
            state="broken",
            found="it goes on, and never reads what it stored",
            hint="where surroundings.resume is true, read the session from surroundings.store",
        )
    found = "it reads its session, and answers the next turn"
    if kept := binding.session[0]:
        found += f" ({kept})"
    return Trial(what=what, state="works", found=found)


def goes_on(trace: Trace) -> bool:
    """Return whether a fresh process knew something of what was said, wherever it was kept."""
    _, *later = (event.seq for event in trace.of_kind("process.started"))
    requests = list(trace.of_kind("http.request"))
    # What it says itself in the turn comes after its first request.
    anew = next((it for it in requests if later and it.seq > later[0]), None)
    return anew is not None and says_more(anew, requests[0])


def _results(request: Any) -> list[str]:
    """Return the texts of the results of tools that a request sends back."""
    in_words = [str(told["content"]) for told in request.get("in_words", ())]
    return in_words + [
        str(message.get("content", ""))
        for message in request.get("messages", ())
        if message.get("tool_call_id") or message.get("role") == "tool"
    ]


def _with_tool(
    *, gated: bool = False, rule: dict[str, Any] | None = None, rules: Any = ()
) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": _TOOL, "gated": gated}
    if rule is not None:
        tool["rules"] = [{"id": "fails", "then": rule}]
    return {
        "tools": [tool],
        "interactors": [{"rules": list(rules)}],
        "provider": {
            "replies": [
                {"tool_calls": [{"name": _TOOL, "arguments": '{"path": "notes.txt"}'}]},
                {"text": "That was it."},
            ]
        },
        "tasks": [{"id": "write", "prompt": "Write it."}],
    }


def _scenario(binding: Binding, name: str, **values: Any) -> Scenario:
    return scenario_of(
        {
            "id": f"healthy/{name}",
            "title": f"Doctor: {name}",
            "why": "What works here is bound right.",
            "role": binding.role,
            "limits": {"virtual_time": "1h"},
            **values,
        }
    )
