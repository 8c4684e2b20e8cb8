"""The cancellation tree: session > turn > stage > tool.

A cancel goes down, never up or sideways: the descendants first, in the order in which they were
made, then the scope itself. To cancel twice is to cancel once, and a child of a cancelled scope
is born cancelled. It is a cooperative exit and no error: it is told to the audit trail, and the
work that is racing it ends with its typed code, at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextvars import copy_context
from typing import Any, TypeVar

from faultclock.model.scenario.mishap import CancelScope
from faultclock.subjects.ports import TypedError

T = TypeVar("T")

#: The document has three codes; a stage is cancelled as the turn that it stands for.
_CODES: dict[CancelScope, str] = {
    "session": "SessionCancelled",
    "turn": "TurnCancelled",
    "stage": "TurnCancelled",
    "tool": "ToolCancelled",
}
#: How long work that was told to stop may take to do so before it is left behind, in seconds.
_GRACE_S = 1.0


def is_cancellation(error: BaseException) -> bool:
    """Return whether `error` is a cooperative exit: never a failure, and never retried."""
    return isinstance(error, TypedError) and error.error_class == "Cancellation"


class Scope:
    """One scope of the tree.

    Args:
        kind: where in the tree it stands.
        names: what a cancel may call it: the id of a stage; name and call id of a tool call.
        told: called once, at the instant of the cancel, in the context that made the scope.

    Attributes:
        error: the Cancellation with which its work ends; None until it is cancelled.
        reason: `user`, `parent` or `cap`.
    """

    def __init__(
        self,
        kind: CancelScope,
        *names: str,
        told: Callable[[Scope], None],
        parent: Scope | None = None,
    ) -> None:
        self.kind = kind
        self.names = names
        self.parent = parent
        self.error: TypedError | None = None
        self.reason: str | None = None
        self._told = told
        self._children: list[Scope] = []
        self._tasks: list[asyncio.Task[Any]] = []
        # A cancel comes from elsewhere; what it says belongs to the call that made the scope.
        self._context = copy_context()

    @property
    def code(self) -> str:
        """The code of its Cancellation."""
        return _CODES[self.kind]

    def child(self, kind: CancelScope, *names: str) -> Scope:
        """Return a new scope below this one."""
        child = type(self)(kind, *names, told=self._told, parent=self)
        self._children.append(child)
        if self.error is not None:
            child.born_cancelled()
        return child

    def born_cancelled(self) -> None:
        """Be cancelled from the start, since the parent is."""
        self.reason = "parent"
        self.error = self._cancellation("parent")

    def close(self) -> None:
        """Leave the tree: the work of the scope is over."""
        if self.parent is not None and self in self.parent._children:
            self.parent._children.remove(self)

    def cancel(self, reason: str) -> None:
        """Cancel everything below, then this; never blocks."""
        if self.error is not None:
            return
        for child in self.below():
            child.cancel("parent")
        self.reason = reason
        self.error = self._cancellation(reason)
        self._context.run(self._told, self)
        for task in tuple(self._tasks):
            task.cancel()

    def below(self) -> tuple[Scope, ...]:
        """Return the children, in the order in which they were made."""
        return tuple(self._children)

    def find(self, kind: CancelScope, name: str | None) -> Iterator[Scope]:
        """Yield the scopes below of a kind, those called `name` unless that is None."""
        for child in self.below():
            if child.kind == kind and (name is None or name in child.names):
                yield child
            else:
                yield from child.find(kind, name)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`, and end it at once when the scope is cancelled.

        Raises:
            TypedError: Cancellation; see `check`.
        """
        if self.error is not None:
            work.close()
            self.check()
        task = asyncio.ensure_future(work)
        self._tasks.append(task)
        try:
            result = await task
        except (Exception, asyncio.CancelledError):
            self.check()
            raise
        finally:
            self._tasks.remove(task)
        self.check()
        return result

    def check(self) -> None:
        """Raise the Cancellation if there is one: the work was cut off, however it ended.

        Raises:
            TypedError: Cancellation, with the code of the scope that the cancel was for: who
                waits for a turn is told that the session was cancelled, if that is why.
        """
        scope = self
        while scope.reason == "parent" and scope.parent is not None:
            scope = scope.parent
        if scope.error is not None:
            raise scope.error

    def _cancellation(self, reason: str) -> TypedError:
        message = f"the {self.kind} was cancelled ({reason})"
        return TypedError("Cancellation", self.code, message, {"reason": reason})


async def within(deadline_s: float, work: Coroutine[Any, Any, T]) -> T:
    """Await `work` for at most `deadline_s` seconds; stop it in any case before leaving.

    Code of others may ignore that it is cancelled, so it is waited for no longer than a moment.

    Raises:
        TimeoutError: it was not done in time.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=deadline_s)
    except asyncio.CancelledError:
        await _stopped(task)
        raise
    if not task.done():
        await _stopped(task)
        raise TimeoutError(f"not done within {deadline_s:g} s")
    if task.cancelled():
        raise RuntimeError("the work cancelled itself")
    return task.result()


async def _stopped(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE_S)
    if task.done() and not task.cancelled():
        # Looked at, so that it is not told as "never retrieved": the work was given up before.
        task.exception()
