"""What an agent leaves out of its history and has in other words, and what it lost."""

from __future__ import annotations

import pytest

from faultclock.oracle.judge import judge
from tests.oracle.common_model import common, found, verdict
from tests.oracle.trace_builder import sha256
from tests.oracle.turn_builder import TurnBuilder

ASKED, SAID = sha256("My name is Ada."), sha256("Hello Ada.")


def _goes_on_with(*requests: dict[str, object]) -> TurnBuilder:
    """Return a session whose next life sends these requests in place of the whole history."""
    tasks = ({"id": "ask"}, {"id": "again", "do": "restart"}, {"id": "next"})
    built = TurnBuilder(tasks=tasks).opens().begins("ask/1", prompt="My name is Ada.")
    built.says("Hello Ada.").stores()
    built.ends(text="Hello Ada.").begins("again/1", "restart").ends()
    built.life = 2
    built.opens(resume=True).begins("next/1", prompt="And?").stores("read")
    for request in requests:
        built.messages[:] = request["messages"]  # type: ignore[call-overload]
        built.says("Well.")
        (*_, sent) = [event for event in built.events if event.kind == "http.request"]
        sent.payload["quotes"] = request["quotes"]  # type: ignore[index]
    return built.ends(text="Well.")


def _message(role: str, sha256: str) -> dict[str, str]:
    return {"role": role, "content_sha256": sha256}


@pytest.mark.parametrize(("holds", "seen"), [(True, "PASS"), (False, "FAIL")])
def test_a_history_that_is_summarised_is_not_lost(holds: bool, seen: str) -> None:
    """The agent asks for a summary of what it leaves out, and sends that with the rest.

    A summary that no later request holds saves nothing.
    """
    new = sha256("And?")
    summary = {"messages": [_message("user", "5" * 64)], "quotes": [ASKED]}
    rest = [_message("user", "6" * 64), _message("assistant", SAID), _message("user", new)]
    quotes = [sha256("Well.")] if holds else []
    built = _goes_on_with(summary, {"messages": rest, "quotes": quotes})
    assert verdict(built, "resume.history") == seen


def test_a_summary_that_the_agent_drops_hides_no_loss() -> None:
    """It asks for one, and sends the next question alone."""
    summary = {"messages": [_message("user", "5" * 64)], "quotes": [ASKED, SAID]}
    alone = {"messages": [_message("user", sha256("And?"))], "quotes": []}
    assert verdict(_goes_on_with(summary, alone), "resume.history") == "FAIL"


def test_a_history_in_the_words_of_the_agent_is_not_lost() -> None:
    """It makes no request for them."""
    in_words = {"messages": [_message("user", "5" * 64)], "quotes": [ASKED, SAID]}
    assert verdict(_goes_on_with(in_words), "resume.history") == "PASS"


@pytest.mark.parametrize("quotes", [[], [SAID], ["7" * 64]])
def test_what_no_summary_covers_is_lost(quotes: list[str]) -> None:
    """A quote of something else covers nothing, nor does one of a part of it."""
    alone = {"messages": [_message("user", sha256("And?"))], "quotes": quotes}
    assert verdict(_goes_on_with(alone), "resume.history") == "FAIL"


def test_the_last_messages_alone_may_be_all_that_an_agent_sends() -> None:
    """A limit in messages leaves the same as a loss, so neither is known."""
    rest = [_message("assistant", SAID), _message("user", sha256("And?"))]
    finding = found(_goes_on_with({"messages": rest, "quotes": []}), "resume.history")
    assert finding.verdict.value == "INCONCLUSIVE"
    assert finding.observed.startswith("it goes on with the last 1 of them")


@pytest.mark.parametrize(("quotes", "lost"), [([], True), ([sha256("Say hello.")], False)])
def test_a_result_may_be_told_in_a_condensed_history(quotes: list[str], lost: bool) -> None:
    """The agent has put its words for the whole conversation in place of it."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1")
    built.messages[:] = [_message("user", "5" * 64)]
    built.says("Done.")
    (*_, sent) = [event for event in built.events if event.kind == "http.request"]
    sent.payload["quotes"] = quotes  # type: ignore[index]
    findings = judge(common(), built.ends(text="Done.").build()).findings
    failed = [item for item in findings if item.verdict.value == "FAIL"]
    assert [item.requirement for item in failed] == ["COMMON-RESULT-04"] * lost
