"""The page of a check."""

from __future__ import annotations

import re

from faultclock.render.checkup_html import checkup_page
from faultclock.render.sections import make_sections
from tests.check.samples import checkup, finding, noted, run, slept_at
from tests.render.sample_report import HOSTILE
from tests.render.test_checkup_text import of_library, sample


def test_the_page_holds_each_problem_with_its_command_and_its_run() -> None:
    """It is the same answer as on the terminal, with the runs below it."""
    page = checkup_page(sample())
    for problem in sample().problems:
        assert f'id="{problem.id}"' in page
        assert problem.reproduce in page
    assert "Situation retry-after-is-a-word" in page
    assert "client.py:14, in ask" in page


def test_what_is_no_line_of_the_user_says_where_it_is() -> None:
    """On the page as on the terminal."""
    assert "no line of yours was seen: it is in langgraph 1.2.22" in checkup_page(of_library())
    assert "no line of yours" not in checkup_page(sample())


def test_every_link_of_the_page_leads_somewhere() -> None:
    """A link into the page that leads nowhere is worse than none."""
    page = checkup_page(sample())
    targets = re.findall(r'href="#([^"]+)"', page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert sorted(set(targets) - set(ids)) == []
    assert len(ids) == len(set(ids))


def test_the_page_asks_for_nothing() -> None:
    """It works from a disk, and tells nobody that it was opened."""
    page = checkup_page(sample())
    assert re.findall(r'(?:src|href)="(?!#|data:)', page) == []
    assert "default-src &#39;none&#39;" in page
    assert page.startswith("<!doctype html>")


def test_hostile_texts_are_escaped() -> None:
    """A message of the subject is text, wherever it stands."""
    shown = checkup(
        run("one", finding("T-RETRY-01", HOSTILE, expected=HOSTILE), title=HOSTILE),
        inconclusive=(HOSTILE,),
    )
    page = checkup_page(shown)
    assert "<img" not in page
    assert "\x1b" not in page


def test_equal_answers_are_equal_pages() -> None:
    """The file of a build can be compared with that of the one before."""
    assert checkup_page(sample()) == checkup_page(sample())


def test_a_page_without_a_problem_says_what_was_tried() -> None:
    """The table of requirements is what the claim rests on."""
    page = checkup_page(checkup(run("healthy")))
    assert "No problem in what was tried" in page
    assert "The sentence of T-CRASH-01." in page


def test_probes_that_share_an_id_are_situations_of_their_own() -> None:
    """An exception stands beside the run that raised it, and beside no other one."""
    notes, source = slept_at(22)
    crash = finding("T-CRASH-01", "ValueError: could not convert 'soon' left the call")
    slept = finding("T-WAIT-01", "it slept for 1h", source=source)
    report = checkup(
        run("status-429", crash, title="with soon", notes=noted("soon")),
        run("status-429", slept, title="with an hour", notes=notes),
    ).report
    first, second = make_sections(report)
    assert (first.title, second.title) == ("with soon", "with an hour")
    assert len({first.anchor, second.anchor}) == len({first.short, second.short}) == 2
    assert first.beside is None or first.beside.finding.observed == crash.observed
    assert second.beside is not None
    assert second.beside.finding.observed == "it slept for 1h"


def test_a_problem_that_one_of_many_probes_shows_leads_to_that_probe() -> None:
    """The other probes are not on the page, and the link still finds its run."""
    probes = [run("status-429", title=f"with {word}") for word in ("7", "soon")]
    shown = checkup(*probes, run("status-429", finding("T-WAIT-01"), title="with an hour"))
    page = checkup_page(shown)
    (link,) = re.findall(r'<p class="see"><a href="#([^"]+)"', page)
    assert f'id="{link}"' in page
    assert "with soon" not in page


def test_lines_of_another_run_never_stand_beside_the_events() -> None:
    """What is not of the run that is drawn stays in its own card."""
    notes, source = slept_at(22)
    report = checkup(
        run("one", finding("T-RETRY-01")),
        run("one", finding("T-WAIT-01", source=source), notes=notes, seed=1),
    ).report
    drawn = {"one": report.runs[0]}
    (section,) = make_sections(report, drawn=drawn)
    assert section.beside is None
    assert any(card.has_code for card in section.cards)
