"""The process in which a shipped subject asks a served provider: real time, real sockets.

Nothing of the simulation is here: no patch is installed, and no clock is turned. What the harness
and the subject say is written to a pipe, one line a fact, stamped by the machine's monotonic
clock, which all processes share. Run as `python -m faultclock.live.child`. It reads two lines of
JSON from its standard input: the subject, and when that is loaded, the runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario import Scenario
from faultclock.run.calls import Begun, CallDriver, PlannedCall, planned_calls
from faultclock.sim.context import CALL_ID
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.registry import load_subject

__all__ = ["READY", "main"]

#: What it writes first, when the subject is loaded.
READY = b"ready"

#: How long the process lives on after the last call, in seconds: what a subject left running in
#: the background shows itself in this time.
_SETTLE_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One scenario: its calls, and where each of them finds the provider."""

    driver: CallDriver
    calls: tuple[PlannedCall, ...]
    base_urls: Mapping[str, str]
    start_ns: int

    def request(self, call: PlannedCall) -> ProviderRequest:
        return replace(self.driver.request(call.task), base_url=self.base_urls[call.id])

    def wait_s(self, call: PlannedCall) -> float:
        """Return how long to wait before a call begins."""
        return max(0.0, (self.start_ns + call.task.at - time.monotonic_ns()) / SECOND_NS)


class _Ledger:
    """Writes facts of one job as they happen."""

    def __init__(self, number: int, start_ns: int, out: int, lock: threading.Lock) -> None:
        self._number = number
        self._start_ns = start_ns
        self._out = out
        self._lock = lock

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Write a fact; how many there were is of no use here."""
        at_ns = time.monotonic_ns() - self._start_ns
        line = json.dumps([self._number, at_ns, actor, kind, payload]) + "\n"
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
        asyncio.run(_ask_async(jobs, binding))
    else:
        _ask_sync(jobs, binding)


def _job(
    number: int,
    item: Mapping[str, Any],
    binding: Binding,
    out: int,
    lock: threading.Lock,
) -> _Job:
    scenario = Scenario.model_validate(item["scenario"])
    ledger = _Ledger(number, item["start_ns"], out, lock)
    return _Job(
        driver=CallDriver(ledger, binding, scenario),
        calls=tuple(planned_calls(scenario)),
        base_urls=item["base_urls"],
        start_ns=item["start_ns"],
    )


async def _ask_async(jobs: list[_Job], binding: Binding) -> None:
    async def one(job: _Job, call: PlannedCall, before: tuple[asyncio.Task[None], ...]) -> None:
        CALL_ID.set(call.id)
        await asyncio.sleep(job.wait_s(call))
        if before:
            await asyncio.wait(before)
        job.driver.started(call)
        try:
            value = await binding.invoke_async(job.request(call))
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            job.driver.raised(call, error)
        else:
            job.driver.returned(call, value)

    started: list[asyncio.Task[None]] = []
    for job in jobs:
        begun = Begun[asyncio.Task[None]]()
        for call in job.calls:
            made = asyncio.create_task(one(job, call, begun.before(call)))
            started.append(begun.add(call, made))
    await asyncio.gather(*started)
    await asyncio.sleep(_SETTLE_S)


def _ask_sync(jobs: list[_Job], binding: Binding) -> None:
    def one(job: _Job, call: PlannedCall, before: tuple[threading.Thread, ...]) -> None:
        CALL_ID.set(call.id)
        time.sleep(job.wait_s(call))
        for other in before:
            other.join()
        job.driver.started(call)
        try:
            value = binding.invoke_sync(job.request(call))
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            job.driver.raised(call, error)
        else:
            job.driver.returned(call, value)

    threads: list[threading.Thread] = []
    for job in jobs:
        begun = Begun[threading.Thread]()
        for call in job.calls:
            work = (one, job, call, begun.before(call))
            made = threading.Thread(target=contextvars.copy_context().run, args=work, daemon=True)
            threads.append(begun.add(call, made))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(_SETTLE_S)


if __name__ == "__main__":
    main()
