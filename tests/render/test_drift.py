"""A drift in lines and as a page: alike cells together, the worst first, and escaped."""

from __future__ import annotations

from faultclock.profile.census_drift import drift
from faultclock.render.drift import drift_lines, drift_page
from faultclock.render.json_text import canonical_json
from tests.render.sample_census import CUT, HOSTILE, LIMITED, call, census, client, run

BEFORE = census(
    client("a", run(LIMITED, call("ok")), run(CUT, call("ok"))),
    client("b", run(LIMITED, call("ok")), distributions={"b": "1"}),
)
AFTER = census(
    client(
        "a",
        run(LIMITED, call("ok"), verdict="FAIL", failed=("retries.floor",)),
        run(CUT, call("ok", "ok", waits_s=(1.5,))),
        distributions={"a": "2.0"},
    ),
    client(
        "b",
        run(LIMITED, call("ok"), verdict="FAIL", failed=("retries.floor",)),
        distributions={"b": "1"},
    ),
)


def test_clients_that_changed_alike_share_a_row_and_the_worst_is_first() -> None:
    """With what was exchanged, and the checks that are newly failed."""
    assert list(drift_lines(drift(BEFORE, AFTER))) == [
        "2 cells got worse: 3 cells of 3 changed",
        "  a: a 1.2.3 -> 2.0",
        "  b: the same versions",
        "",
        "worse (2)",
        "  answered in full, 1 attempt: PASS",
        "  -> answered in full, 1 attempt: FAIL; newly fails retries.floor",
        f"     a, b: {LIMITED}",
        "",
        "different, and neither better nor worse (1)",
        "  answered in full, 1 attempt",
        "  -> answered in full, 2 attempts, waits 1.5 s",
        f"     a: {CUT}",
    ]


def test_where_the_words_are_equal_the_endings_of_attempts_are_shown() -> None:
    """A row never says that something became itself; of several calls, which is named."""
    calls = call("ok", call="one/1"), call("500", "ok", waits_s=(1,), call="two/1")
    other = calls[0], call("503", "ok", waits_s=(1,), call="two/1")
    found = drift(census(client("a", run(CUT, *calls))), census(client("a", run(CUT, *other))))
    lines = list(drift_lines(found))
    assert "  two/1: answered in full, 2 attempts, waits 1 s (500, then ok)" in lines
    assert "  -> two/1: answered in full, 2 attempts, waits 1 s (503, then ok)" in lines


def test_nothing_to_compare_is_said() -> None:
    """And who is only in one of them."""
    lines = list(drift_lines(drift(census(client("a")), census(client("b")))))
    assert lines[0].startswith("nothing can be compared")
    assert lines[-2:] == ["only in OLD: a", "only in NEW: b"]


def test_the_page_has_every_change_and_escapes_what_clients_say() -> None:
    """And the same bytes each time."""
    page = drift_page(drift(BEFORE, AFTER))
    assert page == drift_page(drift(BEFORE, AFTER))
    assert "2 cells got worse: 3 cells of 3 changed" in page
    assert "newly fails retries.floor" in page
    assert "Different, and neither better nor worse (1)" in page
    hostile = census(client("a", run(LIMITED, call("ok", outcome="raised", error=f"x.{HOSTILE}"))))
    page = drift_page(drift(census(client("a", run(LIMITED, call("ok")))), hostile))
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert canonical_json(drift(BEFORE, hostile)).isascii()
