"""Fake interactors: what the person answers, when, how often, and what of it stands in a trace."""

from __future__ import annotations

import asyncio
import json
import math
import pickle
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from faultclock.fakes.ports.interactors import DEVICE_TOKEN, PASSWORD
from faultclock.model.scenario.port_values import InteractionAnswer
from faultclock.model.secrets import SECRET, without_secrets
from faultclock.model.typed_error import TypedError
from faultclock.sim.kernel.context import CALL_ID, current_call
from faultclock.sim.patches import installed
from tests.fakes.interaction_desk import SECOND, Desk, request, script


@pytest.fixture(autouse=True, scope="module")
def _patched_world() -> Iterator[None]:
    with installed():
        yield


STYLES = pytest.mark.parametrize("style", ["async", "sync"])


@STYLES
def test_without_a_rule_it_approves_after_two_seconds(style: str) -> None:
    """The default person says yes, and every fact has exactly its fields."""
    desk = Desk(style, script())
    desk.run((1, lambda: desk.show(request())))
    assert desk.answers == [
        (3 * SECOND, "terminal", InteractionAnswer(status="accepted", value=True))
    ]
    common = {
        "interactor": "terminal",
        "request": "q1",
        "tool_call": "c1",
        "call": "ask/1",
        "life": 1,
    }
    assert desk.facts() == [
        (
            1,
            "interaction.shown",
            {
                **common,
                "interaction_kind": "Approve",
                "tool": "write_file",
                "deadline_ns": 120 * SECOND,
            },
        ),
        (
            3,
            "interaction.answered",
            {**common, "answer": "approved", "accepted": True, "class": None, "code": None},
        ),
    ]


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("Approve", "approved", True),
        ("Confirm", "approved", True),
        ("Ask", "given", ""),
        ("Select", "given", "red"),
        ("Auth.DeviceCode", "given", DEVICE_TOKEN),
        ("Auth.Password", "given", PASSWORD),
    ],
)
def test_each_kind_has_its_default_answer(kind: str, said: str, value: object) -> None:
    """Where nothing is scripted, each kind gets the answer that lets the work go on."""
    desk = Desk("async", script())
    desk.run((0, lambda: desk.show(request(kind, options=("red", "blue")))))
    assert desk.answers[0][2] == InteractionAnswer(status="accepted", value=value)
    assert desk.answered() == [(2, said, True)]


def test_a_select_without_options_gets_none() -> None:
    """There is no first option of an empty list."""
    desk = Desk("async", script())
    desk.run((0, lambda: desk.show(request("Select"))))
    assert desk.answers[0][2].value is None


@pytest.mark.parametrize(
    ("then", "said", "answer"),
    [
        ({"kind": "approve"}, "approved", InteractionAnswer(status="accepted", value=True)),
        (
            {"kind": "deny", "reason": "no!"},
            "denied",
            InteractionAnswer(status="rejected", reason="no!"),
        ),
        ({"kind": "dismiss"}, "dismissed", InteractionAnswer(status="dismissed")),
        ({"kind": "give", "value": [1]}, "given", InteractionAnswer(status="accepted", value=[1])),
    ],
)
@STYLES
def test_a_rule_says_what_is_answered_and_when(
    style: str, then: dict[str, Any], said: str, answer: InteractionAnswer
) -> None:
    """Each kind of answer comes after its time, as what it is, and its rule has fired."""
    desk = Desk(style, script({"then": {**then, "after": "7s"}}))
    desk.run((0, lambda: desk.show(request())))
    assert desk.answers == [(7 * SECOND, "terminal", answer)]
    assert desk.answered() == [(7, said, True)]
    assert desk.facts("fault.fired") == [
        (
            0,
            "fault.fired",
            {
                "fault": "r1",
                "fault_kind": then["kind"],
                "of": "interactor terminal",
                "request": "q1",
                "call": "ask/1",
                "life": 1,
            },
        )
    ]
    assert desk.facts("fault.unmet") == []


def test_a_given_value_is_a_copy() -> None:
    """A subject that changes what it was given does not change the script."""
    desk = Desk("async", script({"then": {"kind": "give", "value": {"a": [1]}}}))
    desk.refuse = lambda answer: answer.value["a"].append(2)
    desk.run((0, lambda: desk.show(request())), (5, lambda: desk.show(request(number=2))))
    assert [len(answer.value["a"]) for _, _, answer in desk.answers] == [2, 2]
    assert desk.answers[0][2].value is not desk.answers[1][2].value


@STYLES
def test_never_means_that_no_answer_comes(style: str) -> None:
    """Only the showing is on record."""
    desk = Desk(style, script({"then": {"kind": "never"}}))
    desk.run((0, lambda: desk.show(request())))
    assert [kind for _, kind, _ in desk.facts()] == ["interaction.shown", "fault.fired"]
    assert desk.answers == []


def test_a_broken_interface_raises_where_it_is_shown_something() -> None:
    """The runtime hears of it at once; nothing was shown."""
    desk = Desk("async", script({"then": {"kind": "break_down", "message": "no screen"}}))

    def show() -> None:
        with pytest.raises(RuntimeError, match="no screen"):
            desk.show(request())

    desk.run((0, show))
    assert [kind for _, kind, _ in desk.facts()] == ["fault.fired", "interaction.broken"]


def test_a_kind_that_it_cannot_show_is_refused_by_type() -> None:
    """A request of a kind that it does not offer counts neither as shown nor for the rules."""
    desk = Desk("async", script({"then": {"kind": "never"}}, kinds=["Confirm"]))

    def show() -> None:
        with pytest.raises(TypedError) as caught:
            desk.show(request("Ask"))
        assert (caught.value.error_class, caught.value.code) == (
            "Validation",
            "InteractionKindUnknown",
        )

    desk.run((0, show))
    assert [kind for _, kind, _ in desk.facts()] == ["interaction.broken", "fault.unmet"]
    assert desk.states[0].shown == 0


def test_rules_count_requests_and_look_at_kind_and_tool() -> None:
    """The first rule whose conditions all hold decides; one that nobody met is told at the end."""
    desk = Desk(
        "async",
        script(
            {"when": {"requests": 2}, "then": {"kind": "deny"}},
            {"when": {"tool": "rm"}, "then": {"kind": "dismiss"}},
            {"when": {"kind": "Ask"}, "then": {"kind": "give", "value": "blue"}},
            {"when": {"requests": "9+"}, "then": {"kind": "never"}, "optional": True},
        ),
    )
    desk.run(
        (0, lambda: desk.show(request(number=1, tool="rm"))),
        (10, lambda: desk.show(request(number=2, tool="rm"))),
        (20, lambda: desk.show(request("Ask", number=3))),
        (30, lambda: desk.show(request(number=4))),
    )
    assert [said for _, said, _ in desk.answered()] == ["dismissed", "denied", "given", "approved"]
    unmet = {"fault": "r4", "optional": True, "of": "interactor terminal", "call": None, "life": 1}
    assert [payload for _, _, payload in desk.facts("fault.unmet")] == [unmet]


@STYLES
def test_the_same_answer_can_come_several_times(style: str) -> None:
    """A double click: what the runtime refuses is on record with class and code."""
    desk = Desk(style, script({"then": {"kind": "approve", "times": 3, "again_after": "5s"}}))

    def refuse(_: InteractionAnswer) -> None:
        if len(desk.answers) == 1:
            desk.interactors[0].dismiss("q1")
        if len(desk.answers) > 1:
            raise TypedError("Session", "InteractionAlreadyAnswered", "too late")

    desk.refuse = refuse
    desk.run((0, lambda: desk.show(request())))
    assert desk.answered() == [
        (2, "approved", True),
        (7, "approved", False),
        (12, "approved", False),
    ]
    late = desk.facts("interaction.answered")[-1][2]
    assert (late["class"], late["code"]) == ("Session", "InteractionAlreadyAnswered")
    assert desk.facts("interaction.dismissed") == []


class Hostile(Exception):
    """Cannot even be asked for its code."""

    @property
    def code(self) -> str:
        """Raise."""
        raise RuntimeError("do not ask")

    error_class = "Session"


class Halftyped(Exception):
    """Has a code that is no text."""

    error_class, code = "Session", 429


@pytest.mark.parametrize("error", [ValueError("x"), Hostile(), Halftyped(), SystemExit(3)])
@STYLES
def test_whatever_the_runtime_raises_is_recorded_and_not_passed_on(
    style: str, error: BaseException
) -> None:
    """An answer that the runtime chokes on is a fact, and the world goes on."""
    desk = Desk(style, script())

    def refuse(_: InteractionAnswer) -> None:
        raise error

    desk.refuse = refuse
    desk.run((0, lambda: desk.show(request())))
    assert desk.answered() == [(2, "approved", False)]
    fact = desk.facts("interaction.answered")[0][2]
    assert (fact["class"], fact["code"]) == (None, None)


@STYLES
def test_a_dismissed_request_is_not_answered(style: str) -> None:
    """When the runtime gives up first, the dialog is gone, and so is the answer."""
    desk = Desk(style, script({"then": {"kind": "approve", "after": "130s", "times": 2}}))
    desk.run(
        (0, lambda: desk.show(request())),
        (120, lambda: desk.interactors[0].dismiss("q1")),
        (121, lambda: desk.interactors[0].dismiss("q1")),
        (122, lambda: desk.interactors[0].dismiss("unknown")),
    )
    assert [(at_s, kind) for at_s, kind, _ in desk.facts()] == [
        (0, "interaction.shown"),
        (0, "fault.fired"),
        (120, "interaction.dismissed"),
    ]
    assert desk.facts("interaction.dismissed")[0][2] == {
        "interactor": "terminal",
        "request": "q1",
        "tool_call": "c1",
        "call": "ask/1",
        "life": 1,
    }


@STYLES
def test_a_late_click_comes_even_on_a_dismissed_request(style: str) -> None:
    """With `even_if_dismissed`, all answers come."""
    then = {"kind": "approve", "after": "121s", "times": 2, "even_if_dismissed": True}
    desk = Desk(style, script({"then": then}))
    desk.run((0, lambda: desk.show(request())), (120, lambda: desk.interactors[0].dismiss("q1")))
    assert desk.answered() == [(121, "approved", True), (122, "approved", True)]


@STYLES
def test_several_interactors_show_the_same_request(style: str) -> None:
    """The first one answers; the other one is dismissed, and stays silent."""
    desk = Desk(
        style,
        script({"then": {"kind": "deny", "after": "3s"}}, id="phone"),
        script({"then": {"kind": "approve", "after": "5s"}}, id="desktop"),
    )

    def refuse(_: InteractionAnswer) -> None:
        for interactor in desk.interactors:
            interactor.dismiss("q1")

    desk.refuse = refuse
    desk.run((0, lambda: desk.show(request())))
    assert [name for _, name, _ in desk.answers] == ["phone"]
    dismissed = desk.facts("interaction.dismissed")
    assert [payload["interactor"] for _, _, payload in dismissed] == ["desktop"]


@STYLES
def test_a_request_shown_twice_is_two_dialogs(style: str) -> None:
    """Each showing has its answer; a dismissal takes all of that id off."""
    desk = Desk(style, script({"when": {"requests": "3+"}, "then": {"kind": "never"}}))
    desk.run(
        (0, lambda: (desk.show(request()), desk.show(request()))),
        (10, lambda: (desk.show(request()), desk.show(request()))),
        (11, lambda: desk.interactors[0].dismiss("q1")),
    )
    assert [at_s for at_s, _, _ in desk.answered()] == [2, 2]
    assert [at_s for at_s, _, _ in desk.facts("interaction.dismissed")] == [11, 11]


@pytest.mark.parametrize(
    "deadline_s", [math.inf, -math.inf, math.nan, 0, 0.0, -1.5, None, True, "120", 1e300, 10**400]
)
def test_what_is_no_deadline_is_none(deadline_s: Any) -> None:
    """Not finite, not a number, never or in the past: there is no deadline."""
    desk = Desk("async", script())
    desk.run((0, lambda: desk.show(request(deadline_s=deadline_s))))
    assert desk.facts("interaction.shown")[0][2]["deadline_ns"] is None


def test_a_deadline_is_exact() -> None:
    """Seconds become nanoseconds without a rounding error that a person would see."""
    desk = Desk("async", script())
    desk.run((0, lambda: desk.show(request(deadline_s=119.999999999))))
    assert desk.facts("interaction.shown")[0][2]["deadline_ns"] == 119_999_999_999


@STYLES
def test_answers_belong_to_the_call_of_the_request_and_to_nothing_else(style: str) -> None:
    """The answer comes on the loop, or on a thread of its own, and knows only the call."""
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    desk = Desk(style, script())

    def note(_: InteractionAnswer) -> None:
        running = asyncio._get_running_loop() is not None
        thread = threading.current_thread().name
        desk.seen.append((current_call(), variable.get(), running, thread))

    desk.refuse = note

    def show() -> None:
        token = CALL_ID.set("ask/2")
        variable.set("set by the subject")
        desk.show(request())
        CALL_ID.reset(token)

    desk.run((0, show))
    call, value, running, thread = desk.seen[0]
    assert (call, value) == ("ask/2", "unset")
    assert running is (style == "async")
    assert (thread == "terminal answers q1") is (style == "sync")
    assert desk.facts("interaction.answered")[0][2]["call"] == "ask/2"


def test_a_blocking_answer_does_not_stop_the_world() -> None:
    """Each answer of the sync style has its own thread: one that blocks holds up nobody."""
    desk = Desk("sync", script())

    def block(_: InteractionAnswer) -> None:
        if len(desk.answers) == 1:
            time.sleep(60)

    desk.refuse = block
    desk.run((0, lambda: (desk.show(request()), desk.show(request(number=2)))))
    assert [(at_s, said) for at_s, said, _ in desk.answered()] == [
        (2, "approved"),
        (62, "approved"),
    ]


def test_a_worker_thread_of_an_async_subject_may_show_requests() -> None:
    """Then the answer comes on the subject's loop."""
    desk = Desk("async", script())
    desk.refuse = lambda _: desk.seen.append(asyncio.get_running_loop())

    async def main() -> None:
        await asyncio.to_thread(desk.show, request())
        await asyncio.sleep(10)
        assert desk.seen == [asyncio.get_running_loop()]

    ending = desk.world.run(main)
    assert ending.error is None, ending


def test_counts_go_on_and_open_requests_are_forgotten_in_the_next_life() -> None:
    """A state goes from life to life as plain data; an answer that was due never comes."""
    scripts = (script({"when": {"requests": 2}, "then": {"kind": "deny"}}),)
    first = Desk("async", *scripts)
    first.run((0, lambda: first.show(request())), for_s=1)
    assert first.answers == []
    states = pickle.loads(pickle.dumps(first.states))
    second = Desk("async", *scripts, life=2, states=states)
    second.run((0, lambda: second.show(request())))
    assert second.answered() == [(2, "denied", True)]
    assert {payload["life"] for _, _, payload in second.facts()} == {2}
    assert second.facts("fault.unmet") == []


def test_no_secret_gets_into_a_fact() -> None:
    """Neither what the person gives nor what the subject writes into its names."""
    assert without_secrets(f"{PASSWORD} {DEVICE_TOKEN}") == f"{SECRET} {SECRET}"
    desk = Desk("async", script())
    desk.run(
        (0, lambda: desk.show(request("Auth.Password", tool=f"login {PASSWORD}"))),
        (5, lambda: desk.show(request("Auth.DeviceCode", number=2, tool_call=DEVICE_TOKEN))),
    )
    text = json.dumps(desk.world.recorder.events)
    assert "5b1e93d07ac24f68" not in text
    assert "c83f20a6d9417e5b" not in text
