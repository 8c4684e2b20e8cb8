"""Runs a shipped subject in this real world, and returns what `run.execute` would: a trace.

The provider is served here, the subject asks it from a fresh process of its own. Nothing is
simulated, so a wait of a minute takes a minute: scenarios for it have short ones. Several scenarios
may be run at once; each has a provider of its own, and all calls share one process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultclock.errors import InternalError
from faultclock.live.environment import environment
from faultclock.live.kernel import LiveKernel
from faultclock.live.routes import call_ids
from faultclock.live.sealing import sealed_live
from faultclock.live.servable import check_servable
from faultclock.live.server import LiveServer
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import EndingReason, Trace
from faultclock.run.bind_scenario import bind_scenario
from faultclock.sim.kernel.recorder import Fact
from faultclock.subjects.binding import Binding
from tests.live.real_child import READY

#: How long a subject may take to be imported, in seconds.
_IMPORT_LIMIT_S = 60.0
#: Longest line of facts that is read; a reply of a subject stands in one.
_LINE_BYTES_MAX = 1 << 24
#: Last lines of what a process said that died.
_LAST_WORDS = 5


async def live_traces(
    scenarios: Sequence[Scenario], binding: Binding, seed: int = 0, *, spec: str | None = None
) -> tuple[Trace, ...]:
    """Run `binding` through all `scenarios` at once in real time, and return the sealed traces.

    Args:
        seed: of what the provider makes up, 0 to 2**32 - 1.
        spec: what a process that knows nothing of `binding` loads it by; None: its id.

    Raises:
        InputError: a scenario cannot be served, or is none for this subject.
    """
    filled = tuple(bind_scenario(scenario, binding) for scenario in scenarios)
    for scenario in filled:
        check_servable(scenario)
    child = await _Child.start(binding.id if spec is None else spec, filled[0])
    runs: list[_Run] = []
    try:
        await child.ready()
        runs = [await _Run.start(scenario, seed) for scenario in filled]
        limit_s = max(scenario.limits.wall_time for scenario in filled) / SECOND_NS
        ending, detail = await child.ask(runs, limit_s)
    finally:
        child.kill()
        for run in runs:
            await run.server.stop()
        said = await child.end()
    if ending == "harness_error":
        detail = (*detail, *said)
    return tuple(
        sealed_live(
            run.server.scenario,
            binding,
            seed,
            run.server.kernel,
            elsewhere=run.told,
            ending=ending,
            detail=detail,
        )
        for run in runs
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One scenario that is served, and what the subject's process reported of it."""

    server: LiveServer
    told: list[Fact] = field(default_factory=list)

    @classmethod
    async def start(cls, scenario: Scenario, seed: int) -> _Run:
        server = LiveServer(scenario, LiveKernel(asyncio.get_running_loop()), seed=seed)
        await server.start()
        # The subject's process says itself when its calls begin.
        server.expect_calls()
        return cls(server=server)

    def asked(self) -> dict[str, Any]:
        """Return what the child gets of it."""
        server = self.server
        return {
            "scenario": server.scenario.model_dump(mode="json"),
            "start_ns": server.kernel.start_ns,
            "base_urls": {call: server.base_url(call) for call in call_ids(server.scenario)},
        }


class _Child:
    """The subject's process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stderr is not None, "it was made with pipes"
        self._words = asyncio.create_task(process.stderr.read())

    @classmethod
    async def start(cls, spec: str, scenario: Scenario) -> _Child:
        variables = environment(scenario.provider.dialect, "http://127.0.0.1", {})
        # It finds what this process finds, wherever it was started.
        variables["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in sys.path)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.live.real_child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES_MAX,
            env={**os.environ, **variables},
        )
        child = cls(process)
        await child._write(spec)
        return child

    async def ready(self) -> None:
        """Wait until the subject is loaded.

        Raises:
            InternalError: it could not be, in a process that has all that this one has.
        """
        assert self._process.stdout is not None, "it was made with pipes"
        async with asyncio.timeout(_IMPORT_LIMIT_S):
            line = await self._process.stdout.readline()
        if line.strip() != READY:
            said = (await self._words).decode("utf-8", "replace")
            raise InternalError(f"the process of a live subject did not start: {said}")

    async def ask(
        self, runs: Sequence[_Run], limit_s: float
    ) -> tuple[EndingReason, tuple[str, ...]]:
        """Have all calls made, and return how it ended."""
        await self._write([run.asked() for run in runs])
        try:
            async with asyncio.timeout(limit_s):
                await self._hear(runs)
                code = await self._process.wait()
        except TimeoutError:
            return "watchdog", (f"no end after {limit_s:g} s of real time",)
        if code:
            return "harness_error", (f"the process of the subject ended with code {code}",)
        return "completed", ()

    async def _hear(self, runs: Sequence[_Run]) -> None:
        assert self._process.stdout is not None, "it was made with pipes"
        while line := await self._process.stdout.readline():
            number, at_ns, actor, kind, payload = json.loads(line)
            run = runs[number]
            run.told.append((len(run.told) + 1, at_ns, actor, kind, payload))

    def kill(self) -> None:
        """End it, if it has not ended by itself."""
        if self._process.returncode is None:
            self._process.kill()

    async def end(self) -> tuple[str, ...]:
        """Wait for its end and return its last words."""
        await self._process.wait()
        said = (await self._words).decode("utf-8", "replace")
        return tuple(said.splitlines()[-_LAST_WORDS:])

    async def _write(self, value: object) -> None:
        assert self._process.stdin is not None, "it was made with pipes"
        self._process.stdin.write(json.dumps(value).encode() + b"\n")
        await self._process.stdin.drain()
