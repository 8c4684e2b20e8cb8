"""Calls a function in a forked child of this process, under a wall-clock watchdog.

The child inherits a warmed subject and leaves nothing behind: no cached client, no loop, no
connection. Its result comes back by pickle over a pipe. When it hangs in something that the
world cannot see (an endless loop, a real lock, C code), the parent asks it for the stacks of
its threads and for what it has so far, kills it, and says where it hung. POSIX only.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.trace.trace import EndingReason
from faultclock.run.process.child import (
    DUMP_SIGNAL,
    HAND_OVER_SIGNAL,
    RAISED,
    SO_FAR,
    UNPICKLABLE,
    answer_calls,
    fork_process,
    part_from,
    write_to,
)
from faultclock.run.process.confinement import RefusedError, Watch
from faultclock.run.process.frames import DamagedError, receive, send
from faultclock.run.process.stacks import Stacks, in_words, stacks_in

T = TypeVar("T")

#: Real seconds that a child gets to write its stacks.
_DUMP_LIMIT_S = 1.5
#: Real seconds that a child gets to hand over what it has so far.
_HAND_OVER_LIMIT_S = 0.8
#: Real seconds that a child may go on after it has closed the pipe of its result.
_END_LIMIT_S = 1.0
#: What became of the result of a child that ended without one.
_ENDED = "it ended"


class Hung(Struct, frozen=True, kw_only=True):
    """The child did not end in time and was killed.

    Attributes:
        detail: one line, then one line a thread that says where it was.
        so_far: what the child had by then; None: nothing, or it hangs where it cannot say.
        ending: of the run that it made.
    """

    detail: tuple[str, ...]
    stacks: Stacks = ()
    so_far: Any = None
    ending: EndingReason = "watchdog"


class Died(Struct, frozen=True, kw_only=True):
    """The child ended without a result: killed by a signal, `os._exit`, or unpicklable.

    Attributes:
        detail: what is known of its end.
        ending: of the run that it made.
    """

    detail: tuple[str, ...]
    ending: EndingReason = "harness_error"


class Child(Generic[T]):
    """A forked child that calls one function, as often as it is asked; used as a context manager.

    It lives until it hangs or dies in a call, or until this is closed.

    Args:
        function: is inherited; what it returns must be picklable.
        output: descriptors that are its standard output and error; None: it has ours.
        confined: refuse it all sockets and processes; False only where no verdict depends on it.
        so_far: called in a child whose time is up; returns what it has, which must be picklable.
    """

    def __init__(
        self,
        function: Callable[..., T],
        *,
        output: tuple[int, int] | None = None,
        confined: bool = True,
        so_far: Callable[[], object] = lambda: None,
    ) -> None:
        asks_read, self._asks = os.pipe()
        self._result, result_write = os.pipe()
        self._dump, dump_write = os.pipe()
        self._parent = os.getpid()
        self._watch = Watch() if confined else None
        self._process = fork_process()
        if self._process == 0:
            part_from(self._parent, self._asks, self._result, self._dump)
            if output is not None:
                write_to(output)
            answer_calls(function, so_far, asks_read, result_write, dump_write, self._watch)
        for theirs in (asks_read, result_write, dump_write):
            os.close(theirs)
        #: As `os.waitpid` gives it, once the child has ended.
        self._status: int | None = None

    @property
    def lives(self) -> bool:
        """Whether it can be asked once more."""
        return self._status is None

    def call(self, *args: Any, wall_limit_s: float | None) -> T | Hung | Died:
        """Call the function there and return what it returns.

        Args:
            args: of the function; they must be picklable.
            wall_limit_s: real seconds after which the child is ended; above 0. None: never, which
                is for children that are not confined.

        Raises:
            BaseException: what the function raised, if that can be pickled; Died says it otherwise.
        """
        deadline_s = None if wall_limit_s is None else time.monotonic() + wall_limit_s
        asked = pickle.dumps(args)
        problem = ""
        try:
            send(self._asks, asked)
            if self._watch is not None and deadline_s is not None:
                self._watch.until_readable(self._result, deadline_s)
            kind, value = self._received(deadline_s)
        except TimeoutError:
            hung = self._where(f"no end after {wall_limit_s:g} s of real time")
            # One that is stopped, or blocks all signals, answers nothing.
            hung = replace(hung, so_far=self._what()) if hung.stacks else hung
            self.close()
            return hung
        except RefusedError as refused:
            where = self._where("", refused.answer).detail[1:]
            self.close()
            return Died(detail=(f"the system call {refused.what}", *where), ending="escape")
        except (EOFError, BrokenPipeError):
            problem = _ENDED
            self._let_end()
        except (DamagedError, pickle.UnpicklingError, ValueError, TypeError) as error:
            problem = f"what it wrote is no result: {error}"
            self.close()
        except BaseException:
            # Most likely a person's Ctrl-C; a child that hangs would keep us waiting for it.
            self.close()
            raise
        if problem:
            return self._died(problem)
        result: T | Died = self._taken(kind, value)
        return result

    def close(self) -> None:
        """End it, and wait for its end; nothing happens where it has ended.

        It has nothing of value once it has answered, and another child may hold its pipes open.
        """
        if self._status is not None:
            return
        if os.getpid() == self._parent:
            # A process that was forked meanwhile only lets go of the pipes.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
        for descriptor in (self._asks, self._result, self._dump):
            os.close(descriptor)
        if self._watch is not None:
            self._watch.close()
        try:
            self._status = os.waitpid(self._process, 0)[1]
        except ChildProcessError:
            self._status = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _received(self, deadline_s: float | None) -> Any:
        return pickle.loads(receive(self._result, deadline_s))  # noqa: S301 - from a child of ours

    def _taken(self, kind: str, value: Any) -> Any:
        if kind == RAISED:
            raise value
        if kind == SO_FAR:
            self.close()
            said = "a signal that is Faultclock's own ended it before its time was up"
            return Died(detail=(said,))
        if kind == UNPICKLABLE:
            return Died(detail=tuple(value))
        return value

    def _died(self, problem: str) -> Died:
        """Return how it died.

        Args:
            problem: what became of its result.
        """
        status = self._status or 0
        confined = self._watch is not None
        if confined and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
            return Died(detail=("a system call for a socket or a process",), ending="escape")
        return Died(detail=(_how_it_died(status) if problem == _ENDED else problem,))

    def _where(self, head: str, then: Callable[[], None] = lambda: None) -> Hung:
        """Make the child write its stacks.

        Args:
            head: the first line of the detail.
            then: what it may need to be able to answer; called as soon as it is asked.
        """
        text = b""
        os.kill(self._process, DUMP_SIGNAL)
        then()
        # The pipe stays open on the child's side: what comes within a moment is all of it.
        deadline_s = time.monotonic() + _DUMP_LIMIT_S
        poller = select.poll()
        poller.register(self._dump, select.POLLIN)
        while poller.poll(max(0.0, deadline_s - time.monotonic()) * 1_000):
            chunk = os.read(self._dump, 1 << 16)
            if not chunk:
                break
            text += chunk
            deadline_s = time.monotonic() + 0.1
        stacks = stacks_in(text.decode("utf-8", "replace"))
        return Hung(detail=(head, *in_words(stacks)), stacks=stacks)

    def _what(self) -> Any:
        """Make the child hand over what it has so far, or return None."""
        os.kill(self._process, HAND_OVER_SIGNAL)
        # It may hang in C code, or have begun to write a result when its time was up.
        with contextlib.suppress(Exception):
            kind, value = self._received(time.monotonic() + _HAND_OVER_LIMIT_S)
            return value if kind == SO_FAR else None
        return None

    def _let_end(self) -> None:
        """Give a child that has closed its pipe a moment to end, so that its exit code is known."""
        with contextlib.suppress(OSError):
            ended = os.pidfd_open(self._process)
            poller = select.poll()
            poller.register(ended, select.POLLIN)
            poller.poll(_END_LIMIT_S * 1_000)
            os.close(ended)
        self.close()


def run_isolated(
    function: Callable[[], T],
    *,
    wall_limit_s: float,
    output: tuple[int, int] | None = None,
    confined: bool = True,
    so_far: Callable[[], object] = lambda: None,
) -> T | Hung | Died:
    """Run `function` in a forked child of its own and return its result, which must be picklable.

    For the arguments see `Child`, and `Child.call` for the limit and for what it raises.
    """
    with Child(function, output=output, confined=confined, so_far=so_far) as child:
        return child.call(wall_limit_s=wall_limit_s)


def run_contained(
    function: Callable[[], T],
    *,
    wall_limit_s: float,
    output: tuple[int, int] | None = None,
    confined: bool = True,
    so_far: Callable[[], object] = lambda: None,
) -> T | Hung | Died:
    """Do what `run_isolated` does, but let no subject interrupt more than its own run.

    A person's Ctrl-C reaches this process too; a KeyboardInterrupt that only the child knows of
    was raised by the code in it.
    """
    try:
        return run_isolated(
            function,
            wall_limit_s=wall_limit_s,
            output=output,
            confined=confined,
            so_far=so_far,
        )
    except KeyboardInterrupt as error:
        if not getattr(error, "__notes__", None):
            raise
        return Died(detail=("the run raised KeyboardInterrupt, without an interrupt from outside",))


def _how_it_died(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the child was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the child ended with exit code {os.waitstatus_to_exitcode(status)} and no result"
