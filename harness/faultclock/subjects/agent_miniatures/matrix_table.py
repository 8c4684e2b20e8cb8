"""How a miniature of the Error Handling Matrix is made: another step, or another runner."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process

from faultclock.subjects.agent_miniatures.table import wrong_in
from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner
from faultclock.subjects.reference_agents.matrix_reading import ProgramRun

__all__ = ["AsksOnly", "matrix"]

matrix = wrong_in("error-matrix")


class AsksOnly(ProgramRunner):
    """Takes SIGTERM for the end of a process."""

    async def stop(self, process: Process, name: str, reason: str) -> None:
        """Say that it has to stop, and go on as if it had."""
        self.emit("run.terminating", run=name, reason=reason)
        process.terminate()
        await asyncio.sleep(self.grace_s)

    def completed(self, process: Process, run: ProgramRun, name: str) -> None:
        """Note an end that never was."""
        if process.returncode is None:
            self.emit("run.completed", run=name, signal="SIGTERM")
        else:
            super().completed(process, run, name)
