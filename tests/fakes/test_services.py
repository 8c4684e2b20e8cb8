"""Hooks, a telemetry sink and a queue answer in virtual time, raise, or never come back."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

import pytest

from faultclock.fakes.ports.services import FakeHook, FakeQueue, FakeTelemetry
from faultclock.fakes.ports.uses import UsesState
from faultclock.model.scenario.services_script import HookScript, QueueScript, TelemetryScript
from tests.fakes.used_life import BOTH, UsedLife

SECRET = "no such key sk-0123456789abcdef"


def hook(*rules: dict[str, Any], state: UsesState | None = None, takes: str = "50ms") -> Any:
    """Return a maker of a hook named `audit`, with rules r1, r2..."""
    script = HookScript.model_validate(
        {"id": "audit", "slot": "pre_tool", "takes": takes, "rules": named(rules)}
    )
    kept = state or UsesState()
    return lambda kernel, style, life: FakeHook(script, kernel, style, kept, life)


def telemetry(*rules: dict[str, Any], state: UsesState | None = None) -> Any:
    """Return a maker of a telemetry sink that takes 50 ms."""
    script = TelemetryScript.model_validate({"takes": "50ms", "rules": named(rules)})
    kept = state or UsesState()
    return lambda kernel, style, life: FakeTelemetry(script, kernel, style, kept, life)


def queue(*rules: dict[str, Any], state: UsesState | None = None) -> Any:
    """Return a maker of a queue that takes 50 ms."""
    script = QueueScript.model_validate({"takes": "50ms", "rules": named(rules)})
    kept = state or UsesState()
    return lambda kernel, style, life: FakeQueue(script, kernel, style, kept, life)


def named(rules: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """Return rules with ids."""
    return [{"id": f"r{number}", **rule} for number, rule in enumerate(rules, 1)]


def run(fake: Any) -> Any:
    """Call the hook."""
    return fake.run({"tool": "write_file"})


def export(fake: Any) -> Any:
    """Export a span."""
    return fake.export("span", {"tokens": 3})


def push(fake: Any) -> Any:
    """Push a result."""
    return fake.push("turn-1", {"text": "done"})


#: What each service is asked, what it is called in its facts, and what it raises.
SERVICES = pytest.mark.parametrize(
    ("make", "use", "begins", "ends", "raised", "of"),
    [
        (hook, run, "hook.called", "hook.replied", RuntimeError, "hook audit"),
        (telemetry, export, "telemetry.asked", "telemetry.answered", ConnectionError, "telemetry"),
        (queue, push, "queue.asked", "queue.answered", ConnectionError, "queue"),
    ],
    ids=["hook", "telemetry", "queue"],
)
Make = Callable[..., Any]


@BOTH
def test_a_hook_says_when_it_was_called_and_replied(style: str) -> None:
    """With its slot, its number, and the call in which it was."""
    life = UsedLife(hook(), style)
    assert life.run(run, run) == [None, None]
    told = {"hook": "audit", "slot": "pre_tool"}
    good = {"ok": True, "error": None}
    assert life.facts() == [
        (0, "hook.called", {**told, "n": 1}),
        (50, "hook.replied", {**told, "n": 1, **good}),
        (50, "hook.called", {**told, "n": 2}),
        (100, "hook.replied", {**told, "n": 2, **good}),
    ]
    payloads = [payload for *_, payload in life.events()]
    assert {(item["call"], item["life"]) for item in payloads} == {("ask/1", 1)}


@BOTH
def test_the_sink_and_the_queue_say_what_they_were_given(style: str) -> None:
    """By its name: what is in it is nobody's business but the subject's."""
    sink, line = UsedLife(telemetry(), style), UsedLife(queue(), style)
    assert sink.run(export) == [None]
    assert line.run(push) == [None]
    assert sink.facts() == [
        (0, "telemetry.asked", {"name": "span", "n": 1}),
        (50, "telemetry.answered", {"name": "span", "n": 1, "ok": True, "error": None}),
    ]
    assert line.facts() == [
        (0, "queue.asked", {"item": "turn-1", "n": 1}),
        (50, "queue.answered", {"item": "turn-1", "n": 1, "ok": True, "error": None}),
    ]


@BOTH
@SERVICES
def test_what_raises_does_so_when_its_time_is_over(
    make: Make, use: Any, begins: str, ends: str, raised: type[Exception], of: str, style: str
) -> None:
    """An ordinary exception with the whole message; the trace has it without its secret."""
    life = UsedLife(make({"uses": 2, "message": SECRET}), style)
    good, failed, after = life.run(use, use, use)
    assert (good, after) == (None, None)
    assert type(failed) is raised
    assert str(failed) == SECRET
    assert life.kinds()[2:5] == [(50, begins), (100, "fault.fired"), (100, ends)]
    fired, answered = (payload for _, _, payload in life.facts()[3:5])
    assert fired == {"fault": "r1", "fault_kind": "raises", "of": of, "n": 2}
    assert answered["ok"] is False
    assert answered["error"] == {"type": raised.__name__, "message": "no such key <secret>"}


@SERVICES
def test_what_hangs_never_comes_back(
    make: Make, use: Any, begins: str, ends: str, raised: type[Exception], of: str
) -> None:
    """A caller with a deadline goes on without it; one without hangs as well."""
    del ends, raised
    life = UsedLife(make({"then": "hangs"}))
    (given_up,) = life.run(lambda fake: asyncio.wait_for(use(fake), 2.0))
    assert isinstance(given_up, TimeoutError)
    assert life.kinds() == [(0, begins), (0, "fault.fired")]
    fired = life.facts()[1][2]
    assert (fired["fault_kind"], fired["of"]) == ("hangs", of)

    blocking = UsedLife(make({"then": "hangs"}), "sync")
    blocking.run(use)
    assert blocking.ending.reason == "deadlock"
    assert of in "".join(blocking.ending.detail)


@SERVICES
def test_only_what_is_in_the_process_stops_with_the_task(
    make: Make, use: Any, begins: str, ends: str, raised: type[Exception], of: str
) -> None:
    """A span that is on its way arrives, whoever has given up waiting; a hook is code, and ends."""
    del raised, of
    life = UsedLife(make())
    (given_up,) = life.run(lambda fake: asyncio.wait_for(use(fake), 0.010))
    assert isinstance(given_up, TimeoutError)
    arrives = [] if make is hook else [(50, ends)]
    assert life.kinds() == [(0, begins), *arrives]


@BOTH
def test_a_hook_that_takes_no_time_is_over_at_once(style: str) -> None:
    """Also one that raises."""
    life = UsedLife(hook({"uses": 2}, takes="0s"), style)
    good, failed = life.run(run, run)
    assert good is None
    assert isinstance(failed, RuntimeError)
    assert {at_ms for at_ms, _ in life.kinds()} == {0}


@SERVICES
def test_the_numbers_go_on_over_the_lives(
    make: Make, use: Any, begins: str, ends: str, raised: type[Exception], of: str
) -> None:
    """A rule that was met in the first life is met, and the third use is the third one."""
    del begins, ends, of
    state = UsesState()
    rules = [{"uses": 1}, {"uses": "3+"}, {"uses": 9, "optional": True}]
    UsedLife(make(*rules, state=state)).run(use, use)
    assert state.count == 2
    state = pickle.loads(pickle.dumps(state))
    later = UsedLife(make(*rules, state=state), number=2)
    (failed,) = later.run(use)
    assert isinstance(failed, raised)
    later.fake.seal()
    unmet = [payload for _, kind, payload in later.facts() if kind == "fault.unmet"]
    assert [(item["fault"], item["optional"]) for item in unmet] == [("r3", True)]


def test_a_rule_that_nobody_met_is_told_at_the_end() -> None:
    """A hook that was never called proves nothing."""
    life = UsedLife(hook({}))
    life.run()
    life.fake.seal()
    assert life.facts()[-1][1:] == (
        "fault.unmet",
        {"fault": "r1", "optional": False, "of": "hook audit"},
    )


@pytest.mark.parametrize(("make", "name"), [(hook, "run"), (telemetry, "export"), (queue, "push")])
def test_what_blocks_is_a_coroutine_function_for_an_async_subject(make: Make, name: str) -> None:
    """Some runtimes ask which it is."""
    assert iscoroutinefunction(getattr(UsedLife(make()).fake, name))
    assert not iscoroutinefunction(getattr(UsedLife(make(), "sync").fake, name))


def test_what_a_subject_calls_its_items_cannot_spoil_the_trace() -> None:
    """A secret is taken out, and what is no text gets a mark."""
    life = UsedLife(queue())
    life.run(lambda fake: fake.push(f"job {SECRET}", {}), lambda fake: fake.push(object(), {}))
    asked = [payload["item"] for _, kind, payload in life.facts() if kind == "queue.asked"]
    assert asked == ["job no such key <secret>", "<object>"]


def test_a_use_that_never_began_is_none() -> None:
    """A task that is cancelled before its coroutine first runs has used nothing."""

    async def cancelled(fake: Any) -> None:
        task = asyncio.ensure_future(fake.run({}))
        task.cancel()
        await asyncio.wait([task])

    life = UsedLife(hook())
    life.run(cancelled)
    assert life.facts() == []
