"""A trigger waits for one event of the whole run."""

from __future__ import annotations

import pytest

from faultclock.model.scenario.trigger import EventTrigger
from faultclock.run.triggers import Watch, matches
from faultclock.sim.kernel.recorder import Fact


def fact(number: int, kind: str, **payload: object) -> Fact:
    """Return a fact."""
    return (number, 0, "tool", kind, payload)


def test_the_nth_event_of_a_kind_is_the_one() -> None:
    """Once, and counted over all lives of the subject."""
    met: list[str] = []
    seen: dict[str, int] = {}
    trigger = EventTrigger(kind="tool.effect", where={"tool": "a"}, nth=2)
    for life in ("one", "two"):
        watch = Watch(seen)
        watch.add("rule", trigger, lambda life=life: met.append(life))
        watch.look(fact(1, "tool.effect", tool="b"))
        watch.look(fact(2, "tool.called", tool="a"))
        watch.look(fact(3, "tool.effect", tool="a"))
        watch.look(fact(4, "tool.effect", tool="b"))
    assert met == ["two"]
    assert seen == {"rule": 2}


def test_an_event_by_its_number() -> None:
    """As a sweep over all events names it."""
    met: list[int] = []
    watch = Watch({})
    watch.add("rule", EventTrigger(seq=7), lambda: met.append(7))
    for number in range(1, 10):
        watch.look(fact(number, "net.sent"))
    assert met == [7]


def test_who_was_added_first_comes_first_and_all_are_counted() -> None:
    """A crash ends the process before a cancel, and the cancel's count goes on all the same."""

    class Killed(Exception):
        """Stands for the end of a process."""

    def kill() -> None:
        raise Killed

    seen: dict[str, int] = {}
    watch = Watch(seen)
    watch.add("crash", EventTrigger(kind="a"), kill)
    watch.add("cancel", EventTrigger(kind="a"), lambda: pytest.fail("it was dead"))
    with pytest.raises(Killed):
        watch.look(fact(1, "a"))
    assert seen == {"crash": 1, "cancel": 1}


def test_nothing_to_wait_for_is_false() -> None:
    """Then no recorder has to show its facts."""
    watch = Watch({})
    assert not watch
    watch.add("rule", EventTrigger(kind="a"), lambda: None)
    assert watch


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ({}, True),
        ({"a.b": 1}, True),
        ({"a.b": 1, "items.1.name": "y"}, True),
        ({"a.b": True}, False),
        ({"a.b": "1"}, False),
        ({"a": 1}, False),
        ({"items.2.name": "y"}, False),
        ({"items.x": "y"}, False),
        ({"a.b.c": 1}, False),
        ({"none": ""}, False),
        ({"ok": True}, True),
        ({"ok": 1}, False),
    ],
)
def test_conditions_are_exact(where: dict[str, str | int | bool], holds: bool) -> None:
    """A dotted path leads into the payload, and true is not 1."""
    payload = {"a": {"b": 1}, "items": [{"name": "x"}, {"name": "y"}], "ok": True}
    assert matches(EventTrigger(kind="k", where=where), payload) is holds
