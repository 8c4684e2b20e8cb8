"""What is computed does not depend on who computes it, nor on who survives it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection

import pytest

from faultclock.errors import InputError, InternalError
from faultclock.run.process.workers import Serial, Shared, Workers, as_finished, in_order

ITEMS = tuple(range(23))


def squares(items: tuple[int, ...]) -> list[int]:
    """Do a chunk."""
    return [item * item for item in items]


def mortal(items: tuple[int, ...]) -> list[int]:
    """Do a chunk; the number 13 kills whoever does it."""
    if 13 in items:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(items)


def large(items: tuple[int, ...]) -> list[bytes]:
    """Do a chunk whose result is far longer than a pipe holds."""
    return [bytes(10_000_000) for _ in items]


def cut_off(items: tuple[int, ...]) -> list[int]:
    """Do a chunk; the worker of the number 13 is killed when it has sent half of its result."""

    def send_half(self: Connection, content: bytes) -> None:
        os.write(self.fileno(), content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    if 13 in items:
        Connection._send = send_half  # type: ignore[attr-defined]
    return squares(items)


def failing(items: tuple[int, ...]) -> list[int]:
    """Do a chunk, but for one that has a 5."""
    if 5 in items:
        raise InputError("five")
    return squares(items)


def nothing(item: int) -> int:
    """Stand for a result that nobody lived to tell."""
    return -item


@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_items(jobs: int, size: int) -> None:
    """However many do the work, in chunks of whatever size."""
    with Workers(jobs) as workers:
        found = tuple(in_order(workers, squares, ITEMS, size=size, lost=nothing))
    assert found == tuple(squares(ITEMS))


def test_the_items_are_read_no_further_than_there_are_workers() -> None:
    """So whoever yields them may stop at any time, and nothing that was yielded is left undone."""
    read: list[int] = []

    def items() -> Iterator[int]:
        for item in ITEMS:
            read.append(item)
            yield item

    with Workers(2) as workers:
        chunks = as_finished(workers, squares, items(), size=2, lost=nothing)
        next(chunks)
        assert len(read) <= workers.ahead * 2
        left = [result for chunk in chunks for result in chunk.results]
    assert len(left) == len(ITEMS) - 2


def test_the_item_that_kills_its_worker_is_told_and_no_other_is_lost() -> None:
    """All others are there once, those included that were in hand when it happened."""
    with Workers(2) as workers:
        found = tuple(in_order(workers, mortal, ITEMS, size=4, lost=nothing))
    assert found == tuple(-13 if item == 13 else item * item for item in ITEMS)


def test_a_worker_killed_while_it_sends_a_result_holds_nothing_up() -> None:
    """Nothing waits for the rest of that result: its chunk is done again, and so are the others."""
    with Workers(2) as workers:
        found = tuple(in_order(workers, cut_off, ITEMS, size=1, lost=nothing))
    assert found == tuple(-item if item == 13 else item * item for item in ITEMS)


def test_to_stop_early_ends_though_large_results_are_under_way() -> None:
    """Workers that are ended in the middle of a result leave no reader waiting for its rest."""

    def stop_at_the_first() -> None:
        with Workers(2) as workers:
            next(as_finished(workers, large, ITEMS, size=1, lost=lambda _: b""))
            raise InputError("enough")

    for _ in range(5):
        with pytest.raises(InputError):
            stop_at_the_first()


def test_what_a_task_raises_is_raised_where_its_result_is_read() -> None:
    """An error of ours is no lost run."""
    for jobs in (1, 2):
        with pytest.raises(InputError, match="five"), Workers(jobs) as workers:
            tuple(in_order(workers, failing, ITEMS, size=4, lost=nothing))


def test_a_worker_that_was_forked_from_us_has_what_we_have() -> None:
    """Even what cannot be pickled: nothing is sent but its name."""
    shared = Shared(lambda: 7)
    with Workers(2) as workers:
        (found,) = in_order(workers, partial(_called, shared), (1,), size=1, lost=lambda _: 0)
    assert found == 7
    shared.close()


def _called(shared: Shared[Callable[[], int]], items: tuple[int, ...]) -> list[int]:
    return [shared.get()() for _ in items]


def test_what_is_forgotten_is_an_error_of_ours() -> None:
    """Only workers that were forked before have it still."""
    shared = Shared(0)
    shared.close()
    with pytest.raises(InternalError, match="not forked from us"):
        shared.get()


def test_after_an_error_no_worker_is_left() -> None:
    """They are in no terminal's foreground: nobody but us would end them."""
    pids: set[int] = set()

    def interrupted() -> None:
        with Workers(2) as workers:
            for chunk in as_finished(workers, _pids, ITEMS, size=1, lost=nothing):
                pids.update(chunk.results)
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def _pids(items: tuple[int, ...]) -> list[int]:
    return [os.getpid() for _ in items]


def test_the_serial_executor_lets_a_ctrl_c_through() -> None:
    """It belongs to the person, and to no future."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Serial().submit(interrupted)
