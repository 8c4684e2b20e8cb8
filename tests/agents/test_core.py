"""What the references have in common: whom a request goes to, who is asked, what is on record."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from faultclock.agents.afk import AfkAgent
from faultclock.agents.calls import (
    Call,
    Outcome,
    approval_of,
    first_answer,
    together,
)
from faultclock.agents.core import Agent
from faultclock.agents.kode import KodeAgent
from faultclock.agents.matrix import MatrixAgent
from faultclock.agents.relavium import RelaviumAgent
from faultclock.agents.stud_cli.runtime import ReferenceRuntime
from faultclock.agents.turn import (
    Ended,
    FailedAttempt,
    Message,
    Next,
    Pair,
    Turn,
    Turns,
)
from faultclock.agents.wire import assistant_message, tool_message
from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionRequest,
    ProviderTarget,
    Reply,
    Surroundings,
    ToolCall,
)
from faultclock.subjects.stud import AttemptError

BUSY = ("provider", "busy")


class _Small(Agent):
    """Asks each provider twice; the providers in `down` fail, and those in `shut` are not asked."""

    def __init__(self, host: Any, *, down: Sequence[str] = (), shut: Sequence[str] = ()) -> None:
        first = {"base_url": "", "model": "m", "attempts_per_provider": None}
        spare = ProviderTarget(id="spare", base_url="", model="m")
        world = SimpleNamespace(host=host, fallbacks=(spare,), **first)
        super().__init__(cast("Surroundings", world))
        self.down, self.shut = down, shut
        self.asked: list[str] = []
        self.failed: list[tuple[str, int, bool]] = []

    async def ask_target(self, target: ProviderTarget, messages: Sequence[Message]) -> Reply:
        self.asked.append(target.id)
        if target.id in self.down:
            raise AttemptError("http_error", "busy")
        return Reply("good", (), "stop", 1)

    def admitted(self, turn: Turn, target: ProviderTarget, *, is_last: bool) -> bool:
        return target.id not in self.shut

    def classify(self, failed: AttemptError) -> Pair | None:
        return BUSY

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        if attempt.number < 2:
            return Next(act="again")
        return Next(act="end") if attempt.is_last else Next(act="advance")

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        self.failed.append((attempt.target.id, attempt.number, attempt.is_last))

    def no_provider_left(self, turn: Turn) -> Ended:
        return Ended("failed", None, "nobody is left")

    # What a turn without tools, limits and cancels never comes to.

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        raise AssertionError(limit)

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        raise AssertionError(call)

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        raise AssertionError(call)

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        raise AssertionError(call)

    def cancelled(self, turn: Turn) -> Ended:
        raise AssertionError(turn)

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        raise AssertionError(turn) from error


def _ask(agent: _Small) -> Reply:
    turn = Turn(number=1, text="")
    return asyncio.run(agent.ask_chain(turn, []))


def test_a_request_goes_on_to_the_next_provider_when_the_model_says_so(host: Any) -> None:
    """Each attempt has its number at its own provider."""
    agent = _Small(host, down=[""])
    assert _ask(agent).text == "good"
    assert agent.asked == ["", "", "spare"]
    assert agent.failed == [("", 1, False), ("", 2, False)]


def test_a_request_that_nobody_answers_ends_the_turn_with_what_the_last_one_was(host: Any) -> None:
    """With class and code of the last attempt, and its message."""
    agent = _Small(host, down=["", "spare"])
    with pytest.raises(Ended, match="busy") as ended:
        _ask(agent)
    assert (ended.value.state, ended.value.pair) == ("failed", BUSY)
    assert agent.failed[-1] == ("spare", 2, True)


def test_a_provider_that_is_not_admitted_is_passed_over(host: Any) -> None:
    """And where none is admitted, nobody is left."""
    agent = _Small(host, shut=[""])
    _ask(agent)
    assert agent.asked == ["spare"]
    with pytest.raises(Ended, match="nobody is left"):
        _ask(_Small(host, shut=["", "spare"]))


def test_a_failure_is_on_record_with_the_names_that_the_model_has_for_it(host: Any) -> None:
    """Or with none."""
    agent = _Small(host)
    agent.put_on_record(BUSY, {"target": "first"}, 2)
    agent.put_on_record(None, {"target": "run"})
    assert host.told == [("audit", (*BUSY, 2)), ("audit", (None, None, None))]


def test_calls_that_run_together_are_all_over_when_one_of_them_ends_the_turn() -> None:
    """The others are told to stop, and have stopped."""
    stopped = []

    async def slow() -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("slow")
        raise AssertionError("nobody sets it")

    async def ends() -> Outcome:
        await asyncio.sleep(0)
        raise Ended("failed", BUSY, "over")

    with pytest.raises(Ended):
        asyncio.run(_together(slow(), ends()))
    assert stopped == ["slow"]


async def _together(*work: Coroutine[Any, Any, Outcome]) -> list[Outcome]:
    return await together(work)


def test_an_answer_is_in_the_conversation_with_an_id_for_each_call() -> None:
    """One that came without an id gets one, and the result is found by it."""
    reply = Reply("", (ToolCall("read", "{}"), ToolCall("read", "{}", "c7")), "tool_calls", 3)
    message = assistant_message(reply)
    assert message["content"] is None
    assert [call["id"] for call in message["tool_calls"]] == ["call-1", "c7"]
    assert tool_message("c7", {"text": "ü"}) == {
        "role": "tool",
        "tool_call_id": "c7",
        "content": '{"text": "ü"}',
    }


class _Screen:
    kinds = frozenset({"Approve"})

    def __init__(self, *statuses: Any) -> None:
        self.statuses = statuses
        self.taken_off: list[str] = []

    def show(self, request: InteractionRequest, answer: Any) -> None:
        for status in self.statuses:
            answer(InteractionAnswer(status=status))

    def dismiss(self, request_id: str) -> None:
        self.taken_off.append(request_id)


class _BrokenScreen(_Screen):
    def show(self, request: InteractionRequest, answer: Any) -> None:
        raise OSError("no display")


def _with(*screens: _Screen, headless: bool = False) -> Surroundings:
    world = SimpleNamespace(interactors=screens, headless=headless, deadlines_s={})
    return cast("Surroundings", world)


CALL = Call(id="c1", name="write", tool=None)


@pytest.mark.parametrize(
    ("statuses", "decision"),
    [
        (("accepted",), "approved"),
        (("rejected",), "denied"),
        (("dismissed",), "dismissed"),
        (("rejected", "accepted"), "denied"),
        ((), "timeout"),
    ],
)
def test_the_first_answer_is_the_decision_and_the_question_is_taken_off(
    statuses: tuple[str, ...], decision: str
) -> None:
    """Of every screen that showed it; a broken one shows nothing."""
    screen, broken = _Screen(*statuses), _BrokenScreen()
    asked = approval_of(_with(broken, screen), CALL, deadline_s=0.001)
    assert asyncio.run(asked) == decision
    assert (screen.taken_off, broken.taken_off) == (["approve-c1"], [])


def test_where_nobody_can_be_asked_nobody_has_approved() -> None:
    """Without a screen, or with a broken one alone."""
    for world in (_with(), _with(_Screen("accepted"), headless=True), _with(_BrokenScreen())):
        assert asyncio.run(approval_of(world, CALL, deadline_s=1.0)) == "denied"
        request = InteractionRequest(id="q", kind="Approve", prompt="?", deadline_s=1.0)
        assert asyncio.run(first_answer(world, request)) is None


@pytest.mark.parametrize(
    "agent", [AfkAgent, KodeAgent, MatrixAgent, ReferenceRuntime, RelaviumAgent]
)
def test_every_reference_goes_through_its_turns_as_the_core_does(
    agent: type[Turns[Any, Any]],
) -> None:
    """A document fills in steps, and has no conversation of its own."""
    for step in ("whole_turn", "converse", "last_word"):
        assert getattr(agent, step) is getattr(Turns, step)
