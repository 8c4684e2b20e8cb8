"""The parts of the AFK reference that decide: its breaker, its categories, its waits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.afk import ROWS, AfkAgent, of_attempt, of_call
from faultclock.agents.breaker import Breaker
from faultclock.agents.calls import Call, Kind, Outcome
from faultclock.subjects.ports import Surroundings
from faultclock.subjects.stud import AttemptError


def opened() -> Breaker:
    """Return a breaker that has just opened, at 100 s."""
    breaker = Breaker()
    for _ in range(5):
        assert breaker.admits(100.0)
        breaker.failed(100.0, counts=True)
    return breaker


def test_a_breaker_opens_at_the_fifth_counted_failure() -> None:
    """Not at the fourth, and what does not count changes nothing in between."""
    breaker = Breaker()
    for counts in (True, True, False, True, True):
        breaker.failed(1.0, counts=counts)
    assert breaker.admits(1.0)
    breaker.failed(2.0, counts=True)
    assert not breaker.admits(2.0)


def test_a_success_begins_the_count_anew() -> None:
    """Only failures in a row count."""
    breaker = Breaker()
    for _ in range(4):
        breaker.failed(1.0, counts=True)
    breaker.good()
    for _ in range(4):
        breaker.failed(2.0, counts=True)
    assert breaker.is_closed


def test_an_open_breaker_refuses_for_thirty_seconds() -> None:
    """Then it lets one request through, and no second one beside it."""
    breaker = opened()
    assert not breaker.admits(129.9)
    assert breaker.admits(130.0)
    assert not breaker.admits(130.0)


def test_a_good_probe_closes_it() -> None:
    """As if nothing had happened."""
    breaker = opened()
    assert breaker.admits(130.0)
    breaker.good()
    assert breaker.is_closed
    assert breaker.admits(130.0)


def test_a_probe_that_fails_opens_it_anew() -> None:
    """For another thirty seconds, from then on."""
    breaker = opened()
    assert breaker.admits(130.0)
    breaker.failed(131.0, counts=True)
    assert not breaker.admits(160.0)
    assert breaker.admits(161.0)


@pytest.mark.parametrize("how", ["cancelled", "refused"])
def test_a_probe_that_says_nothing_makes_room_for_the_next(how: str) -> None:
    """Neither a cancel nor a 400 says how the provider is."""
    breaker = opened()
    assert breaker.admits(130.0)
    if how == "cancelled":
        breaker.let_go()
    else:
        breaker.failed(131.0, counts=False)
    assert not breaker.is_closed
    assert breaker.admits(131.0)


@given(st.lists(st.sampled_from(["good", "counts", "other", "cancel"]), max_size=40))
def test_a_breaker_never_has_more_probes_than_it_may(ends: list[str]) -> None:
    """Whatever becomes of what it lets through."""
    breaker, now_s = Breaker(), 0.0
    for end in ends:
        now_s += 11.0
        if not breaker.admits(now_s):
            continue
        if end == "good":
            breaker.good()
        elif end == "cancel":
            breaker.let_go()
        else:
            breaker.failed(now_s, counts=end == "counts")
        assert breaker.probes == 0
        assert breaker.failures <= breaker.threshold


@pytest.mark.parametrize(
    ("status", "pair"),
    [
        (429, ("Retryable", "RateLimit")),
        (500, ("Retryable", "ServerError")),
        (502, ("Retryable", "ServerError")),
        (503, ("Retryable", "ServerError")),
        (408, ("Retryable", "Timeout")),
        (401, ("Terminal", "Auth")),
        (403, ("Terminal", "Auth")),
        (400, ("Terminal", "InvalidRequest")),
        (404, None),
        (504, None),
        (529, None),
    ],
)
def test_a_status_has_the_category_of_its_row(status: int, pair: tuple[str, str] | None) -> None:
    """Or none, where the matrix has no row."""
    assert of_attempt(AttemptError("http_error", "", status=status)) == pair


def test_a_missing_model_is_an_invalid_request_though_its_status_has_no_row() -> None:
    """It is the example of that row; another error with a 404, or the code alone, is not."""

    def pair_of(status: int, code: str) -> tuple[str, str] | None:
        return of_attempt(AttemptError("http_error", "", status=status, provider_code=code))

    assert pair_of(404, "model_not_found") == ("Terminal", "InvalidRequest")
    assert pair_of(404, "not_found") is None
    assert pair_of(529, "model_not_found") is None


@pytest.mark.parametrize(
    ("code", "type_", "pair"),
    [
        ("rate_limit_exceeded", None, ("Retryable", "RateLimit")),
        (429, None, ("Retryable", "RateLimit")),
        ("529", None, None),
        (None, "api_error", ("Retryable", "ServerError")),
        ("model_not_found", None, ("Terminal", "InvalidRequest")),
        ("overloaded_error", "invalid_request_error", None),
        ("something_new", "invalid_request_error", ("Terminal", "InvalidRequest")),
        (None, None, None),
    ],
)
def test_an_error_object_stands_for_a_status(
    code: str | int | None, type_: str | None, pair: tuple[str, str] | None
) -> None:
    """By its code, and by its type where the code says nothing."""
    seen = AttemptError("stream_error", "", status=200, provider_code=code, provider_type=type_)
    assert of_attempt(seen) == pair


def call(*, agent: bool) -> Call:
    """Return a call of a tool, or of a subagent."""
    tool = SimpleNamespace(contract=SimpleNamespace(agent=agent))
    return Call(id="c1", name="worker", tool=cast("Any", tool))


@pytest.mark.parametrize(
    ("kind", "tool", "subagent"),
    [
        ("exception", "HandlerException", "SubagentFailed"),
        ("failed", "HandlerException", "SubagentFailed"),
        ("timeout", "ToolTimeout", "SubagentTimeout"),
        ("input_invalid", "Validation", "Validation"),
        ("denied_by_policy", "PolicyDenial", "PolicyDenial"),
        ("denied_by_user", None, "PolicyDenial"),
        ("unavailable", None, "SubagentFailed"),
        ("partial", None, None),
    ],
)
def test_a_call_has_the_category_of_its_row(
    kind: Kind, tool: str | None, subagent: str | None
) -> None:
    """A subagent has rows of its own."""
    for agent, code in ((False, tool), (True, subagent)):
        pair = of_call(call(agent=agent), Outcome(kind=kind))
        assert (None if pair is None else pair[1]) == code


def test_there_are_words_for_every_category() -> None:
    """So that nothing else is ever said of a failure."""
    assert all(words.strip() for _, words in ROWS.values())


def agent(**more: object) -> AfkAgent:
    """Return a runtime that is set up so, and has no world."""
    world = {"host": None, "policies": {}, "join": "", "quorum": None, **more}
    return AfkAgent(cast("Surroundings", SimpleNamespace(**world)))


def test_a_wait_is_doubled_and_has_its_jitter_on_top() -> None:
    """0.5 s and 1 s, and never more than 0.15 s beyond."""
    runtime = agent()
    for attempt, nominal_s in ((1, 0.5), (2, 1.0)):
        waits = [runtime.wait_s(attempt) for _ in range(50)]
        assert all(nominal_s <= wait_s <= nominal_s + 0.15 for wait_s in waits)
        assert len(set(waits)) > 1


@pytest.mark.parametrize(
    ("join", "quorum", "good", "holds"),
    [
        ("", None, {"a", "b"}, True),
        ("", None, {"a"}, False),
        ("all_required", None, {"a", "b", "c"}, True),
        ("allow_optional_failures", None, {"a", "b"}, True),
        ("allow_optional_failures", None, {"a", "c"}, False),
        ("first_success", None, {"c"}, True),
        ("first_success", None, set(), False),
        ("quorum", 2, {"b", "c"}, True),
        ("quorum", 2, {"b"}, False),
        ("quorum", None, {"b"}, False),
    ],
)
def test_a_join_holds_as_its_policy_says(
    join: str, quorum: int | None, good: set[str], *, holds: bool
) -> None:
    """Of three subagents, `c` is optional."""
    runtime = agent(join=join, quorum=quorum)
    runtime.batch.agents = {"a": True, "b": True, "c": False}
    runtime.batch.good = good
    assert runtime.joined() is holds


@pytest.mark.parametrize(
    ("policy", "state"), [(None, "failed"), ("fail", "failed"), ("degrade", "degraded")]
)
def test_a_run_without_an_answer_ends_as_its_policy_says(policy: str | None, state: str) -> None:
    """It fails where nothing is said."""
    policies = {} if policy is None else {"llm": policy}
    assert agent(policies=policies).llm_state() == state
