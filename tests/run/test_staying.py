"""A run in this process cannot end the process."""

from __future__ import annotations

import os

import pytest

from faultclock.run.process.no_exit import staying
from faultclock.run.suite import run_one
from faultclock.sim.kernel.escapes import SimEscape
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import small


@provider_adapter(id="leaves")
def leaves(_request: ProviderRequest) -> str:
    """Ends the process as if all were well."""
    os._exit(0)


def test_a_subject_that_ends_the_process_leaves_a_trace_that_says_so() -> None:
    """Without isolation `os._exit(0)` would be a command that exits with 0 and tells nothing."""
    trace = run_one(small(), leaves, 0, isolate=False)
    assert trace.footer.ending == "escape"
    assert any("os._exit" in line for line in trace.footer.detail)


def test_afterwards_a_process_can_be_left_again_and_a_child_could_all_along() -> None:
    """What is replaced is put back, however the run ended."""
    real = os._exit
    with pytest.raises(SimEscape), staying():
        os._exit(3)
    assert os._exit is real
    with staying():
        child = os.fork()
        if child == 0:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
