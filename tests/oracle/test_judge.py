"""Every check can fail and can pass, and one planted defect fails one check."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict, overall
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.oracle.judge import check_infos, checks_of, judge
from tests.oracle.planted_orders import ORDERS
from tests.oracle.planted_turns import TURNS
from tests.oracle.trace_builder import TraceBuilder, link

RATE = "ProviderTransient/RateLimited"
FAULT = {"faults": [{"id": "limited", "then": {"kind": "connect_refused"}}]}


def _exhausts(waits: tuple[str, ...]) -> Trace:
    built = TraceBuilder().start()
    for wait in waits:
        built.fails(429).wait(wait)
    return built.fails(429).raises(RATE).build()


def _crowd(first: str, second: str) -> Trace:
    built = TraceBuilder(copies=2).start("ask/1").start("ask/2")
    built.fails(429, call="ask/1").wait(first).good(call="ask/1").returns(call="ask/1")
    built.fails(429, call="ask/2").wait(second).good(call="ask/2").returns(call="ask/2")
    return built.build()


def _audited(attempt: int | None) -> Trace:
    built = TraceBuilder(declares=("audit",)).start().fails(429)
    record = {"class": "ProviderTransient", "code": "RateLimited", "context": {"status": 429}}
    if attempt is not None:
        record["attempt"] = attempt
    built.event("subject", "declared.audit", call="ask/1", record=record)
    return built.wait("5s").good().returns().build()


def _tells(channel: str, kind: str, field: str, said: object) -> Trace:
    built = TraceBuilder(declares=(channel,)).start().fails(400, "context_length_exceeded")
    built.event("subject", kind, call="ask/1", **{field: said})
    return built.raises("ProviderCapability/ContextWindowTooSmall").build()


def _wraps(outer: str | None, how: str) -> Trace:
    built = TraceBuilder().start().fails(400, "context_length_exceeded")
    inner = "ProviderCapability/ContextWindowTooSmall"
    return built.raises(link(outer), link(inner, how=how)).build()


def _leaks(leak: bool) -> Trace:
    built = TraceBuilder().start()
    if leak:
        built.event("harness", "leak", what="subprocess.Popen", site="adapter.py:12 ask")
    return built.good().returns().build()


def _unmet(unmet: bool) -> Trace:
    built = TraceBuilder(provider=FAULT).start().good().returns()
    if unmet:
        built.event("provider", "fault.unmet", fault="limited", optional=False)
    return built.build()


def _late_request() -> Trace:
    built = TraceBuilder().start().good().returns().wait("30s")
    return built.good().build()


FIVE = ("5s", "10s", "20s", "40s", "80s")

#: Check id to a trace that fails it, and nothing else, and a trace that passes it.
PLANTED: dict[str, tuple[Callable[[], Trace], Callable[[], Trace]]] = {
    "classification.declared": (
        lambda: TraceBuilder().start().fails(400, "context_length_exceeded").raises(RATE).build(),
        lambda: _exhausts(FIVE),
    ),
    "classification.disposition": (
        lambda: TraceBuilder().start().fails(429).raises(RATE).build(),
        lambda: TraceBuilder().start().fails(429).wait("5s").good().returns().build(),
    ),
    "backoff.wait": (
        lambda: TraceBuilder().start().fails(429).wait("3.9s").good().returns().build(),
        lambda: TraceBuilder().start().fails(429).wait("4s").good().returns().build(),
    ),
    "backoff.retry-after": (
        lambda: (
            TraceBuilder().start().fails(429, retry_after="7").wait("5s").good().returns().build()
        ),
        lambda: (
            TraceBuilder().start().fails(429, retry_after="7").wait("7s").good().returns().build()
        ),
    ),
    "backoff.attempts": (lambda: _exhausts(FIVE[:4]), lambda: _exhausts(FIVE)),
    "backoff.jitter": (lambda: _crowd("5s", "5s"), lambda: _crowd("5s", "5.1s")),
    "wrapping.identity": (
        lambda: _wraps(None, "cause"),
        lambda: _wraps("ProviderCapability/ContextWindowTooSmall", "cause"),
    ),
    "wrapping.cause": (
        lambda: _wraps("ProviderCapability/ContextWindowTooSmall", "suppressed"),
        lambda: _wraps("ProviderCapability/ContextWindowTooSmall", "cause"),
    ),
    "swallow.silent": (
        lambda: TraceBuilder().start().fails(400).returns("").build(),
        lambda: TraceBuilder().start().good().returns().build(),
    ),
    "ordering.call-ends-once": (
        lambda: TraceBuilder().start().fails(429).build("deadlock", "task ask/1 waits for a lock"),
        lambda: TraceBuilder().start().good().returns().build(),
    ),
    "ordering.nothing-after-the-end": (
        _late_request,
        lambda: TraceBuilder().start().good().returns().build(),
    ),
    "ordering.retry-audited": (lambda: _audited(None), lambda: _audited(1)),
    "audience.user": (
        lambda: _tells("user", "declared.user_message", "message", "key sk-simulated-4f9d2c7a"),
        lambda: _tells("user", "declared.user_message", "message", "Please shorten your text."),
    ),
    "audience.model": (
        lambda: _tells(
            "model",
            "declared.model_message",
            "shape",
            {
                "class": "A",
                "code": "B",
                "message": 'Traceback (most recent call last):\n  File "a"',
            },
        ),
        lambda: _tells("model", "declared.model_message", "shape", {"class": "A", "code": "B"}),
    ),
    "audience.audit": (
        lambda: _tells("audit", "declared.audit", "record", {"class": "A", "context": {"s": 1}}),
        lambda: _tells(
            "audit", "declared.audit", "record", {"class": "A", "code": "B", "context": {"s": 1}}
        ),
    ),
    "evidence.whole": (
        lambda: TraceBuilder().start().good().returns().build("watchdog", "30 s of real time"),
        lambda: TraceBuilder().start().good().returns().build(),
    ),
    "evidence.faults-met": (lambda: _unmet(True), lambda: _unmet(False)),
    "evidence.exercised": (lambda: TraceBuilder().start().returns().build(), lambda: _unmet(False)),
    "evidence.no-leaks": (lambda: _leaks(True), lambda: _leaks(False)),
}


def _by_check(model: ErrorModel, trace: Trace) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in judge(model, trace).findings:
        found.setdefault(finding.check, []).append(finding)
    return found


#: Planted as subjects in the tests of their roles, as the logs of other systems, or in a file of
#: their own because they judge what no sentence says.
_ELSEWHERE = ("tool.", "store.", "extension.", "backoff.declared", "liveness.")


def test_every_check_is_planted_below(model: ErrorModel) -> None:
    """A check that is added needs a trace that fails it and one that passes it."""
    # Orders and whole turns are planted in files of their own.
    orders = {f"ordering.{rule}" for rule in ORDERS}
    planted = set(PLANTED) | orders | set(TURNS)
    left = {check.id for check in checks_of(model)} ^ planted
    assert {id_ for id_ in left if not id_.startswith(_ELSEWHERE)} == set()


@pytest.mark.parametrize("check", sorted(PLANTED))
def test_each_check_passes_a_trace_that_is_as_it_should_be(model: ErrorModel, check: str) -> None:
    """The passing trace passes the check, having judged something."""
    findings = _by_check(model, PLANTED[check][1]())[check]
    assert {finding.verdict for finding in findings} == {Verdict.PASS}
    assert sum(finding.judged for finding in findings) > 0


@pytest.mark.parametrize("check", sorted(PLANTED))
def test_each_planted_defect_fails_exactly_its_check(model: ErrorModel, check: str) -> None:
    """The failing trace fails the check and no other; evidence checks never blame the subject."""
    bad = Verdict.INCONCLUSIVE if check.startswith("evidence.") else Verdict.FAIL
    by_check = _by_check(model, PLANTED[check][0]())
    assert bad in {finding.verdict for finding in by_check[check]}
    blamed = {name for name, own in by_check.items() if Verdict.FAIL in {f.verdict for f in own}}
    assert blamed == ({check} if bad is Verdict.FAIL else set())


@pytest.mark.parametrize("check", [item for item in sorted(PLANTED) if "evidence" not in item])
def test_each_violation_cites_its_sentence_and_its_events(model: ErrorModel, check: str) -> None:
    """A FAIL has expected, observed, the requirement's words and place, and events that exist."""
    trace = PLANTED[check][0]()
    for finding in judge(model, trace).findings:
        if finding.requirement is not None:
            assert finding.check in model.requirement(finding.requirement).checks
        if finding.verdict is Verdict.FAIL:
            assert finding.requirement is not None
            assert finding.sentence == model.requirement(finding.requirement).sentence
            assert check in model.requirement(finding.requirement).checks
            assert finding.place
            assert finding.expected
            assert finding.observed
            assert finding.events
            assert all(1 <= seq <= len(trace.events) for seq in finding.events)


def test_a_defect_leaves_no_pass_for_the_sentence_that_it_touches(model: ErrorModel) -> None:
    """Requirements that a violation exercises besides the cited one are not shown to hold."""
    trace = TraceBuilder().start().fails(400, "invalid_value").wait("1s").good().returns().build()
    own = _by_check(model, trace)["classification.disposition"]
    assert [finding.verdict for finding in own] == [Verdict.FAIL]


@pytest.mark.parametrize("broken", ["evidence.whole", "evidence.no-leaks"])
def test_broken_evidence_makes_every_other_finding_inconclusive(
    model: ErrorModel, broken: str
) -> None:
    """Nothing passes or fails on a trace that proves nothing."""
    findings = judge(model, PLANTED[broken][0]()).findings
    others = {item.verdict for item in findings if not item.check.startswith("evidence.")}
    assert others <= {Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE}
    assert any(broken in item.reason for item in findings if item.check == "swallow.silent")


def test_an_unmet_fault_spoils_the_run_and_leaves_the_findings_judged(model: ErrorModel) -> None:
    """The run is inconclusive, yet a pass and a fail stay what they are."""
    findings = judge(model, _unmet(True)).findings
    assert overall(tuple(item.verdict for item in findings)) is Verdict.INCONCLUSIVE
    assert Verdict.PASS in {item.verdict for item in findings if item.check == "swallow.silent"}


def test_what_a_subject_does_is_found_before_what_it_says(model: ErrorModel) -> None:
    """A client that declares nothing would have that as its first finding everywhere."""
    built = TraceBuilder().start().fails(429).wait("1s").fails(429).raises(link(None))
    failed = [item for item in judge(model, built.build()).findings if item.verdict == "FAIL"]
    assert [item.check for item in failed] == [
        "backoff.wait",
        "backoff.attempts",
        "classification.declared",
    ]


def test_judging_twice_gives_the_same(model: ErrorModel) -> None:
    """The oracle is a pure function of model and trace, and changes neither."""
    trace = _exhausts(FIVE)
    before = list(trace_lines(trace))
    assert judge(model, trace) == judge(model, trace)
    assert list(trace_lines(trace)) == before


def test_every_check_and_every_requirement_know_each_other(model: ErrorModel) -> None:
    """Each requirement names checks that exist, and each check is named by a requirement."""
    infos = {info.id: info for info in check_infos(model)}
    for requirement in model.requirements:
        assert set(requirement.checks) <= set(infos), requirement.id
    for info in infos.values():
        assert info.says.endswith("."), info.id
        assert info.title, info.id
        # Evidence is about the run, and by when all settles is the scenario's word: neither is
        # what a source document asks.
        assert bool(info.requirements) != info.id.startswith(("evidence.", "liveness.")), info.id


def test_calls_attempts_and_waits_are_marked_for_the_report(model: ErrorModel) -> None:
    """The judgement carries what a chart draws: attempts, waits, their legal interval and basis."""
    judgement = judge(
        model, TraceBuilder().start().fails(429).wait("4.75s").good().returns().build()
    )
    (call,), (wait,) = judgement.calls, judgement.waits
    assert (call.call, call.outcome, call.started_ns) == ("ask/1", "returned", 0)
    assert [mark.ended for mark in call.attempts] == ["429", "ok"]
    assert [mark.classification for mark in call.attempts] == [RATE, None]
    assert (wait.observed_ns, wait.low_ns, wait.high_ns) == (
        4_750_000_000,
        4_000_000_000,
        6_000_000_000,
    )
    assert (wait.retry_number, wait.legal, wait.basis) == (1, True, "5s ±20 %")


def test_a_wait_where_no_retry_was_legal_has_no_interval(model: ErrorModel) -> None:
    """A retry of a terminal failure is drawn as a wait that nothing allows."""
    (wait,) = judge(model, TraceBuilder().start().fails(401).wait("1s").good().build()).waits
    assert (wait.low_ns, wait.high_ns, wait.legal) == (None, None, False)
    assert "unmapped" in wait.basis


def test_a_finding_says_whose_words_its_sentence_is_in(model: ErrorModel) -> None:
    """A paraphrase must not be shown as a quotation, nor without the page that it is about."""
    findings = [item for name in TURNS for item in judge(model, TURNS[name][1]()).findings]
    wording = {item.id: item for item in model.requirements}
    cited = [item for item in findings if item.requirement is not None]
    assert {item.paraphrased for item in cited} == {True, False}
    for item in cited:
        source = wording[item.requirement or ""]
        assert item.paraphrased is (source.wording == "paraphrased")
        assert item.document == source.document
