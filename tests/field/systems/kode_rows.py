"""KODE SDK's "Error Handling Guide", sentence by sentence.

Lines are those of its repository at the commit that `building.py` names.
"""

from __future__ import annotations

import json
from typing import Any

from tests.field.systems.stories import Row, Story


def _typed(story: Story, type_: str, *, retryable: bool) -> bool:
    told = story.told()
    return (told.get("errorType"), told.get("retryable")) == (type_, retryable)


def _is_whole(told: Any) -> bool:
    return {"ok", "error", "errorType", "retryable", "recommendations"} <= set(told)


def _goes_on(story: Story) -> bool:
    """Return whether the agent answers the next message."""
    return story.said.get("state") == "READY" and len(story.events("done")) > 0


_AGENT = "src/core/agent.ts"

ROWS = (
    # Core principles.
    Row(
        says="All errors are visible and actionable by the model",
        runs=("told throws", "told good"),
        holds=lambda failed, good: all(it.said["asked"] > 1 for it in (failed, good)),
        why="after a tool, failed or not, the model is not asked again until another message"
        f" is sent: `ensureProcessing` sees the step that calls it ({_AGENT}, 782, 960)",
    ),
    Row(
        says="Never Crash - Multi-layer error catching ensures system stability",
        runs=("unheard throws", "unheard model-fails"),
        holds=lambda tool, model: not tool.ended and not model.ended,
        why="without a listener to `error`, the first failure of a tool or the model ends the"
        " process: Node's emitter throws on that name (src/core/events.ts, 57)",
    ),
    Row(
        says="All errors trigger events for monitoring and debugging",
        runs=("told lacks-a-path",),
        holds=lambda it: bool(it.events("error")),
        why=f"arguments that the schema refuses leave none ({_AGENT}, 1047)",
    ),
    # Error types.
    Row(
        says="validation: `_validationError: true`, not retryable (missing required params)",
        runs=("told lacks-a-path",),
        holds=lambda it: _typed(it, "validation", retryable=False),
        why=f"the agent looks first, with Ajv, and its result has neither type nor flag"
        f" ({_AGENT}, 1046); holds where the schema of JSON passes and the one of Zod does not"
        " (`told refused-by-zod`)",
    ),
    Row(
        says="runtime: `_thrownError: true`, retryable",
        runs=("told throws",),
        holds=lambda it: _typed(it, "runtime", retryable=True),
        why="src/tools/tool.ts, 120",
    ),
    Row(
        says="logical: the tool returns `{ok: false}`, retryable",
        runs=("told not-ok",),
        holds=lambda it: _typed(it, "logical", retryable=True),
        why=f"{_AGENT}, 1205",
    ),
    Row(
        says="aborted: tool execution timeout, not retryable",
        runs=("told times-out",),
        holds=lambda it: _typed(it, "aborted", retryable=False),
        why="`tool()` catches the abort as any exception, so it is runtime and retryable"
        " (src/tools/tool.ts, 120); holds for a tool that is no `tool()`"
        " (`told raises-when-aborted`)",
    ),
    Row(
        says="aborted: user interrupt, not retryable",
        runs=("interrupted times-out",),
        holds=lambda it: _typed(it, "aborted", retryable=False),
        why="as above; and the one call gets two results, one of the interrupt and one of the tool"
        f" ({_AGENT}, 1430, 955)",
    ),
    Row(
        says="exception: unexpected exception, retryable",
        runs=("told raises",),
        holds=lambda it: _typed(it, "exception", retryable=True),
        why=f"{_AGENT}, 1252",
    ),
    # Error flow.
    Row(
        says="Parameter validation fails → `{ok: false, error: ..., _validationError: true}`",
        runs=("told lacks-a-path",),
        holds=lambda it: bool(it.told().get("data", {}).get("_validationError")),
        why="as above",
    ),
    Row(
        says="Execution throws → `{ok: false, error: ..., _thrownError: true}`",
        runs=("told throws",),
        holds=lambda it: (
            it.told()["data"] == {"ok": False, "error": "ECONNREFUSED", "_thrownError": True}
        ),
        why="src/tools/tool.ts, 122",
    ),
    Row(
        says="Returns `{ok: false}` → Keep as-is (logical error)",
        runs=("told not-ok",),
        holds=lambda it: it.told()["data"] == {"ok": False, "error": "File not found: lost.txt"},
        why=f"{_AGENT}, 1245",
    ),
    Row(
        says="Normal return → Keep as-is",
        runs=("told good",),
        holds=lambda it: it.told() == {"ok": True, "data": {"text": "Hello."}},
        why=f"below `data` ({_AGENT}, 1201)",
    ),
    Row(
        says="Determine retryability: validation not retryable, others retryable",
        runs=("told refused-by-zod", "told not-ok", "told raises"),
        holds=lambda zod, logical, raised: (
            [it.told()["retryable"] for it in (zod, logical, raised)] == [False, True, True]
        ),
        why="aborted is not retryable, as the guide's own table has it",
    ),
    Row(
        says="Generate recommendations: based on error type and tool name",
        runs=("told not-ok", "told throws"),
        holds=lambda one, other: one.told()["recommendations"] != other.told()["recommendations"],
        why=f"the tool's name decides for logical errors of `fs_*` and `bash_*` ({_AGENT}, 1732)",
    ),
    Row(
        says="Emit tool:error event (ProgressEvent - user visible)",
        runs=("told throws", "told lacks-a-path", "told unknown-tool"),
        holds=lambda *all_: all(it.events("tool:error") for it in all_),
        why=f"not for arguments that the schema refuses, nor for a tool that does not exist; these"
        f" have no tool:end either ({_AGENT}, 1035, 1047)",
    ),
    Row(
        says="Emit error event (MonitorEvent - monitoring system)",
        runs=("told throws", "told lacks-a-path"),
        holds=lambda *all_: all(it.events("error") for it in all_),
        why="as above: not for arguments that the schema refuses",
    ),
    Row(
        says="Return to Model: `ok`, `error`, `errorType`, `retryable`, `recommendations`",
        runs=("told throws", "told lacks-a-path", "told unknown-tool"),
        holds=lambda *all_: all(_is_whole(it.told()) for it in all_),
        why="an unknown tool and refused arguments have no `errorType` and no `retryable`"
        f" ({_AGENT}, 1039, 1050)",
    ),
    # Listening to errors.
    Row(
        says="`agent.on('tool:error', …)`",
        runs=("told throws",),
        holds=lambda it: it.said["heard"]["tool:error"] > 0,
        why=f"never called: `on` knows the events of control and monitor alone ({_AGENT}, 435)",
    ),
    Row(
        says="`agent.on('error', …)`: `event.phase === 'tool'`, `errorType` and `retryable`",
        runs=("told throws", "told raises"),
        holds=lambda *all_: all(
            {"errorType", "retryable"} <= set(it.events("error")[0]["detail"]) for it in all_
        ),
        why=f"an exception, or an abort, has no `retryable` there ({_AGENT}, 1273)",
    ),
    # Model self-adjustment.
    Row(
        says='File Not Found: `"errorType": "logical"`',
        runs=("told file-is-lost",),
        holds=lambda it: _typed(it, "logical", retryable=True),
        why="its own `fs_read` throws, so it is runtime (src/tools/fs_read/index.ts, 18), as the"
        " guide's table has it",
    ),
    Row(
        says='Validation Error: `"Invalid parameters: path is required"`, `"retryable": false`',
        runs=("told lacks-a-path",),
        holds=lambda it: _typed(it, "validation", retryable=False),
        why="the text is Ajv's, without a type or a flag",
    ),
    Row(
        says="3. Retry the tool call",
        runs=("told lacks-a-path",),
        holds=lambda it: it.said["asked"] > 1,
        why="the model is not asked again by itself, as above",
    ),
    # Multi-layer protection.
    Row(
        says="Layer 1: try-catch catches all exceptions",
        runs=("told throws",),
        holds=_goes_on,
        why="src/tools/tool.ts, 120",
    ),
    Row(
        says="Layer 2: try-catch catches call exceptions → errorType: 'exception'",
        runs=("told raises",),
        holds=lambda it: _goes_on(it) and _typed(it, "exception", retryable=True),
        why=f"{_AGENT}, 1249",
    ),
    Row(
        says="Layer 3: safeParse prevents validation exceptions → `_validationError: true`",
        runs=("told refused-by-zod",),
        holds=lambda it: bool(it.told()["data"].get("_validationError")),
        why="where it comes so far: src/tools/tool.ts, 85",
    ),
    Row(
        says="Layer 4: Hook failures don't affect main flow → Log error and continue",
        runs=("preToolUse good", "preModel good", "postToolUse good"),
        holds=lambda *all_: all(it.told().get("ok") is True for it in all_),
        why="a hook before the model or a tool that throws ends the turn, and is reported as a"
        f" failure of the model ({_AGENT}, 864, 1097); after that of a tool, the call has no"
        " result, and the next request is refused; one after a tool makes its good result a"
        " failure (1177)",
    ),
    # Error isolation.
    Row(
        says="Single tool error ≠ Agent crash",
        runs=("told throws", "told raises", "told not-ok"),
        holds=lambda *all_: all(map(_goes_on, all_)),
    ),
    Row(
        says="Agent error ≠ System crash",
        runs=("unheard model-fails",),
        holds=lambda it: not it.ended,
        why="as above, without a listener; holds with a listener (`told model-fails`)",
    ),
    Row(
        says="Tools are completely isolated",
        runs=("told never-replies",),
        holds=_goes_on,
        why="the timeout of 60 s sets a signal, and the agent waits for the tool all the same"
        f" ({_AGENT}, 1164): after one that never replies, it stays WORKING and answers no more",
    ),
    Row(
        says="All errors are traceable",
        runs=("told throws", "told raises"),
        holds=lambda *all_: all(
            it.said["records"][0]["id"] in json.dumps(it.events("error")) for it in all_
        ),
        why=f"the record of the call has it; the monitor's event names no call ({_AGENT}, 1229,"
        " 1267), and refused arguments leave no event",
    ),
    # Best practices.
    Row(
        says="`recommendations` of a tool that returns `{ok: false}`",
        read="holds",
        why=f"{_AGENT}, 1238: not observed",
    ),
    Row(
        says="`await agent.send('Please adjust and retry based on recommendations')`",
        runs=("told throws", "interrupted times-out"),
        holds=lambda *all_: all(map(_goes_on, all_)),
        why="the message after an interrupt is kept unanswered until one more is sent"
        f" ({_AGENT}, 824)",
    ),
    # Error event types.
    Row(
        says="ProgressToolErrorEvent: `channel`, `type`, `call`, `error`, `bookmark`",
        runs=("told throws",),
        holds=lambda it: (
            it.events("tool:error")[0].keys() >= {"channel", "type", "call", "error", "bookmark"}
        ),
    ),
    Row(
        says="MonitorErrorEvent: `severity: 'warn' | 'error'`",
        runs=("told throws", "told raises", "told model-fails"),
        holds=lambda *all_: all(
            event["severity"] in ("warn", "error") for it in all_ for event in it.events("error")
        ),
        why="the type has `info`, too (src/core/types.ts, 209), which was not seen",
    ),
    Row(
        says="MonitorErrorEvent: `phase: 'model' | 'tool' | 'sandbox' | 'system'`",
        runs=("told never-replies",),
        holds=lambda it: all(
            event["phase"] in ("model", "tool", "sandbox", "system") for event in it.events("error")
        ),
        why=f"`lifecycle`, for a step that is found to last too long ({_AGENT}, 789)",
    ),
    # Summary.
    Row(
        says="Tool records (ToolCallRecord) - complete audit",
        runs=("told throws", "told lacks-a-path", "told unknown-tool", "denied good"),
        holds=lambda *all_: all(it.said["records"][0]["auditTrail"] for it in all_),
        why=f"written when all calls of an answer have ended ({_AGENT}, 1018)",
    ),
    Row(
        says="Event timeline (EventBus) - traceable",
        runs=("told throws",),
        holds=lambda it: (
            [event["bookmark"]["seq"] for event in it.said["events"]]
            == sorted({event["bookmark"]["seq"] for event in it.said["events"]})
        ),
    ),
)
