"""Each function is charged to whose it is; what runs outside of a measured piece is not charged."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from faultclock.run.process.cpu_time import CpuTime, in_words, measured

OWN = "/project/client.py"
LIBRARY = "/env/lib/python3.11/site-packages/fetcher/pool.py"


def _works(file: str, calls: Callable[[], object] = list) -> Callable[[], Any]:
    """Return a function of `file` that takes some time, then calls another."""
    names: dict[str, Any] = {"calls": calls}
    code = "def works():\n    sum(range(20_000))\n    return calls()\n"
    exec(compile(code, file, "exec"), names)
    works: Callable[[], Any] = names["works"]
    return works


def test_each_function_is_charged_to_the_file_that_it_stands_in() -> None:
    """A library belongs to who calls it: the world's own is a part of the world."""
    library = _works(LIBRARY)
    own = _works(OWN, library)
    with CpuTime() as cpu:
        with measured("world", "run"):
            own()
        by_the_subject = cpu.spent()
    with CpuTime() as cpu:
        with measured("world", "run"):
            library()
        by_the_world = cpu.spent()
    assert set(by_the_subject) == {
        ("subject", "client.py"),
        ("libraries", "fetcher"),
        ("world", "run"),
    }
    assert min(by_the_subject["subject", "client.py"], by_the_subject["libraries", "fetcher"]) > 1e4
    assert set(by_the_world) == {("world", "run")}


def test_what_comes_after_a_call_is_charged_to_the_caller_again() -> None:
    """An exception ends a function as a return does."""

    def fails() -> None:
        raise ValueError

    def meets() -> None:
        try:
            _works(LIBRARY, fails)()
        except ValueError:
            sum(range(200_000))

    with CpuTime() as cpu:
        with measured("world", "run"):
            _works(OWN, meets)()
        spent = cpu.spent()
    assert spent["subject", "test_cpu_time.py"] > 5 * spent["libraries", "fetcher"]


def test_a_thread_is_measured_as_well() -> None:
    """A blocking client is called on one."""
    with CpuTime() as cpu:
        with measured("world", "run"):
            thread = threading.Thread(target=_works(OWN))
            thread.start()
            thread.join()
        spent = cpu.spent()
    assert spent["subject", "client.py"] > 1e4


def test_a_piece_may_be_ended_early() -> None:
    """A process that is killed in the middle has told by then what it spent."""
    with CpuTime() as cpu, measured("judge", "oracle") as ended:
        _works(OWN)()
        ended()
        assert sys.getprofile() is None
        assert ("subject", "client.py") in cpu.spent()
        _works(LIBRARY)()
        ended()
        assert ("libraries", "fetcher") not in cpu.spent()


def test_nothing_is_measured_where_nobody_asked_for_it() -> None:
    """Then a run costs what it always does."""
    with measured("world", "run"):
        assert sys.getprofile() is None
        assert threading.getprofile() is None


def test_shares_are_said_in_words() -> None:
    """The largest first; a command that made no run says so."""
    spent = {("world", "sim"): 500, ("libraries", "a"): 200, ("libraries", "b"): 250}
    spent |= {("subject", "client.py"): 50}
    assert in_words(spent) == (
        "processor time: your code 5 %, its libraries 45 %, the simulated world 50 %"
    )
    assert in_words({}) == "no run was made: no processor time was measured"
