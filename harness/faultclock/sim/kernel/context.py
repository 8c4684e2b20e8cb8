"""Which call of the harness is running, and in which tool: carried through tasks and threads.

asyncio carries a context variable by itself; `Thread.start` and `ThreadPoolExecutor.submit`
carry these by our patches. Nothing else of a context crosses a thread, as in CPython.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: `task/copy`, such as "ask/1"; None outside a call.
CALL_ID: ContextVar[str | None] = ContextVar("faultclock_call_id", default=None)


def current_call() -> str | None:
    """Return the id of the call that is running, or None."""
    return CALL_ID.get()


#: The tool whose own function is at work, as far as a context reaches; None outside of one.
WORKING: ContextVar[str | None] = ContextVar("faultclock_working", default=None)

#: What a thread takes over from the one that starts it, or hands it work.
Carried = tuple[str | None, str | None]


def carried() -> Carried:
    """Return what the calling thread hands over."""
    return CALL_ID.get(), WORKING.get()


@contextmanager
def carrying(given: Carried) -> Iterator[None]:
    """Go on as what was handed over."""
    call, tool = CALL_ID.set(given[0]), WORKING.set(given[1])
    try:
        yield
    finally:
        CALL_ID.reset(call)
        WORKING.reset(tool)


def outside_calls(main: Callable[[], object]) -> object:
    """Run `main` as belonging to no call, whatever the caller belongs to."""
    CALL_ID.set(None)
    return main()
