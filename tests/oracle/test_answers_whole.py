"""Answers that are not whole: what a caller can see of that, and what each check makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.common_model import found, verdict
from tests.oracle.trace_builder import REPLY, TraceBuilder

CHECKS = ("answers.whole", "answers.noticed", "answers.not-empty", "answers.admitted")


def answered(ends: str | None, *, text: str = REPLY) -> TraceBuilder:
    """Return a call whose one answer ended in a way of its own."""
    built = TraceBuilder().start().good(text)
    if ends is not None:
        ended = next(item for item in built.events if item.kind == "http.exchange_ended")
        ended.payload["ends"] = ends  # type: ignore[index]
    return built


def returned(built: TraceBuilder, text: str | None, **said: Any) -> TraceBuilder:
    """End the call with a text, and with what else the caller can see."""
    built.returns(text)
    built.events[-1].payload.update(said)  # type: ignore[attr-defined]
    return built


def verdicts(built: TraceBuilder) -> dict[str, str]:
    """Return the verdicts of the checks of answers that had something to judge."""
    all_ = {check: verdict(built, check) for check in CHECKS}
    return {check: said for check, said in all_.items() if said != "NOT_APPLICABLE"}


@pytest.mark.parametrize(
    ("ends", "text", "said", "expected"),
    [
        (None, REPLY, {}, {"answers.whole": "PASS"}),
        # Cut at its limit of length.
        ("length", "Hel", {}, {"answers.noticed": "WARN"}),
        ("length", "Hel", {"finish_reason": "length"}, {"answers.noticed": "PASS"}),
        ("length", "Hel", {"finish_reason": "stop"}, {"answers.noticed": "WARN"}),
        ("length", None, {"type": "NoneType"}, {"answers.noticed": "PASS"}),
        # Without text.
        ("empty", "", {}, {"answers.not-empty": "WARN"}),
        ("empty", "", {"finish_reason": "stop"}, {"answers.not-empty": "PASS"}),
        ("empty", None, {"type": "NoneType"}, {"answers.not-empty": "PASS"}),
        # Not the answer to the question at all.
        ("filtered", "Hel", {}, {"answers.whole": "FAIL"}),
        ("refused", "Hel", {}, {"answers.whole": "FAIL"}),
        ("paused", "Hel", {}, {"answers.whole": "FAIL"}),
        ("filtered", "Hel", {"finish_reason": "content_filter"}, {"answers.whole": "PASS"}),
        ("refused", "Hel", {"finish_reason": "stop"}, {"answers.whole": "FAIL"}),
        ("filtered", None, {"type": "NoneType"}, {"answers.whole": "PASS"}),
    ],
)
def test_an_answer_that_is_not_whole_says_so(
    ends: str | None, text: str | None, said: dict[str, str], expected: dict[str, str]
) -> None:
    """By its finish reason, or by being none; that of a whole one does for an empty text."""
    assert verdicts(returned(answered(ends), text, **said)) == expected


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        ("filtered", "was stopped by a content filter"),
        ("refused", "was a refusal"),
        ("paused", "was paused by the provider"),
    ],
)
def test_a_finding_says_how_the_answer_ended_and_what_was_returned(ends: str, why: str) -> None:
    """Both in words, with the events of the attempt and of the return."""
    built = returned(answered(ends), "Hel")
    finding = found(built, "answers.whole")
    assert finding.observed == (
        f"the answer {why}, and the call returned 'Hel' as if it were the answer"
    )
    assert built.events[-1].seq in finding.events


def test_a_call_that_raises_admits_how_its_answer_ended() -> None:
    """It is judged where that is its check."""
    for ends, check in (("length", "answers.noticed"), ("empty", "answers.not-empty")):
        assert verdicts(answered(ends).raises("A/B")) == {check: "PASS"}
    assert verdicts(answered(None).raises("A/B")) == {}
    failed = TraceBuilder().start().fails(500).raises("A/B")
    assert verdicts(failed) == {"answers.admitted": "PASS"}


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        # A part of the provider's text, or an empty one, looks like an answer.
        (REPLY[:5], {}, {"answers.whole": "FAIL", "answers.admitted": "PASS"}),
        ("", {}, {"answers.whole": "FAIL", "answers.admitted": "PASS"}),
        (None, {"type": "Reply"}, {"answers.whole": "FAIL", "answers.admitted": "PASS"}),
        (REPLY[:5], {"finish_reason": "error"}, {"answers.whole": "PASS"}),
        (None, {"type": "mine.Failed", "problem": "not known"}, {"answers.whole": "INCONCLUSIVE"}),
        # Whether words that are added to half of an answer say so is not known.
        (f"{REPLY[:25]} [cut off]", {}, {"answers.whole": "INCONCLUSIVE"}),
        (f"{REPLY[:25]}\n…", {}, {"answers.whole": "FAIL"}),
        # A text of its own is none of the provider's.
        ("Sorry.", {}, {"answers.admitted": "WARN"}),
        ("Sorry.", {"finish_reason": "error"}, {"answers.admitted": "PASS"}),
        (None, {"type": "NoneType"}, {"answers.admitted": "PASS"}),
    ],
)
def test_what_is_returned_after_a_failure_is_judged_by_whose_text_it_is(
    text: str | None, said: dict[str, str], expected: dict[str, str]
) -> None:
    """A failed call admits it."""
    built = returned(TraceBuilder(stream=True).start().cut_stream(), text, **said)
    assert {check: verdict(built, check) for check in expected} == expected


@pytest.mark.parametrize(
    ("pieces", "text", "said"),
    [
        (1, '{"won":true}', "WARN"),
        (2, '{"won":true}', "NOT_APPLICABLE"),
        (2, "Sorry.", "WARN"),
    ],
)
def test_a_value_that_could_be_read_was_not_cut(pieces: int, text: str, said: str) -> None:
    """An agent that answers in a form of its own reads it out of what had arrived, if any did."""
    built = TraceBuilder(stream=True).start().cut_stream(pieces=pieces)
    assert verdict(returned(built, text), "answers.admitted") == said
    assert verdict(built, "answers.whole") == "NOT_APPLICABLE"


@pytest.mark.parametrize(("attempts", "which"), [(1, "the only attempt"), (2, "every attempt")])
def test_a_value_for_a_failure_that_brought_nothing_is_not_the_providers(
    attempts: int, which: str
) -> None:
    """An agent that answers in a form of its own makes it of something."""
    built = TraceBuilder().start()
    for _ in range(attempts):
        built.fails(500)
    finding = found(returned(built, "false"), "answers.admitted")
    assert finding.observed.startswith(f"{which} failed: ")


def test_a_text_of_any_scripted_answer_is_the_providers() -> None:
    """A scenario may have several."""
    provider = {"replies": [{"text": "The first answer."}, {"text": "The second one."}]}
    for text, expected in (("second", "FAIL"), ("third", "NOT_APPLICABLE")):
        built = TraceBuilder(provider=provider).start().fails(500)
        assert verdict(returned(built, text), "answers.whole") == expected


def test_one_line_that_words_all_failures_has_one_cause() -> None:
    """Its text holds the status of each."""
    causes = set()
    for status in (429, 503):
        built = returned(TraceBuilder().start().fails(status), f"Error code: {status}")
        causes.add(found(built, "answers.admitted").cause)
    assert causes == {"a failed call returned 'Error' and more"}


def test_a_failure_beside_a_whole_answer_changes_nothing() -> None:
    """A client may ask twice at once, and take what comes."""
    built = TraceBuilder().start().asks_for("{}").good().fails(500)
    assert verdicts(returned(built, REPLY)) == {"answers.whole": "PASS"}


def test_a_failure_that_is_announced_needs_no_admission() -> None:
    """An event says that the error is ignored, and why."""
    for reason, expected in (("no answer needed", "PASS"), ("", "WARN")):
        built = TraceBuilder().start().fails(500)
        fields = {"reason": reason}
        built.event(
            "subject", "declared.event", call="ask/1", name="SuppressedError", fields=fields
        )
        assert verdict(returned(built, "Sorry."), "answers.admitted") == expected


@pytest.mark.parametrize(
    ("text", "said", "quoted"),
    [
        (None, {"type": "Reply"}, "a Reply"),
        (None, {}, "no text"),
        ("", {}, "an empty text"),
    ],
)
def test_what_was_returned_in_place_of_an_answer_is_named(
    text: str | None, said: dict[str, str], quoted: str
) -> None:
    """By its type, where it is no text."""
    built = returned(answered("filtered"), text, **said)
    assert found(built, "answers.whole").observed.endswith(f"and the call returned {quoted}")


@pytest.mark.parametrize(
    ("ends", "check"),
    [
        ("filtered", "answers.whole"),
        ("length", "answers.noticed"),
        (None, "answers.admitted"),
    ],
)
def test_each_call_is_judged(ends: str | None, check: str) -> None:
    """A good one before it says nothing of the next."""
    built = TraceBuilder(copies=2).start().good().returns().start("ask/2")
    if ends is None:
        built.fails(500, call="ask/2").returns("Sorry.", call="ask/2")
    else:
        built.good(call="ask/2").returns("Hel", call="ask/2")
        ended = [item for item in built.events if item.kind == "http.exchange_ended"]
        ended[-1].payload["ends"] = ends  # type: ignore[index]
    assert found(built, check).call == "ask/2"


@pytest.mark.parametrize(("text", "cause"), [(REPLY[:5], "error_body"), ("", "an empty text")])
def test_two_errors_that_pass_unnoticed_have_one_cause(text: str, cause: str) -> None:
    """One line overlooks an error object in a good status, whichever error it holds.

    Another one makes an empty text of whatever holds none.
    """
    causes = set()
    for code in ("rate_limit_exceeded", "server_error"):
        built = TraceBuilder().start()
        connection = built.connect()
        exchange = built.ask(connection)
        built.answer(connection, exchange, error={"code": code})
        built.end_exchange(connection, exchange, "complete")
        built.deliver(connection)
        finding = found(returned(built, text), "answers.whole")
        assert code in finding.observed
        causes.add(finding.cause)
    assert causes == {f"an answer that is not whole passes: {cause}"}


@pytest.mark.parametrize(("ends", "said"), [("filtered", "INCONCLUSIVE"), (None, "PASS")])
def test_a_finding_needs_no_words_that_are_not_known(ends: str | None, said: str) -> None:
    """What may say that the answer is not whole is shown; where it was whole, nothing is asked."""
    built = returned(answered(ends), f"{REPLY} [Stopped by a filter.]")
    assert verdict(built, "answers.whole") == said
    if ends is not None:
        observed = found(built, "answers.whole").observed
        assert "'[Stopped by a filter.]' after the beginning of an answer" in observed


def test_an_error_object_that_is_handed_on_is_no_answer() -> None:
    """After another failure it says what it is, and None says it always."""
    handed_on = {"type": "dict", "finish_reason": "error"}
    for fails, said, expected in (
        (200, handed_on, "FAIL"),
        (500, handed_on, "PASS"),
        (200, {"type": "NoneType"}, "NOT_APPLICABLE"),
    ):
        built = TraceBuilder().start().fails(fails)
        assert verdict(returned(built, None, **said), "answers.whole") == expected


def test_a_finding_of_an_empty_answer_says_what_would_do() -> None:
    """None is no answer, and so it says enough."""
    finding = found(returned(answered("empty"), ""), "answers.not-empty")
    assert finding.expected == "an error, another attempt, or None"
