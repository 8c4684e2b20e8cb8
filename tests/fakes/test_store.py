"""The fake session store: its port, facts and faults, and what a crash leaves of a write."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from faultclock.model.scenario.port_values import Slot
from faultclock.model.typed_error import TypedError
from faultclock.sim.patches import installed
from tests.fakes.store_life import (
    Life,
    Step,
    append,
    read,
    read_journal,
    read_slot,
    script,
    typed,
    write,
    write_slot,
)

STYLES = pytest.mark.parametrize("style", ["async", "sync"])


@pytest.fixture(autouse=True, scope="module")
def _patched_world() -> Iterator[None]:
    with installed():
        yield


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


# ---------------------------------------------------------------------- the good store


@STYLES
def test_a_session_is_written_and_read(style: str) -> None:
    """Manifest, journal and slots, in both styles and both kinds."""
    for kind in ("memory", "files"):
        life = Life(script(kind=kind), style=style).run(
            read,
            read_journal,
            read_slot,
            write({"a": [1, 2.5]}),
            append({"e": 1}),
            append({"e": 2}),
            read_journal,
            write_slot(3, k="v"),
            read,
            read_slot,
            write({"a": 2}),
            read_journal,
            read_slot,
        )
        slot = Slot(version=3, data={"k": "v"})
        journal = [{"e": 1}, {"e": 2}]
        assert life.out == [
            *(None, [], None, None, None, None),
            *(journal, None, {"a": [1, 2.5]}, slot, None, [], slot),
        ]


def test_each_style_has_the_functions_that_it_promises() -> None:
    """Some subjects look whether a method is a coroutine function."""
    names = ("read", "write", "append", "read_journal", "read_slot", "write_slot")
    for style in ("async", "sync"):
        store = Life(script(id="cellar"), style=style).store
        found = {inspect.iscoroutinefunction(getattr(store, name)) for name in names}
        assert found == {style == "async"}
        assert tuple(getattr(store, name).__name__ for name in names) == names
        assert store.id == "cellar"


@STYLES
def test_a_write_has_its_facts_in_order(style: str) -> None:
    """Asked, durable, answered: each with exactly its fields, and with digests only."""
    life = Life(script(), style=style).run(write({"b": 1, "a": 2}))
    common = {
        "operation": "write",
        "op": "s1",
        "session": "s1",
        "owner": None,
        "call": "ask/1",
        "life": 1,
    }
    digest = sha256('{"a":2,"b":1}')
    assert life.times() == [(0, "store.asked"), (5, "store.durable"), (5, "store.answered")]
    assert life.facts() == [
        {**common, "revision_sha256": digest},
        {**common, "torn": False, "revision_sha256": digest},
        {**common, "ok": True, "class": None, "code": None, "stale": False, "found": True},
    ]


def test_a_read_says_whether_it_found_something_and_which_revision() -> None:
    """So a resume can be held against what was durable."""
    life = Life(script(initial={"a": 1})).run(read, lambda store: store.read("other"), read_slot)
    answers = life.facts("store.answered")
    assert [fact["found"] for fact in answers] == [True, False, False]
    assert [fact["revision_sha256"] for fact in answers] == [sha256('{"a":1}'), None, None]
    assert [fact["owner"] for fact in answers] == [None, None, "x"]
    assert [fact["op"] for fact in answers] == ["s1", "s2", "s3"]


def test_what_is_handed_in_and_out_is_copied() -> None:
    """A subject shares no memory with the store."""
    manifest: dict[str, Any] = {"list": []}

    def change(store: Any) -> Any:
        store.write("s1", manifest)
        manifest["list"].append("mine")
        found = store.read("s1")
        found["list"].append("yours")
        return store.read("s1")

    assert Life(script()).run(change).out == [{"list": []}]


@pytest.mark.parametrize(
    "step",
    [
        write({"a": object()}),
        write("text"),
        append({1: 2}),
        write_slot(-1),
        lambda store: store.write_slot("s1", "x", {"version": 1, "data": {}}),
        lambda store: store.read(7),
        lambda store: store.read_slot("s1", None),
    ],
    ids=["object", "text", "key", "version", "slot", "session", "owner"],
)
@STYLES
def test_what_cannot_be_stored_is_refused_before_anything_happens(style: str, step: Step) -> None:
    """It is a mistake of the subject's code: it never reaches the store."""
    life = Life(script(), style=style).run(step)
    assert [type(error) for error in life.out] == [TypeError]
    assert life.facts() == []


def test_no_secret_gets_into_a_fact() -> None:
    """Neither from the contents nor from a name."""
    secret = "sk-very-secret-0123456789"
    life = Life(script({"then": {"kind": "slow"}})).run(
        write({"key": secret}),
        append({"key": secret}),
        lambda store: store.write_slot(secret, secret, Slot(version=1, data={secret: secret})),
        lambda store: store.read(secret),
    )
    assert secret not in json.dumps(life.world.recorder.events)


# ---------------------------------------------------------------------- faults


@STYLES
def test_an_unavailable_store_writes_nothing(style: str) -> None:
    """It says so by type, and the rule has fired."""
    life = Life(script({"when": {"calls": 1}, "then": {"kind": "unavailable"}}), style=style)
    life.run(write({"a": 1}), read)
    assert typed(life.out[0]) == ("Session", "StoreUnavailable")
    assert life.out[1] is None
    assert life.times()[:3] == [(0, "store.asked"), (5, "fault.fired"), (5, "store.answered")]
    answer = life.facts("store.answered")[0]
    assert (answer["ok"], answer["class"], answer["code"], answer["found"]) == (
        *(False, "Session", "StoreUnavailable"),
        False,
    )
    assert life.facts("fault.fired") == [
        {
            "fault": "r1",
            "fault_kind": "unavailable",
            "of": "store",
            "op": "s1",
            "operation": "write",
            "call": "ask/1",
            "life": 1,
        }
    ]


def test_a_slow_store_is_late_and_good() -> None:
    """Its rule fires when the operation begins."""
    life = Life(script({"then": {"kind": "slow", "takes": "20s"}})).run(write({"a": 1}))
    assert life.out == [None]
    assert life.times() == [
        (0, "store.asked"),
        (0, "fault.fired"),
        (20_000, "store.durable"),
        (20_000, "store.answered"),
    ]


def test_a_slow_write_goes_on_when_nobody_waits_any_more() -> None:
    """A caller that gives up does not take back what is on its way."""

    async def impatient(store: Any) -> str:
        try:
            await asyncio.wait_for(store.write("s1", {"a": 1}), 1)
        except TimeoutError:
            await asyncio.sleep(60)
            return "gave up"
        return "done"

    life = Life(script({"then": {"kind": "slow"}, "when": {"calls": 1}}), style="async")
    life.run(impatient, read)
    assert life.out == ["gave up", {"a": 1}]


@STYLES
def test_a_lost_acknowledgement_is_a_durable_write(style: str) -> None:
    """The store says that it failed, and it did not."""
    rule = {"when": {"operation": "write"}, "then": {"kind": "lost_ack"}}
    life = Life(script(rule), style=style).run(
        append({"e": 1}), write({"a": 1}), read, read_journal
    )
    assert typed(life.out[1]) == ("Session", "StoreUnavailable")
    assert life.out[2:] == [{"a": 1}, []]
    assert [fact["torn"] for fact in life.facts("store.durable")] == [False, False]
    assert life.facts("fault.fired")[0]["op"] == "s2"


@STYLES
def test_a_torn_manifest_cannot_be_read_until_it_is_written_again(style: str) -> None:
    """Half of the new text has replaced the old one."""
    rule = {"when": {"operation": "write", "calls": 2}, "then": {"kind": "torn_write"}}
    life = Life(script(rule, kind="files"), style=style)
    life.run(write({"a": 1}), append({"e": 1}), write({"a": 2}), read, read_journal)
    assert typed(life.out[2]) == ("Session", "StoreUnavailable")
    assert typed(life.out[3]) == ("Session", "ManifestDrift")
    assert life.out[4] == [{"e": 1}]
    torn = life.facts("store.durable")[-1]
    assert (torn["torn"], torn["revision_sha256"]) == (True, None)
    answer = life.facts("store.answered")[3]
    assert (answer["found"], answer["ok"], answer["code"]) == (True, False, "ManifestDrift")
    again = Life(script(rule, kind="files"), life.state).run(write({"a": 3}), read)
    assert again.out == [None, {"a": 3}]


def test_a_torn_slot_is_unreadable_and_a_torn_entry_is_none() -> None:
    """The next entry takes its place."""
    rule = {"when": {"calls": "2-3"}, "then": {"kind": "torn_write"}}
    life = Life(script(rule, kind="files"))
    life.run(append({"e": 1}), append({"e": 2}), write_slot(1), read_slot, append({"e": 3}))
    life = Life(script(kind="files"), life.state).run(read_journal, read_slot)
    assert life.out[0] == [{"e": 1}, {"e": 3}]
    assert typed(life.out[1]) == ("Session", "ManifestDrift")


def test_a_stale_read_returns_the_revision_before() -> None:
    """And says that it did."""
    rule = {"when": {"operation": "read", "calls": 1}, "then": {"kind": "stale_read"}}
    life = Life(script(rule)).run(write({"a": 1}), write({"a": 2}), read, read)
    assert life.out[2:] == [{"a": 1}, {"a": 2}]
    answers = life.facts("store.answered")[2:]
    assert [fact["stale"] for fact in answers] == [True, False]
    assert answers[0]["revision_sha256"] == sha256('{"a":1}')


@pytest.mark.parametrize(
    ("kind", "fault", "step"),
    [
        ("memory", "torn_write", write({"a": 1})),
        ("files", "torn_write", read),
        ("files", "lost_ack", read_slot),
        ("files", "stale_read", write({"a": 1})),
        ("files", "stale_read", read),
    ],
    ids=["in memory", "of a read", "of a slot read", "of a write", "without a revision before"],
)
def test_a_fault_that_cannot_apply_claims_nothing(kind: str, fault: str, step: Step) -> None:
    """It stays unmet, so the run proves nothing, and the next rule has its turn."""
    rules = ({"then": {"kind": fault}}, {"then": {"kind": "unavailable"}})
    life = Life(script(*rules, kind=kind)).run(step)
    assert typed(life.out[0]) == ("Session", "StoreUnavailable")
    unmet = {"fault": "r1", "optional": False, "of": "store", "call": None, "life": 1}
    assert life.facts("fault.unmet") == [unmet]


def test_rules_count_by_operation_or_over_all_and_know_the_life() -> None:
    """A rule with an operation counts only that one; the counts go on over lives."""
    plan = script(
        {"when": {"operation": "append", "calls": 2}, "then": {"kind": "unavailable"}},
        {"when": {"calls": 4}, "then": {"kind": "unavailable"}},
        {"when": {"life": 2, "operation": "read"}, "then": {"kind": "unavailable"}},
        {"when": {"life": 3}, "then": {"kind": "unavailable"}, "optional": True},
    )
    first = Life(plan).run(read, append({}), append({}), read, read)
    assert [isinstance(value, TypedError) for value in first.out] == [
        False,
        False,
        True,
        True,
        False,
    ]
    state = pickle.loads(pickle.dumps(first.state))
    second = Life(plan, state, life=2).run(append({}), read)
    assert [isinstance(value, TypedError) for value in second.out] == [False, True]
    assert [fact["op"] for fact in second.facts("store.asked")] == ["s6", "s7"]
    assert [(fact["fault"], fact["optional"]) for fact in second.facts("fault.unmet")] == [
        ("r4", True)
    ]


# ---------------------------------------------------------------------- lives, edits, crashes


def test_edits_happen_before_their_life() -> None:
    """Somebody else changes what is stored, and the trace says so."""
    plan = script(
        initial={"storeId": "local", "messages": []},
        edits=[
            {"before_life": 1, "set": {"mode": "ask"}},
            {"before_life": 2, "set": {"storeId": "other"}, "remove": ["mode"]},
            {"before_life": 2, "set": {"no.such.path": 1}},
            {"before_life": 3, "drop": True},
        ],
    )
    first = Life(plan).run(read)
    second = Life(plan, first.state, life=2).run(read)
    third = Life(plan, second.state, life=3).run(read)
    assert [life.out[0] for life in (first, second, third)] == [
        {"storeId": "local", "messages": [], "mode": "ask"},
        {"storeId": "other", "messages": []},
        None,
    ]
    assert second.facts("store.edited") == [
        {"session": "s1", "call": None, "life": 2, "applied": True},
        {"session": "s1", "call": None, "life": 2, "applied": False},
    ]


@pytest.mark.parametrize("kind", ["memory", "files"])
@pytest.mark.parametrize("leaves", ["nothing", "part", "all"])
def test_a_crash_leaves_what_it_says_of_the_write(kind: str, leaves: str) -> None:
    """Nothing more happens in that life, and a store in memory has no half values."""
    life = Life(script(kind=kind)).crash_at(3, leaves)
    life.run(write({"a": 1}), append({"e": 1}), write({"a": 2}), read)
    assert life.out == [None, None]
    last = life.times()[-1][1]
    after = Life(script(kind=kind), life.state, life=2).run(read, read_journal)
    if leaves == "nothing" or (leaves, kind) == ("part", "memory"):
        assert last == "store.asked"
        assert after.out == [{"a": 1}, [{"e": 1}]]
    elif leaves == "part":
        assert last == "store.durable"
        assert life.facts("store.durable")[-1]["torn"] is True
        assert typed(after.out[0]) == ("Session", "ManifestDrift")
        assert after.out[1] == [{"e": 1}]
    else:
        assert last == "store.durable"
        assert after.out == [{"a": 2}, []]


def test_the_crash_seam_knows_which_write_it_is() -> None:
    """Numbers in the run and in the life; a refused write never gets there."""
    plan = script({"when": {"calls": 2}, "then": {"kind": "unavailable"}})
    first = Life(plan).crash_at(9, "all").run(write({}), write({}), read, write_slot(1))
    second = Life(plan, first.state, life=2).crash_at(9, "all").run(append({}))
    asked = [(m.n, m.n_in_life, m.op, m.operation) for m in (*first.moments, *second.moments)]
    assert asked == [(1, 1, "s1", "write"), (2, 2, "s4", "write_slot"), (3, 1, "s5", "append")]
    assert first.moments[1].owner == "x"
    assert {moment.call for moment in first.moments} == {"ask/1"}


def test_a_write_on_its_way_dies_with_its_process() -> None:
    """What was not durable when the world ended never is."""
    plan = script({"then": {"kind": "slow"}, "when": {"calls": 1}})
    life = Life(plan, style="async")

    async def die(store: Any) -> None:
        task = asyncio.ensure_future(store.write("s1", {"a": 1}))
        await asyncio.sleep(1)
        assert not task.done()
        life._kill()
        await asyncio.sleep(1)

    life.run(die)
    assert Life(plan, life.state, life=2).run(read).out == [None]


def test_a_fact_that_ends_the_life_is_the_last_one() -> None:
    """A crash right after `store.durable` leaves a durable write and no answer."""
    life = Life(script())
    record = life.world.recorder.record

    def recording(actor: str, kind: str, /, **payload: Any) -> int:
        number = record(actor, kind, **payload)
        if kind == "store.durable":
            life._kill()
        return number

    class Watching(type(life.world.recorder)):  # type: ignore[misc]
        """Kills the process right after the fact."""

        def record(self, actor: str, kind: str, /, **payload: Any) -> int:
            return recording(actor, kind, **payload)

    watching = Watching()
    watching.events, watching.now_ns = life.world.recorder.events, life.world.recorder.now_ns
    life.world.kernel.recorder = watching
    life.run(write({"a": 1}), read)
    assert (life.out, life.times()[-1][1]) == ([], "store.durable")
    assert Life(script(), life.state, life=2).run(read).out == [{"a": 1}]


@pytest.mark.parametrize(("task", "fails"), [("ask", True), ("other", False)])
def test_a_rule_for_one_task_leaves_the_others_alone(task: str, fails: bool) -> None:
    """The first write of a session belongs to its start; the fault is meant for a turn."""
    down = {"when": {"operation": "write", "task": task}, "then": {"kind": "unavailable"}}
    life = Life(script(down)).run(write({"n": 1}))
    assert isinstance(life.out[0], TypedError) is fails
    assert bool(life.facts("fault.unmet")) is not fails
