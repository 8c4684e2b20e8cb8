"""Faultclock: deterministic simulation and conformance tests for error handling.

General layout. Three wings that never import each other meet in `run` and exchange only values
of `model`:

    model      what things are: Scenario, Fault, Trace, ErrorModel, RetryPolicy, Finding, Report
    load       text to model, with file:line:column in every error
    sim        World: virtual time, threads, network, entropy; knows nothing of LLMs
    fakes      World: the other side of every wire, with fault injection
    subjects   the code under test: ports, binding, registry, references, adapters
    mutants    wrong subjects: the references, each with one defect
    oracle     Judgement: pure judge(error model, trace) -> findings
    run        the story in one place: execute, isolate, suite, replay
    render     Report to HTML, JSON, JUnit
    cli        parse, call, write files, exit code

Names that are not imported here are private. They are imported at first use: an adapter that
only says `from faultclock import provider_adapter` pays for nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultclock.subjects.bind_extension import extension
    from faultclock.subjects.bind_runtime import runtime
    from faultclock.subjects.bind_store import session_store
    from faultclock.subjects.bind_tool import tool
    from faultclock.subjects.binding import provider_adapter
    from faultclock.subjects.ports import (
        ExtensionHost,
        Host,
        ProviderRequest,
        Reply,
        RunResult,
        SandboxError,
        Slot,
        SlotDecision,
        StoreSurroundings,
        ToolCall,
        ToolProblem,
        ToolRequest,
        ToolResult,
        ToolRetryRule,
        TypedError,
    )

__all__ = [
    "ExtensionHost",
    "Host",
    "ProviderRequest",
    "Reply",
    "RunResult",
    "SandboxError",
    "Slot",
    "SlotDecision",
    "StoreSurroundings",
    "ToolCall",
    "ToolProblem",
    "ToolRequest",
    "ToolResult",
    "ToolRetryRule",
    "TypedError",
    "extension",
    "provider_adapter",
    "runtime",
    "session_store",
    "tool",
]
__version__ = "0.1.0"

_HOMES = {
    "ExtensionHost": "faultclock.subjects.ports",
    "Host": "faultclock.subjects.ports",
    "ProviderRequest": "faultclock.subjects.ports",
    "Reply": "faultclock.subjects.ports",
    "RunResult": "faultclock.subjects.ports",
    "SandboxError": "faultclock.subjects.ports",
    "Slot": "faultclock.subjects.ports",
    "SlotDecision": "faultclock.subjects.ports",
    "StoreSurroundings": "faultclock.subjects.ports",
    "ToolCall": "faultclock.subjects.ports",
    "ToolProblem": "faultclock.subjects.ports",
    "ToolRequest": "faultclock.subjects.ports",
    "ToolResult": "faultclock.subjects.ports",
    "ToolRetryRule": "faultclock.subjects.ports",
    "TypedError": "faultclock.subjects.ports",
    "extension": "faultclock.subjects.bind_extension",
    "provider_adapter": "faultclock.subjects.binding",
    "runtime": "faultclock.subjects.bind_runtime",
    "session_store": "faultclock.subjects.bind_store",
    "tool": "faultclock.subjects.bind_tool",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
