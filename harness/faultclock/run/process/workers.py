"""Who makes the runs: processes, fed in chunks, however they end.

They are forked from this one, so they inherit the warmed subject; one job needs no pool. A cluster
takes their place where one is in use; see `cluster`.

What is computed never depends on how many workers there are, nor on who finishes first. A worker
that dies costs nothing but time: what it had in hand is made again one by one, and the one item
that kills its process is found by itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from itertools import count, islice
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar

from msgspec import Struct

from faultclock.errors import InternalError
from faultclock.run.process.lifeline import end_with

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")

#: Chunks that are handed out for each worker: one in hand, one to go on with.
_AHEAD = 2

#: How much larger a chunk is that goes to a cluster: a task costs some milliseconds there.
_FAR = 4

#: Real seconds between two looks at whether all workers live.
_LOOK_S = 1.0

#: What this process has, by key: its own, or inherited from the one that forked it.
_values: dict[str, Any] = {}
_numbers = count(1)


class Place(Protocol):
    """Where the work is done, if not by processes that are forked from this one."""

    def hands(self) -> int:
        """Return how much is done there at once."""
        ...

    def executor(self) -> Executor:
        """Return what has it done there. Of its tasks, a BrokenExecutor spoils one alone."""
        ...

    def look(self) -> None:
        """Look after what is under way.

        Raises:
            InputError: nothing can come of it any more.
        """
        ...


#: Where the work of this process is done; None: by processes that are forked from it.
_place: Place | None = None


@contextmanager
def working_at(place: Place) -> Iterator[None]:
    """Let all work be done at `place` meanwhile, however many jobs are asked for."""
    global _place
    _place = place
    try:
        yield
    finally:
        _place = None


def hands(jobs: int) -> int:
    """Return how much is done at once where `jobs` are asked for."""
    return jobs if _place is None else _place.hands()


class Shared(Generic[S]):
    """A value that is too large, or of a kind, to be sent with every task.

    Workers have it because they are forked from this process after this. Those of a cluster get it
    once, pickled.

    Args:
        value: what the workers are to have.
        key: its name, where another process has given it one.
    """

    def __init__(self, value: S, key: str | None = None) -> None:
        self.key = key or f"{os.getpid()}-{next(_numbers)}"
        _values[self.key] = value

    def get(self) -> S:
        """Return the value."""
        if self.key not in _values:
            raise InternalError("a worker was not forked from us")
        value: S = _values[self.key]
        return value

    def close(self) -> None:
        """Forget the value in this process."""
        _values.pop(self.key, None)


class Serial(Executor):
    """Does everything at once, in the thread that asks for it."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call it, and return a future that is done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            future.set_exception(error)
        return future


class Workers:
    """The executor that is in use; used as a context manager, which ends what it began.

    Args:
        jobs: how many do the work at once (1 or more). One works in this process.
    """

    def __init__(self, jobs: int = 1) -> None:
        self._jobs = jobs
        self._place = _place
        self._executor: Executor | None = None

    @property
    def ahead(self) -> int:
        """How many chunks to hand out at once."""
        if self._place is not None:
            return _AHEAD * self._place.hands()
        return 1 if self._jobs == 1 else _AHEAD * self._jobs

    @property
    def break_together(self) -> bool:
        """Whether a task that breaks takes all others along."""
        return self._place is None

    def chunk(self, size: int) -> int:
        """Return how many items to hand out at once, if `size` are right for a process."""
        return size if self._place is None else size * _FAR

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have it called by a worker."""
        if self._executor is None:
            self._executor = self._made()
        return self._executor.submit(fn, *args, **kwargs)

    def renew(self) -> None:
        """Let go of an executor that broke; the next task gets a new one."""
        if self.break_together:
            self._end(patiently=False)

    def first_done(self, waiting: Collection[Future[R]]) -> set[Future[R]]:
        """Wait until one of `waiting` is done, and return those that are.

        A worker that was killed while it sent a result holds up all others, and the pool does not
        notice. So this looks after them, and ends the pool with the first that is dead.
        """
        while True:
            done, _ = wait(waiting, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            if done:
                return done
            if self._place is not None:
                self._place.look()
                continue
            processes = getattr(self._executor, "_processes", None) or {}
            if not all(process.is_alive() for process in list(processes.values())):
                _kill(self._executor)

    def __enter__(self) -> Self:
        """Return this; the executor is made when the first task comes."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the workers go; after an error, in the middle of their work."""
        self._end(patiently=kind is None)

    def _made(self) -> Executor:
        if self._place is not None:
            return self._place.executor()
        if self._jobs == 1:
            return Serial()
        # Imported here: one job needs none of it.
        from concurrent.futures.process import ProcessPoolExecutor

        return ProcessPoolExecutor(
            self._jobs,
            mp_context=multiprocessing.get_context("fork"),
            initializer=_begin,
            initargs=(os.getpid(),),
        )

    def _end(self, *, patiently: bool) -> None:
        executor, self._executor = self._executor, None
        if executor is None:
            return
        if not patiently:
            _kill(executor)
        executor.shutdown(cancel_futures=True)


class Chunk(Struct, Generic[T, R], frozen=True):
    """Some items that one worker did, in their order.

    Attributes:
        first: 0-based place of the first among all items.
    """

    first: int
    items: tuple[T, ...]
    results: tuple[R, ...]


def as_finished(
    workers: Workers,
    function: Callable[[tuple[T, ...]], Sequence[R]],
    items: Iterable[T],
    *,
    size: int,
    lost: Callable[[T], R],
) -> Iterator[Chunk[T, R]]:
    """Yield chunks of results as they come, in no order that anybody may rely on.

    Args:
        function: does a chunk; picklable, and so are items and results.
        items: is read only as far as there are workers, so it may end early.
        size: how many items a chunk has at most.
        lost: what stands for the result of an item that kills its worker.

    Raises:
        Exception: what the function raised.
    """
    source = iter(items)
    waiting: dict[Future[Sequence[R]], tuple[int, tuple[T, ...]]] = {}
    place = 0
    while True:
        while len(waiting) < workers.ahead and (part := tuple(islice(source, size))):
            waiting[_submitted(workers, function, part)] = (place, part)
            place += len(part)
        if not waiting:
            return
        done = workers.first_done(waiting)
        broken: list[tuple[int, tuple[T, ...]]] = []
        for future in sorted(done, key=lambda item: waiting[item][0]):
            first, part = waiting.pop(future)
            try:
                results = future.result()
            except BrokenExecutor:
                broken.append((first, part))
            else:
                yield Chunk(first, part, tuple(results))
        if broken:
            if workers.break_together:
                # It is not known which item did it.
                yield from _survivors(waiting, broken)
            workers.renew()
            for first, part in sorted(broken):
                yield Chunk(first, part, tuple(_one_by_one(workers, function, part, lost)))


def in_order(
    workers: Workers,
    function: Callable[[tuple[T, ...]], Sequence[R]],
    items: Iterable[T],
    *,
    size: int,
    lost: Callable[[T], R],
) -> Iterator[R]:
    """Yield the result of each item, in the order of the items; see `as_finished`."""
    early: dict[int, Chunk[T, R]] = {}
    place = 0
    for chunk in as_finished(workers, function, items, size=size, lost=lost):
        early[chunk.first] = chunk
        while (ready := early.pop(place, None)) is not None:
            yield from ready.results
            place += len(ready.items)


def _submitted(
    workers: Workers, function: Callable[[tuple[T, ...]], Sequence[R]], part: tuple[T, ...]
) -> Future[Sequence[R]]:
    try:
        return workers.submit(function, part)
    except BrokenExecutor as error:
        # It broke between two looks: the same as if it broke on this.
        future: Future[Sequence[R]] = Future()
        future.set_exception(error)
        return future


def _survivors(
    waiting: dict[Future[Sequence[R]], tuple[int, tuple[T, ...]]],
    broken: list[tuple[int, tuple[T, ...]]],
) -> Iterator[Chunk[T, R]]:
    """Yield what was done before the pool broke; the rest joins `broken`."""
    for future, (first, part) in list(waiting.items()):
        del waiting[future]
        try:
            results = future.result()
        except BrokenExecutor:
            broken.append((first, part))
        else:
            yield Chunk(first, part, tuple(results))


def _one_by_one(
    workers: Workers,
    function: Callable[[tuple[T, ...]], Sequence[R]],
    part: tuple[T, ...],
    lost: Callable[[T], R],
) -> Iterator[R]:
    """Yield the results of one chunk, each of them made alone."""
    for item in part:
        try:
            future = workers.submit(function, (item,))
            workers.first_done((future,))
            yield from future.result()
        except BrokenExecutor:
            workers.renew()
            yield lost(item)


def _kill(executor: Executor | None) -> None:
    """Kill the processes of a pool, so that all that it waits for ends; others have none."""
    # What they are is not to be had otherwise; a broken pool has forgotten them.
    for pid in list(getattr(executor, "_processes", None) or ()):
        # They are in no terminal's foreground, so a Ctrl-C has not reached them.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    # One may have sent half of a result. Its reader waits for the other half as long as a writer
    # is open, and this process has one, which it never uses.
    results = getattr(executor, "_result_queue", None)
    if results is not None:
        results._writer.close()


def _begin(parent: int) -> None:
    """Begin as a worker: end with the parent, and leave a person's Ctrl-C to it.

    A Ctrl-C would reach every process of the terminal, and disturb the subject of a run that then
    looks finished.
    """
    end_with(parent)
    os.setsid()
