"""A folder on a simulated disk, for tests of the world: run something on it, look at its acts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from faultclock.model.scenario.disk_script import DiskScript
from faultclock.sim.host.disk import Disk, PlannedCrash
from faultclock.sim.host.disk_state import DiskState, Leaves
from faultclock.sim.kernel.kernel import Ending
from faultclock.sim.world import World


class Lab:
    """A folder, its disk, and the worlds that use it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = DiskState()
        self.world = World()

    def run(
        self,
        subject: Callable[[], Any],
        *,
        rules: list[dict[str, Any]] | None = None,
        crash: tuple[int, Leaves] | None = None,
    ) -> Ending:
        """Run `subject` in a fresh world on the folder."""
        self.world = World()
        script = DiskScript.model_validate({"rules": rules or []})
        disk = Disk(self.world.kernel, self.root, self.state, script)
        if crash is not None:
            act, leaves = crash

            def kill() -> None:
                disk.die(leaves)
                self.world.kernel.crash()

            disk.crash = PlannedCrash(act=act, leaves=leaves, kill=kill)
        ending = self.world.run(subject)
        if ending.reason != "crashed":
            disk.check()
        return ending

    def value(self, subject: Callable[[], Any], **options: Any) -> Any:
        """Return what `subject` returns; fail if it does not."""
        ending = self.run(subject, **options)
        if ending.error is not None:
            raise ending.error
        assert ending.reason == "completed", ending
        assert self.world.kernel.leaks == []
        return ending.value

    @property
    def acts(self) -> list[str]:
        """What was done, as `act file`, with what went wrong behind it."""
        found = []
        for *_, kind, payload in self.world.recorder.events:
            if kind == "disk.acted":
                to = f" -> {payload['to']}" if "to" in payload else ""
                bad = "" if payload["ok"] else f" {payload['error']}"
                found.append(f"{payload['act']} {payload['file']}{to}{bad}")
        return found
