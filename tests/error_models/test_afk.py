"""The AFK model carries its whole page: every row, figure and state, written out once more."""

from __future__ import annotations

import pytest

from faultclock.agents import afk
from faultclock.load.error_model import load_error_model
from faultclock.oracle.wire.signals import Signal, classify
from faultclock.subjects.stud import AttemptError

MODEL = load_error_model("afk")

#: The page's four tables of failures, row by row: what is seen, and the category it is given.
MATRIX = {
    # LLM failures
    "rate-limit": ("Retryable", "RateLimit"),
    "server-error": ("Retryable", "ServerError"),
    "timeout": ("Retryable", "Timeout"),
    "auth": ("Terminal", "Auth"),
    "invalid-request": ("Terminal", "InvalidRequest"),
    "breaker-open": ("Terminal", "CircuitOpen"),
    # Tool failures
    "tool-validation": ("NonFatal", "Validation"),
    "tool-exception": ("Configurable", "HandlerException"),
    "tool-timeout": ("Configurable", "ToolTimeout"),
    "policy-denial": ("NonFatal", "PolicyDenial"),
    # Subagent failures
    "subagent-failed": ("Configurable", "SubagentFailed"),
    "subagent-timeout": ("Configurable", "SubagentTimeout"),
    "join-violation": ("Terminal", "JoinViolation"),
    # Infrastructure failures
    "memory": ("NonFatal", "MemoryUnavailable"),
    "telemetry": ("NonFatal", "TelemetryExport"),
    "queue": ("Retryable", "QueuePush"),
}
STATUSES = {
    "rate-limit": {"429"},
    "server-error": {"500", "502", "503"},
    "auth": {"401", "403"},
    "invalid-request": {"400"},
}
#: The page's words for its three categories.
BEHAVIOUR = {
    "Retryable": ("Transient failure, may succeed on retry", "Retry with exponential backoff"),
    "Terminal": ("Permanent failure, will not recover", "Stop and report error"),
    "NonFatal": ("Something went wrong, but the run can continue", "Log warning, continue"),
}
LIMITS = {
    "steps": {"failed", "degraded"},
    "tool_calls": {"failed", "degraded"},
    "cost": {"failed"},
    "wall_time": {"interrupted"},
}
EVENTS = {
    *("run_started", "step_started", "llm_called", "llm_completed", "tool_batch_started"),
    *("tool_completed", "policy_decision", "subagent_started", "subagent_completed", "warning"),
    *("run_completed", "run_failed", "run_interrupted", "run_cancelled"),
    # What real runs send beside the table.
    *("run_paused", "run_resumed"),
}


@pytest.mark.parametrize("row", MATRIX)
def test_each_row_of_the_matrix_is_a_signal_of_its_category(row: str) -> None:
    """The category is the class, and the row's own name the code."""
    rule = next(rule for rule in MODEL.signals if rule.id == row)
    assert (rule.error_class, rule.code) == MATRIX[row]
    if row in STATUSES:
        assert set(rule.when.statuses) == STATUSES[row]


def test_the_categories_have_the_words_of_the_page() -> None:
    """What they mean and what is done about them."""
    found = {item.id: (item.recoverable, item.handler) for item in MODEL.classes}
    assert {name: found[name] for name in BEHAVIOUR} == BEHAVIOUR


def test_the_schedule_is_the_one_of_the_environment() -> None:
    """0.5 s, doubled, plus up to 0.15 s; three attempts."""
    policy = MODEL.policy_for("Retryable", "RateLimit")
    assert policy is not None
    assert policy.attempts_max == 3
    assert [policy.backoff.nominal_ns(number) / 1e9 for number in (1, 2, 3)] == [0.5, 1.0, 2.0]
    assert policy.jitter.up_to == 150_000_000
    queue = MODEL.policy_for("Retryable", "QueuePush")
    assert queue is not None
    assert (queue.layer, queue.backoff.cap) == ("queue", 30_000_000_000)


def test_the_breaker_is_the_one_of_the_configuration() -> None:
    """Five failures in a row, thirty seconds, one probe; callers' mistakes count for nothing."""
    breaker = MODEL.breaker
    assert breaker is not None
    assert (breaker.failures, breaker.open_for, breaker.half_open_probes) == (5, 30 * 10**9, 1)
    assert breaker.counts == ("Retryable/*",)


def test_each_limit_ends_in_the_states_of_its_row() -> None:
    """Under a code that is the limit's own name."""
    assert {rule.limit: set(rule.states) for rule in MODEL.limits} == LIMITS
    assert all(len(rule.carries) == 1 for rule in MODEL.limits)


def test_the_failure_policies_come_to_what_their_tabs_say() -> None:
    """Fail ends the run, degrade lets it end degraded, continue lets it complete."""
    found = {
        value: {(rule.run, rule.states) for rule in MODEL.consequences if value in _policies(rule)}
        for value in ("fail", "degrade", "continue")
    }
    tools = {
        value: {
            (rule.run, rule.states)
            for rule in MODEL.consequences
            if "Configurable/HandlerException" in rule.applies_to and value in _policies(rule)
        }
        for value in found
    }
    assert tools == {
        "fail": {("ends", ("failed",))},
        "degrade": {("goes_on", ("degraded",))},
        "continue": {("goes_on", ("completed",))},
    }
    assert ("ends", ("degraded",)) in found["degrade"]


def _policies(rule: object) -> set[str]:
    where = getattr(rule, "where", {})
    return {str(value) for value in where.values() if isinstance(value, str)}


def test_a_join_is_held_as_its_tab_says() -> None:
    """All of the required ones where nothing is said, any, or as many as are needed."""
    assert {rule.policy: rule.holds for rule in MODEL.joins} == {
        "": "all_required",
        "all_required": "all_required",
        "allow_optional_failures": "all_required",
        "first_success": "any",
        "quorum": "quorum",
    }


@pytest.mark.parametrize("reading", ["unmapped", "policy-denial"])
def test_what_a_person_has_not_allowed_is_judged_by_facts_in_each_reading(reading: str) -> None:
    """Whatever becomes of the run, and whether or not the runtime tells anything."""
    model = load_error_model("afk", {"user-denial": reading})
    rules = {rule.id: rule for rule in model.ordering}
    for id_ in ("denied-by-a-person-never-executed", "unanswered-never-executed"):
        assert (rules[id_].event, rules[id_].needs) == ("Executed", ())


def test_the_events_are_those_of_the_contract() -> None:
    """Each is what a run declares under that very name."""
    declared = {
        name
        for name, pattern in MODEL.events.items()
        if pattern.kinds == ("declared.event",) and pattern.where == {"name": name}
    }
    assert declared == EVENTS


def test_no_model_is_asked_after_a_terminal_failure_but_the_open_breaker() -> None:
    """By the default reading; the diagram's own is the other one."""
    chain, diagram = MODEL.chain, load_error_model("afk", {"fallback-on-terminal": "any"}).chain
    assert chain is not None
    assert diagram is not None
    assert chain.advances_on == ("Retryable/*", "Terminal/CircuitOpen")
    assert set(chain.stops_on) == {"Terminal/Auth", "Terminal/InvalidRequest"}
    assert diagram.stops_on == ()


def test_a_sentence_of_another_place_says_which() -> None:
    """A page of the same system, its code, or the events of its runs."""
    for requirement in MODEL.requirements:
        if requirement.document is not None:
            assert requirement.document.startswith(('page "', "code of", "events of"))


def test_special_signals_stand_before_general_ones() -> None:
    """Rules are tried in order: none stands behind one that takes all it could match."""
    order = [rule.id for rule in MODEL.signals]
    for special, general in (
        ("quota", "rate-limit"),
        ("quota-by-type", "rate-limit"),
        ("server-error", "other-server-error"),
        ("gateway-timeout", "other-server-error"),
        ("overloaded", "other-server-error"),
        ("request-timeout", "other-refusal"),
        ("not-found", "other-refusal"),
        ("in-band-other-refusal", "in-band-invalid-request-by-type"),
        ("in-band-auth", "in-band-invalid-request-by-type"),
        ("in-band-invalid-request-by-type", "in-band-unknown"),
    ):
        assert order.index(special) < order.index(general)


@pytest.mark.parametrize(
    ("reading", "missing", "other"),
    [
        ("named", ("Terminal", "InvalidRequest"), None),
        ("unmapped", None, None),
        ("invalid-request", ("Terminal", "InvalidRequest"), ("Terminal", "InvalidRequest")),
    ],
)
def test_a_missing_model_is_the_example_of_an_invalid_request(
    reading: str, missing: tuple[str, str] | None, other: tuple[str, str] | None
) -> None:
    """By default where the error says so, with a 404 or inside of a good answer."""
    model = load_error_model("afk", {"missing-model": reading})
    gone = Signal(kind="http_error", status=404, error_code="model_not_found")
    assert classify(model, gone).pair == missing
    inside = Signal(kind="error_body", error_code="model_not_found")
    assert classify(model, inside).pair == (None if reading == "unmapped" else missing)
    assert classify(model, Signal(kind="http_error", status=404)).pair == other


def test_the_reference_reads_a_missing_model_likewise() -> None:
    """And leaves any other 404 without a category."""
    gone = AttemptError("http_error", "no", status=404, provider_code="model_not_found")
    assert afk.of_attempt(gone) == ("Terminal", "InvalidRequest")
    assert afk.of_attempt(AttemptError("http_error", "no", status=404)) is None
