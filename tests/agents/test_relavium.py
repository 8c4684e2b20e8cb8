"""The arithmetic and the words of the Relavium reference, without a world around it."""

from __future__ import annotations

from functools import partial
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.relavium import RelaviumAgent
from faultclock.agents.relavium_run import (
    CODE_OF_KIND,
    RETRYABLE_KINDS,
    RunError,
    kind_of,
    told,
)
from faultclock.subjects.ports import Node, NodeRetryRule
from faultclock.subjects.stud import AttemptError

CODES = (
    "validation",
    "content_filter",
    "provider_auth",
    "provider_rate_limit",
    "provider_unavailable",
    "tool_denied",
    "tool_failed",
    "tool_unavailable",
    "budget_exceeded",
    "run_timeout",
    "turn_limit",
    "sandbox_error",
    "internal",
)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (AttemptError("http_error", "", status=429), "rate_limit"),
        (AttemptError("http_error", "", status=503), "overloaded"),
        (AttemptError("http_error", "", status=408), "timeout"),
        (AttemptError("http_error", "", status=401), "auth"),
        (AttemptError("http_error", "", status=404), "bad_request"),
        (AttemptError("http_error", "", status=405), "unknown"),
        (AttemptError("deadline", ""), "timeout"),
        (AttemptError("network", ""), "transport"),
        (AttemptError("cut", ""), "transport"),
        (AttemptError("malformed", ""), "unknown"),
        (AttemptError("error_body", "", provider_code="429"), "rate_limit"),
        (AttemptError("stream_error", "", provider_code="server_error"), "overloaded"),
        (AttemptError("stream_error", "", provider_type="overloaded_error"), "overloaded"),
        (AttemptError("error_body", "", provider_type="invalid_request_error"), "bad_request"),
        (AttemptError("error_body", ""), "unknown"),
    ],
)
def test_a_failure_has_the_kind_that_its_status_or_its_body_says(
    failure: AttemptError, kind: str
) -> None:
    """What no rule names is unknown, which is fatal."""
    assert kind_of(failure) == kind


@given(st.text(), st.integers(min_value=400, max_value=599))
def test_the_words_of_a_provider_change_nothing(words: str, status: int) -> None:
    """A message is for humans and may change."""
    plain = AttemptError("http_error", "", status=status)
    worded = AttemptError("http_error", words, status=status, provider_message=words)
    assert kind_of(plain) == kind_of(worded)


@given(
    st.sampled_from(["http_error", "error_body", "stream_error"]),
    st.integers(min_value=400, max_value=599),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_every_failure_has_a_kind_and_every_kind_a_code(
    kind: str, status: int, code: str, type_: str
) -> None:
    """Nothing crosses the seam unclassified."""
    seen = AttemptError(kind, "", status=status, provider_code=code, provider_type=type_)  # type: ignore[arg-type]
    assert CODE_OF_KIND[kind_of(seen)] in CODES


def test_blocked_content_goes_before_its_status() -> None:
    """A block that comes as a 500 is no outage."""
    seen = AttemptError("http_error", "", status=500, provider_code="content_filter")
    assert kind_of(seen) == "content_filter"
    assert "content_filter" not in RETRYABLE_KINDS


def _node_wait_s(rule: NodeRetryRule, attempt: int) -> float:
    node = Node(id="n", do="agent", retry=rule)
    return RelaviumAgent.node_wait_s(cast("RelaviumAgent", None), node, attempt)


def test_an_entry_waits_twice_as_long_each_time_up_to_eight_seconds() -> None:
    """A quarter of a second comes first."""
    entry_wait_s = partial(RelaviumAgent.entry_wait_s, cast("RelaviumAgent", None))
    assert [entry_wait_s(number) for number in range(1, 8)] == [0.25, 0.5, 1, 2, 4, 8, 8]


@pytest.mark.parametrize(
    ("backoff", "waits_s"),
    [
        (None, [0, 0, 0]),
        ("fixed", [3, 3, 3]),
        ("linear", [3, 6, 9]),
        ("exponential", [3, 6, 12]),
    ],
)
def test_a_node_waits_as_its_author_declares(backoff: str | None, waits_s: list[float]) -> None:
    """Without a backoff it begins anew at once."""
    rule = NodeRetryRule(attempts_max=4, backoff=backoff, base_s=3.0)
    assert [_node_wait_s(rule, number) for number in (1, 2, 3)] == waits_s


@given(
    st.sampled_from(["fixed", "linear", "exponential"]),
    st.floats(min_value=0, max_value=1e6),
    st.integers(min_value=1, max_value=10_000),
    st.one_of(st.none(), st.floats(min_value=0, max_value=1e6)),
)
def test_no_node_waits_longer_than_a_day_or_its_own_cap(
    backoff: str, base_s: float, attempt: int, cap_s: float | None
) -> None:
    """However often it has failed, and whatever its author wrote."""
    rule = NodeRetryRule(attempts_max=99_999, backoff=backoff, base_s=base_s, cap_s=cap_s)
    wait_s = _node_wait_s(rule, attempt)
    assert 0 <= wait_s <= min(86_400, 86_400 if cap_s is None else cap_s)


@pytest.mark.parametrize("code", CODES)
def test_what_a_person_reads_holds_nothing_of_the_inside(code: str) -> None:
    """The id of what failed and the next step are all of it."""
    inside = "Traceback at /srv/agent with sk-simulated-0123456789 and {'card': '4111'}"
    error = RunError(code, inside, target="node-7", field="output", cause={"message": inside})
    text = told(error)
    assert inside not in text
    assert "{" not in text
    assert text[0].isupper()
    assert text.endswith(".")


def test_an_error_says_of_itself_whether_it_may_be_retried() -> None:
    """Its code decides, unless whoever makes it knows better."""
    assert RunError("tool_failed", "").retryable
    assert not RunError("tool_denied", "").retryable
    assert not RunError("sandbox_error", "").retryable
    assert RunError("sandbox_error", "", retryable=True).retryable
