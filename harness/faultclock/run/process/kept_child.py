"""A child that makes several runs, one after the other.

A fork copies each page that a run touches, which costs more than the run itself. So a child is kept
for some runs of one subject. It first makes a healthy run, so that what is made at a first call is
there. A run that leaves its process in another state is the last one in it, and one that does not
complete is made again in a child of its own.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Hashable

from faultclock.model.scenario.scenario import Scenario
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.doctor.healthy import healthy_scenario
from faultclock.run.execute import simulate
from faultclock.run.lives import Life, LifeOver
from faultclock.run.notes.output import Spill
from faultclock.run.process.isolate import Child, Died, Hung
from faultclock.run.process.leftovers import state
from faultclock.run.run_result import Happened, so_far
from faultclock.subjects.binding import Binding


class SpoiltError(Exception):
    """A run has to be made in a child of its own."""


class KeptChild:
    """Lives lives of one subject in one child.

    Args:
        lived: lives one life in the child.

    Attributes:
        owner: process that has made it.
        spill: what is written there during a run.
        runs: how many it has begun.
    """

    def __init__(
        self, binding: Binding, lived: Callable[[Binding, Life], LifeOver | Happened]
    ) -> None:
        self.owner = os.getpid()
        self.binding = binding
        self.spill = Spill()
        self.runs = 0
        healthy = bind_scenario(healthy_scenario(binding.role), binding)
        self._child = Child(
            _watched(binding, healthy, lived), output=self.spill.descriptors, so_far=so_far
        )

    @property
    def lives(self) -> bool:
        """Whether it can make another run."""
        return self._child.lives

    def live(self, life: Life, wall_limit_s: float) -> Happened:
        """Live a life there.

        Raises:
            SpoiltError: it did not complete.
        """
        self.runs += 1
        try:
            if self.runs == 1:
                self._child.call(None, wall_limit_s=wall_limit_s)
                if not self.lives:
                    raise SpoiltError
            self.spill.clear()
            made = self._child.call(life, wall_limit_s=wall_limit_s)
        except BaseException as error:
            if getattr(error, "__notes__", None):
                # It was raised there; alone it shows whose it is.
                raise SpoiltError from None
            raise
        if made is None or isinstance(made, (Hung, Died)):
            raise SpoiltError
        over, as_before = made
        if not as_before:
            self._child.close()
        if not isinstance(over, Happened) or over.ending != "completed":
            self._child.close()
            raise SpoiltError
        return over

    def close(self) -> None:
        """End it."""
        self._child.close()
        self.spill.close()


def _watched(
    binding: Binding,
    healthy: Scenario,
    lived: Callable[[Binding, Life], LifeOver | Happened],
) -> Callable[[Life | None], tuple[LifeOver | Happened, bool] | None]:
    """Return what lives a life and says whether its process is as it was before.

    It is first called with None, and makes the healthy run.
    """
    before: Hashable = None
    called = (binding.function, binding.open, binding.classify)

    def watched(life: Life | None) -> tuple[LifeOver | Happened, bool] | None:
        nonlocal before
        if life is None:
            simulate(healthy, binding, 0)
            gc.collect()
            before = state(*called)
            return None
        over = lived(binding, life)
        return over, state(*called) == before

    return watched
