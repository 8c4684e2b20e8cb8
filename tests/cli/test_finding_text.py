"""A finding can be read where the run was made."""

from __future__ import annotations

import pytest

from faultclock.cli.finding_text import finding_lines, told_in_full
from faultclock.model.report.finding import Verdict
from faultclock.render.notes_text import Noted
from tests.cli.reports import finding, run

WHOLE = finding(
    Verdict.FAIL,
    check="backoff.retry-after",
    level="MUST",
    place="Error Model › Rate-limit default › Upstream Retry-After header present",
    sentence="Upstream Retry-After header present | Honor it exactly. Sleep the given duration, "
    "then retry.",
    call="ask/1",
    expected="exactly 2s (Retry-After: 2)",
    observed="waited 1.5s before retry 1",
    hint="A cap?",
    events=(4, 9),
)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a terminal of a hundred columns."""
    monkeypatch.setenv("COLUMNS", "100")


def test_a_finding_is_told_as_the_readme_shows_it() -> None:
    """Check, sentence, what had to happen, what did, and the events."""
    assert finding_lines(WHOLE, "mine/one") == [
        "FAIL  backoff.retry-after, in mine/one, call ask/1",
        "      Error Model › Rate-limit default › Upstream Retry-After header present (MUST)",
        '      "Upstream Retry-After header present | Honor it exactly. Sleep the given duration, '
        "then",
        '      retry."',
        "      expected   exactly 2s (Retry-After: 2)",
        "      observed   waited 1.5s before retry 1",
        "      hint       A cap?",
        "      events     4, 9",
    ]


def test_a_narrow_terminal_gets_shorter_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut: it is wrapped below its own label."""
    monkeypatch.setenv("COLUMNS", "60")
    noted = Noted(raised=(f"client.py:31: {'code ' * 30}",))
    found = finding(Verdict.FAIL, observed="word " * 30, call="a-call-with-a-long-name/1")
    lines = finding_lines(found, "mine/a-scenario-with-a-long-name", noted)
    assert max(map(len, lines)) <= 60
    assert "".join(lines).count("word") == 30
    assert "".join(lines).count("code") == 30


def test_a_reason_is_told_once() -> None:
    """An inconclusive finding has it twice."""
    open_ = finding(Verdict.INCONCLUSIVE, observed="no request met it", reason="no request met it")
    assert "\n".join(finding_lines(open_, "mine/one")).count("no request met it") == 1


def test_only_what_is_not_green_is_told_and_not_all_of_it() -> None:
    """The worst comes first; the report has the rest."""
    warns = [finding(Verdict.WARN, observed=f"warning {number}") for number in range(5)]
    text = "\n".join(told_in_full(run(Verdict.FAIL, finding(Verdict.PASS), *warns, WHOLE)))
    assert text.startswith("FAIL  backoff.retry-after")
    assert text.count("WARN") == 3
    assert "2 more findings" in text
    assert "PASS" not in text


def test_a_sentence_in_our_words_stands_without_quotation_marks_and_with_its_page() -> None:
    """Nobody is made to believe that a document says it in these words."""
    ours = WHOLE.model_copy(update={"paraphrased": True, "document": "wiki page X"})
    lines = finding_lines(ours, "mine/one")
    assert lines[1].startswith("      wiki page X › Error Model ›")
    assert not any('"' in line for line in lines)
