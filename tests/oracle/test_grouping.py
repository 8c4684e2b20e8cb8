"""Which attempts of a turn are for one answer, where it asks for several at the same time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.judge import judge
from faultclock.oracle.wire.attempts import observe
from faultclock.oracle.wire.grouping import Course, in_requests
from faultclock.oracle.wire.requests import Attempt, Call, Request, waited
from faultclock.oracle.wire.signals import Signal
from faultclock.profile.infer.seen import read_run
from tests.oracle.common_model import common
from tests.oracle.trace_builder import REPLY, sha256
from tests.oracle.turn_builder import TurnBuilder, digest, value

MAIN, GUARD = "You help people.", "Is it homework?"


class Crowd(TurnBuilder):
    """A turn whose requests are sent, answered and closed one by one, in any order."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._conversation = self.messages
        self._sent: dict[str, tuple[str, str]] = {}

    def sends(self, name: str, instructions: str, prompt: str = "Say hello.") -> Crowd:
        """Let a request leave, and reach the provider."""
        said = (("system", instructions), ("user", prompt))
        self.messages = [{"role": role, "content_sha256": sha256(text)} for role, text in said]
        connection = self.connect("ask/1")
        self._sent[name] = connection, self.ask(connection, "ask/1")
        return self

    def gets(self, name: str, status: int = 200, text: str = REPLY, **headers: str) -> Crowd:
        """Let the answer arrive."""
        connection, exchange = self._sent[name]
        error = None if status < 400 else {"code": None, "type": None, "message": "no"}
        sent = {key.replace("_", "-"): value for key, value in headers.items()}
        self.answer(connection, exchange, status=status, headers=sent, error=error)
        if status < 400:
            self.end_exchange(connection, exchange, "complete", finish_reason="stop", text=text)
        else:
            self.end_exchange(connection, exchange, "complete")
        self.deliver(connection)
        return self

    def drops(self, name: str) -> Crowd:
        """Let the subject close the connection."""
        self.close(self._sent[name][0])
        return self


def crowd() -> Crowd:
    """Return a turn that has begun."""
    built = Crowd()
    built.turn()
    return built


def requests(built: Crowd) -> list[tuple[list[str], str]]:
    """Return of each request how its attempts ended, and what became of it."""
    (call,) = (call for call in observe(built.build()).calls if call.is_turn)
    return [
        ([str(item.signal or item.outcome) for item in request.attempts], request.outcome)
        for request in call.requests
    ]


def broken(model: ErrorModel, built: Crowd) -> set[str]:
    """Return the checks that fail."""
    bad = (Verdict.FAIL, Verdict.WARN)
    return {item.check for item in judge(model, built.build()).findings if item.verdict in bad}


def test_what_begins_while_another_one_is_unanswered_is_another_request() -> None:
    """Both are the first attempts at an answer, and the turn returns that of one of them."""
    built = crowd().sends("main", MAIN).sends("guard", GUARD)
    built.gets("main").gets("guard", text="no").ends()
    assert requests(built) == [(["ok"], "returned"), (["ok"], "good")]


def test_each_of_two_requests_at_once_has_its_own_retries() -> None:
    """A retry has the instructions of its request, in whatever order they come back."""
    built = crowd().sends("main", MAIN).sends("guard", GUARD).gets("main", 429).gets("guard", 429)
    built.after("1s").sends("guard", GUARD).sends("main", MAIN)
    built.gets("guard", text="no").gets("main").ends()
    assert requests(built) == [(["429", "ok"], "returned"), (["429", "ok"], "good")]
    assert broken(common(), built) == set()


def test_two_equal_requests_at_once_are_two() -> None:
    """A crowd of equal prompts: each retry is of the one whose wait was over."""
    built = crowd().sends("one", MAIN).sends("two", MAIN)
    built.gets("one", 429, retry_after="60").gets("two", 429, retry_after="2")
    built.after("3s").sends("two", MAIN).gets("two")
    built.after("60s").sends("one", MAIN).gets("one").ends()
    assert requests(built) == [(["429", "ok"], "returned"), (["429", "ok"], "good")]
    assert broken(common(), built) == set()


def test_what_was_said_is_that_of_the_answer_that_was_returned() -> None:
    """A guardrail answers last, and its answer is no part of the conversation."""
    built = Crowd(tasks=({"id": "ask"}, {"id": "again"}))
    built.turn().sends("main", MAIN).sends("guard", GUARD)  # type: ignore[attr-defined]
    built.gets("main").gets("guard", text="no").ends()
    (call,) = (call for call in observe(built.build()).calls if call.is_turn)
    assert call.last is not None
    assert call.last.text_sha256 == sha256(REPLY)


def test_a_guardrail_that_looks_at_the_answer_has_a_conversation_of_its_own() -> None:
    """It comes last, and the turn returns what was answered before it."""
    built = crowd().sends("main", MAIN).gets("main").sends("guard", GUARD, REPLY)
    built.gets("guard", text="fine").ends()
    (call,) = (call for call in observe(built.build()).calls if call.is_turn)
    assert [request.outcome for request in call.requests] == ["returned", "good"]
    assert call.last is call.requests[0].attempts[-1]


def test_a_request_with_other_instructions_is_no_retry() -> None:
    """One agent gave up, and the next one is asked something else."""
    built = crowd().sends("one", GUARD).gets("one", 400).sends("two", MAIN).gets("two").ends()
    assert requests(built) == [(["400"], "given_up"), (["ok"], "returned")]
    assert "retries.pointless" not in broken(common(), built)


def test_instructions_with_a_clock_hide_no_retry() -> None:
    """Each round has others, and says the same: a node of a graph that is tried again."""
    built = crowd()
    for minute in range(3):
        name = f"round {minute}"
        built.sends(name, f"You help. It is 12:0{minute}.").gets(name, 400 if minute < 2 else 200)
    built.ends()
    assert requests(built) == [(["400", "400", "ok"], "returned")]


def test_rounds_of_two_requests_at_once_are_not_one() -> None:
    """What says the same beside another one is that one's neighbour, and no retry of it."""
    built = crowd()
    for minute in range(3):
        names = [f"{who} {minute}" for who in ("main", "guard")]
        for name in names:
            built.sends(name, f"You are {name}.")
        for name in names:
            built.gets(name, 400)
    assert [ended for ended, _ in requests(built.ends("A/B"))] == [["400"]] * 6


@pytest.mark.parametrize(
    ("good", "staged", "several", "sizes"),
    [
        (False, False, True, [3]),
        (False, True, True, [1, 1, 1]),
        (True, False, True, [1, 1, 1]),
        (True, False, None, [1, 1, 1]),
    ],
    ids=["failures", "failures of three stages", "good answers", "good answers of a client"],
)
def test_the_same_text_under_three_instructions(
    good: bool, staged: bool, several: bool | None, sizes: list[int]
) -> None:
    """It is one request only where each failed, in one place of a workflow."""
    drawn: list[tuple[int, int | None, bool, str | None]] = [
        (100 * number, 10, good, f"body {number}") for number in range(3)
    ]
    attempts = tuple(
        replace(item, asked=_told(item, f"system {number}"), node=f"n{number}" if staged else None)
        for number, item in enumerate(_attempts(drawn))
    )
    assert _sizes(attempts, several) == sizes


def test_other_tools_make_another_request() -> None:
    """Two agents without instructions ask the same, and the first one gave up."""
    one, other = _attempts([(0, 10, False, "one"), (100, 10, True, "two")])
    attempts = replace(one, asked=_told(one)), replace(other, asked=_told(other, tools=3))
    assert _sizes(attempts, True) == [1, 1]
    assert _sizes((attempts[0], replace(attempts[1], asked=_told(other))), True) == [2]


def _told(attempt: Attempt, *instructions: str, tools: int = 0) -> TraceEvent:
    """Return the request of an attempt at one question, under instructions."""
    assert attempt.asked is not None
    said = [*(("system", text) for text in instructions), ("user", "Say hello.")]
    messages = [{"role": role, "content_sha256": sha256(text)} for role, text in said]
    return replace(
        attempt.asked, payload={**attempt.asked.payload, "messages": messages, "tools": tools}
    )


def _sizes(attempts: tuple[Attempt, ...], several: bool | None) -> list[int]:
    """Return how many attempts each request of a call has."""
    started = TraceEvent(0, 0, "harness", "call.started", {"call": "ask/1"})
    ended = TraceEvent(9_999, 9_999, "harness", "call.returned", {"call": "ask/1"})
    call = Call(id="ask/1", task="ask", start=started, end=ended, attempts=attempts)
    return [len(request.attempts) for request in in_requests(call, Course(), several=several)]


def test_other_text_under_the_same_instructions_is_no_retry() -> None:
    """A map over chunks, of which one failed and was left out."""
    built = crowd()
    for chunk in ("first", "second"):
        built.sends(chunk, MAIN, chunk).gets(chunk, 400)
    built.sends("third", MAIN, "third").gets("third").ends()
    assert [ended for ended, _ in requests(built)] == [["400"], ["400"], ["ok"]]


def test_a_retry_that_leaves_out_old_messages_is_still_one() -> None:
    """It begins or ends as the request did."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1").tells("c1", value())
    built.fails(429, call="ask/1").after("1s")
    del built.messages[:1]
    built.says().ends()
    (call,) = (call for call in observe(built.build()).calls if call.is_turn)
    assert [len(request.attempts) for request in call.requests] == [1, 2]


def test_a_retry_that_says_what_was_wrong_is_still_one() -> None:
    """It begins as the request did, and ends otherwise."""
    built = TurnBuilder().turn().fails(429, call="ask/1").after("1s")
    built.messages.append({"role": "user", "content_sha256": sha256("Once more, please.")})
    built.says().ends()
    (call,) = (call for call in observe(built.build()).calls if call.is_turn)
    assert [len(request.attempts) for request in call.requests] == [2]


@pytest.mark.parametrize(("answered", "said"), [(True, False), (False, True)])
def test_what_is_made_of_several_answers_is_a_text_of_its_own(answered: bool, said: bool) -> None:
    """One of two branches failed, and half of its text may be in it; where both did, none is."""
    built = crowd().sends("joke", MAIN).sends("poem", GUARD)
    built.gets("joke", 200 if answered else 500).gets("poem", 500)
    assert ("answers.admitted" in broken(common(), built.ends(text="JOKE and POEM"))) is said


@pytest.mark.parametrize(("text", "said"), [("Half a", True), ("JOKE and POEM", False)])
def test_of_several_answers_the_one_that_is_returned_is_judged(text: str, said: bool) -> None:
    """The last one was cut at its limit of length; a text that is made of both is another one."""
    built = (
        crowd().sends("joke", MAIN).sends("poem", GUARD).gets("joke").gets("poem", text="Half a")
    )
    ended = [item for item in built.events if item.kind == "http.exchange_ended"]
    ended[-1].payload["ends"] = "length"  # type: ignore[index]
    assert ("answers.noticed" in broken(common(), built.ends(text=text))) is said


def test_the_beginning_of_an_answer_in_a_text_of_its_own_is_not_the_providers() -> None:
    """One request has one answer: only what is made of several holds a part of one somewhere."""
    built = crowd().sends("joke", MAIN).gets("joke", 500).ends(text=f"JOKE: {REPLY[:25]}")
    assert broken(common(), built) & {"answers.whole", "answers.admitted"} == {"answers.admitted"}


@pytest.mark.parametrize(("status", "said"), [(400, False), (200, True)])
def test_a_good_answer_beside_a_failed_one_is_not_thrown_away(status: int, said: bool) -> None:
    """The turn ended by the failure of the other branch; where none failed, by neither."""
    built = crowd().sends("joke", MAIN).sends("poem", GUARD).gets("poem", status).gets("joke")
    findings = judge(common(), built.ends("A/B").build()).findings
    thrown = [item for item in findings if "was good, and the call raised" in item.observed]
    assert bool(thrown) is said


@pytest.mark.parametrize(
    ("text", "check"), [(f"JOKE: {REPLY[:25]}", "answers.whole"), ("JOKE:", "answers.admitted")]
)
def test_what_is_made_of_parts_of_answers_is_no_text_of_its_own(text: str, check: str) -> None:
    """Both branches failed, and half of what the model said is in the whole."""
    built = crowd().sends("joke", MAIN).sends("poem", GUARD).gets("joke", 500).gets("poem", 500)
    found = broken(common(), built.ends(text=text))
    assert found & {"answers.whole", "answers.admitted"} == {check}


def test_what_is_closed_long_after_another_ones_end_was_given_up() -> None:
    """That is its own deadline."""
    built = crowd().sends("main", MAIN).sends("guard", GUARD).gets("guard", 400)
    built.after("1s").drops("main").ends("A/B")
    assert requests(built)[0][0] != ["open"]


def test_what_another_ones_end_closed_was_not_given_up() -> None:
    """A guardrail that fails has the answer beside it thrown away: no deadline has passed."""
    built = crowd().sends("main", MAIN).sends("guard", GUARD).gets("guard", 400)
    built.drops("main").ends("A/B")
    assert requests(built) == [(["open"], "cut"), (["400"], "raised")]


def test_a_wait_that_another_ones_end_cuts_short_is_no_giving_up(model: ErrorModel) -> None:
    """Its retry was still to come: nothing says that there was none."""
    built = crowd().sends("main", MAIN).sends("guard", GUARD).gets("main", 429)
    built.gets("guard", 400).ends("A/B")
    assert requests(built) == [(["429"], "cut"), (["400"], "raised")]
    assert "retries.tried" not in broken(common(), built)
    assert "classification.disposition" not in broken(model, built)


def test_a_first_failure_that_is_given_up_alone_is_still_found() -> None:
    """The same turn without another request."""
    built = crowd().sends("main", MAIN).gets("main", 429).ends("A/B")
    assert requests(built) == [(["429"], "raised")]
    assert "retries.tried" in broken(common(), built)


def test_retries_of_layers_are_still_one_request() -> None:
    """A framework that begins anew after the retries of its client sends the same again."""
    built = crowd()
    for wait in ("1s", "2s", "4s", "1s", "2s"):
        built.sends("main", MAIN).gets("main", 503)
        built.after(wait)
    built.sends("main", MAIN).gets("main").ends()
    assert requests(built) == [(["503"] * 5 + ["ok"], "returned")]


def test_lookups_at_once_begin_the_attempt_of_each() -> None:
    """Both are under way before the first one ends; each connect follows a lookup of its own."""
    built = crowd()
    for _ in range(2):
        built.event("network", "net.resolving", host="api.openai.com", call="ask/1")
        built.after("2ms")
    for _ in range(2):
        built.event(
            *("network", "net.resolve"),
            host="api.openai.com",
            call="ask/1",
            address="192.0.2.1",
            error=None,
        )
    first, second = built.connect("ask/1"), built.connect("ask/1")
    built.ask(first, "ask/1")
    built.now_ns -= 10 * MILLISECOND_NS
    built.ask(second, "ask/1")
    (call,) = (call for call in observe(built.build()).calls if call.is_turn)
    assert [attempt.start.at_ns for attempt in call.attempts] == [0, 2 * MILLISECOND_NS]


def test_a_profile_is_of_one_request() -> None:
    """What the other one did at the same time is no wait of it."""
    built = crowd().sends("main", MAIN).sends("guard", GUARD).gets("main", 429).gets("guard", 429)
    built.after("1s").sends("main", MAIN).after("1s").sends("guard", GUARD)
    built.gets("main", 429).gets("guard", 429).ends("A/B")
    seen = read_run("probe", built.build())
    assert (len(seen.attempts), seen.at_once) == (2, True)
    assert all(wait is not None and wait >= 1_000_000_000 for wait in seen.waits_ns)


# ---------------------------------------------------------------------- no wait is negative

_BODIES = ("one", "two", "three")


def _attempts(drawn: list[tuple[int, int | None, bool, str | None]]) -> tuple[Attempt, ...]:
    found = []
    for seq, (start_ns, took_ns, is_good, body) in enumerate(sorted(drawn, key=lambda it: it[0])):
        asked = {
            "messages": [{"role": "user", "content_sha256": sha256(body or "")}],
            "body_sha256": digest(body),
            "method": "POST",
            "target": "/",
            "in_words": [],
        }
        start = TraceEvent(10 * seq + 1, start_ns, "network", "net.connect", {"call": "ask/1"})
        request = TraceEvent(10 * seq + 2, start_ns, "provider", "http.request", asked)
        over_ns = None if took_ns is None else start_ns + took_ns
        found.append(
            Attempt(
                call="ask/1",
                number=seq + 1,
                start=start,
                outcome="ok" if is_good and over_ns is not None else "failed",
                signal=None if is_good else Signal(kind="deadline"),
                knowable_ns=over_ns,
                knowable_seq=None,
                known_ns=None if over_ns is None else over_ns + 5,
                asked=None if body is None else request,
                events=(start.seq, request.seq),
            )
        )
    return tuple(found)


@given(
    drawn=st.lists(
        st.tuples(
            st.integers(0, 60),
            st.none() | st.integers(0, 30),
            st.booleans(),
            st.sampled_from((None, *_BODIES)),
        ),
        min_size=1,
        max_size=9,
    ),
    end=st.sampled_from(("call.returned", "call.raised", None)),
    several=st.sampled_from((True, None)),
)
def test_no_wait_is_negative(
    drawn: list[tuple[int, int | None, bool, str | None]], end: str | None, several: bool | None
) -> None:
    """Whatever overlaps: a retry begins when what it repeats was over, and no attempt is lost."""
    attempts = _attempts(drawn)
    started = TraceEvent(0, 0, "harness", "call.started", {"call": "ask/1"})
    ended = None if end is None else TraceEvent(9_999, 99, "harness", end, {"call": "ask/1"})
    call = Call(id="ask/1", task="ask", start=started, end=ended, attempts=attempts)
    found: tuple[Request, ...] = in_requests(call, Course(), several=several)
    grouped = [item.start.seq for request in found for item in request.attempts]
    assert sorted(grouped) == [item.start.seq for item in attempts]
    if several:
        for request in found:
            for before, after in pairwise(request.attempts):
                assert before.over_ns is None or before.over_ns <= after.start.at_ns
                assert (waited(before, after) or 0) >= 0


@pytest.mark.parametrize("several", [True, None])
def test_a_call_without_attempts_has_no_wait(several: bool | None) -> None:
    """Nothing is grouped where nothing was asked."""
    started = TraceEvent(0, 0, "harness", "call.started", {"call": "ask/1"})
    call = Call(id="ask/1", task="ask", start=started, end=None, attempts=())
    assert not any(item.attempts for item in in_requests(call, Course(), several=several))
