"""The truth table itself: whatever an SDK does otherwise than is written is told, by name."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any

import openai
import pytest
from msgspec.structs import replace

from faultclock.fakes.wire.answer import Answer
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import (
    Ask,
    Expected,
    Place,
    Reply,
    lost_members,
    unknown_members,
)
from tests.fakes.dialects.openai_clients import KEY, OpenAIChatSdk
from tests.fakes.dialects.truth import Case, Seen, complaint, lines_of_table, seen_by

GOOD = Case()
TOOLS = Case(tools=True)
ERROR = Case(payload="conflict")


class _Lying(OpenAIChatSdk):
    """A driver of which one thing is wrong."""

    def __init__(self, **lies: Any) -> None:
        super().__init__("openai-chat")
        self._lies = lies

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return another class, or that it is mute."""
        expected = super().expected(name, payload, place)
        lies = {key: value for key, value in self._lies.items() if key in {"error", "mute"}}
        return dataclasses.replace(expected, **lies)

    def status_told(self, error: BaseException) -> int | None:
        """Return another status."""
        status: int | None = self._lies.get("status", super().status_told(error))
        return status

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Look at another body."""
        chunks = self._lies.get("chunks", answer.chunks)
        return super().problems(replace(answer, chunks=chunks), ask)


class _Retrying(OpenAIChatSdk):
    """A client whose retries were left on."""

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a client with its defaults."""
        return openai.OpenAI(api_key=KEY, base_url=base_url)


def told(sdk: OpenAIChatSdk, case: Case, seen: Seen | None = None) -> str:
    """Return what the table says of a case."""
    honest = seen_by(OpenAIChatSdk("openai-chat"), "sync")[case]
    return complaint(sdk, "sync", case, seen or honest)


@pytest.mark.parametrize(
    ("lies", "part"),
    [
        ({"error": "openai.NotFoundError"}, "it raised openai.ConflictError"),
        ({"error": None}, "expected is None"),
        ({"status": 400}, "tells the status 400, not 409"),
        ({"mute": "it is said to be"}, "has the provider's words"),
    ],
)
def test_an_error_that_is_not_as_written_is_told(lies: dict[str, Any], part: str) -> None:
    """With the SDK and its version, the dialect, the payload, the client and the way."""
    text = told(_Lying(**lies), ERROR)
    head = f"openai {version('openai')} disagrees: openai-chat, answer:conflict, OpenAI (sync): "
    assert text.startswith(head)
    assert part in text


def test_words_that_are_lost_are_told() -> None:
    """Unless it is written why."""
    other = Seen(error=openai.OpenAIError("Error code: 409"), answers=_answers(ERROR))
    lies = {"error": "openai.OpenAIError", "status": 409}
    assert "and not 'The resource is being changed" in told(_Lying(**lies), ERROR, other)
    assert told(_Lying(**lies, mute="it is short"), ERROR, other) == ""


@pytest.mark.parametrize(
    ("case", "reply", "part"),
    [
        (GOOD, Reply(text="Hello", finish_reason="stop"), "the text is 'Hello'"),
        (GOOD, Reply(text="", tool_calls=(("x", 1),), finish_reason="stop"), "the tool calls are"),
        (TOOLS, Reply(finish_reason="tool_calls"), "the tool calls are ()"),
        (GOOD, Reply(finish_reason="length"), "the finish reason is 'length', not 'stop'"),
        (GOOD, None, "it raised None"),
    ],
)
def test_a_good_answer_that_is_misunderstood_is_told(
    case: Case, reply: Reply | None, part: str
) -> None:
    """Text, tool calls and finish reason."""
    seen = Seen(reply=reply, answers=_answers(case))
    assert part in told(OpenAIChatSdk("openai-chat"), case, seen)


def test_a_member_that_the_types_do_not_know_is_told() -> None:
    """However deep it is; so no dialect can make one up."""
    answer = _answers(GOOD)[0]
    odd = answer.chunks[0].replace(b'"role"', b'"mood": "fine", "role"')
    assert "unknown member mood" in told(_Lying(chunks=(odd,)), GOOD)


def test_a_value_of_another_type_is_told() -> None:
    """Validation is strict: a number as text does not pass."""
    answer = _answers(GOOD)[0]
    odd = answer.chunks[0].replace(b'"index": 0', b'"index": "0"')
    with pytest.raises(ValueError, match="index"):
        told(_Lying(chunks=(odd,)), GOOD)


def test_retries_that_were_left_on_are_told() -> None:
    """Else a table of classes would hide how often was asked."""
    sdk = _Retrying("openai-chat")
    assert "it made 3 requests, not one" in complaint(
        sdk, "sync", ERROR, seen_by(sdk, "sync")[ERROR]
    )


def test_members_that_were_dropped_are_found() -> None:
    """In objects, in lists, and nowhere else."""
    sent = {"a": 1, "b": {"c": 2, "d": [{"e": 3, "f": 4}]}}
    understood = {"a": 1, "b": {"d": [{"e": 3}]}, "more": 5}
    assert lost_members(sent, understood) == [".b.c", ".b.d[0].f"]
    assert lost_members(sent, sent) == []
    assert unknown_members(sent) == []


def test_the_table_has_a_line_for_each_error_and_each_sdk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the version that is installed, and the number of cells."""
    sdk = OpenAIChatSdk("openai-chat")
    monkeypatch.setattr("tests.fakes.dialects.truth.sdks", lambda: (sdk, _Lying(status=1)))
    lines = list(lines_of_table())
    line = next(line for line in lines if " conflict " in line)
    assert f"openai {version('openai')}" in line
    assert line.endswith("409    answer: openai.ConflictError, stream: openai.APIError")
    assert any("cells, " in line and not line.endswith(" 0 disagree") for line in lines)
    assert any("tells the status 1" in line for line in lines)


def _answers(case: Case) -> list[Answer]:
    return seen_by(OpenAIChatSdk("openai-chat"), "sync")[case].answers
