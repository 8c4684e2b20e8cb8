"""What a reduction and a choice on a tape are, in words for people."""

from __future__ import annotations

import json
import re
from typing import Any

_SHOWN_MAX = 48
#: Where a list of things lies, and what one of them is called.
_NOUNS = {
    "faults": "the fault",
    "rules": "the rule",
    "cancels": "the cancel",
    "crashes": "the crash",
    "tasks": "the task",
    "tools": "the tool",
    "fallbacks": "the fallback",
    "interactors": "the person",
    "programs": "the program",
    "hooks": "the hook",
    "extensions": "the extension",
    "stages": "the stage",
    "nodes": "the node",
}
_THREADS = {"thread": "thread {}", "deadline": "the patience of thread {}"}
#: What a task's name ends with that another one has before it.
_TWIN = re.compile(r"(.*)~([0-9]{1,4})", re.DOTALL)


def gone_words(path: tuple[str, ...]) -> str:
    """Return what a run is like in which the thing at `path` is gone."""
    holder = path[-2] if len(path) > 1 else ""
    if holder in _NOUNS:
        return f"without {_NOUNS[holder]} {path[-1]}"
    if holder:
        return f"without {path[-1]} of {'.'.join(path[:-1])}"
    return f"without {path[-1]}"


def value_words(path: tuple[str, ...], value: Any) -> str:
    """Return what a run is like in which `value` stands at `path`."""
    if value is None:
        return f"without {'.'.join(path)}"
    text = value if isinstance(value, (str, int)) and value != "" else json.dumps(value)
    shown = str(text)
    if len(shown) > _SHOWN_MAX:
        shown = shown[:_SHOWN_MAX] + "…"
    return f"with {'.'.join(path)} {shown}"


def order_words(before: int, after: int) -> str:
    """Return what became of so many deviations of the order."""
    steps = "1 step that waits" if before == 1 else f"{before} steps that wait"
    if after == 0:
        return f"first in, first out, in place of {steps} for others"
    return f"with {after} of {steps} for others"


def wait_words(stream: str, number: int, others: int) -> str:
    """Return what a run is like in which a step waits for so many others."""
    waits = "does not wait" if others == 0 else f"waits for {_others(others)}"
    return f"where {_step(stream, number)} {waits}"


def draw_words(stream: str, number: int, drawn: int | None) -> str:
    """Return what a run is like in which a draw is this; None: what the seed says."""
    if drawn is None:
        return f"with draw {number} of {stream} as the seed has it"
    return f"with draw {number} of {stream} {_drawn(drawn)}"


def choice_words(stream: str, number: int, value: int) -> str:
    """Return what an entry of a tape does."""
    if stream.startswith("schedule/"):
        return f"{_step(stream, number)} lets {_others(value)} go first that came after it"
    return f"draw {number} of {stream} is {_drawn(value)}"


def _others(count: int) -> str:
    return "1 other" if count == 1 else f"{count} others"


def _drawn(value: int) -> str:
    return "the lowest" if value == 0 else f"{value} of 2^64"


def _step(stream: str, number: int) -> str:
    _, life, lane = stream.split("/", 2)
    when = "" if life == "1" else f" in life {life} of the process"
    return f"step {number} of {_lane(lane)}{when}"


def _lane(lane: str) -> str:
    """Return the owner of a lane."""
    kind, _, which = lane.partition("/")
    if kind == "timer":
        loop, _, name = which.partition("/")
        if not name:
            return f"the timers of event loop {loop}"
        twin = _TWIN.fullmatch(name)
        words = (
            f"the timers of task {name}"
            if twin is None
            else f"the timers of task {twin[1]} (number {twin[2]} of them)"
        )
        return words if loop == "1" else f"{words} of event loop {loop}"
    if kind == "loop":
        return f"the callbacks of event loop {which}"
    if kind == "net":
        connection, _, side = which.partition("/")
        return f"what comes to the {side} of connection {connection}"
    if kind in _THREADS:
        return _THREADS[kind].format(which)
    return "the world's own timers" if lane == "world" else f"`{lane}`"
