"""What the caller gets by the common demands: an end, the failure, no broken answer, no secret."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.judge import judge
from faultclock.subjects.outcome import describe_exception
from tests.oracle.common_model import common, found, verdict
from tests.oracle.trace_builder import REPLY, TraceBuilder


def error(kind: str = "ValueError", message: str = "no", **more: Any) -> dict[str, Any]:
    """Return one link of a chain of errors."""
    return {"type": kind, "message": message, "class": None, "code": None, "link": "outer", **more}


@pytest.mark.parametrize("ending", ["deadlock", "livelock", "virtual_time_limit"])
def test_a_call_that_never_ends_hangs(ending: str) -> None:
    """However the run came to its end."""
    assert verdict(TraceBuilder().start().stalls(), "calls.end", ending) == "FAIL"
    assert verdict(TraceBuilder().start().good().returns(), "calls.end") == "PASS"


def test_a_client_has_no_turn_that_a_limit_could_end() -> None:
    """That it asked a model for a tool once and ended shows no limit."""
    built = TraceBuilder().start().good("", finish_reason="tool_calls").returns()
    findings = judge(common(), built.build()).findings
    kept = {item.requirement for item in findings if item.check == "calls.end"}
    assert kept == {"COMMON-END-01"}


def test_an_accident_is_a_crash_and_a_decision_is_none() -> None:
    """The recorder says which of two equal types it is."""
    built = TraceBuilder().start().fails(429, retry_after="soon")
    assert verdict(built.raises(error(accident=True)), "handler.crash") == "FAIL"
    built = TraceBuilder().start().fails(400).raises(error())
    assert verdict(built, "handler.crash") == "PASS"


def test_what_is_raised_before_there_is_anything_to_handle_is_no_crash_of_the_handler() -> None:
    """No answer and no failure was met; that nothing was shown is another check's."""
    built = TraceBuilder().start().raises(error("KeyError", accident=True))
    assert verdict(built, "handler.crash") == "NOT_APPLICABLE"
    (exercised,) = (
        item
        for item in judge(common(), built.build()).findings
        if item.check == "evidence.exercised"
    )
    assert exercised.reason == "it raised KeyError without a single attempt, so nothing was shown"


def test_an_error_of_a_decoder_names_an_answer_that_cannot_be_read() -> None:
    """After a broken answer it is a warning; after a 502 with an HTML page it is a crash."""
    decoder = error("json.decoder.JSONDecodeError", accident=True)
    built = TraceBuilder(stream=True).start().cut_stream("net.reset").raises(decoder)
    assert verdict(built, "handler.crash") == "NOT_APPLICABLE"
    assert verdict(built, "handler.unreadable") == "WARN"
    built = TraceBuilder().start().fails(502).raises(decoder)
    assert verdict(built, "handler.crash") == "FAIL"
    assert verdict(built, "handler.unreadable") == "NOT_APPLICABLE"


def test_a_part_of_the_answer_is_not_the_answer() -> None:
    """A cut stream's text, or nothing, is returned as if it were whole; None is not."""
    for text, seen in ((REPLY[:10], "FAIL"), ("", "FAIL"), ("sorry", "NOT_APPLICABLE")):
        built = TraceBuilder(stream=True).start().cut_stream("net.delivered").returns(text)
        assert verdict(built, "answers.whole") == seen, text


def test_a_made_up_reason_hides_no_failure() -> None:
    """`stop` says that an answer is whole; after nothing but failures that is not so."""
    for reason, seen in (("stop", "FAIL"), ("missing", "PASS")):
        built = TraceBuilder().start().fails(503).returns("")
        built.events[-1].payload["finish_reason"] = reason  # type: ignore[index]
        assert verdict(built, "answers.whole") == seen


def test_who_exits_in_place_of_its_caller_has_crashed() -> None:
    """SystemExit is raised on purpose, and ends a program that is not the client's."""
    built = TraceBuilder().start().fails(503).raises(error("SystemExit", "0"))
    assert verdict(built, "handler.crash") == "FAIL"


def test_words_of_the_clients_own_are_no_answer_of_the_model() -> None:
    """An apology in place of a failure is a warning."""
    built = TraceBuilder().start().fails(503).returns("Sorry, something went wrong.")
    assert verdict(built, "answers.admitted") == "WARN"
    built = TraceBuilder().start().good().returns()
    assert verdict(built, "answers.admitted") == "NOT_APPLICABLE"


def ended(ends: str, **returned: Any) -> TraceBuilder:
    """Return a call whose answer is well-formed and not whole, and is passed on."""
    built = TraceBuilder().start()
    connection = built.connect()
    exchange = built.ask(connection)
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text=REPLY)
    built.events[-1].payload["ends"] = ends  # type: ignore[index]
    built.deliver(connection)
    built.close(connection)
    built.returns()
    built.events[-1].payload.update(returned)  # type: ignore[attr-defined]
    return built


@pytest.mark.parametrize(
    ("ends", "check", "seen"),
    [
        ("filtered", "answers.whole", "FAIL"),
        ("refused", "answers.whole", "FAIL"),
        ("length", "answers.noticed", "WARN"),
        ("empty", "answers.not-empty", "WARN"),
    ],
)
def test_the_reason_of_an_end_is_not_dropped(ends: str, check: str, seen: str) -> None:
    """With its finish reason, the answer is passed on as it is."""
    assert verdict(ended(ends), check) == seen
    assert verdict(ended(ends, finish_reason=ends), check) == "PASS"


def test_failures_that_ask_for_different_answers_look_different() -> None:
    """A wrong key and an outage with one error are warned; two messages are enough."""

    def two(first: dict[str, Any], second: dict[str, Any]) -> TraceBuilder:
        built = TraceBuilder(copies=2).start().fails(401).raises(first)
        built.start("ask/2").fails(503, call="ask/2")
        return built.raises(second, call="ask/2")

    assert verdict(two(error(), error()), "errors.apart") == "WARN"
    assert verdict(two(error(), error(message="other")), "errors.apart") == "PASS"
    hidden = error("x.Cause", "401", link="suppressed")
    built = TraceBuilder(copies=2).start().fails(401).raises(error(), hidden)
    built.start("ask/2").fails(503, call="ask/2").raises(error(), call="ask/2")
    assert verdict(built, "errors.apart") == "WARN"


def test_a_key_in_an_error_is_a_leak_unless_the_provider_repeats_it() -> None:
    """Providers shorten a key before they repeat it."""
    leaking = error(message="GET https://x/?key=<secret>")
    assert verdict(TraceBuilder().start().fails(400).raises(leaking), "errors.secrets") == "FAIL"
    built = TraceBuilder().start().fails(401, message="Incorrect API key: <secret>")
    assert verdict(built.raises(leaking), "errors.secrets") == "PASS"


def test_what_only_follows_a_word_for_a_secret_is_no_leak() -> None:
    """It may be masked, and a recorder that takes it out for its name has not seen a key."""
    for text in ("sk-sim***********ated.", "missing-in-settings", "REDACTED"):
        said = describe_exception(RuntimeError(f"Incorrect API key provided: {text}"))
        assert said[0]["message"] == "Incorrect API key provided: <hidden>"
        built = TraceBuilder().start().fails(401, message=f"Incorrect API key provided: {text}")
        assert verdict(built.raises(error(message=said[0]["message"])), "errors.secrets") == "PASS"


def test_an_error_that_another_one_hides_leaks_nothing() -> None:
    """What `raise … from None` hides is in no traceback."""
    hidden = error(message="GET https://x/?key=<secret>", link="suppressed")
    built = TraceBuilder().start().fails(400).raises(error(), hidden)
    assert verdict(built, "errors.secrets") == "PASS"


def test_a_finding_says_what_left_the_call() -> None:
    """Type and message, in one line."""
    built = (
        TraceBuilder()
        .start()
        .fails(429)
        .raises(error(message="could not convert string to float:\n 'soon'", accident=True))
    )
    assert found(built, "handler.crash").observed == (
        "ValueError: could not convert string to float: 'soon' left the call"
    )
