"""The Host that a subject talks to: whatever it declares becomes a trace event.

It records and does nothing else. What the world observed and what the subject declares stay
apart: these kinds all begin with `declared.`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from harness.sim.context import current_call
from harness.sim.flood import make_room
from harness.sim.kernel import Kernel
from harness.subjects.outcome import scrub

__all__ = ["RecordingHost", "plain"]

#: Deeper structures are cut: a trace line is evidence, not a memory dump.
_DEPTH_MAX = 6
_TEXT_MAX = 4_000
#: Longer lists are cut, and so is one without an end.
_ITEMS_MAX = 1_000
#: JSON readers keep no larger integers exact, and Python writes none of over 4,300 digits.
_INT_END = 1 << 63


def plain(value: object, depth: int = 0) -> Any:
    """Return `value` as JSON data without floats, whose text would differ between machines.

    Texts are scrubbed of secrets, addresses and absolute paths. Members of an enum and the like
    become plain values: a trace must be readable without the subject's code.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        whole = int.__int__(value)
        return whole if abs(whole) < _INT_END else f"<an integer of {whole.bit_length()} bits>"
    if isinstance(value, str):
        return _text(value)
    if depth < _DEPTH_MAX:
        if isinstance(value, Mapping):
            items = islice(value.items(), _ITEMS_MAX)
            return {_text(str(key)): plain(item, depth + 1) for key, item in items}
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return [plain(item, depth + 1) for item in islice(value, _ITEMS_MAX)]
    if isinstance(value, float):
        return float.__repr__(value)
    return f"<{type(value).__name__}>"


def _text(value: str) -> str:
    whole = str.__str__(value)
    text = scrub(whole[:_TEXT_MAX])
    return text if len(whole) <= _TEXT_MAX else f"{text}…"


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

    def event(self, name: str, /, **fields: Any) -> None:
        """Declare one observability event."""
        self._declare("event", name=name, fields=fields)

    def audit_event(self, name: str, /, **fields: Any) -> None:
        """Declare one audit record that is no error."""
        self._declare("audit_event", name=name, fields=fields)

    def show_user(self, message: str) -> None:
        """Declare what the user is shown."""
        self._declare("user_message", message=message)

    def tell_model(self, shape: Mapping[str, Any]) -> None:
        """Declare what the model is told."""
        self._declare("model_message", shape=shape)

    def _declare(self, what: str, **payload: Any) -> None:
        make_room(self._kernel)
        self._kernel.record(
            "subject",
            f"declared.{what}",
            call=current_call(),
            **{name: plain(value) for name, value in payload.items()},
        )
