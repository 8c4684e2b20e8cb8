"""Abilities: what a target does when nothing goes wrong, so it is not asked for anything else.

A provider adapter shows what it does in a healthy run and in one whose answer asks for a tool,
which is one of its own where it offers any. A
runtime shows the rest in one more turn: with a tool that needs a yes, a restart behind it, and a
cancel when all is over.
"""

from __future__ import annotations

from typing import Any

from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import CUT_SHORT, Trace
from faultclock.run.bind_scenario import agent_lacks
from faultclock.run.doctor.probe import Probed, what_was_raised
from faultclock.run.doctor.trials import goes_on
from faultclock.run.suite import run_one
from faultclock.subjects.abilities import Abilities

#: One call whose answer asks for a tool.
_TOOL_CALL = scenario_of(
    {
        "id": "healthy/tool-call",
        "title": "An answer that asks for a tool",
        "why": "A client that hands on the tool calls of an answer does something with tools.",
        "provider": {"tool_calls": [{"name": "write_file", "arguments": "{}"}]},
        "limits": {"virtual_time": "1h"},
    }
)

_ASKED = {"tool_calls": [{"name": "write_file", "arguments": '{"path": "notes.txt"}'}]}


def _turn(tools: list[dict[str, Any]]) -> Scenario:
    """Return one turn in which a runtime with such tools can show everything that it does."""
    return scenario_of(
        {
            "id": "healthy/agent",
            "title": "A turn with a tool that needs a yes, and a restart",
            "why": "What it does not do in a healthy world it is not asked to do in a bad one.",
            "role": "runtime",
            "tools": tools,
            "interactors": [{}],
            "provider": {"replies": [*([_ASKED] if tools else []), {"text": "It is written."}]},
            "cancels": [{"id": "late", "scope": "turn", "when": {"at": "10m"}}],
            "tasks": [
                {"id": "write", "prompt": "Write it."},
                {"id": "restart", "do": "restart", "at": "15m"},
                {"id": "go-on", "prompt": "And now?", "at": "20m"},
            ],
            "limits": {"virtual_time": "1h"},
        }
    )


#: From the one that shows the most; a runtime with tools of its own has what it has.
_TURNS = tuple(
    _turn(tools)
    for tools in ([{"name": "write_file", "gated": True}], [{"name": "write_file"}], [])
)


def abilities_of(probed: Probed, wall_limit_s: float | None = None) -> Abilities:
    """Return what a target does, of which a healthy run was made.

    Where a run of it does not come to an end, nothing is known to be missing.

    Args:
        wall_limit_s: real seconds that a run may take; None takes the scenario's.
    """
    binding = probed.binding
    if binding.role == "provider_adapter":
        return _of_adapter(probed, wall_limit_s)
    if binding.role != "runtime":
        return Abilities()
    traces: list[Trace] = []
    for turn in _TURNS:
        if agent_lacks(turn, binding) is None:
            isolate = not binding.inline
            traces.append(run_one(turn, binding, 0, isolate=isolate, wall_limit_s=wall_limit_s))
            if any(traces[-1].of_kind("tool.called")):
                break
    if any(trace.footer.ending in CUT_SHORT for trace in traces):
        return Abilities(streams=probed.streams)

    def shown(kind: str) -> bool:
        return any(any(trace.of_kind(kind)) for trace in traces)

    return Abilities(
        streams=probed.streams,
        # An agent that raised may have been about to call its tools.
        tools=shown("tool.called") or bool(binding.own_tools and shown("call.raised")),
        approvals=shown("interaction.shown"),
        sessions=shown("store.asked") or any(map(goes_on, traces)),
        # A fresh process that knows nothing may have lost it: that is for the scenarios to judge.
        history=binding.abilities.history or any(map(goes_on, traces)),
        cancels=not shown("cancel.unsupported"),
    )


def _of_adapter(probed: Probed, wall_limit_s: float | None) -> Abilities:
    binding = probed.binding
    trace = run_one(_TOOL_CALL, binding, 0, isolate=not binding.inline, wall_limit_s=wall_limit_s)
    unknown = trace.footer.ending in CUT_SHORT
    handed_on = any(event.payload.get("tool_calls") for event in trace.of_kind("call.returned"))
    asked = len(list(trace.of_kind("http.request")))
    raised = [what_was_raised(event, trace) for event in trace.of_kind("call.raised")]
    return Abilities(
        streams=probed.streams,
        tools=probed.tools or unknown or handed_on,
        # A blocking call runs to its end.
        cancels=binding.style == "async",
        runs_tools=probed.tools and (asked > 1 or bool(raised)),
        tool_error=raised[0] if probed.tools and raised else "",
    )
