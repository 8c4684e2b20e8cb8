"""Which call of the harness is running: carried through tasks, threads and executors.

asyncio carries a context variable by itself; `Thread.start` and `ThreadPoolExecutor.submit`
carry this one by our patches. Nothing else of a context crosses a thread, as in CPython.
"""

from __future__ import annotations

from contextvars import ContextVar

#: `task/copy`, such as "ask/1"; None outside a call.
CALL_ID: ContextVar[str | None] = ContextVar("faultclock_call_id", default=None)


def current_call() -> str | None:
    """Return the id of the call that is running, or None."""
    return CALL_ID.get()


#: The tool whose own function is at work, as far as a context reaches; None outside of one.
WORKING: ContextVar[str | None] = ContextVar("faultclock_working", default=None)
