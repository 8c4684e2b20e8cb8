"""Results of tools that come back as a text: a model that asked for them reads on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from faultclock.fakes.wire.in_words import InWords, Spoken, in_words, keep

USER = {"role": "user", "content": "Write it."}
TOOLS = ({"id": "call_1", "name": "write_note"}, {"id": "call_2", "name": "send"})


def said(text: str, role: str = "user") -> dict[str, Any]:
    """Return a message."""
    return {"role": role, "content": text}


def asked(
    *chat: dict[str, Any], call: str | None = "ask/1", spoken: Spoken | None = None
) -> Spoken:
    """Return what a provider keeps that answered `chat` with both tools."""
    spoken = {} if spoken is None else spoken
    keep(spoken, chat, call, TOOLS)
    return pickle.loads(pickle.dumps(spoken))  # type: ignore[no-any-return]  # as between lives


def found(spoken: Spoken, *chat: dict[str, Any], call: str | None = "ask/1") -> list[Any]:
    """Return the texts that answer the calls, and whether the calls are left out."""
    return [(it.text, it.left_out) for it in in_words(spoken, chat, call)]


def test_a_text_behind_what_was_answered_is_the_result() -> None:
    """AFK sends `[tool_result:…]` as a message of the user, and not the call of the model."""
    assert in_words(asked(USER), [USER, said("done")], "ask/1") == (
        InWords(ids=("call_1", "call_2"), names=("write_note", "send"), text="done", left_out=True),
    )


def test_the_same_request_again_is_no_result() -> None:
    """A retry is answered as the first one was; so is a conversation that only begins alike."""
    spoken = asked(USER)
    assert found(spoken, USER) == []
    assert found(spoken, said("Write it. Now.")) == []
    assert found(spoken, said("system prompt", "system"), USER) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [("[write_note] done", True), ("result of call_2: done", True), ("rewrite_notes", False)],
)
def test_in_another_turn_it_has_to_name_the_tool_or_the_call(text: str, names: bool) -> None:
    """What a user says next, after a turn that was lost, is no result."""
    for spoken, call in ((asked(USER), "ask/2"), (asked(USER, call=None), None)):
        expected = [(text, True)] if names else []
        assert found(spoken, USER, said(text), call=call) == expected


def test_one_result_after_another() -> None:
    """Each answer is kept with what it was given to, and is counted once, in a later turn too."""
    spoken = asked(USER)
    first = [USER, said("one")]
    spoken = asked(*first, spoken=spoken)
    assert found(spoken, *first, said("two")) == [("one", True), ("two", True)]
    keep(spoken, [*first, said("two")], "ask/1", ())
    later = [*first, said("two"), said("Done.", "assistant"), said("And now?")]
    assert found(spoken, *later, call="ask/2") == [("one", True), ("two", True)]


def test_what_is_joined_to_the_message_before_is_read_as_well() -> None:
    """Frameworks such as smolagents merge messages of one role."""
    parts = {"role": "user", "content": [{"type": "text", "text": "Write it."}]}
    assert found(asked(parts), said("Write it.\nError: no disk")) == [("Error: no disk", True)]


def test_a_call_that_is_told_in_words_is_not_left_out() -> None:
    """A message of the assistant stands for the answer that asked for the tools."""
    chat = [USER, said("Calling tools: call_1", "assistant"), said("Observation: done")]
    assert found(asked(USER), *chat) == [("Observation: done", False)]


def test_calls_with_their_ids_are_no_words() -> None:
    """The usual way: the call of the model, then the result with its id."""
    calls = [{"id": tool["id"], "function": {"name": tool["name"]}} for tool in TOOLS]
    chat = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        said("An image of write_note."),
    ]
    assert found(asked(USER), *chat) == []


def test_a_conversation_without_end_is_not_read() -> None:
    """A caller that repeats itself for ever costs no more for that."""
    chat = [USER] * 1_001
    spoken: Spoken = {}
    keep(spoken, chat, "ask/1", TOOLS)
    assert spoken == {}
    assert found(asked(USER), *chat) == []
