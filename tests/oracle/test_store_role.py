"""The role session store, judged by hand-made histories: each wrong answer, and each excuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.disk_script import DiskScript
from faultclock.model.scenario.scenario import scenario_digest, scenario_of
from faultclock.model.trace.trace import (
    SubjectInfo,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
)
from faultclock.oracle.checks.roles.store_role import CHECKS
from faultclock.oracle.facts.history import History as Paired


class History:
    """A trace of a store, written call by call."""

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []
        self.life = 1
        self.store = "local"
        self.calls = 0

    def say(self, kind: str, **payload: Any) -> History:
        """Add one fact."""
        number = len(self.events) + 1
        self.events.append(TraceEvent(number, number, "x", kind, {"life": self.life, **payload}))
        return self

    def ask(self, do: str, then: str = "", **payload: Any) -> History:
        """Add a call. `then`: a result for reads, `!Code` or `!` for errors, `#` for a crash.

        `value` is what is written; `session` is alpha unless given; `fault` befalls the call.
        """
        self.calls += 1
        call, value, fault = f"c/{self.calls}", payload.pop("value", None), payload.pop("fault", "")
        session = {} if do == "list_sessions" else {"session": payload.pop("session", "alpha")}
        asked = {"store": self.store, **session, **payload}
        if value is not None:
            asked["value_sha256"] = value
        self.say("call.started", call=call, do=do, **asked)
        if fault:
            self.say("fault.fired", call=call, fault="f", fault_kind=fault, of="disk")
        if then == "#":
            self.say("process.crashed", call=call, crash="x").say("call.crashed", call=call)
            self.life += 1
        elif then.startswith("!"):
            code = then[1:] or None
            link = {"type": "x.Error", "class": code and "Session", "code": code, "message": "no"}
            self.say("call.raised", call=call, chain=[link])
        elif do in ("read", "read_slot"):
            found = {"found": bool(then), "value_sha256": then or None}
            self.say("call.returned", call=call, **found)
        elif do == "read_journal":
            self.say("call.returned", call=call, entries=then.split())
        elif do == "list_sessions":
            self.say("call.returned", call=call, sessions=then.split())
        else:
            self.say("call.returned", call=call)
        return self

    def crash(self) -> History:
        """Kill the process between two calls."""
        self.say("process.crashed", call=None, crash="x")
        self.life += 1
        return self

    def trace(self) -> Trace:
        """Return the trace."""
        tasks = [{"id": "look", "do": "read"}]
        scenario = scenario_of(
            {"id": "tests/x", "title": "x", "why": "x", "role": "session_store", "tasks": tasks}
        )
        subject = SubjectInfo(id="by-hand", role="session_store", style="sync")
        header = TraceHeader(
            scenario=scenario, scenario_digest=scenario_digest(scenario), subject=subject, seed=0
        )
        events = tuple(self.events)
        footer = TraceFooter(
            events=len(events),
            ended_at_ns=len(events),
            ending="completed",
            digest=trace_digest(header, events),
        )
        return Trace(header=header, events=events, footer=footer)


def _failed(model: ErrorModel, history: History) -> set[str]:
    """Return the checks that have something against a history."""
    paired = Paired(history.trace())
    return {
        check.id.removeprefix("store.")
        for check in CHECKS
        if check.outcome(paired, model).violations
    }


def _judged(model: ErrorModel, history: History, check: str) -> int:
    """Return how many things a check has looked at."""
    paired = Paired(history.trace())
    (found,) = (item for item in CHECKS if item.id == f"store.{check}")
    return sum(found.outcome(paired, model).judged.values())


def _wrote(value: str = "r1", **options: Any) -> History:
    return History().ask("write", value=value, **options)


GOOD = {
    "read back": _wrote().ask("read", "r1"),
    "read back by a fresh process": _wrote().crash().ask("read", "r1"),
    "cut off, and the old one is there": _wrote().ask("write", "#", value="r2").ask("read", "r1"),
    "cut off, and the new one is there": _wrote().ask("write", "#", value="r2").ask("read", "r2"),
    "first one cut off, and nothing is there": History().ask("write", "#", value="r1").ask("read"),
    "failed and told": _wrote()
    .ask("write", "!StoreUnavailable", value="r2", fault="no_space")
    .ask("read", "r1"),
    "failed and told, but it is there": _wrote()
    .ask("write", "!StoreUnavailable", value="r2", fault="io_error")
    .ask("read", "r2"),
    "failed inside, repeated, and acknowledged": _wrote()
    .ask("write", value="r2", fault="io_error")
    .ask("read", "r2"),
    "a failed read": _wrote().ask("read", "!StoreUnavailable", fault="io_error"),
    "nothing was written": History()
    .ask("read")
    .ask("read_slot", owner="x")
    .ask("read_journal")
    .ask("list_sessions"),
    "the disk lied, and the old one is there": _wrote()
    .ask("write", value="r2", fault="lost_fsync")
    .crash()
    .ask("read", "r1"),
    "the disk lied, and drift is told": _wrote(fault="lost_fsync")
    .crash()
    .ask("read", "!ManifestDrift"),
    "entries in order": _wrote()
    .ask("append", value="a")
    .ask("append", value="b")
    .crash()
    .ask("read_journal", "a b"),
    "an entry that was cut off may be there": _wrote()
    .ask("append", value="a")
    .ask("append", "#", value="b")
    .ask("append", value="c")
    .ask("read_journal", "a b c")
    .ask("read_journal", "a c"),
    "the journal of the manifest that is there": _wrote()
    .ask("append", value="a")
    .ask("write", "#", value="r2")
    .ask("read", "r1")
    .ask("read_journal", "a"),
    "sessions are listed": _wrote().ask("list_sessions", "alpha"),
    "a foreign store is refused": _wrote(),
}
GOOD["a foreign store is refused"].store = "other"
GOOD["a foreign store is refused"].ask("read", "!ResumeMismatch")


@pytest.mark.parametrize("name", GOOD)
def test_a_right_history_has_nothing_against_it(name: str, model: ErrorModel) -> None:
    """Old or new, told or there: what a correct store may do is never a finding."""
    assert _failed(model, GOOD[name]) == set()


BAD = {
    "gone after a crash": ("durability", _wrote().crash().ask("read")),
    "older after a crash": (
        "durability",
        _wrote().ask("write", value="r2").crash().ask("read", "r1"),
    ),
    "not listed after a crash": ("durability", _wrote().crash().ask("list_sessions")),
    "gone after a crash that came later": (
        "durability",
        _wrote().ask("write", "#", value="r2").ask("read", "r2").crash().ask("read", "r1"),
    ),
    "an entry is gone after a crash": (
        "durability",
        _wrote().ask("append", value="a").crash().ask("read_journal"),
    ),
    "older in the same process": (
        "read-your-writes",
        _wrote().ask("write", value="r2").ask("read", "r1"),
    ),
    "nobody wrote that": ("atomicity", _wrote().ask("write", "#", value="r2").ask("read", "?")),
    "unreadable after a crash": (
        "atomicity",
        _wrote().ask("write", "#", value="r2").ask("read", "!ManifestDrift"),
    ),
    "a parser's error after a crash": ("atomicity", _wrote().crash().ask("read", "!")),
    "a parser's error after a full disk": (
        "atomicity",
        _wrote().ask("write", "!StoreUnavailable", value="r2", fault="no_space").ask("read", "!"),
    ),
    "a failed write took the old revision with it": (
        "atomicity",
        _wrote().ask("write", "!StoreUnavailable", value="r2", fault="no_space").ask("read"),
    ),
    "a failed write was acknowledged": (
        "unavailable",
        _wrote().ask("write", value="r2", fault="no_space").ask("read", "r1"),
    ),
    "a failed entry was acknowledged": (
        "unavailable",
        _wrote().ask("append", value="a", fault="no_space").ask("read_journal"),
    ),
    "a failed write raised anything": (
        "unavailable",
        _wrote().ask("write", "!", value="r2", fault="no_space"),
    ),
    "entries in another order": (
        "journal",
        _wrote().ask("append", value="a").ask("append", value="b").ask("read_journal", "b a"),
    ),
    "an entry twice": ("journal", _wrote().ask("append", value="a").ask("read_journal", "a a")),
    "an entry of the manifest before": (
        "journal",
        _wrote().ask("append", value="a").ask("write", value="r2").ask("read_journal", "a"),
    ),
    "the old journal with the new manifest": (
        "journal",
        _wrote()
        .ask("append", value="a")
        .ask("write", "#", value="r2")
        .ask("read", "r2")
        .ask("read_journal", "a"),
    ),
    "another session's": (
        "isolation",
        _wrote().ask("write", value="r2", session="beta").ask("read", "r2"),
    ),
    "another owner's": (
        "isolation",
        History()
        .ask("write_slot", value="s1", owner="a")
        .ask("write_slot", value="s2", owner="b")
        .ask("read_slot", "s2", owner="a"),
    ),
    "an error for what nobody wrote": ("unknown", History().ask("read", "!NoSnapshot")),
    "something that nobody wrote": ("unknown", History().ask("read", "?")),
    "a good disk is refused": ("usable", _wrote().ask("write", "!", value="r2")),
    "a strange name in the list": ("usable", _wrote().ask("list_sessions", "alpha alpha.tmp")),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_answer_is_charged_to_one_check(name: str, model: ErrorModel) -> None:
    """The check says what to mend; two findings for one defect would say it twice."""
    check, history = BAD[name]
    assert _failed(model, history) == {check}


def _edited(then: str) -> History:
    history = _wrote()
    history.life = 2
    return history.say("disk.edited", file="m", how="half", call=None).ask("read", then)


@pytest.mark.parametrize(
    ("then", "failed"),
    [("!ManifestDrift", set()), ("r1", set()), ("", {"drift"}), ("?", {"drift"}), ("!", {"drift"})],
    ids=["told", "second copy", "empty", "garbage", "untyped"],
)
def test_files_that_were_changed_are_drift(then: str, failed: set[str], model: ErrorModel) -> None:
    """Told, or healed from a second copy; never taken for nothing or for something else."""
    assert _failed(model, _edited(then)) == failed


def test_a_good_write_ends_what_was_changed_from_outside(model: ErrorModel) -> None:
    """From then on the files are the store's own: an error is no drift."""
    assert _failed(model, _edited("!ManifestDrift").ask("write", value="r2").ask("read", "!")) == {
        "usable"
    }
    failing = _edited("!ManifestDrift").ask("write", "!", value="r2").ask("read", "!ManifestDrift")
    assert _failed(model, failing) == set()


def test_what_was_written_after_the_change_is_not_changed(model: ErrorModel) -> None:
    """A session that did not exist then is judged like any other."""
    history = _edited("!ManifestDrift").ask("write", value="s1", session="beta")
    assert _failed(model, history.ask("read", session="beta")) == {"read-your-writes"}


def test_one_damage_is_one_finding(model: ErrorModel) -> None:
    """A process may meet it often; the next process has a finding of its own."""
    history = _wrote().ask("write", "#", value="r2")
    history.ask("read", "!ManifestDrift").ask("read", "!ManifestDrift")
    paired = Paired(history.crash().ask("read", "!ManifestDrift").trace())
    (check,) = (item for item in CHECKS if item.id == "store.atomicity")
    assert len(check.outcome(paired, model).violations) == 2


def test_nothing_is_known_of_what_a_foreign_store_wrote(model: ErrorModel) -> None:
    """The one finding is that it was let in."""
    history = _wrote()
    history.store = "elsewhere"
    history.ask("write", value="r2")
    history.store = "local"
    assert _failed(model, history.ask("read", "?").ask("read_journal", "a")) == {"foreign"}


def test_a_session_that_came_back_older_has_the_journal_of_then(model: ErrorModel) -> None:
    """The loss is charged once; the next good write begins the journal anew."""
    history = _wrote().ask("append", value="a").ask("write", value="r2").crash().ask("read", "r1")
    assert _failed(model, history.ask("read_journal", "a")) == {"durability"}
    history.ask("write", value="r3").ask("read_journal", "a")
    assert _failed(model, history) == {"durability", "journal"}


def test_a_slot_is_not_taken_for_a_manifest(model: ErrorModel) -> None:
    """What was written for a slot was never written as a manifest."""
    history = _wrote().ask("write_slot", value="s1", owner="a").ask("read", "s1")
    assert _failed(model, history) == {"atomicity"}


@pytest.mark.parametrize(
    ("then", "failed"), [("!ManifestDrift", "atomicity"), ("!", "atomicity"), ("!Other", "unknown")]
)
def test_a_first_write_that_was_cut_off_may_be_absent_and_not_torn(
    then: str, failed: str, model: ErrorModel
) -> None:
    """What cannot be read is half written; any other error is one about nothing."""
    history = History().ask("write", "#", value="r1").ask("read", then)
    assert _failed(model, history) == {failed}


def test_only_the_manifest_says_that_files_were_changed(model: ErrorModel) -> None:
    """A slot of changed files is not judged, whether it is there or not."""
    history = _wrote().ask("write_slot", value="s1", owner="a")
    history.life = 2
    history.say("disk.edited", file="m", how="half", call=None)
    for then in ("", "s1", "?", "!"):
        assert _failed(model, history.ask("read_slot", then, owner="a")) == set()


def test_a_slot_that_is_gone_leaves_the_journal_as_it_was(model: ErrorModel) -> None:
    """Only a manifest that came back older takes the journal with it."""
    history = _wrote().ask("write_slot", value="s1", owner="a").ask("append", value="a").crash()
    history.ask("read_slot", owner="a")
    assert _failed(model, history.ask("read_journal", "b")) == {"durability", "journal"}


@pytest.mark.parametrize(
    ("found", "observed"),
    [
        ("a b x", "it has an entry that was not appended since then"),
        ("a b b", "an entry is there twice"),
        ("b a", "its entries are in another order"),
        ("a", "it has 1 of them, and acknowledged ones are missing"),
    ],
)
def test_a_wrong_journal_says_how_it_differs(found: str, observed: str, model: ErrorModel) -> None:
    """Strange entries come before doubled ones, and both before the order."""
    history = _wrote().ask("append", value="a").ask("append", value="b")
    paired = Paired(history.ask("read_journal", found).trace())
    (check,) = (item for item in CHECKS if item.id == "store.journal")
    (violation,) = check.outcome(paired, model).violations
    assert violation.observed == observed


def test_of_two_equal_entries_both_are_kept(model: ErrorModel) -> None:
    """An entry that was appended twice is there twice."""
    history = _wrote().ask("append", value="a").ask("append", value="a")
    assert _failed(model, history.ask("read_journal", "a a")) == set()
    assert _failed(model, history.ask("read_journal", "a")) == {"journal"}


@pytest.mark.parametrize(
    ("do", "then", "failed"),
    [
        ("read", "!ResumeMismatch", set()),
        ("read", "r1", {"foreign"}),
        ("read", "", {"foreign"}),
        ("write", "", {"foreign"}),
        ("write", "!StoreUnavailable", {"foreign"}),
    ],
)
def test_a_session_belongs_to_the_store_that_wrote_it(
    do: str, then: str, failed: set[str], model: ErrorModel
) -> None:
    """Neither served nor overwritten, nor refused for another reason."""
    history = _wrote()
    history.store = "elsewhere"
    history.ask(do, then, **({"value": "r2"} if do == "write" else {}))
    assert _failed(model, history) == failed


@pytest.mark.parametrize(
    ("message", "failed"),
    [
        ("the disk is full", set()),
        ("cannot write …/manifest.json", {"errors"}),
        ("bad key <secret>", {"errors"}),
    ],
)
def test_messages_have_no_paths_and_no_secrets(
    message: str, failed: set[str], model: ErrorModel
) -> None:
    """The recorder's marks show what the message had in it."""
    history = _wrote().ask("write", "!StoreUnavailable", value="r2", fault="no_space")
    history.events[-1].payload["chain"][0]["message"] = message
    assert _failed(model, history) == failed


def test_what_was_not_looked_at_is_not_passed(model: ErrorModel) -> None:
    """No crash, no durability; no failure, no word on failures."""
    history = _wrote().ask("read", "r1")
    assert _judged(model, history, "read-your-writes") == 1
    others = ("durability", "unavailable", "drift", "foreign", "isolation", "atomicity", "journal")
    for check in (*others, "unknown"):
        assert _judged(model, history, check) == 0, check
    failed = _wrote().ask("write", "!StoreUnavailable", value="r2", fault="no_space")
    assert _judged(model, failed.ask("read", "r1"), "atomicity") == 1
    apart = history.ask("write", value="r2", session="beta").ask("read", "r1")
    assert _judged(model, apart, "isolation") == 1


@pytest.mark.parametrize(
    ("unsynced", "requirement"), [("all", "COMMON-STORE-01"), ("nothing", "COMMON-STORE-02")]
)
def test_what_a_crash_leaves_decides_which_sentence_is_judged(
    unsynced: str, requirement: str
) -> None:
    """A crash that leaves what is not synced ends a process; any other takes the power as well."""
    trace = _wrote().crash().ask("read", "r1").trace()
    disk = DiskScript.model_validate({"unsynced": unsynced})
    scenario = trace.header.scenario.model_copy(update={"disk": disk})
    header = trace.header.model_copy(update={"scenario": scenario})
    (check,) = (item for item in CHECKS if item.id == "store.durability")
    outcome = check.outcome(Paired(replace(trace, header=header)), load_error_model("common"))
    assert outcome.judged == {requirement: 1}


def test_it_does_not_apply_to_other_roles(model: ErrorModel) -> None:
    """And neither to documents that say nothing of stores."""
    trace = _wrote().trace()
    silent = model.model_copy(update={"rules": {}})
    for check in CHECKS:
        assert check.outcome(Paired(trace), silent).reason == "the document says nothing of it"
