"""Retries by the common demands: pointless, missing and early ones, bounds and shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.fakes import dialects
from faultclock.fakes.sheets.sheet import read_sheet
from faultclock.model.duration import SECOND_NS
from tests.oracle.common_model import found, over_seeds, verdict, waits
from tests.oracle.trace_builder import TraceBuilder


def again(*waits: str, status: int = 503, seed: int = 0, **fails: str) -> TraceBuilder:
    """Return a call that fails, waits and fails again, and gives up at last."""
    built = TraceBuilder(seed=seed).start().asks_for("{}").fails(status, **fails)
    for wait in waits:
        built.wait(wait).fails(status, **fails)
    return built.raises("A/B")


@pytest.mark.parametrize("status", [400, 403, 404, 413, 422])
def test_a_refusal_that_no_wait_mends_is_not_asked_again(status: int) -> None:
    """Once more is once too often; giving up is right."""
    assert verdict(again("1s", status=status), "retries.pointless") == "FAIL"
    assert verdict(again(status=status), "retries.pointless") == "PASS"


def test_a_hint_may_be_missed_by_the_step_of_the_hosts_timers() -> None:
    """A timer that counts whole milliseconds rings before the fraction is over."""
    for granularity_ns, expected in ((0, "FAIL"), (1_000_000, "PASS")):
        built = TraceBuilder(timer_granularity_ns=granularity_ns).start().asks_for("{}")
        built.fails(429, retry_after="7").wait("6.999s").good().returns()
        assert verdict(built, "retries.floor") == expected


def test_a_call_that_asks_for_nothing_has_nothing_to_retry() -> None:
    """It ended without one attempt."""
    for built in (TraceBuilder().start().raises("A/B"), TraceBuilder().start().returns()):
        assert verdict(built, "retries.pointless") == "NOT_APPLICABLE"


def test_a_refused_key_may_be_renewed_once() -> None:
    """No trace holds a key, so the second request may well show another one; the third does not."""
    assert verdict(again("1s", status=401), "retries.pointless") == "PASS"
    assert verdict(again("1s", "1s", status=401), "retries.pointless") == "FAIL"


def test_what_is_asked_of_another_host_or_for_something_else_is_no_early_retry() -> None:
    """A limit is one of a host and of a request."""
    built = TraceBuilder().start().asks_for("one").fails(retry_after="7")
    built.asks_for("another model").wait("1s").good().returns()
    assert verdict(built, "retries.floor") == "NOT_APPLICABLE"
    built = TraceBuilder().start().asks_for("one").fails(retry_after="7").wait("1s").good()
    for event in built.events[-8:]:
        if event.kind == "net.connect":
            event.payload["host"] = "backup.example.com"  # type: ignore[index]
    assert verdict(built.returns(), "retries.floor") == "NOT_APPLICABLE"


def test_a_new_label_on_each_request_makes_no_other_question_of_it() -> None:
    """A key of a cache, or an id for a log: what is asked is the same, and asked again."""
    built = TraceBuilder().start().asks_for("{}", labelled=True).fails(401)
    for _ in range(2):
        built.wait("1s").fails(401)
    assert verdict(built.raises("A/B"), "retries.pointless") == "FAIL"
    built = TraceBuilder().start().asks_for("{}", labelled=True).fails(retry_after="7")
    assert verdict(built.wait("1s").good().returns(), "retries.floor") == "FAIL"


def test_another_question_under_a_label_is_no_retry() -> None:
    """Another model may well answer at once."""
    built = TraceBuilder().start().asks_for("one", labelled=True).fails(retry_after="7")
    built.asks_for("another model", labelled=True).wait("1s").good().returns()
    assert verdict(built, "retries.floor") == "NOT_APPLICABLE"


def test_a_label_that_only_one_of_two_requests_has_makes_no_difference() -> None:
    """The digest of a body without labels is that of what it asks."""
    built = TraceBuilder().start().asks_for("{}").fails(400)
    built.asks_for("{}", labelled=True).wait("1s").fails(400)
    assert verdict(built.raises("A/B"), "retries.pointless") == "FAIL"


def test_a_used_up_quota_is_no_rate_limit() -> None:
    """Its status is 429, and its code says that no wait helps."""
    built = TraceBuilder().start().fails(429, "insufficient_quota")
    built.wait("1s").fails(429, "insufficient_quota").raises("A/B")
    assert verdict(built, "retries.pointless") == "FAIL"


def test_a_quota_that_nothing_but_words_tells_from_a_limit_is_left_to_the_client() -> None:
    """Whoever waits may be right, and so may be who gives up."""
    for slept in ((), ("1s", "1s")):
        built = again(*slept, status=429, type_="ThrottlingException", means="limit_or_quota")
        assert verdict(built, "retries.pointless") == "NOT_APPLICABLE"
        assert verdict(built, "retries.tried") == "NOT_APPLICABLE"


def test_another_request_is_no_retry() -> None:
    """A client that leaves out the parameter that was refused asks for something else."""
    built = TraceBuilder().start().asks_for("one").fails(400)
    built.asks_for("two").good().returns()
    assert verdict(built, "retries.pointless") == "PASS"


def test_an_answer_that_asks_for_a_retry_gets_one() -> None:
    """The provider knows better than the status."""
    built = TraceBuilder().start().fails(403, retry_after="1").wait("1s").good().returns()
    assert verdict(built, "retries.pointless") == "NOT_APPLICABLE"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_what_can_pass_is_tried_again(status: int) -> None:
    """It is a SHOULD: one attempt is a warning."""
    assert verdict(again(status=status), "retries.tried") == "WARN"
    assert verdict(again("1s", status=status), "retries.tried") == "PASS"


@pytest.mark.parametrize("status", [408, 409, 425, 501])
def test_where_sources_differ_nothing_is_asked_for(status: int) -> None:
    """Neither to retry nor to give up is wrong."""
    for built in (again(status=status), again("1s", status=status)):
        assert verdict(built, "retries.tried") == "NOT_APPLICABLE"
        assert verdict(built, "retries.pointless") == "NOT_APPLICABLE"


def test_who_is_asked_to_wait_long_may_give_up() -> None:
    """Retry-After of 20 seconds: both answers of a client are right."""
    assert verdict(again(status=429, retry_after="20"), "retries.tried") == "NOT_APPLICABLE"


@pytest.mark.parametrize(
    ("wait", "seen"), [("6999ms", "FAIL"), ("7s", "PASS"), ("60s", "PASS"), ("0s", "FAIL")]
)
def test_retry_after_is_a_floor(wait: str, seen: str) -> None:
    """Longer is fine, shorter is not."""
    built = TraceBuilder().start().fails(retry_after="7").wait(wait).good().returns()
    assert verdict(built, "retries.floor") == seen


@pytest.mark.parametrize("wait", ["0s", "6999ms", "7s", "60s", "2h"])
def test_a_drawn_wait_has_the_floor_that_is_judged(wait: str) -> None:
    """The interval on the timeline and the verdict are one judgement."""
    built = TraceBuilder().start().fails(retry_after="7").wait(wait).good().returns()
    (mark,) = waits(built)
    assert mark.low_ns == 7 * SECOND_NS
    assert mark.high_ns == (3_600 * SECOND_NS if wait == "2h" else None)
    judged = {verdict(built, "retries.floor"), verdict(built, "retries.long-wait")}
    assert mark.legal is (judged == {"PASS"})
    assert "Retry-After: 7" in mark.basis


def test_a_wait_that_nothing_is_demanded_of_has_no_interval() -> None:
    """A schedule of one's own is reported and not judged."""
    (mark,) = waits(again("1s"))
    assert (mark.low_ns, mark.high_ns, mark.legal) == (None, None, True)


def test_an_hour_that_the_provider_asks_for_is_no_reason_to_sleep() -> None:
    """Then no retry was expected at all."""
    built = TraceBuilder().start().fails(retry_after="3600").wait("1h").good().returns()
    (mark,) = waits(built)
    assert (mark.low_ns, mark.high_ns, mark.legal) == (None, None, False)


def test_the_standard_header_rounds_the_finer_one_up() -> None:
    """Retry-After: 2 beside retry-after-ms: 1500 is one instant, written twice."""
    built = TraceBuilder().start().fails(retry_after="2", retry_after_ms="1500")
    assert verdict(built.wait("1500ms").good().returns(), "retries.floor") == "PASS"


def test_the_providers_own_hint_is_a_floor_as_a_should() -> None:
    """Clients that do not know the header are warned."""
    built = TraceBuilder().start().fails(retry_after_ms="900").wait("100ms").good().returns()
    finding = found(built, "retries.hint")
    assert (finding.verdict.value, finding.level) == ("WARN", "SHOULD")


@pytest.mark.parametrize("dialect", sorted({*dialects.dialect_names()} - {"http-json", "mcp"}))
def test_a_header_is_a_providers_own_hint_where_its_api_has_it(dialect: str) -> None:
    """What an API never sends, no client of it need know; a Gemini client reads RetryInfo."""
    provider = {"dialect": dialect}
    built = TraceBuilder(provider=provider).start().fails(retry_after_ms="900").wait("100ms")
    sheet = read_sheet(Path(str(dialects.__file__)).parent, dialect)
    has_it = "retry-after-ms" in sheet.limits.retry
    said = verdict(built.good().returns(), "retries.hint")
    assert said == ("WARN" if has_it else "NOT_APPLICABLE")


@pytest.mark.parametrize(("attempts", "seen"), [(64, "PASS"), (65, "FAIL")])
def test_attempts_are_bounded(attempts: int, seen: str) -> None:
    """64 attempts for one answer are the most."""
    assert verdict(again(*["1s"] * (attempts - 1)), "retries.bounded") == seen


@pytest.mark.parametrize(("wait", "seen"), [("3599s", "PASS"), ("1h", "WARN")])
def test_an_hour_is_too_long_to_sleep(wait: str, seen: str) -> None:
    """An hour or more, whoever asked for it."""
    built = TraceBuilder().start().fails(retry_after="3600").wait(wait).good().returns()
    assert verdict(built, "retries.long-wait") == seen


def test_a_run_that_ends_in_the_sleep_shows_it_too() -> None:
    """The call never came back, since it still slept."""
    built = TraceBuilder().start().fails(retry_after="999999").wait("24h")
    assert verdict(built, "retries.long-wait", "virtual_time_limit") == "WARN"
    assert verdict(built, "calls.end", "virtual_time_limit") == "NOT_APPLICABLE"


def test_content_that_was_passed_on_ends_the_retries() -> None:
    """A further attempt would begin the answer anew; without content it is a retry like any."""
    for content, seen in ((True, "FAIL"), (False, "NOT_APPLICABLE")):
        built = TraceBuilder(stream=True).start().cut_stream("net.reset")
        if content:
            built.event("subject", "declared.content", call="ask/1", length=4)
        built.wait("1s").good().returns()
        assert verdict(built, "retries.after-content") == seen


def test_a_cancelled_call_ends_within_a_second() -> None:
    """A second is allowed; an attempt after it is not."""
    for wait, seen in (("1s", "PASS"), ("1001ms", "FAIL")):
        built = TraceBuilder().start().fails(503).wait("100ms")
        built.event("harness", "cancel.requested", call="ask/1", cancel="stop")
        built.wait(wait).raises("A/B")
        assert verdict(built, "retries.after-cancel") == seen
    built = TraceBuilder().start().fails(503)
    built.event("harness", "cancel.requested", call="ask/1", cancel="stop")
    built.wait("3s").good().returns()
    finding = found(built, "retries.after-cancel")
    assert finding.observed == "attempt 2 began 3s after the cancel"


def crowd(*waits: str, **fails: str) -> TraceBuilder:
    """Return calls that all fail at one instant and come back after these waits."""
    built = TraceBuilder(copies=len(waits))
    calls = [f"ask/{number}" for number in range(1, len(waits) + 1)]
    starts = []
    for call in calls:
        built.now_ns = 0
        built.start(call).fails(503, call=call, **fails)
        starts.append(built.now_ns)
    for call, start, wait in zip(calls, starts, waits, strict=True):
        built.now_ns = start
        built.wait(wait).good(call=call).returns(call=call)
    built.events.sort(key=lambda event: event.at_ns)
    built.events[:] = [
        type(event)(number, event.at_ns, event.actor, event.kind, event.payload)
        for number, event in enumerate(built.events, 1)
    ]
    return built


def test_a_crowd_that_comes_back_together_is_warned() -> None:
    """Eight clients, one instant; spread over a second they are fine."""
    assert verdict(crowd(*["1s"] * 8), "retries.spread") == "WARN"
    spread = [f"{900 + 30 * number}ms" for number in range(8)]
    assert verdict(crowd(*spread), "retries.spread") == "PASS"
    assert verdict(crowd(*["1s"] * 7), "retries.spread") == "NOT_APPLICABLE"


def test_a_crowd_that_was_asked_to_come_at_one_time_may_do_so() -> None:
    """Who comes earlier than that keeps to a schedule of its own, and that is judged."""
    assert verdict(crowd(*["2s"] * 8, retry_after="2"), "retries.spread") == "NOT_APPLICABLE"
    assert verdict(crowd(*["1s"] * 8, retry_after="2"), "retries.spread") == "WARN"


def test_waits_grow_in_the_mean_over_seeds() -> None:
    """Constant waits are warned, however many seeds; doubling ones pass; two waits show nothing."""
    alike = [again("2s", "2s", "2s", seed=seed) for seed in range(4)]
    assert over_seeds(alike, "retries.grow").verdict.value == "WARN"
    growing = [again("1s", "2s", "4s", seed=seed) for seed in range(4)]
    assert over_seeds(growing, "retries.grow").verdict.value == "PASS"
    short = [again("2s", "2s", seed=seed) for seed in range(4)]
    assert over_seeds(short, "retries.grow").verdict.value == "NOT_APPLICABLE"
    few = [again("2s", "2s", "2s", seed=seed) for seed in range(3)]
    assert over_seeds(few, "retries.grow").verdict.value == "NOT_APPLICABLE"


def test_rounds_of_waits_that_begin_anew_are_layers() -> None:
    """Three rounds of three attempts; one loop that grows is one layer."""
    inner = ["500ms", "1s"]
    layered = [*inner, "4s", *inner, "8s", *inner]
    runs = [again(*layered, seed=seed) for seed in range(4)]
    finding = over_seeds(runs, "retries.layers")
    assert finding.verdict.value == "WARN"
    assert "9 attempts: 3 rounds of 3" in finding.observed
    one = [again("1s", "2s", "4s", "8s", "16s", seed=seed) for seed in range(4)]
    assert over_seeds(one, "retries.layers").verdict.value == "PASS"
    # In one seed of four the waits do not begin anew: that is chance, and no layer.
    mixed = [*runs[:3], again("1s", "2s", "4s", "8s", "9s", "9s", "9s", "9s", seed=3)]
    assert over_seeds(mixed, "retries.layers").verdict.value == "PASS"


def test_what_asks_for_ever_is_told_to_count_and_not_to_wait_with_a_deadline() -> None:
    """One cause is one problem: each attempt of it had ended."""
    built = TraceBuilder().start().asks_for("{}")
    for _ in range(65):
        built.fails(503).wait("1m")
    assert verdict(built, "retries.bounded", "virtual_time_limit") == "FAIL"
    assert verdict(built, "calls.end", "virtual_time_limit") == "NOT_APPLICABLE"
    few = TraceBuilder().start().asks_for("{}").fails(503).wait("1d")
    assert verdict(few, "calls.end", "virtual_time_limit") == "FAIL"


@pytest.mark.parametrize("ending", ["watchdog", "event_limit"])
def test_too_many_attempts_are_too_many_however_a_run_was_ended(ending: str) -> None:
    """What would have come next takes none of them back; what held proves nothing."""
    built = TraceBuilder().start().asks_for("{}")
    for _ in range(65):
        built.fails(503).wait("5s")
    assert verdict(built, "retries.bounded", ending) == "FAIL"
    assert verdict(built, "retries.pointless", ending) in ("INCONCLUSIVE", "NOT_APPLICABLE")
    few = TraceBuilder().start().asks_for("{}").fails(503).wait("5s").fails(503)
    assert verdict(few, "retries.bounded", ending) == "INCONCLUSIVE"
