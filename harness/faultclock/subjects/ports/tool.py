"""The ports around a tool.

A runtime under test is handed `Tool`s, which are simulated. A tool under test is a function:

    tool(call) -> ToolResult | any JSON-able value      it replied
               raises anything                          it broke its contract

`execute` is a coroutine function for an async subject and a plain one for a blocking subject.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultclock.subjects.ports.host import Host
from faultclock.subjects.ports.provider import API_KEY


class CancelSignal:
    """Says that work is to stop. It never blocks, and to cancel twice is to cancel once."""

    def __init__(self) -> None:
        self._cancelled = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Say it, and call whoever asked to be told, in the order in which they asked."""
        if self._cancelled:
            return
        self._cancelled = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` when it is cancelled; at once if it is already."""
        if self._cancelled:
            callback()
        else:
            self._callbacks.append(callback)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRetryRule:
    """The retry policy in a tool's contract.

    Attributes:
        attempts_max: attempts in all, the first included.
        backoff: kind of the schedule; `base_s`, `factor` and `cap_s` are its figures.
        jitter_percent: half width around the scheduled wait; 0 for none.
        retryable: codes that are worth another try; every other one is terminal.
    """

    attempts_max: int
    backoff: str
    base_s: float
    factor: int = 2
    cap_s: float | None = None
    jitter_percent: int = 0
    retryable: tuple[str, ...] = ("ExecutionTimeout", "ResourceBusy")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContract:
    """What a tool declares of itself.

    Attributes:
        input_schema, output_schema: JSON Schema; an empty one accepts anything.
        gated: whether a call needs an approval; `destructive`, whether that is a Confirm.
        timeout_s: how long one execution may take, from its start.
        retry: None: a failed call is not tried again.
        agent: whether it is a subagent; `required`, whether a group of them needs it to succeed.
        idempotent: whether it may be executed twice without harm.
        fixtures: arguments by name: `valid`, `invalid` (the schema refuses them), `batch` (they
            make the tool ask its service several times).
        service: what the service behind a tool under test answers when all is well; None for
            the general answer of the simulated service.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] = field(default_factory=dict)
    gated: bool = False
    destructive: bool = False
    timeout_s: float = 30.0
    retry: ToolRetryRule | None = None
    agent: bool = False
    required: bool = True
    idempotent: bool = True
    fixtures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    service: Any = None


class Tool(Protocol):
    """A tool as a runtime sees it."""

    @property
    def contract(self) -> ToolContract:
        """What it declares."""
        ...

    def execute(
        self,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        signal: CancelSignal | None = None,
        work: Callable[[], Any] | None = None,
    ) -> Any:
        """Execute once; return (or, for an async subject, await) the ToolResult.

        Args:
            call_id: id of the tool call, as the model gave it. A framework that hands none to
                the application leaves it out: tool and arguments then say which call it is.
            signal: tells the execution to stop. An async execution also stops when the task that
                awaits it is cancelled.
            work: does what the tool does, where a real one stands behind it. It is called unless
                the scenario has the tool do nothing; its value is the reply.

        Raises:
            TypedError: Cancellation/ToolCancelled, when the signal stopped it.
            Exception: the tool broke its contract, or `work` raised it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """What a tool under test is called with.

    Attributes:
        arguments: JSON-able; they need not fit the tool's schema.
        call_id: id of the tool call.
        timeout_s: the deadline of this execution.
        signal: says when to stop.
        base_url: where the simulated service that it may ask begins, without a slash at its end.
    """

    host: Host
    arguments: Mapping[str, Any]
    call_id: str
    timeout_s: float
    signal: CancelSignal
    base_url: str = "https://tools.example.com/v1"
    api_key: str = field(default=API_KEY, repr=False)
