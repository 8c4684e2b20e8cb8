"""The Host that a subject talks to: whatever it declares becomes a trace event.

It records and does nothing else. What the world observed and what the subject declares stay
apart: these kinds all begin with `declared.`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.sim.context import current_call
from harness.sim.kernel import Kernel

__all__ = ["RecordingHost", "plain"]

#: Deeper structures are cut: a trace line is evidence, not a memory dump.
_DEPTH_MAX = 6
_TEXT_MAX = 4_000


def plain(value: object, depth: int = 0) -> Any:
    """Return `value` as JSON data without floats, whose text would differ between machines."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return value if len(value) <= _TEXT_MAX else value[:_TEXT_MAX] + "…"
    if depth < _DEPTH_MAX:
        if isinstance(value, Mapping):
            return {str(key): plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return [plain(item, depth + 1) for item in value]
    if isinstance(value, float):
        return repr(value)
    return f"<{type(value).__name__}>"


class RecordingHost:
    """Implements `harness.subjects.ports.Host` on a kernel's recorder."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def audit(
        self,
        *,
        error_class: str | None,
        code: str | None,
        context: Mapping[str, Any],
        attempt: int | None = None,
    ) -> None:
        """Declare one audit record."""
        record = {"class": error_class, "code": code, "context": context, "attempt": attempt}
        self._declare("audit", record=record)

    def event(self, name: str, **fields: Any) -> None:
        """Declare one observability event."""
        self._declare("event", name=name, fields=fields)

    def show_user(self, message: str) -> None:
        """Declare what the user is shown."""
        self._declare("user_message", message=message)

    def tell_model(self, shape: Mapping[str, Any]) -> None:
        """Declare what the model is told."""
        self._declare("model_message", shape=shape)

    def _declare(self, what: str, **payload: Any) -> None:
        self._kernel.record(
            "subject",
            f"declared.{what}",
            call=current_call(),
            **{name: plain(value) for name, value in payload.items()},
        )
