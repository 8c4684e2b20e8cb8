"""What a world remembers of the subject: facts, leaks, and what it touched.

The kernel is built on it. It decides nothing.
"""

from __future__ import annotations

import random
from typing import Any

from faultclock.sim.kernel.env import Ready, SimEnvironment
from faultclock.sim.kernel.recorder import Recorder


class Ledger:
    """The record keeping of one kernel.

    Attributes:
        env: the queue, whose clock stamps the facts.
        recorder: where facts go.
        seed: of everything random in the run.
        epoch_ns: wall-clock time of virtual time 0, in nanoseconds since 1970.
        life: 1-based number of the subject's process; more than 1 after a crash or restart.
        leaks: (what, site) of everything real that was reached for.
        escapes: `what at site` of everything that was refused.
        touched: how often the subject read or drew what the world replaces, by name; a name that
            begins with an underscore is a patch's own memory.
        quiet: the run is being torn down; what happens now is no fact.
    """

    def __init__(
        self,
        recorder: Recorder | None,
        seed: int,
        epoch_ns: int,
        *,
        life: int = 1,
        start_ns: int = 0,
        ready: Ready | None = None,
    ) -> None:
        self.env = env = SimEnvironment(start_ns, ready)
        self.life = life
        self.recorder = recorder or Recorder()
        if self.recorder.now_ns is None:
            self.recorder.now_ns = lambda: env._now
        self.seed = seed
        self.epoch_ns = epoch_ns
        self.leaks: list[tuple[str, str]] = []
        self.escapes: list[str] = []
        self.touched: dict[str, int] = {}
        self.quiet = False
        self._entropy: random.Random | None = None

    @property
    def now_ns(self) -> int:
        """Virtual time in nanoseconds from 0."""
        return self.env._now

    def last_due_ns(self, until_ns: int) -> int | None:
        """Return the last time up to `until_ns` at which something waits to happen, if any."""
        return self.env.last_due_ns(until_ns)

    @property
    def wall_ns(self) -> int:
        """Wall-clock time of the world, in nanoseconds since 1970."""
        return self.epoch_ns + self.env._now

    @property
    def entropy(self) -> random.Random:
        """Where simulated operating-system entropy comes from; apart from `random`'s stream."""
        if self._entropy is None:
            self._entropy = random.Random(f"entropy-{self.seed}")
        return self._entropy

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Record a fact and return its number; 0 while the run is being torn down."""
        return 0 if self.quiet else self.recorder.record(actor, kind, **payload)

    def leak(self, what: str, site: str) -> None:
        """Record that something real got in. The run proves nothing from then on."""
        self.leaks.append((what, site))
        self.record("harness", "leak", what=what, site=site)

    def escaped(self, what: str, site: str) -> None:
        """Record a refusal. The run ends as an escape even if the subject hides it."""
        self.escapes.append(f"{what} at {site}")
        self.leak(what, site)

    def touch(self, name: str) -> None:
        """Count one use of something that the world replaces."""
        self.touched[name] = self.touched.get(name, 0) + 1
