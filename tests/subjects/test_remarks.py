"""What a program returns for an answer: that one, a failure, or something that is not known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

import pytest
from openai.types.chat import ChatCompletion

from faultclock.subjects.outcome import describe_reply
from faultclock.subjects.reading import reply_of
from tests.subjects.test_reading import chat


@dataclass
class Result:
    """What many programs make of an answer, or of its failure."""

    text: str | None = None
    error: str | None = None
    status: Any = "ok"


@dataclass
class Failure:
    """What a program returns in place of an answer."""

    reason: str


@dataclass
class Truncated:
    """What a program returns where it has half of an answer."""

    text: str


@dataclass(slots=True)
class Slotted:
    """A value without a dictionary of its members."""

    text: str
    status: str


class Rejected(Exception):
    """What a program returns in place of raising it."""


class Kept:
    """A value that has more for itself than for its caller."""

    def __init__(self) -> None:
        self.text, self._is_cached = "Hi", True

    def __repr__(self) -> str:
        """Return a name for a test, which has to be the same in each process."""
        return "Kept()"


class Asked:
    """A value of which one asks whether it is one."""

    text = "Hi"

    def is_ok(self) -> bool:
        """Return whether it is one."""
        return False


@dataclass
class Answered:
    """What an HTTP client returns."""

    status_code: int
    text: str = "busy"

    def json(self) -> Any:
        """Return its body."""
        return {"text": self.text}


class State(Enum):
    """How an answer ended."""

    WHOLE = auto()
    CUT = auto()


class Named(NamedTuple):
    """A pair whose members have names."""

    text: str
    ok: bool


@pytest.mark.parametrize(
    ("value", "text", "reason"),
    [
        ({"error": "timed out"}, "", "error"),
        ({"error": "timed out", "text": "Hi"}, "Hi", "error"),
        ({"error": None, "text": "Hi"}, "Hi", None),
        ({"ok": False, "text": None}, "", "error"),
        ({"ok": True, "text": "Hi"}, "Hi", None),
        ({"answer": "Hi", "truncated": True}, "Hi", "error"),
        ({"answer": "Hi", "truncated": False}, "Hi", None),
        ({"status": 503, "body": "busy"}, "", "error"),
        ({"status": 200, "text": "Hi"}, "Hi", None),
        (Result(error="timed out"), "", "error"),
        (Result("Hi", status="cut off"), "Hi", "cut off"),
        (Result("Hi", status="Completed"), "Hi", None),
        (Result("Hi"), "Hi", None),
        (Failure("timed out"), "", "error"),
        (ValueError("no answer"), "", "error"),
        (Rejected("no answer"), "", "error"),
        (Slotted("Hi", "cut off"), "Hi", "cut off"),
        (Kept(), "Hi", None),
        (Answered(500), "busy", "error"),
        (Answered(200), "busy", None),
        # What a provider has beside its answer is not the program's word.
        ({"role": "assistant", "content": "Hi", "partial": "no"}, "Hi", None),
        # What stands beside an answer, or before a failure.
        (("Hi", None), "Hi", None),
        (("", None), "", None),
        (("Hi", "length"), "Hi", "length"),
        (("Hi", "APITimeoutError: timed out"), "Hi", "APITimeoutError: timed out"),
        (("Hi", "gpt-5-mini"), "Hi", None),
        (("Hi", 3), "Hi", None),
        ((None, "timed out"), "", "timed out"),
        ((None, None, "timed out"), "", "timed out"),
        ((None, ValueError("no answer")), "", "error"),
        ((False, "timed out"), "", "timed out"),
        (("Hi", State.CUT), "Hi", "CUT"),
        (("ok", "Hi"), "Hi", None),
        (("gpt-5-mini", "Hi"), "Hi", None),
        (Named("Hi", ok=False), "Hi", "error"),
        (Named("Hi", ok=True), "Hi", None),
        (Truncated("Hi"), "Hi", "error"),
        ({"content": "Hi", "status": "truncated"}, "Hi", "truncated"),
        ({"content": "Hi", "status": "ok"}, "Hi", None),
        ({"message": "Hi", "finish_reason": "success"}, "Hi", None),
        ({"text": "Hi", "stop_reason": "max_tokens"}, "Hi", "max_tokens"),
        # An empty answer with its reason is passed on as it was.
        ({"text": "", "stop_reason": "end_turn"}, "", "end_turn"),
        ({"text": "Hi", "state": State.WHOLE}, "Hi", None),
        (({"text": "Hi"}, "timed out"), "Hi", "timed out"),
        ((chat("Hi", "length"), "timed out"), "Hi", "length"),
    ],
    ids=repr,
)
def test_a_value_says_that_it_is_a_failure(value: Any, text: str, reason: str | None) -> None:
    """A program may return one in place of an exception; that of an answer has a text and none."""
    read = describe_reply(reply_of(value))
    assert (read["text"], read.get("finish_reason"), read.get("problem")) == (text, reason, None)


@pytest.mark.parametrize(
    "value",
    [{"content": None}, {"text": None, "finish_reason": "stop"}, {"answer": None}, Result()],
)
def test_a_value_without_its_text_is_no_answer(value: Any) -> None:
    """It is as if the program had returned None."""
    assert reply_of(value) is None


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (("Hi", True), "a bool"),
        ((False, "Hi"), "False before it"),
        ((None, "Hi"), "None before it"),
        (("Hi", "openai"), "a str"),
        (("Hi", "what the model had no time to look at"), "a str"),
        ({"text": "Hi", "status": "delivered"}, "status"),
        ({"text": "Hi", "is_draft": False}, "is_draft"),
        ({"text": "Hi", "partial": "no"}, "partial"),
        ({"text": "Hi", "detail": "see the log"}, "detail"),
        ({"text": "Hi", "warnings": ["the stream was incomplete"]}, "warnings"),
    ],
    ids=repr,
)
def test_what_is_said_beside_a_text_may_not_be_known(value: Any, what: str) -> None:
    """The text is the answer; where that is not whole, nothing is shown."""
    read = describe_reply(reply_of(value))
    assert read["text"] == "Hi"
    assert read["problem"] == f"what it says with {what} is not known"
    assert read["type"] == type(value).__name__


def test_what_is_asked_whether_it_is_an_answer_is_not_known() -> None:
    """A method of the program's own is not called here."""
    read = describe_reply(reply_of(Asked()))
    assert (read["text"], read["problem"]) == ("Hi", "what it says with is_ok() is not known")


def test_what_an_object_of_a_library_says_is_known_by_its_own_reader() -> None:
    """Its members are not the program's words."""
    message = {"role": "assistant", "content": "Hi"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    read = reply_of(ChatCompletion.model_validate({**whole, "choices": [choice]}))
    assert (read.text, read.finish_reason) == ("Hi", "stop")
    of_a_library = type("Truncated", (), {"text": "Hi", "__module__": "openai"})
    read = reply_of(of_a_library())
    assert (read.text, read.finish_reason) == ("Hi", None)


def test_a_value_of_a_programs_own_may_say_anything() -> None:
    """What a provider sends, or nothing at all, says no more than that it is no answer."""

    @dataclass
    class Own:
        why: str

    read = describe_reply(reply_of(Own("timed out")))
    assert read["problem"] == "it has no text, and what else it says is not known"
    of_boto3 = {"ResponseMetadata": {"HTTPStatusCode": 200}}
    for value in ({"choices": None}, {"why": "x", "message": "y"}, of_boto3, {}, [], 7):
        assert "problem" not in describe_reply(reply_of(value))


def test_an_error_beside_a_text_has_no_place_of_this_machine() -> None:
    """It may hold the address of an object, which differs in each process."""
    read = describe_reply(reply_of(("Hi", "error: <Client object at 0x7f31c0a1b2d0>")))
    assert read["finish_reason"] == "error: <Client object at 0x…>"
