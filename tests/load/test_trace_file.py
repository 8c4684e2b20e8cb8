"""A trace file is read as evidence: whole, unchanged and known, or refused with the line."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import SourceError
from faultclock.load.trace_file import parse_trace, read_trace, write_trace
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import scenario_digest, scenario_of
from faultclock.model.trace.notes import OutputLine, RunNotes
from faultclock.model.trace.trace import (
    SubjectInfo,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
    trace_lines,
)

DECLARED = {"call": None, "name": "é\n", "fields": {"n": [1]}}


def small_trace() -> Trace:
    """Return a trace of three events."""
    scenario = scenario_of(
        {
            "id": "a/b",
            "title": "t",
            "why": "w",
            "provider": {
                "latency": "5ms",
                "faults": [
                    {
                        "id": "limited",
                        "when": {"attempts": "1-2", "from_time": "1.5s"},
                        "then": {
                            "kind": "http_error",
                            "status": 429,
                            "error": "rate_limit_exceeded",
                            "headers": {"retry-after": {"http_date": "-30s"}},
                        },
                    }
                ],
            },
        }
    )
    header = TraceHeader(
        scenario=scenario,
        scenario_digest=scenario_digest(scenario),
        subject=SubjectInfo(id="s", role="provider_adapter", style="async"),
        seed=3,
        versions={"faultclock": "0"},
    )
    events = tuple(
        TraceEvent(number, number * SECOND_NS, "subject", "declared.event", dict(DECLARED))
        for number in (1, 2, 3)
    )
    footer = TraceFooter(
        events=3,
        ended_at_ns=3 * SECOND_NS,
        ending="completed",
        digest=trace_digest(header, events),
    )
    return Trace(header=header, events=events, footer=footer)


TEXT = "".join(trace_lines(small_trace()))
LINES = TEXT.splitlines(keepends=True)


def redigested(lines: list[str]) -> str:
    """Return the lines with the footer's digest made to fit: a change that a digest misses."""
    old = small_trace().footer.digest
    new = hashlib.sha256("".join(lines[:-1]).encode()).hexdigest()
    return "".join([*lines[:-1], lines[-1].replace(old, new)])


def problem_of(text: str) -> tuple[int, str]:
    """Return line and message of the problem in `text`."""
    with pytest.raises(SourceError) as caught:
        parse_trace(text.encode(), "t.jsonl")
    (problem,) = caught.value.problems
    return problem.line, problem.message


def test_a_trace_reads_back_as_it_was_written(tmp_path: Path) -> None:
    """Equal values, and equal bytes when written again."""
    path = tmp_path / "t.jsonl"
    write_trace(path, small_trace())
    assert read_trace(path) == small_trace()
    assert path.read_text() == "".join(trace_lines(read_trace(path)))


def test_half_of_a_surrogate_pair_in_a_note_is_written(tmp_path: Path) -> None:
    """A subject's text may hold one, as JSON may."""
    said = OutputLine(at_ns=0, stream="stdout", text="the model said: \ud83d")
    write_trace(tmp_path / "a.jsonl", replace(small_trace(), notes=RunNotes(output=(said,))))
    notes = read_trace(tmp_path / "a.jsonl").notes
    assert notes is not None
    assert [line.text for line in notes.output] == [said.text]


@pytest.mark.parametrize(
    "text",
    [
        "".join(LINES[:-1]),
        "".join(LINES[:2]),
        LINES[0],
        LINES[0][:40],
        TEXT[:-1],
        TEXT[:-30],
        "".join(LINES[:3]) + LINES[3][:20],
    ],
)
def test_a_trace_without_its_footer_was_cut_off(text: str) -> None:
    """Wherever the writer was ended."""
    assert problem_of(text)[1] == "the trace was cut off: it has no footer"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the file is empty"),
        ("{}\n", 1, "its first line is not a header"),
        ("[]\n", 1, "this line is not a JSON object"),
        ("hello\n" + TEXT, 1, "this line is not JSON"),
        (TEXT.replace('"format":1', '"format":2'), 1, "has format 2, and this Faultclock reads"),
        (TEXT.replace('"seed":3', '"seed":"3"'), 1, "the header is not valid: seed"),
        ("".join([*LINES[:2], *LINES[3:]]), 3, "event 3 stands where event 2 should be"),
        ("".join([*LINES[:2], LINES[3], LINES[2], LINES[4]]), 3, "event 3 stands where event 2"),
        (
            redigested([*LINES[:3], LINES[3].replace(":3000000000", ":1"), LINES[4]]),
            *(4, "event 3 is earlier than the one before it"),
        ),
        ("".join([*LINES[:2], "oops\n", *LINES[3:]]), 3, "this line is not JSON"),
        ("".join([*LINES[:2], "{}\n", *LINES[3:]]), 3, "this line is not a trace event"),
        (TEXT.replace('"n":[1]', '"n":NaN', 1), 2, "NaN is not a JSON number"),
        (TEXT.replace('"n":[1]', '"n":[2]', 1), 5, "the digest in the footer does not fit"),
        (
            redigested([*LINES[:-1], LINES[-1].replace('"events":3', '"events":4')]),
            *(5, "the footer counts 4 events, and the file has 3"),
        ),
        (TEXT + LINES[1], 6, "lines follow the footer"),
        (TEXT + TEXT, 6, "lines follow the footer"),
        (TEXT.replace('"ending":"completed"', '"ending":"tired"'), 5, "the footer is not valid"),
        ("".join([*LINES[:2], "[" * 100_000 + "\n", *LINES[3:]]), 3, "nested too deep"),
    ],
)
def test_a_changed_trace_is_refused_with_the_line(text: str, line: int, words: str) -> None:
    """Nothing is repaired: a trace is evidence."""
    found = problem_of(text)
    assert words in found[1]
    assert found[0] == line


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"call":null', '"call":1', "event 2: declared.event: payload.call: "),
        ('"call":null,', "", "event 2: declared.event: payload.call: Field required"),
        ('"call":null', '"call":1e999', "the number 1e999 is too large"),
        ('"call":null', '"call":-Infinity', "-Infinity is not a JSON number"),
        ('{"n":[1]}', "[1]", "event 2: declared.event: payload.fields: "),
        ('{"n":[1]}', '{"n":[9223372036854775808]}', "event 2: declared.event: payload.fields.n.0"),
        ('"call":null', '"call":null,"colour":1', "payload.colour: Extra inputs are not permitted"),
        ("declared.event", "http.response", "event 2: http.response is recorded by provider"),
        ("declared.event", "declared.audit", "event 2: declared.audit: payload.record: Field"),
        ("declared.event", "declared.nothing", "event 2: there is no kind of event"),
        ('"subject"', '"harness"', "declared.event is recorded by subject, not by 'harness'"),
        ('"at_ns":2000000000', '"at_ns":9223372036854775808', "event 2 is later than any run"),
    ],
)
def test_an_event_that_does_not_fit_its_kind_is_refused_though_the_digest_fits(
    old: str, new: str, words: str
) -> None:
    """What judges a trace may rely on each field that the catalogue names."""
    changed = LINES[2].replace(old, new, 1)
    assert changed != LINES[2]
    line, message = problem_of(redigested([*LINES[:2], changed, *LINES[3:]]))
    assert words in message
    assert line == 3


@given(
    st.integers(min_value=0, max_value=len(TEXT.encode()) - 1),
    st.binary(max_size=3),
    st.integers(min_value=0, max_value=5),
)
def test_any_damage_is_noticed_and_told_politely(start: int, patch: bytes, length: int) -> None:
    """A trace is read as it was written or refused.

    The digest is of all lines before the last one. Of that, the time of the end and the words
    about it may be others that are right by themselves.
    """
    raw = TEXT.encode()
    damaged = raw[:start] + patch + raw[start + length :]
    try:
        found = parse_trace(damaged, "t")
    except SourceError:
        assert damaged != raw
        return
    footer = small_trace().footer
    assert replace(found, footer=footer) == small_trace()
    free = {"ended_at_ns": footer.ended_at_ns, "detail": footer.detail, "ending": footer.ending}
    assert found.footer.model_copy(update=free) == footer
