"""The port to the person: an interactor shows a request and answers it when the person does.

The answer is pushed, so it can come late, twice or never, as it does in a real user interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from faultclock.model.scenario.interaction_script import InteractionKind
from faultclock.model.scenario.port_values import InteractionAnswer, InteractionRequest


class Interactor(Protocol):
    """One user interface that can show requests. Nothing in it blocks, for any style."""

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def kinds(self) -> tuple[InteractionKind, ...]:
        """What it can show."""
        ...

    def show(
        self, request: InteractionRequest, answer: Callable[[InteractionAnswer], None]
    ) -> None:
        """Show `request`; `answer` is called when the person answers.

        `answer` is called on the event loop (async subject) or on a thread of its own (blocking
        subject). It may raise a TypedError to refuse an answer that comes too late.

        Raises:
            Exception: the user interface is broken.
        """
        ...

    def dismiss(self, request_id: str) -> None:
        """Take the request off the screen; nothing happens if it is not there."""
        ...
