"""The role session store: what is acknowledged stays, and what is read is what was written.

The checks and what they say; `store_walk` judges.
"""

from __future__ import annotations

from collections.abc import Callable

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.check import Check, Verdict, Verdicts, also, otherwise
from faultclock.oracle.history import History, once
from faultclock.oracle.store_facts import read_store
from faultclock.oracle.store_walk import StoreWalk

__all__ = ["CHECKS"]

#: Check id to its title, what it says, and why it may have looked at nothing.
_SAYS: dict[str, tuple[str, str, str]] = {
    "store.durability": (
        "What was acknowledged survives",
        "A revision, slot or entry that the store acknowledged is there after a crash.",
        "nothing that was acknowledged was read by a later process",
    ),
    "store.atomicity": (
        "A write is whole or nothing",
        "After a crash or a failed write, a read returns the old revision or the new one.",
        "nothing was read after a crash or a failed write",
    ),
    "store.read-your-writes": (
        "A read sees the last write",
        "In one process, a read returns the last acknowledged write.",
        "nothing was read after it was written",
    ),
    "store.journal": (
        "The journal keeps its order",
        "The journal has the entries since the last manifest, in order, each once.",
        "no journal was read",
    ),
    "store.unavailable": (
        "A failed disk is reported",
        "An operation raises Session/StoreUnavailable when the disk fails. It never acknowledges a"
        " write that was lost.",
        "the disk never failed",
    ),
    "store.drift": (
        "An unreadable session is not an empty one",
        "What cannot be read as it was written raises Session/ManifestDrift.",
        "no file was changed from outside",
    ),
    "store.foreign": (
        "Only the writing store reads",
        "A session that another store wrote is refused with Session/ResumeMismatch.",
        "no session of another store was asked for",
    ),
    "store.isolation": (
        "Sessions and owners are kept apart",
        "A read returns nothing that was written for another session or owner.",
        "only one thing was kept",
    ),
    "store.unknown": (
        "What was never written is absent",
        "A session, slot or journal that was never written is read as absent, without an error.",
        "everything that was read had been written before",
    ),
    "store.usable": (
        "A good disk is used",
        "While the disk works, every operation works, also on the files that a crash left.",
        "no operation met a good disk",
    ),
    "store.errors": (
        "No secret in an error",
        "The message of an error has no absolute path, no secret and no stack trace.",
        "no error was raised",
    ),
}


@once
def _walked(history: History, model: ErrorModel) -> dict[str, list[Verdict]]:
    """Return what the walk finds, by check id; one walk does for all checks."""
    disk = history.trace.header.scenario.disk
    return StoreWalk(disk, model, read_store(history.trace), tuple(_SAYS)).run()


def _run(id_: str) -> Callable[[History, ErrorModel], Verdicts]:
    def run(history: History, model: ErrorModel) -> Verdicts:
        if not also(model, id_):
            yield otherwise("the document says nothing of it")
            return
        yield otherwise(_SAYS[id_][2])
        yield from _walked(history, model)[id_]

    return run


CHECKS = tuple(
    Check(id=id_, title=title, says=says, run=_run(id_), role="session_store")
    for id_, (title, says, _) in _SAYS.items()
)
