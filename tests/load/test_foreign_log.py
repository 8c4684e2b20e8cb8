"""The event log of another system as a trace: strict, exact, and never more than it can show."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import InputError, SourceError
from faultclock.load.foreign.log import foreign_trace, read_foreign_log
from faultclock.load.foreign.map import foreign_map_ids, load_foreign_map
from faultclock.load.trace_file import parse_trace
from faultclock.model.foreign_map import ForeignMap
from faultclock.model.trace.trace import Trace, TraceEvent, trace_lines
from tests.load.foreign_logs import BAD, CUT, GOOD, ROOT, map_of

MAP = {
    "id": "small",
    "title": "A small log",
    "model": "afk",
    "source": "this test",
    "name": "type",
    "run": "run",
    "body": "data",
    "time": {"field": "at", "unit": "ms"},
    "skip": ["heartbeat"],
    "events": {
        "begin": {"call": "begins"},
        "wait": {
            "retry": {
                "class": "=Retryable",
                "code": "why",
                "retry_number": "n",
                "delay": "wait_s",
                "unit": "s",
            }
        },
        "bad": {
            "error": {
                "class": "error.class",
                "code": "error.code",
                "message": "error.message",
                "context": "error.more",
                "attempt": "error.attempt",
                "audited": True,
            },
            "tells": {"user": "error.message", "model": "error"},
        },
        "odd": [
            {"where": {"ok": False}, "name": "refused", "signs": ["cancel.requested"]},
            {"where": {"ok": [True, None]}, "name": "accepted", "fields": {"kind": "=yes"}},
        ],
        "note": {"audited": True},
        "end": {"call": "returned", "result": {"state": "state", "code": "=none"}},
        "fail": {"call": "raised", "error": {"code": "error.code", "message": "error.message"}},
    },
}


def map_with(**changes: Any) -> ForeignMap:
    """Return the small map with some of it changed."""
    return ForeignMap.model_validate_json(json.dumps({**MAP, **changes}), strict=True)


def read(*events: dict[str, Any], complete: bool = False, **changes: Any) -> Trace:
    """Return the trace of these events; each has a time, and belongs to the run `a`."""
    lines = [{"at": 1000 + at, "run": "a", **event} for at, event in enumerate(events)]
    content = "\n".join(json.dumps(line) for line in lines).encode()
    return foreign_trace(content, "app.jsonl", map_with(**changes), complete=complete)


def declared(trace: Trace, what: str) -> list[TraceEvent]:
    """Return what the log declares of one sort."""
    return list(trace.of_kind(f"declared.{what}"))


def refusal(*events: dict[str, Any], **changes: Any) -> str:
    """Return what is said of a log that cannot be read."""
    with pytest.raises(SourceError) as caught:
        read(*events, **changes)
    return str(caught.value)


def trace_or_refusal(content: bytes, map_: ForeignMap, *, complete: bool = False) -> Trace | str:
    """Return the trace of a log, or what is said of one that cannot be read."""
    try:
        return foreign_trace(content, "app.jsonl", map_, complete=complete)
    except SourceError as error:
        return str(error)


BEGIN, END = {"type": "begin"}, {"type": "end"}


def test_events_become_facts_in_their_order() -> None:
    """A run begins before its first event and ends after its last; all in nanoseconds."""
    trace = read(BEGIN, {"type": "other", "x": 1}, END)
    assert [(event.kind, event.at_ns) for event in trace.events] == [
        ("call.started", 0),
        ("declared.event", 0),
        ("declared.event", 1_000_000),
        ("declared.event", 2_000_000),
        ("call.returned", 2_000_000),
    ]
    assert {event.payload["call"] for event in trace.events} == {"run/a"}
    assert trace.footer.ending == "completed"
    assert declared(trace, "event")[1].payload["line"] == 2


def test_fields_of_the_body_and_of_the_map_lie_beside_those_of_the_line() -> None:
    """The map's own win over the body's, and the body's over the line's."""
    (event,) = declared(
        read({"type": "odd", "x": 1, "kind": "no", "data": {"x": 2, "y": 3}}, run=None), "event"
    )
    fields = event.payload["fields"]
    assert event.payload["name"] == "accepted"
    assert (fields["x"], fields["y"], fields["kind"]) == (2, 3, "yes")


@pytest.mark.parametrize(
    ("ok", "name"),
    [(False, "refused"), (True, "accepted"), (None, "accepted"), (0, "odd"), (1, "odd")],
)
def test_the_first_entry_whose_fields_fit_is_the_one(ok: object, name: str) -> None:
    """False is no zero, and what fits none passes as it is."""
    (event,) = declared(read({"type": "odd", "ok": ok}), "event")
    assert event.payload["name"] == name


def test_a_sign_is_no_fact() -> None:
    """It is declared under a kind of its own, beside the event."""
    trace = read(BEGIN, {"type": "odd", "ok": False}, END)
    (sign,) = declared(trace, "sign")
    assert sign.payload["of"] == "cancel.requested"
    assert not list(trace.of_kind("cancel.requested"))
    assert trace.header.foreign is not None
    assert trace.header.foreign.signs == ("cancel.requested",)


def test_an_error_is_declared_recorded_and_told() -> None:
    """The record has its context and attempt; the user and the model get their own message."""
    error = {"class": "Terminal", "code": "Auth", "message": "no", "more": {"n": 1}, "attempt": 2}
    trace = read(BEGIN, {"type": "bad", "error": error}, END)
    (named,), (audit,) = declared(trace, "error"), declared(trace, "audit")
    assert (named.payload["class"], named.payload["code"]) == ("Terminal", "Auth")
    assert audit.payload["record"] == {
        "class": "Terminal",
        "code": "Auth",
        "message": "no",
        "context": {"n": 1},
        "attempt": 2,
    }
    assert declared(trace, "user_message")[0].payload["message"] == "no"
    assert declared(trace, "model_message")[0].payload["shape"]["code"] == "Auth"


def test_a_run_that_raised_has_its_error_as_its_chain() -> None:
    """As a run of ours has."""
    trace = read(BEGIN, {"type": "fail", "error": {"code": "Auth", "message": "no"}})
    (end,) = trace.of_kind("call.raised")
    assert end.payload["chain"] == [
        {"type": "error", "link": "outer", "class": None, "code": "Auth", "message": "no"}
    ]


def test_a_run_that_returned_says_what_it_came_to() -> None:
    """As far as the map says where."""
    (end,) = read(BEGIN, {**END, "state": "degraded"}).of_kind("call.returned")
    assert end.payload["result"] == {"state": "degraded", "class": None, "code": "none"}


def test_a_retry_is_declared_with_an_exact_delay() -> None:
    """In nanoseconds, and with the number of the retry that is to come."""
    (retry,) = declared(
        read(BEGIN, {"type": "wait", "why": "Timeout", "n": 1, "wait_s": 0.5}, END), "retry"
    )
    said = {key: retry.payload[key] for key in ("class", "code", "retry_number", "delay_ns")}
    assert said == {
        "class": "Retryable",
        "code": "Timeout",
        "retry_number": 1,
        "delay_ns": 500_000_000,
    }


def test_a_record_of_the_audit_trail_is_no_event() -> None:
    """The rules tell the two apart."""
    trace = read(BEGIN, {"type": "note"}, END)
    assert [event.payload["name"] for event in declared(trace, "audit_event")] == ["note"]
    assert "audit" in trace.header.subject.declares


def test_runs_may_be_interleaved() -> None:
    """Each has its own beginning and end, and is known by its id."""
    trace = read(BEGIN, {**BEGIN, "run": 7}, END, {**END, "run": 7})
    assert [event.payload["call"] for event in trace.of_kind("call.returned")] == [
        "run/a",
        "run/7",
    ]


def test_what_has_ended_begins_again_only_where_the_map_says_so() -> None:
    """Turns of one session are calls of their own; a run that begins twice is one run."""
    turns = read(BEGIN, END, BEGIN, END, repeats=True)
    assert [event.payload["call"] for event in turns.of_kind("call.started")] == [
        "run/a",
        "run/a.2",
    ]
    assert {event.payload["log_run"] for event in turns.events} == {"a"}
    assert len(list(read(BEGIN, END, BEGIN, END).of_kind("call.started"))) == 1


def test_an_event_without_a_run_belongs_to_none() -> None:
    """It is in the trace, and in no call."""
    trace = read(BEGIN, {"type": "other", "run": None}, END)
    assert declared(trace, "event")[1].payload["call"] is None


def test_a_second_end_is_an_event_like_any_other() -> None:
    """The rules of the model see it; the run has ended all the same."""
    trace = read(BEGIN, END, {"type": "fail", "error": {}})
    assert len(declared(trace, "event")) == 3
    assert not list(trace.of_kind("call.raised"))


@pytest.mark.parametrize(
    ("events", "detail"),
    [
        ((BEGIN,), "run/a never comes to end or fail"),
        ((BEGIN, END, {**BEGIN, "run": "b"}), "run/b never comes to end or fail"),
        (({"type": "other"}, END), "run/a has no begin at its beginning"),
    ],
)
def test_a_run_without_its_beginning_or_its_end_may_have_been_cut(
    events: tuple[dict[str, Any], ...], detail: str
) -> None:
    """Then the trace says so, unless somebody vouches that the log is complete."""
    trace = read(*events)
    assert trace.footer.ending == "log_cut"
    assert trace.footer.detail == (detail,)
    assert read(*events, complete=True).footer.ending == "completed"


def test_of_many_runs_that_were_cut_a_few_are_named() -> None:
    """And all are counted."""
    trace = read(*({**BEGIN, "run": number} for number in range(9)))
    assert len(trace.footer.detail) == 6
    assert trace.footer.detail[-1] == "9 in all"


def test_skipped_events_leave_nothing() -> None:
    """They need no time either."""
    trace = read(BEGIN, {"type": "heartbeat", "at": None}, END)
    assert [event.payload["name"] for event in declared(trace, "event")] == ["begin", "end"]


def test_a_clock_that_begins_anew_goes_on() -> None:
    """Where the map says so, no time passes between two processes."""
    time = {"field": "at", "unit": "ms", "restarts": True}
    trace = read(
        BEGIN, {"type": "x", "at": 5000}, {"type": "x", "at": 3}, {**END, "at": 5}, time=time
    )
    assert trace.footer.ended_at_ns == 4_002_000_000


def test_secrets_and_paths_are_marks_in_the_trace() -> None:
    """Neither stands in any line of it; that they were told can be judged."""
    message = "401 for sk-live-77Qk20aaZZ in /srv/agent/app.py"
    trace = read(BEGIN, {"type": "bad", "error": {"code": message, "message": message}}, END)
    text = "".join(trace_lines(trace))
    assert "sk-live" not in text
    assert "/srv" not in text
    assert declared(trace, "user_message")[0].payload["message"] == "401 for <secret> in …/app.py"


def test_ids_that_differ_stay_apart() -> None:
    """Also when what told them apart was a secret."""
    runs = [{**BEGIN, "run": f"sk-{letter * 12}"} for letter in "ab"]
    calls = [event.payload["call"] for event in read(*runs).of_kind("call.started")]
    assert len(set(calls)) == 2


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((), "app.jsonl:1:1: the log holds no event"),
        (({"kind": "begin"},), "app.jsonl:1:1: the event has no name at `type`"),
        (({"type": 3},), "app.jsonl:1:1: the event has no name at `type`"),
        ((BEGIN, {**END, "run": None}), "app.jsonl:2:1: 'end' ends a run, and the event does not"),
        ((BEGIN, {**END, "run": [1]}), "app.jsonl:2:1: `run` is not the id of a run"),
        (({"type": "x", "run": None},), "app.jsonl:1:1: no event says which run it belongs to"),
        ((BEGIN, {**END, "at": 1}), "app.jsonl:2:1: this event is earlier than the one before it"),
        ((BEGIN, {**END, "at": "x"}), "app.jsonl:2:1: `at` is not a time in ms"),
        (({"type": "wait", "wait_s": "long"},), "app.jsonl:1:1: `wait_s` is not a duration"),
        (({"type": "wait", "wait_s": -1},), "app.jsonl:1:1: `wait_s` is not a duration"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_line(
    events: tuple[dict[str, Any], ...], said: str
) -> None:
    """With what to do about it."""
    assert said in refusal(*events)


def test_a_time_without_a_zone_is_refused() -> None:
    """And the message says how it should look."""
    said = refusal({**BEGIN, "at": "2026-11-21T09:30:00"}, time={"field": "at", "unit": "iso8601"})
    assert "`at` is not a time in iso8601" in said
    assert "with its zone" in said


def test_a_time_that_is_missing_is_called_missing() -> None:
    """That is another mistake than a wrong unit."""
    assert "`when` is missing" in refusal(BEGIN, time={"field": "when", "unit": "ms"})


def test_a_file_that_is_not_there_is_told() -> None:
    """As for every other file."""
    with pytest.raises(InputError, match="there is no such file"):
        read_foreign_log("nowhere.jsonl", map_with())


LINE = st.fixed_dictionaries(
    {"type": st.sampled_from([*MAP["events"], "heartbeat", "other"]) | st.text(max_size=2)},
    optional={
        "at": st.integers(0, 9),
        "run": st.sampled_from(["a", "b", None, 3, ""]),
        "ok": st.none() | st.booleans() | st.integers(),
        "data": st.none() | st.dictionaries(st.sampled_from(["x", "run"]), st.text(max_size=2)),
        "error": st.none()
        | st.dictionaries(st.sampled_from(["class", "code", "message"]), st.text()),
        "n": st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        "wait_s": st.none() | st.integers(0, 9) | st.floats(0, 9),
    },
)


@given(lines=st.lists(LINE, max_size=6), complete=st.booleans(), repeats=st.booleans())
def test_whatever_the_log_says_it_is_a_whole_trace_or_refused(
    lines: list[dict[str, Any]], complete: bool, repeats: bool
) -> None:
    """A trace of it can be stored, and read again as evidence."""
    content = "\n".join(json.dumps(line) for line in lines).encode()
    time = None if lines and "at" not in lines[0] else MAP["time"]
    map_ = map_with(time=time, repeats=repeats)
    trace = trace_or_refusal(content, map_, complete=complete)
    if isinstance(trace, Trace):
        assert parse_trace("".join(trace_lines(trace)).encode(), "trace") == trace
    else:
        assert trace.startswith("app.jsonl:")


@given(content=st.binary(max_size=200), id_=st.sampled_from(foreign_map_ids()))
def test_no_bytes_crash_it(content: bytes, id_: str) -> None:
    """They are a trace, or a refusal."""
    assert trace_or_refusal(content, load_foreign_map(id_))


@pytest.mark.parametrize("log", [*GOOD, *BAD, *CUT])
def test_a_log_that_is_cut_anywhere_is_refused_or_says_that_it_was_cut(log: str) -> None:
    """Within a line or between two, before the end of its last run."""
    content = (ROOT / f"{log}.jsonl").read_bytes()
    map_ = load_foreign_map(map_of(log))
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    for end in {*range(1, last, 97), last}:
        trace = trace_or_refusal(content[:end], map_)
        if isinstance(trace, str):
            assert "ends in the middle of an event" in trace
            continue
        ended = {event.payload["call"] for event in trace.of_kind("call.returned", "call.raised")}
        begun = {event.payload["call"] for event in trace.of_kind("call.started")}
        assert (trace.footer.ending == "log_cut") or begun == ended


def test_every_golden_log_is_in_the_table() -> None:
    """One that nobody judges shows nothing."""
    files = {f"{path.parent.name}/{path.stem}" for path in ROOT.glob("*/*.jsonl")}
    assert files == {*GOOD, *BAD, *CUT}
    for id_ in foreign_map_ids():
        good = [log for log in GOOD if map_of(log) == id_]
        bad = [log for log in BAD if map_of(log) == id_]
        assert len(good) >= 2
        assert len(bad) >= 4
