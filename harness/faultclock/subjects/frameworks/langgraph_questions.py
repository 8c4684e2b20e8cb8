"""What one call of a tool of LangGraph asks a person, and what it is answered.

LangGraph runs a task that was interrupted again from its beginning: it counts the questions of the
task, and the n-th gets the n-th answer, or interrupts where there is none yet (1.2.22, types.py,
`interrupt`). A node may have several calls at once, and one that has its yes acts late here. So a
call takes the number of its question, and the answer to it, when it begins, as if none was late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt

from faultclock.subjects.frameworks.langgraph_interrupts import heeds, says_no

#: Where LangGraph has what a task was resumed with, and where that is written as used.
_SCRATCHPAD, _SEND, _RESUME = "__pregel_scratchpad", "__pregel_send", "__resume__"


class Questions:
    """The questions of one call.

    Args:
        config: what it is called with.
        refused: called with what leaves a tool after a no.
        asks: whether its tool asks at each call.

    Attributes:
        config: what it is to be called with instead.
    """

    def __init__(
        self, tool: BaseTool, config: Any, refused: Callable[[Exception], None], *, asks: bool
    ) -> None:
        self.config: Any = ensure_config(config)
        self._tool, self._asks, self._refused = tool, asks, refused
        self._interrupted = False
        self._asked: list[int] = []
        self._taken: list[int] = []
        given = self.config.get("configurable", {})
        scratchpad: Any = given.get(_SCRATCHPAD)
        self._scratchpad = scratchpad
        self._answers: list[Any] = [] if scratchpad is None else scratchpad.resume
        if scratchpad is None or not asks:
            return
        self._send = given[_SEND]
        self._taken = [scratchpad.interrupt_counter()]
        self._used = self._answers[: self._taken[0] + 1]
        if self._used:
            self._send([(_RESUME, self._used)])
        own = {
            _SCRATCHPAD: replace(scratchpad, interrupt_counter=self._next),
            _SEND: self._write,
        }
        self.config = {**self.config, "configurable": {**given, **own}}

    def __enter__(self) -> None:
        """Begin its work."""

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        """End its work."""
        self._interrupted = isinstance(error, GraphInterrupt)
        if isinstance(error, Exception) and not self.acted() and not self._interrupted:
            self._refused(error)

    def goes_on(self) -> bool:
        """Return whether a call will do its work: it asks nothing, or is answered.

        A no that its tool does not read is as good as a yes.
        """
        return not self._asks or (bool(self._taken) and self._is_yes(self._taken[0]))

    def acted(self) -> bool:
        """Return whether a call that has ended did its work."""
        return not self._interrupted and (not self._asked or self._is_yes(self._asked[-1]))

    def _is_yes(self, number: int) -> bool:
        answered = number < len(self._answers)
        return answered and (not says_no(self._answers[number]) or not heeds(self._tool))

    def _next(self) -> int:
        number: int = self._taken.pop() if self._taken else self._scratchpad.interrupt_counter()
        self._asked.append(number)
        return number

    def _write(self, writes: list[Any]) -> None:
        """Write what is new: a call that is late has fewer answers than one that began after it."""
        new = [it for it in writes if it[0] != _RESUME or len(it[1]) > len(self._used)]
        if new:
            self._send(new)
