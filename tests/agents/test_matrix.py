"""The reference of the Error Handling Matrix: how it reads, what it says, how it waits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.matrix import MatrixAgent, reference_matrix
from faultclock.agents.matrix_errors import Failure, notice_of, wire_pair
from faultclock.agents.matrix_programs import (
    ProgramRun,
    Trouble,
    answer_of,
    is_denial,
    trouble_of,
)
from faultclock.subjects.ports import Node, Surroundings
from faultclock.subjects.stud import AttemptError

NETWORK = ("provider", "provider_network_error")
TIMEOUT = ("provider", "provider_timeout")
AUTH = ("provider", "provider_auth_error")
RUNTIME = ("provider", "provider_runtime_error")
REVIEW = ("stage", "review_schema_invalid")
DENIAL = "Claude requested permissions to write to a.txt, but you haven't granted it yet."
SCHEMA = {"type": "object", "required": ["verdict"]}


def _run(status: int | None = 1, *stderr: str, stdout: str = "", **more: Any) -> ProgramRun:
    return ProgramRun(
        argv=("coder",), status=status, stdout=stdout.splitlines(), stderr=list(stderr), **more
    )


@pytest.mark.parametrize(
    ("run", "pair"),
    [
        (_run(None), ("provider", "provider_not_found")),
        (_run(1, "stream error: stream disconnected before completion"), NETWORK),
        (_run(1, "read ECONNRESET"), NETWORK),
        (
            _run(1, stdout='{"type": "turn.failed", "error": {"message": "socket hang up"}}'),
            NETWORK,
        ),
        (_run(0, stdout='{"type": "error", "message": "socket hang up"}'), NETWORK),
        (_run(1, "API error: 401 Unauthorized"), AUTH),
        (_run(1, "HTTP 403: invalid token"), AUTH),
        (_run(1, "usage limit reached, quota resets in 3 hours"), None),
        (_run(1, "prompt is too long"), RUNTIME),
        (_run(-9, stdout='{"verdict": "ap'), RUNTIME),
        (_run(-15, timed_out=True), TIMEOUT),
        (_run(-15, denied=True), ("provider", "provider_permission_denied")),
    ],
)
def test_a_run_is_read_by_its_end_and_its_complaints(
    run: ProgramRun, pair: tuple[str, str] | None
) -> None:
    """Status, signal, error output, and events that say so themselves."""
    assert trouble_of(run) == Trouble(pair)


@given(st.text(st.characters(exclude_characters="{")))
def test_what_the_assistant_writes_is_no_trouble(text: str) -> None:
    """It may speak of tokens, authors and networks as much as it likes."""
    assert trouble_of(_run(0, stdout=f"{text}\nauth 401 ECONNRESET quota")) is None


@pytest.mark.parametrize(
    ("stdout", "why"),
    [
        ('{"verdict": "approve"}', None),
        ('Let me see.\n{"verdict": "approve"}\n', None),
        ('{\n  "verdict": "approve"\n}', None),
        ("Looks good to me!", "the answer is no JSON"),
        ('```json\n{"verdict": "approve"}\n```', "the answer is no JSON"),
        ("", "the answer is no JSON"),
    ],
)
def test_an_answer_is_json_as_a_whole_or_in_its_last_line(stdout: str, why: str | None) -> None:
    """A fence is not JSON, by the letter."""
    assert answer_of(_run(0, stdout=stdout), SCHEMA)[1] == why


def test_an_answer_that_leaves_a_field_out_does_not_fit() -> None:
    """And one without a schema always does."""
    assert answer_of(_run(0, stdout="{}"), SCHEMA)[1] is not None
    assert answer_of(_run(0, stdout="anything"), None)[1] is None


def test_a_denial_is_a_line_of_the_error_output_or_a_failed_tool_result() -> None:
    """An assistant that quotes one is not denied anything."""
    assert is_denial("stderr", DENIAL)
    assert not is_denial("stdout", DENIAL)
    assert is_denial(
        "stdout", f'{{"type": "tool_result", "is_error": true, "content": "{DENIAL}"}}'
    )
    assert not is_denial("stdout", f'{{"type": "assistant", "content": "{DENIAL}"}}')


@pytest.mark.parametrize(
    ("seen", "pair"),
    [
        (AttemptError("network", ""), NETWORK),
        (AttemptError("cut", ""), NETWORK),
        (AttemptError("deadline", ""), TIMEOUT),
        (AttemptError("malformed", ""), RUNTIME),
        (AttemptError("http_error", "", status=401), AUTH),
        (AttemptError("http_error", "", status=403), AUTH),
        (AttemptError("http_error", "", status=400, provider_code="invalid_api_key"), AUTH),
        (AttemptError("http_error", "", status=404), RUNTIME),
        (AttemptError("http_error", "", status=408), None),
        (AttemptError("http_error", "", status=429), None),
        (AttemptError("http_error", "", status=503), NETWORK),
        (AttemptError("error_body", "", provider_code=429), None),
        (AttemptError("stream_error", "", provider_code="server_error"), NETWORK),
        (AttemptError("stream_error", "", provider_type="authentication_error"), AUTH),
        (AttemptError("stream_error", "", provider_type="rate_limit_error"), None),
        (AttemptError("stream_error", ""), RUNTIME),
    ],
)
def test_a_failed_request_is_read_by_status_code_and_type(
    seen: AttemptError, pair: tuple[str, str] | None
) -> None:
    """Its words decide nothing, and a limit has no row."""
    assert wire_pair(seen) == pair


def test_the_operator_reads_the_documents_words_with_what_helps() -> None:
    """Text, status and actions, row by row."""
    notice = notice_of(Failure(pair=NETWORK, stage="build", discussion=True))
    assert (notice.message, notice.pill) == ("网络断流，可重试", "network error")
    assert notice.actions == ("重试当前阶段", "切换 Provider 重试", "继续讨论")
    failed = Failure(
        pair=("stage", "test_failed"), stage="tests", argv=("run-tests", "-q"), said="1 failed"
    )
    assert "run-tests -q" in notice_of(failed).message
    assert "1 failed" in notice_of(failed).message
    missing = Failure(pair=("provider", "provider_not_found"), stage="build", argv=("coder",))
    assert "coder" in notice_of(missing).message
    assert "PATH" in notice_of(missing).message
    denied = Failure(pair=("provider", "provider_permission_denied"), stage="build")
    assert "授予权限" in notice_of(denied).actions
    assert notice_of(Failure(pair=None, stage="build")).pill is None


def _agent(host: Any) -> MatrixAgent:
    return MatrixAgent(Surroundings(host=host, session_id="s1", resume=False, store=host))


def test_a_disconnect_is_waited_for_twice_and_then_given_up(host: Any) -> None:
    """1 s and 2 s, each a fifth more or less; the third failure is the last."""
    agent = _agent(host)
    node = Node(id="build", do="program", role="coder", argv=("coder",))
    first, second, third = (agent.again_after_s(node, NETWORK) for _ in range(3))
    assert first is not None
    assert second is not None
    assert 0.8 <= first <= 1.2
    assert 1.6 <= second <= 2.4
    assert third is None


def test_a_timeout_is_retried_only_where_it_may_be(host: Any) -> None:
    """A stage that may not be done twice is not."""
    once = Node(id="build", do="program", argv=("coder",), idempotent=False)
    assert _agent(host).again_after_s(once, TIMEOUT) is None
    assert _agent(host).again_after_s(Node(id="build", do="program"), TIMEOUT) is not None


def test_an_invalid_schema_is_asked_for_once_more_and_at_once(host: Any) -> None:
    """One-shot, by the row."""
    agent = _agent(host)
    node = Node(id="review", do="program", role="reviewer")
    assert [agent.again_after_s(node, REVIEW) for _ in range(2)] == [0.0, None]


def test_it_is_bound_as_what_the_registry_names() -> None:
    """With everything that its checks need to be told."""
    assert reference_matrix.id == "reference-error-matrix"
    assert {"audit", "events", "operator"} <= set(reference_matrix.declares)
