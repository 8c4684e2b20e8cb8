"""How far a conversation has come whose history the agent has condensed."""

from __future__ import annotations

import pickle
from typing import Any

from faultclock.fakes.wire.condensed import Condensed, Remembered
from faultclock.fakes.wire.in_words import digest

TOOLS = "send,write_note"
USER = {"role": "user", "content": "Do one, two and three."}
SUMMARY = "The user wants three notes."


def user(text: str) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": text}


def called(*ids: str) -> dict[str, Any]:
    """Return a message in which the model asks for tools."""
    return {"role": "assistant", "content": None, "tool_calls": [{"id": it} for it in ids]}


def result(id_: str, text: str) -> dict[str, Any]:
    """Return what a tool answered."""
    return {"role": "tool", "tool_call_id": id_, "content": text}


FIRST = [USER, called("call_1"), result("call_1", "written to notes.txt")]


def two_effects() -> Remembered:
    """Return what a provider remembers that has asked for two tools, and for a summary between."""
    known = Remembered()
    known.heard([USER], TOOLS)
    known.answered(TOOLS, None, ["call_1"], 1)
    known.heard(FIRST, TOOLS)
    known.answered(TOOLS, None, ["call_2"], 2)
    known.heard([user(f"Summarise: {USER['content']}")], "")
    known.answered("", SUMMARY, [], 1)
    return pickle.loads(pickle.dumps(known))  # type: ignore[no-any-return]  # as between lives


def test_a_whole_history_says_itself_how_far_it_has_come() -> None:
    """A model that begins anew, and a retry, are answered by what they send."""
    for chat in ([USER], FIRST, [*FIRST, called("call_2"), result("call_2", "sent it")]):
        assert two_effects().heard(chat, TOOLS) == Condensed()


def test_a_tool_call_that_is_left_says_how_far_a_condensed_history_has_come() -> None:
    """The first call of the model is in the summary, and the second one still there."""
    chat = [user(f"So far: {SUMMARY}"), called("call_2"), result("call_2", "sent it")]
    found = two_effects().heard(chat, TOOLS)
    assert found == Condensed(quotes=(digest(SUMMARY),), reached=2)


def test_a_summary_has_come_as_far_as_the_conversation_had_then() -> None:
    """No call is left; what goes on later does not change what a retry is answered."""
    known, chat = two_effects(), [user(f"So far: {SUMMARY}")]
    assert known.heard(chat, TOOLS).reached == 2
    known.answered(TOOLS, None, ["call_3"], 3)
    known.answered("", SUMMARY, [], 1)
    assert known.heard(chat, TOOLS).reached == 2
    assert known.heard([user(f"So far, too: {SUMMARY}")], TOOLS).reached == 3


def test_a_result_that_is_told_has_come_as_far_as_it() -> None:
    """An agent may word its summaries itself."""
    chat = [user("A note was written to notes.txt, so go on.")]
    found = two_effects().heard(chat, TOOLS)
    assert found == Condensed(quotes=(digest("written to notes.txt"),), reached=1)


def test_a_task_with_more_behind_it_was_worked_on() -> None:
    """An agent words its summary itself, and the result was never sent otherwise."""
    known, task = Remembered(), USER["content"]
    known.heard([USER], TOOLS)
    known.answered(TOOLS, None, ["call_1"], 1)
    assert known.heard([user(f"So far: {task} A note was written.")], TOOLS).reached == 1
    assert known.heard([user(f"Your task: {task}")], TOOLS).reached == 0


def test_another_agent_that_is_told_of_it_is_at_its_beginning() -> None:
    """One that is offered other tools, and one that has the task of the first in its own words."""
    assert two_effects().heard([user(f"So far: {SUMMARY}")], "search").reached == 0
    task = [user(f"Your task: {USER['content']}")]
    assert two_effects().heard(task, TOOLS) == Condensed(quotes=(digest(str(USER["content"])),))


def test_short_texts_and_texts_without_end_are_no_quotes() -> None:
    """They stand in others by chance, and a loop would be remembered for ever."""
    known = Remembered()
    known.heard([user("Hello."), user("x" * 3_000)], TOOLS)
    for number in range(1_000):
        known.heard([user(f"message number {number}")], TOOLS)
    assert len(known.texts) == 200
    assert known.heard([user("Hello. " + "x" * 3_001)], TOOLS).quotes == ()
