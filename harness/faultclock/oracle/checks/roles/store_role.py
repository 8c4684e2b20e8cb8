"""The role session store: what is acknowledged stays, and what is read is what was written.

A wrong answer is charged to one check: a revision that is gone after a crash to durability, one
that was never written to atomicity, and so on. `store_answers` finds them.
"""

from __future__ import annotations

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.scenario import StoreScenario
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Check, Verdict, Verdicts, also, broken, held, otherwise
from faultclock.oracle.checks.roles.store_answers import Wrong, judged
from faultclock.oracle.checks.roles.store_registers import StoreState, said_by
from faultclock.oracle.facts.history import History, once


class _Row(Struct, frozen=True):
    """A kind of wrong answer: the check that it is charged to, and the words for it."""

    check: str
    expected: str
    observed: str
    hint: str


#: What is wrong, to what is said of it. `do` and `said` are the call's operation and error.
_ROWS = {
    "untyped failure": _Row(
        "unavailable",
        "Session/StoreUnavailable",
        "the disk failed in {do}, and it raised {said}",
        "Turn OSError into the typed error where it crosses the port.",
    ),
    "acknowledged and lost": _Row(
        "unavailable",
        "{error}: the disk failed, and nothing was written",
        "{do} was acknowledged, and {reader} then returned {what}",
        "An error of the disk was caught and forgotten.",
    ),
    "refused": _Row(
        "usable",
        "{do} works: no fault was planted in it",
        "it raised {said}",
        "The store refuses what the port asks of it.",
    ),
    "refused after a crash": _Row(
        "usable",
        "{do} works after a crash: no fault was planted in it",
        "it raised {said}",
        "Does something that a crash left stand in the way, such as a temporary file?",
    ),
    "strange session": _Row(
        "usable",
        "sessions that were written",
        "the list has {name!r}, which was never written",
        "Is a temporary file, or a folder that a crash left, taken for a session?",
    ),
    "torn": _Row(
        "atomicity",
        "the old revision or the new one",
        "{do} raised {said}: what is stored cannot be read",
        "Write beside the file, sync, then rename; never write in place.",
    ),
    "never written": _Row(
        "atomicity",
        "a revision that was written as a whole",
        "{do} returned one that was never written",
        "A part of one revision, or a mixture of two, was taken for a whole one.",
    ),
    "given up": _Row(
        "atomicity",
        "the old revision or the new one",
        "after a write that failed, {do} returned {what}",
        "The old revision was given up before the new one was safe.",
    ),
    "drift mistyped": _Row(
        "drift",
        "Session/ManifestDrift",
        "the files are not what was written, and read raised {said}",
        "Catch what the parser raises, and tell it as drift.",
    ),
    "drift unseen": _Row(
        "drift",
        "{error}",
        "the files are not what was written, and read returned {what}",
        "An unreadable manifest is not an empty one: the next write would end it for good.",
    ),
    "not absent": _Row(
        "unknown",
        "nothing: it was never written",
        "it {what}",
        "A read of something absent is not an error: return None, or an empty journal.",
    ),
    "another's": _Row(
        "isolation",
        "what was written for {own}",
        "it returned what was written for {other}",
        "Does a file name lose a part of the session's or the owner's name?",
    ),
    "stale": _Row(
        "read-your-writes",
        "{kept}",
        "{do} returned {what}",
        "Is a cache filled by reads, and not emptied by writes?",
    ),
    "gone": _Row(
        "durability",
        "{kept}",
        "after {how}, {do} returned {what}",
        "Sync the file before the rename and the folder after it, and then acknowledge.",
    ),
    "disordered": _Row(
        "journal",
        "the {count} entries since the last manifest, in the order of their appends",
        "{what}",
        "Is a journal tied to the manifest that it follows, and read in the order of writing?",
    ),
    "served": _Row(
        "foreign",
        "Session/ResumeMismatch",
        "store {store!r} was asked to {do} what store {writer!r} wrote; it {what}",
        "Compare the store's id in the manifest before anything else is read.",
    ),
    "leak": _Row(
        "errors",
        "a message without absolute paths, secrets and stack traces",
        "it holds {what}",
        "The text of an OSError has the path in it: take `strerror`.",
    ),
}


#: Checks, to the rule of a model that asks less of them: any error, or no secret.
_LENIENT = {
    "unavailable": "store.unavailable.any",
    "drift": "store.drift.any",
    "errors": "store.errors.secret",
}


@once
def _found_of(history: History, model: ErrorModel) -> dict[str, list[Verdict]]:
    """Return all verdicts on a store, by check id."""
    crashes = {event.life: event for event in history.of("process.crashed")}
    edits = frozenset(event.life for event in history.of("disk.edited"))
    lenient = frozenset(check for check, rule in _LENIENT.items() if rule in model.rules)
    faults: dict[str | None, list[TraceEvent]] = {}
    for event in history.of("fault.fired"):
        faults.setdefault(event.call, []).append(event)
    state = StoreState(
        calls=history.calls, faults=faults, edits=edits, crashes=crashes, lenient=lenient
    )
    scenario = history.trace.header.scenario
    disk = scenario.disk if isinstance(scenario, StoreScenario) else None
    # What a crash takes with it: the process, or with the power what is not synced as well.
    keeps = not crashes or (disk is not None and disk.unsynced == "all")
    part = "process" if keeps else "power"
    found: dict[str, list[Verdict]] = {}
    for item in judged(state):
        id_ = f"store.{item if isinstance(item, str) else _ROWS[item.what].check}"
        requirements = also(model, f"{id_}.{part}") or also(model, id_)
        verdicts = found.setdefault(id_, [])
        if isinstance(item, str):
            verdicts.append(held(*requirements))
        else:
            verdicts.append(_broken(item, requirements, state.events_of(item.call)))
    return found


def _broken(wrong: Wrong, requirements: tuple[str, ...], events: tuple[int, ...]) -> Verdict:
    row, call = _ROWS[wrong.what], wrong.call
    words = {"do": call.do, "said": said_by(call), **wrong.words}
    return broken(
        requirements,
        call=call.id,
        expected=row.expected.format(**words),
        observed=row.observed.format(**words),
        events=(*wrong.events, *events),
        hint=row.hint,
    )


def _check(name: str, title: str, says: str, unjudged: str) -> Check:
    id_ = f"store.{name}"

    def run(history: History, model: ErrorModel) -> Verdicts:
        if also(model, id_):
            yield from _found_of(history, model).get(id_, ())
        else:
            yield otherwise("the document says nothing of it")

    return Check(id=id_, title=title, says=says, run=run, role="session_store", unjudged=unjudged)


CHECKS = (
    _check(
        "durability",
        "What was acknowledged survives",
        "A revision, slot or entry that the store acknowledged is there after a crash.",
        "nothing that was acknowledged was read by a later process",
    ),
    _check(
        "atomicity",
        "A write is whole or nothing",
        "After a crash or a failed write, a read returns the old revision or the new one.",
        "nothing was read after a crash or a failed write",
    ),
    _check(
        "read-your-writes",
        "A read sees the last write",
        "In one process, a read returns the last acknowledged write.",
        "nothing was read after it was written",
    ),
    _check(
        "journal",
        "The journal keeps its order",
        "The journal has the entries since the last manifest, in order, each once.",
        "no journal was read",
    ),
    _check(
        "unavailable",
        "A failed disk is reported",
        "An operation raises Session/StoreUnavailable when the disk fails. It never acknowledges a"
        " write that was lost.",
        "the disk never failed",
    ),
    _check(
        "drift",
        "An unreadable session is not an empty one",
        "What cannot be read as it was written raises Session/ManifestDrift.",
        "no file was changed from outside",
    ),
    _check(
        "foreign",
        "Only the writing store reads",
        "A session that another store wrote is refused with Session/ResumeMismatch.",
        "no session of another store was asked for",
    ),
    _check(
        "isolation",
        "Sessions and owners are kept apart",
        "A read returns nothing that was written for another session or owner.",
        "only one thing was kept",
    ),
    _check(
        "unknown",
        "What was never written is absent",
        "A session, slot or journal that was never written is read as absent, without an error.",
        "everything that was read had been written before",
    ),
    _check(
        "usable",
        "A good disk is used",
        "While the disk works, every operation works, also on the files that a crash left.",
        "no operation met a good disk",
    ),
    _check(
        "errors",
        "No secret in an error",
        "The message of an error has no absolute path, no secret and no stack trace.",
        "no error was raised",
    ),
)
