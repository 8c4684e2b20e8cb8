"""One walk over the history of a session store, which judges everything.

A wrong answer is charged to one check: a revision that is gone after a crash to durability, one
that was never written to atomicity, and so on. What cannot be known is not judged: after a disk
lied, or after files were changed from outside.
"""

from __future__ import annotations

from collections.abc import Iterable

from faultclock.model.disk_script import DiskScript
from faultclock.model.error_model import AudienceRule, ErrorModel
from faultclock.oracle.audience import leaks
from faultclock.oracle.check import Verdict, also
from faultclock.oracle.store_facts import StoreCall, StoreHistory
from faultclock.oracle.store_registers import Journal, Register, matches
from faultclock.oracle.store_verdicts import READS, StoreVerdicts, kept, whose, wrong_entries

__all__ = ["StoreWalk"]

_UNAVAILABLE = ("Session", "StoreUnavailable")
_DRIFT = ("Session", "ManifestDrift")
_MISMATCH = ("Session", "ResumeMismatch")
_WRITES = ("write", "write_slot", "append")

_Key = tuple[str, str | None]


class StoreWalk:
    """Judges the calls of a history, one after the other.

    Args:
        disk: the disk below the store; None where the scenario has none.
        ids: of all checks that it judges for.
    """

    def __init__(
        self, disk: DiskScript | None, model: ErrorModel, history: StoreHistory, ids: Iterable[str]
    ) -> None:
        self.history = history
        self.model = model
        names = tuple(ids)
        parts = [f"{id_}.{part}" for id_ in names for part in ("process", "power")]
        kept = disk is not None and disk.unsynced == "all"
        self.say = StoreVerdicts(
            found={id_: [] for id_ in names},
            requirements={name: also(model, name) for name in (*names, *parts)},
            part="process" if kept or not history.crashes else "power",
        )
        #: Whether an error must be the document's own; a model that says `any` takes each.
        self.named = {
            id_: f"{id_}.any" not in model.rules for id_ in ("store.unavailable", "store.drift")
        }
        self.registers: dict[_Key, Register] = {}
        self.journals: dict[str, Journal] = {}
        #: Session to the store that wrote it first.
        self.writers: dict[str, str] = {}
        #: Sessions that a foreign store was let into: nothing of them can be known.
        self.spoilt: set[str] = set()
        self.life = 0
        #: Sessions that came back as they were earlier: their journals are those of then.
        self.rolled_back: set[str] = set()
        #: Sessions that could not be read, with the life in which that was reported.
        self.torn: set[tuple[str, int]] = set()
        #: Session to the last life in which a sync for it did nothing.
        self.lied: dict[str, int] = {}

    def run(self) -> dict[str, list[Verdict]]:
        """Return what was found, by check id."""
        for call in self.history.calls:
            self._enter(call.life)
            if call.raised:
                self._message(call)
            session = call.session
            if call.lies and session is not None:
                self.lied[session] = call.life
            if call.do == "list_sessions" and call.returned:
                self._listing(call)
            if call.do not in (*READS, *_WRITES) or session is None or session in self.spoilt:
                self._other(call)
                continue
            writer = self.writers.get(session)
            if writer is not None and writer != call.store:
                self._foreign(call, writer)
            elif call.do in _WRITES:
                self._write(call, session)
            elif call.do == "read_journal":
                self._read_journal(call, session)
            else:
                self._read(call, session)
        return self.say.found

    def _enter(self, life: int) -> None:
        if life == self.life:
            return
        self.life = life
        if life in self.history.edited:
            for register in self.registers.values():
                register.edited = True
            for journal in self.journals.values():
                journal.edited = True

    def _lied(self, session: str, kept: Register | Journal) -> bool:
        """Return whether what is there is unknown: a sync since the last write did nothing."""
        return self.lied.get(session, 0) >= max(1, kept.life)

    # ------------------------------------------------------------------ writes

    def _write(self, call: StoreCall, session: str) -> None:
        self.writers.setdefault(session, call.store)
        journal = self.journals.setdefault(session, Journal())
        register = self._register(call, session)
        touched = journal if register is None else register
        if call.raised:
            self._failed_write(call, excused=touched.edited or self._lied(session, touched))
        elif call.returned and not call.failing:
            self.say.good("usable")
        if register is not None:
            register.wrote(call)
        if call.do == "write":
            journal.began(call)
            if call.returned:
                self.rolled_back.discard(session)
        elif call.do == "append":
            journal.appended(call)

    def _failed_write(self, call: StoreCall, *, excused: bool) -> None:
        if call.failing:
            self._typed_failure(call)
        elif excused:
            return
        elif call.error == _DRIFT:
            self._torn(call)
        else:
            self._unusable(call)

    def _typed_failure(self, call: StoreCall) -> None:
        if call.error == _UNAVAILABLE or not self.named["store.unavailable"]:
            self.say.good("unavailable")
            return
        self.say.bad(
            "unavailable",
            call,
            "Session/StoreUnavailable",
            f"the disk failed in {call.do}, and it raised {call.said}",
            "Turn OSError into the typed error where it crosses the port.",
        )

    def _unusable(self, call: StoreCall) -> None:
        crash = next(
            (event for life, event in self.history.crashes.items() if life < call.life), None
        )
        after = "" if crash is None else " after a crash"
        self.say.bad(
            "usable",
            call,
            f"{call.do} works{after}: no fault was planted in it",
            f"it raised {call.said}",
            "Does something that a crash left stand in the way, such as a temporary file?"
            if crash is not None
            else "The store refuses what the port asks of it.",
            *(() if crash is None else (crash.seq,)),
        )

    # ------------------------------------------------------------------ reads

    def _register(self, call: StoreCall, session: str) -> Register | None:
        if call.do in ("write", "read"):
            return self.registers.setdefault((session, None), Register())
        if call.do in ("write_slot", "read_slot"):
            return self.registers.setdefault((session, call.owner or ""), Register())
        return None

    def _read(self, call: StoreCall, session: str) -> None:
        register = self._register(call, session)
        assert register is not None, "a read is of a register"
        if call.raised:
            lied = self._lied(session, register)
            self._failed_read(
                call,
                register.edited,
                lied,
                may_be_absent=None in register.legal,
                tried=bool(register.ever),
            )
        elif call.returned:
            if not register.ever and self._elsewhere(call) is None:
                self._absent(call, call.found is None)
            else:
                self._value(call, register, session)
            if call.do == "read" and not register.edited and session in self.journals:
                self.journals[session].manifest_read(call.found)
            register.was_read(call)

    def _failed_read(
        self, call: StoreCall, edited: bool, lied: bool, *, may_be_absent: bool, tried: bool
    ) -> None:
        if call.failing:
            self._typed_failure(call)
        elif edited:
            self._unreadable(call)
        elif lied and call.error == _DRIFT:
            return
        elif may_be_absent and not (tried and call.error in (None, _DRIFT)):
            self._absent(call, is_absent=False)
        elif call.error == _DRIFT or self._after_damage(call):
            self._torn(call)
        else:
            self._unusable(call)

    def _after_damage(self, call: StoreCall) -> bool:
        """Return whether something may have been left half done before `call`."""
        if any(life < call.life for life in self.history.crashes):
            return True
        earlier = (item for item in self.history.calls if item.start.seq < call.start.seq)
        return any(item.failing and item.session == call.session for item in earlier)

    def _torn(self, call: StoreCall) -> None:
        # One damage is one finding, however often the process then meets it.
        damage = (call.session or "", call.life)
        if damage in self.torn:
            return
        self.torn.add(damage)
        crash = self.history.crashes.get(call.life - 1)
        self.say.bad(
            "atomicity",
            call,
            "the old revision or the new one",
            f"{call.do} raised {call.said}: what is stored cannot be read",
            "Write beside the file, sync, then rename; never write in place.",
            *(() if crash is None else (crash.seq,)),
        )

    def _unreadable(self, call: StoreCall) -> None:
        if call.do != "read":
            return
        if call.error == _DRIFT or not self.named["store.drift"]:
            self.say.good("drift")
            return
        self.say.bad(
            "drift",
            call,
            "Session/ManifestDrift",
            f"the files are not what was written, and read raised {call.said}",
            "Catch what the parser raises, and tell it as drift.",
        )

    def _absent(self, call: StoreCall, is_absent: bool) -> None:
        if is_absent:
            self.say.good("unknown")
            return
        observed = f"it raised {call.said}" if call.raised else "it returned something"
        self.say.bad(
            "unknown",
            call,
            "nothing: it was never written",
            observed,
            "A read of something absent is not an error: return None, or an empty journal.",
        )

    def _value(self, call: StoreCall, register: Register, session: str) -> None:
        found = call.found
        if register.edited:
            self._value_after_edit(call, register)
            return
        acked = register.acked
        if found in register.legal:
            self._value_is_legal(call, register)
        elif (other := self._elsewhere(call)) is not None and found not in register.ever:
            self.say.bad(
                "isolation",
                call,
                f"what was written for {whose(call)}",
                f"it returned what was written for {other}",
                "Does a file name lose a part of the session's or the owner's name?",
            )
        elif self._lied(session, register) and (found is None or found in register.ever):
            return
        elif found is not None and found not in register.ever:
            self.say.bad(
                "atomicity",
                call,
                "a revision that was written as a whole",
                f"{call.do} returned one that was never written",
                "A part of one revision, or a mixture of two, was taken for a whole one.",
                *(write.start.seq for write in register.maybe),
            )
        elif acked is not None and acked.life == call.life and register.maybe:
            self.say.bad(
                "atomicity",
                call,
                "the old revision or the new one",
                f"after a write that failed, {call.do} returned "
                + ("nothing" if found is None else "an older revision"),
                "The old revision was given up before the new one was safe.",
                *(seq for write in register.maybe for seq in write.seqs),
            )
        elif acked is not None:
            self._stale(call, acked, what="nothing" if found is None else "an older revision")
            if acked.life != call.life:
                # It has been reported; what a later process reads is compared with this.
                register.came_back(call)

    def _value_is_legal(self, call: StoreCall, register: Register) -> None:
        acked = register.acked
        if acked is not None and acked.failing and register.digest == call.found:
            self.say.good("unavailable")
        if acked is not None and acked.life == call.life:
            self.say.good("read-your-writes")
        elif acked is not None:
            self.say.good("durability")
        if register.maybe or (acked is not None and acked.life != call.life):
            self.say.good("atomicity")
        if len(self.registers) > 1:
            self.say.good("isolation")

    def _value_after_edit(self, call: StoreCall, register: Register) -> None:
        if call.do != "read":
            return
        # A store that keeps a second copy may have the right answer all the same.
        if call.found in register.legal and call.found is not None:
            self.say.good("drift")
            return
        observed = "no session" if call.found is None else "a session that was never written"
        self.say.bad(
            "drift",
            call,
            "Session/ManifestDrift" if self.named["store.drift"] else "an error",
            f"the files are not what was written, and read returned {observed}",
            "An unreadable manifest is not an empty one: the next write would end it for good.",
        )

    def _stale(self, call: StoreCall, acked: StoreCall, what: str) -> None:
        end = () if acked.end is None else (acked.end.seq,)
        if acked.failing:
            self.say.bad(
                "unavailable",
                acked,
                ("Session/StoreUnavailable" if self.named["store.unavailable"] else "an error")
                + ": the disk failed, and nothing was written",
                f"{acked.do} was acknowledged, and {call.id} then returned {what}",
                "An error of the disk was caught and forgotten.",
                *call.seqs,
            )
            return
        if acked.life == call.life and acked.do in _WRITES:
            self.say.bad(
                "read-your-writes",
                call,
                kept(acked),
                f"{call.do} returned {what}",
                "Is a cache filled by reads, and not emptied by writes?",
                *end,
            )
            return
        if call.do == "read" and call.session is not None:
            self.rolled_back.add(call.session)
        crash = self.history.crash_between(acked, call)
        how = "a restart" if crash is None else "a crash"
        self.say.bad(
            "durability",
            call,
            kept(acked),
            f"after {how}, {call.do} returned {what}",
            "Sync the file before the rename and the folder after it, and then acknowledge.",
            *end,
            *(() if crash is None else (crash.seq,)),
        )

    def _elsewhere(self, call: StoreCall) -> str | None:
        """Return what else the digest that was found was written for."""
        if call.found is None:
            return None
        is_slot = call.do == "read_slot"
        for (session, owner), register in self.registers.items():
            if (owner is not None) is not is_slot or call.found not in register.ever:
                continue
            if (session, owner) != (call.session, call.owner if is_slot else None):
                return f"session {session!r}" + ("" if owner is None else f", owner {owner!r}")
        return None

    # ------------------------------------------------------------------ journals

    def _read_journal(self, call: StoreCall, session: str) -> None:
        journal = self.journals.get(session)
        if call.raised:
            known = journal is not None
            edited = journal is not None and journal.edited
            if edited and not call.failing:
                return
            lied = journal is not None and self._lied(session, journal)
            self._failed_read(call, False, lied, may_be_absent=not known, tried=known)
            return
        if not call.returned:
            return
        found = [str(digest) for digest in call.answer.get("entries") or ()]
        if journal is None:
            self._absent(call, not found)
        elif not (journal.edited or session in self.rolled_back or self._lied(session, journal)):
            self._entries(call, journal, found)

    def _entries(self, call: StoreCall, journal: Journal, found: list[str]) -> None:
        if any(matches(found, entries) for _, entries in journal.since):
            self.say.good("journal")
            return
        for _, entries in journal.since:
            if not matches(found, entries, all_may_miss=True):
                continue
            lost = [entry.call for entry in entries if entry.digest not in found]
            acked = next((item for item in lost if item.returned), None)
            if acked is not None and (acked.failing or acked.life != call.life):
                self._stale(call, acked, "a journal without it")
                return
        _, entries = journal.since[-1]
        self.say.bad(
            "journal",
            call,
            f"the {len(entries)} entries since the last manifest, in the order of their appends",
            wrong_entries(found, [entry.digest for entry in entries]),
            "Is a journal tied to the manifest that it follows, and read in the order of writing?",
            *(entry.call.start.seq for entry in entries),
        )

    # ------------------------------------------------------------------ the rest

    def _foreign(self, call: StoreCall, writer: str) -> None:
        if call.do not in ("read", "write"):
            return
        if call.raised and call.error == _MISMATCH:
            self.say.good("foreign")
            return
        if call.end is None or call.failing:
            return
        assert call.session is not None, "a session belongs to its writer"
        if call.do == "write" and call.returned:
            self.spoilt.add(call.session)
        observed = f"it raised {call.said}" if call.raised else "it was served"
        self.say.bad(
            "foreign",
            call,
            "Session/ResumeMismatch",
            f"store {call.store!r} was asked to {call.do} what store {writer!r} wrote; {observed}",
            "Compare the store's id in the manifest before anything else is read.",
        )

    def _listing(self, call: StoreCall) -> None:
        listed = set(call.answer.get("sessions") or ())
        strange = sorted(listed - set(self.writers))
        if strange:
            self.say.bad(
                "usable",
                call,
                "sessions that were written",
                f"the list has {strange[0]!r}, which was never written",
                "Is a temporary file, or a folder that a crash left, taken for a session?",
            )
            return
        self.say.good("usable")
        for (session, owner), register in self.registers.items():
            acked = register.acked
            if owner is not None or register.digest is None or session in listed:
                continue
            assert acked is not None, "what has a digest was written"
            known = not register.edited and not self._lied(session, register)
            if known and self.writers[session] == call.store:
                self._stale(call, acked, "a list without it")

    def _message(self, call: StoreCall) -> None:
        requirements = self.say.requirements["store.errors"]
        chain = call.answer.get("chain") or [{}]
        secrets_only = "store.errors.secret" in self.model.rules
        rule = AudienceRule(
            id="operator",
            never=("secret",) if secrets_only else ("stack", "secret", "path"),
            requirement=next(iter(requirements), ""),
        )
        found = leaks(rule, str(chain[0].get("message", "")))
        if not found:
            self.say.good("errors")
            return
        self.say.bad(
            "errors",
            call,
            "a message without absolute paths, secrets and stack traces",
            f"it holds {' and '.join(found)}",
            "The text of an OSError has the path in it: take `strerror`.",
        )

    def _other(self, call: StoreCall) -> None:
        """Judge `start`, `close` and lists that failed."""
        if call.raised and call.do in ("start", "close", "restart", "list_sessions"):
            if call.failing:
                self._typed_failure(call)
            elif not self.history.edited:
                self._unusable(call)
