"""A process beside this one does what it is asked, and knows nothing of what happens here."""

from __future__ import annotations

import os

import pytest

from faultclock.errors import InputError, InternalError
from faultclock.run.process.second_process import Aside


def test_every_call_is_made_in_one_process_beside_this_one() -> None:
    """With its arguments, and with its result."""
    with Aside(lambda number: (number + 1, os.getpid())) as aside:
        first, second = aside(1), aside(2)
    assert (first[0], second[0]) == (2, 3)
    assert first[1] == second[1] != os.getpid()


def test_it_knows_what_was_known_when_it_was_started() -> None:
    """At its first call, unless it was started before."""
    said = ["before"]
    with Aside(lambda: ", ".join(said)) as late, Aside(lambda: ", ".join(said)) as early:
        early.start()
        said.append("after")
        assert early() == "before"
        assert late() == "before, after"


def test_what_the_function_raises_is_raised_here() -> None:
    """And it goes on answering."""

    def checked(number: int) -> int:
        if number < 0:
            raise InputError(f"{number} is below 0", hint="count")
        return number

    with Aside(checked) as aside:
        with pytest.raises(InputError, match="-1 is below 0"):
            aside(-1)
        assert aside(1) == 1


def test_one_that_has_ended_is_told_as_a_fault_of_ours() -> None:
    """Nobody waits for an answer for ever."""
    with Aside(os._exit) as aside, pytest.raises(InternalError, match="is gone"):
        aside(3)


def test_closing_ends_it_whatever_it_does() -> None:
    """Twice is as good as once, and none was started is as good as one."""
    aside = Aside(os.getpid)
    aside.close()
    process = aside()
    aside.close()
    aside.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
