"""A subject of another language in a life: its process, its place in the world, and its notes."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from faultclock.run.folder import FolderKept
from faultclock.run.notes.taking import current_notes
from faultclock.run.process.lifeline import end_with
from faultclock.sim.lockstep import Lockstep
from faultclock.sim.world import World
from faultclock.subjects.binding import Binding


def process_of(binding: Binding) -> AbstractContextManager[None]:
    """Have a fresh process of the subject for one life; a subject of Python needs none."""
    if binding.program is None:
        return nullcontext()
    return binding.program.alive(partial(end_with, os.getpid()))


def connect(binding: Binding, world: World, folder: FolderKept | None) -> None:
    """Give the process of the subject its place in a world that has not begun."""
    if binding.program is not None:
        resume = world.kernel.life > 1
        exchange = binding.program.exchange
        path = None if folder is None else str(folder.path)
        lockstep = Lockstep(world.network, exchange, noted=_note, resume=resume, folder=path)
        binding.program.world = lockstep


def _note(event: dict[str, Any]) -> None:
    """Keep what helps a person to find a line."""
    notes = current_notes()
    if notes is None:
        return
    if event["op"] == "waited":
        notes.waited_at(event["from_ns"], [tuple(place) for place in event["stack"]], event["call"])
    elif event["op"] == "wrote":
        notes.wrote(event["stream"], event["text"], "", "", "", 0)
