"""The process in which a shipped subject asks a served provider: real time, real sockets.

Nothing of the simulation is here: no patch is installed, and no clock is turned. What the harness
and the subject say is written to a pipe, one line a fact, stamped by the machine's monotonic
clock, which all processes share. Run as `python -m tests.live.real_child`. It reads two lines of
JSON from its standard input: the subject, and when that is loaded, the runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import scenario_of
from faultclock.run.agenda import Agenda
from faultclock.run.drive import AsyncDriver, SyncDriver
from faultclock.run.roles.adapter import Calls
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import load_subject

#: What it writes first, when the subject is loaded.
READY = b"ready"

#: How long the process lives on after the last call: what a subject left running in the
#: background shows itself in this time.
_SETTLE_NS = SECOND_NS // 5


class _Clock:
    """The real time of one job, whose facts it writes as they happen."""

    life = 1

    def __init__(self, number: int, start_ns: int, out: int, lock: threading.Lock) -> None:
        self._number = number
        self._start_ns = start_ns
        self._out = out
        self._lock = lock

    @property
    def now_ns(self) -> int:
        """Real time since the start of the job; negative before it."""
        return time.monotonic_ns() - self._start_ns

    def pause(self, delay_ns: int, /) -> None:
        """Sleep."""
        time.sleep(delay_ns / SECOND_NS)

    def last_due_ns(self, _until_ns: int, /) -> None:
        """Nothing is known of what waits."""

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Write a fact; how many there were is of no use here."""
        line = json.dumps([self._number, self.now_ns, actor, kind, payload]) + "\n"
        data = line.encode()
        with self._lock:
            while data:
                data = data[os.write(self._out, data) :]
        return 0


def main() -> None:
    """Do what standard input says, and write the facts to what standard output was."""
    out = os.dup(1)
    # What the subject prints is no fact.
    os.dup2(2, 1)
    binding = load_subject(json.loads(sys.stdin.readline()))
    # The clocks of the runs start when the subject is there, and not while it is imported.
    os.write(out, READY + b"\n")
    lock = threading.Lock()
    jobs = [
        _job(number, item, binding, out, lock)
        for number, item in enumerate(json.loads(sys.stdin.readline()))
    ]
    if binding.style == "async":
        asyncio.run(_all_async(jobs))
    else:
        _all_sync(jobs)


def _job(
    number: int,
    item: Mapping[str, Any],
    binding: Binding,
    out: int,
    lock: threading.Lock,
) -> Calls:
    scenario = scenario_of(item["scenario"])
    return Calls(
        _Clock(number, item["start_ns"], out, lock),
        binding,
        scenario,
        Agenda.initial(scenario),
        {},
        base_urls=item["base_urls"],
        settle_ns=_SETTLE_NS,
    )


async def _all_async(jobs: list[Calls]) -> None:
    await asyncio.gather(*(AsyncDriver(job).main() for job in jobs))


def _all_sync(jobs: list[Calls]) -> None:
    threads = [threading.Thread(target=SyncDriver(job).main, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
