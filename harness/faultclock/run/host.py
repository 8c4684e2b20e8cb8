"""The Host that a subject talks to: all that it declares becomes a trace event.

It records and does nothing else. What the world observed and what the subject declares stay
apart: these kinds all begin with `declared.`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

from faultclock.fakes.plain import plain as plain_value
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel
from faultclock.subjects.outcome import scrub


def plain(value: object) -> Any:
    """Return `value` as JSON data without secrets, addresses and absolute paths in its texts."""
    return plain_value(value, scrub)


class Recording(Protocol):
    """Where facts go: a kernel, or its stand-in in the real world."""

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Record a fact."""
        ...


class RecordingHost:
    """Implements `faultclock.subjects.ports.Host` on a ledger of facts."""

    def __init__(self, ledger: Recording) -> None:
        self._ledger = ledger

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

    def show_operator(
        self, message: str, *, actions: tuple[str, ...] = (), pill: str | None = None
    ) -> None:
        """Declare what the operator is shown."""
        self._declare("operator_message", message=message, actions=list(actions), pill=pill)

    def tell_model(self, shape: Mapping[str, Any]) -> None:
        """Declare what the model gets."""
        self._declare("model_message", shape=shape)

    def delivered(self, text: object) -> None:
        """Declare that a piece of the answer was passed on, by its length and its digest.

        A subject may pass on what is no text.
        """
        piece = text if isinstance(text, str) else str(plain(text))
        digest = hashlib.sha256(piece.encode("utf-8", "surrogatepass")).hexdigest()
        self._declare("content", chars=len(piece), text_sha256=digest)

    def _declare(self, what: str, **payload: Any) -> None:
        if isinstance(self._ledger, Kernel):
            make_room(self._ledger)
        self._ledger.record(
            "subject",
            f"declared.{what}",
            call=current_call(),
            **{name: plain(value) for name, value in payload.items()},
        )
