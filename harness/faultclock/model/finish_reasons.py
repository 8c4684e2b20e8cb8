"""Why a whole answer ends, in the words of all providers."""

from __future__ import annotations

_USUAL = frozenset(
    {
        *("stop", "tool_calls", "function_call", "end_turn", "tool_use", "stop_sequence"),
        *("complete", "completed", "tool_call", "finish_reason_unspecified", ""),
    }
)


def is_usual_end(reason: str) -> bool:
    """Return whether an answer with this finish reason is a whole one.

    Example:
        >>> is_usual_end("STOP"), is_usual_end("length")
        (True, False)
    """
    return reason.lower() in _USUAL
