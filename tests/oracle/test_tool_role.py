"""What the checks of tools make of traces that were written by hand."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import Trace
from faultclock.oracle import judge
from tests.oracle.tool_traces import ToolTrace, outcome

CHECKS = tuple(check for check in judge.CHECKS if check.role == "tool")
BUSY, SLOW = "ToolTransient/ResourceBusy", "ToolTransient/ExecutionTimeout"
GONE, NO = "ToolTerminal/NotFound", "ToolTerminal/Forbidden"


def observed(model: ErrorModel, check: str, trace: Trace) -> str | None:
    """Return the first violation in words, None for none; something must have been judged."""
    found = outcome(model, CHECKS, check, trace)
    assert found.judged or found.violations, found.reason
    return found.violations[0].observed if found.violations else None


def test_another_role_is_not_judged(model: ErrorModel) -> None:
    """With the reason, for every check."""
    from tests.oracle.trace_builder import TraceBuilder

    trace = TraceBuilder().start().good().returns().build()
    for check in CHECKS:
        found = outcome(model, CHECKS, check.id, trace)
        assert not found.judged
        assert found.reason


def test_a_model_without_tools_judges_none(model: ErrorModel) -> None:
    """Silence of a document is no permission and no rule."""
    silent = model.model_copy(update={"tools": None})
    trace = ToolTrace().begin().item("/a").replies()
    for check in CHECKS:
        assert not outcome(silent, CHECKS, check.id, trace).violations


@pytest.mark.parametrize(
    ("status", "pair"),
    [(401, NO), (403, NO), (404, GONE), (410, GONE), (429, BUSY), (503, BUSY), (504, SLOW)],
)
def test_a_status_has_one_class_and_code(model: ErrorModel, status: int, pair: str) -> None:
    """Any other is a violation."""
    good = ToolTrace(retry=None).begin().item("/a", status).replies(pair)
    assert observed(model, "tool.upstream", good) is None
    other = BUSY if pair != BUSY else NO
    bad = ToolTrace(retry=None).begin().item("/a", status).replies(other)
    assert observed(model, "tool.upstream", bad) == f"it failed with {other}"


def test_what_the_document_has_no_code_for_is_left_open(model: ErrorModel) -> None:
    """A 500 and a 422 may be anything that is typed, but no success."""
    for status in (422, 500):
        trace = ToolTrace().begin().item("/a", status).replies(BUSY)
        assert not outcome(model, CHECKS, "tool.upstream", trace).violations
        shaped = ToolTrace().begin().item("/a", status).replies()
        assert "a value" in str(observed(model, "tool.upstream", shaped))


def test_a_failed_item_needs_its_entry(model: ErrorModel) -> None:
    """Of two that failed, both; with their names; and of the right class."""

    def batch(*errors: tuple[str | None, str]) -> Trace:
        trace = ToolTrace().begin().item("/1").item("/2", 404).item("/3", 403)
        return trace.replies(errors=errors)

    assert observed(model, "tool.partial", batch(("2", GONE), ("3", NO))) is None
    assert observed(model, "tool.partial", batch()) == "the result looks whole"
    assert observed(model, "tool.partial", batch(("2", GONE))) is not None
    assert observed(model, "tool.partial", batch((None, GONE), ("3", NO))) is not None
    assert observed(model, "tool.partial", batch(("2", GONE), ("3", GONE))) is not None
    assert observed(model, "tool.partial", batch(("2", GONE), ("2", NO))) is not None


def test_an_item_that_was_tried_again_and_found_did_not_fail(model: ErrorModel) -> None:
    """Attempts with the same path are attempts at one thing."""
    trace = ToolTrace().begin().item("/1", 503).item("/2").wait("1s").item("/1").replies()
    assert observed(model, "tool.answers", trace) is None
    assert not outcome(model, CHECKS, "tool.partial", trace).judged


def test_the_contract_says_how_often(model: ErrorModel) -> None:
    """Three attempts for what it makes retryable, one for the rest and where it has no policy."""

    def tried(times: int, status: int, **options: None) -> Trace:
        trace = ToolTrace(**options).begin()
        for _ in range(times):
            trace.item("/a", status).wait("1s")
        return trace.replies(BUSY)

    assert observed(model, "tool.retries", tried(3, 503)) is None
    assert observed(model, "tool.retries", tried(2, 503)) == "it was given up after 2"
    assert observed(model, "tool.retries", tried(4, 503)) == "4 were made"
    assert observed(model, "tool.retries", tried(1, 404)) is None
    assert observed(model, "tool.retries", tried(2, 404)) == "it was tried again"
    assert observed(model, "tool.retries", tried(1, 503, retry=None)) is None
    assert observed(model, "tool.retries", tried(2, 503, retry=None)) == "it was tried again"


def test_a_retry_that_no_longer_fits_is_not_due(model: ErrorModel) -> None:
    """The next wait would end after the deadline of the execution."""
    trace = ToolTrace(timeout="2s").begin().item("/a", 503).wait("1s").item("/a", 503)
    assert observed(model, "tool.retries", trace.replies(BUSY)) is None


@pytest.mark.parametrize(
    ("wait", "good"), [("800ms", True), ("1.2s", True), ("790ms", False), ("1.21s", False)]
)
def test_the_contract_says_how_long(model: ErrorModel, wait: str, good: bool) -> None:
    """1 second within 20 per cent before the first retry."""
    trace = ToolTrace().begin().item("/a", 503).wait(wait).item("/a").replies()
    assert (observed(model, "tool.waits", trace) is None) is good


def test_a_wait_that_the_service_asked_for_is_not_judged(model: ErrorModel) -> None:
    """Neither the document nor the contract says which of the two holds."""
    trace = ToolTrace().begin().item("/a", 503, retry_after="9").wait("9s").item("/a").replies()
    assert not outcome(model, CHECKS, "tool.waits", trace).judged


def test_arguments_that_do_not_fit_end_before_anything_is_sent(model: ErrorModel) -> None:
    """As InputInvalid, and as nothing else."""
    refused = "ToolTerminal/InputInvalid"
    assert observed(model, "tool.input", ToolTrace().begin(misfit="x").replies(refused)) is None
    late = ToolTrace().begin(misfit="x").item("/a").replies(refused)
    assert observed(model, "tool.input", late) == "it asked its service all the same"
    other = ToolTrace().begin(misfit="x").replies(BUSY)
    assert observed(model, "tool.input", other) == f"it failed with {BUSY}"


def test_a_refusal_of_arguments_that_fit_is_no_answer(model: ErrorModel) -> None:
    """A tool that refuses everything never sends anything wrong, either."""
    trace = ToolTrace().begin().replies("ToolTerminal/InputInvalid")
    assert observed(model, "tool.answers", trace) is not None


def test_an_end_after_the_deadline_is_too_late(model: ErrorModel) -> None:
    """Any end counts; no end at all is later still."""
    assert observed(model, "tool.deadline", ToolTrace().begin().wait("30s").replies(SLOW)) is None
    late = ToolTrace().begin().wait("31s").replies(SLOW)
    assert observed(model, "tool.deadline", late) == "it took 31s"
    never = ToolTrace().begin().wait("31s").build("deadlock")
    assert observed(model, "tool.deadline", never) == "it never ended"


def cancelled() -> ToolTrace:
    """Return a call that was cancelled after two seconds."""
    trace = ToolTrace().begin()
    trace.wait("2s").event("harness", "cancel.requested", call=None, calls=["ask/1"], cancel="c")
    return trace


def test_a_cancel_ends_it_as_cancelled(model: ErrorModel) -> None:
    """Within a second, and with nothing more sent."""
    own = "Cancellation/ToolCancelled"
    assert observed(model, "tool.cancel", cancelled().replies(own)) is None
    late = cancelled()
    late.wait("1.5s")
    assert observed(model, "tool.cancel", late.replies(own)) == "it went on for 1.5s"
    busy = cancelled()
    busy.item("/a")
    assert "again" in str(observed(model, "tool.cancel", busy.replies(own)))
    assert observed(model, "tool.cancel", cancelled().replies()) == "it replied a value"


def test_a_cancelled_call_is_judged_by_that_alone(model: ErrorModel) -> None:
    """What it would have done next is not known."""
    trace = ToolTrace().begin().item("/a", 503)
    trace.event("harness", "cancel.requested", call=None, calls=["ask/1"], cancel="c")
    ended = trace.replies("Cancellation/ToolCancelled")
    for check in ("tool.upstream", "tool.retries", "tool.waits", "tool.answers", "tool.deadline"):
        assert not outcome(model, CHECKS, check, ended).judged, check


def test_a_reply_is_typed(model: ErrorModel) -> None:
    """By a class of tools; a cancel's class is none unless there was one."""
    for pair in ("ProviderTransient/RateLimited", "Cancellation/ToolCancelled"):
        trace = ToolTrace().begin().replies(pair)
        assert "not a class of a tool" in str(observed(model, "tool.typed-reply", trace))
    untyped = ToolTrace().begin().replies(untyped="a set is no JSON value")
    assert observed(model, "tool.typed-reply", untyped) == "a set is no JSON value"
    raised = ToolTrace().begin()
    raised.raises({"type": "KeyError", "class": None, "code": None, "message": "", "link": "outer"})
    assert observed(model, "tool.typed-reply", raised.build()) == "it raised KeyError"


def test_a_typed_exception_counts_as_a_failed_reply(model: ErrorModel) -> None:
    """Some languages of tools know no other way."""
    trace = ToolTrace(retry=None).begin().item("/a", 404)
    trace.raises(GONE)
    ended = trace.build()
    assert observed(model, "tool.typed-reply", ended) is None
    assert observed(model, "tool.upstream", ended) is None


@pytest.mark.parametrize(
    "message", ["the key <secret> was refused", 'File "a.py", line 3', "see /srv/app/log.txt"]
)
def test_what_the_model_must_not_read_is_found(model: ErrorModel, message: str) -> None:
    """A secret, a stack and a path, by their shapes."""
    assert observed(model, "tool.leaks", ToolTrace().begin().replies(BUSY, message=message))
    fine = ToolTrace().begin().replies(BUSY, message="the service is busy")
    assert observed(model, "tool.leaks", fine) is None
