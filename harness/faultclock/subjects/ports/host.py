"""The Host: what surrounds every subject. Whatever it is told is written into the trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Host(Protocol):
    """What surrounds the subject: an audit trail, an event bus, a user and a model."""

    def audit(
        self,
        *,
        error_class: str | None,
        code: str | None,
        context: Mapping[str, Any],
        attempt: int | None = None,
    ) -> None:
        """Add a full error record to the audit trail.

        Args:
            error_class: class of the error, None where the error model has none for it.
            code: code of the error, None likewise.
            context: JSON-able details for operators.
            attempt: 1-based number of the attempt that failed.
        """

    def event(self, name: str, /, **fields: Any) -> None:
        """Emit an observability event with JSON-able fields."""

    def show_user(self, message: str) -> None:
        """Show a message, tuned for a person, in the user interface."""

    def show_operator(
        self, message: str, *, actions: tuple[str, ...] = (), pill: str | None = None
    ) -> None:
        """Show the operator of a workflow a message, with what can be done about it.

        Args:
            actions: labels of the actions that are offered.
            pill: the status that the stage is shown with.
        """

    def tell_model(self, shape: Mapping[str, Any]) -> None:
        """Hand a typed, JSON-able error shape to the model."""

    def delivered(self, text: str) -> None:
        """Say that a piece of the answer has just been passed on to whoever asked.

        Args:
            text: the piece. Of it only its length and its digest are written down.
        """

    def audit_event(self, name: str, /, **fields: Any) -> None:
        """Add a record that is no error to the audit trail: a decision, a drift, a persisted state.

        Args:
            name: class of the record, such as `Approval` or `InteractionTimedOut`.
            fields: JSON-able; a record about a tool call has its id in `tool_call`.
        """
