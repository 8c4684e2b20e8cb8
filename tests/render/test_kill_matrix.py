"""A kill matrix as a page and on a terminal: whole, self-contained, safe, the worst first."""

from __future__ import annotations

import pytest

from faultclock.model.report.finding import PassedOver
from faultclock.model.report.kill_matrix import Kill, KillMatrix, MutantFate, RuleKills, RuleStatus
from faultclock.model.trace.trace import SubjectInfo
from faultclock.render.json_text import canonical_json
from faultclock.render.kill_matrix import kill_matrix_html
from faultclock.render.kill_matrix_text import kill_matrix_lines, totals_line
from tests.render.test_html_text import Outline

HOSTILE = "</script><b>&\x1b[31m\u202e"


def rule(number: int, status: RuleStatus, text: str = "") -> RuleKills:
    """Return a rule of a status."""
    is_judged = status in ("killed", "survives")
    killed = status == "killed"
    return RuleKills(
        check=f"check.{number}",
        requirement=f"R-{number}",
        level="MUST" if number % 2 else "SHOULD",
        place=f"section {number}",
        sentence=f"Sentence {number}.{text}",
        status=status,
        judged_in=2 if is_judged else 0,
        tried=number if is_judged else 0,
        killed_by=1 if killed else 0,
        kills=(Kill(mutant="event: drop", scenario="a/b", variant="v"),) if killed else (),
        hint="" if killed else f"reason {number}{text}",
    )


def matrix(text: str = "", survivors: int = 7) -> KillMatrix:
    """Return a matrix with rules and mutants of every kind."""
    others: tuple[RuleStatus, ...] = ("not judged", "killed", "not for this subject")
    fates = ("killed", "unnoticed", "no effect", "unproven", "untried")
    return KillMatrix(
        faultclock="1",
        model="small",
        model_title=f"Small{text}",
        model_revision="1",
        readings={"switch": "option"},
        subject=SubjectInfo(id=f"subject{text}", role="runtime", style="async"),
        scenarios=("a/b", "a/c"),
        rules=(
            *(rule(100 + number, status, text) for number, status in enumerate(others)),
            *(rule(number, "survives", text) for number in range(survivors)),
        ),
        mutants=tuple(
            MutantFate(
                id=f"event: {fate}" if fate != "killed" else "event: drop",
                family="event",
                group=f"event{text}",
                does=f"does {fate}{text}",
                fate=fate,
                scenarios=2,
            )
            for fate in fates
        ),
        left_out=3,
        trials=12,
    )


@pytest.mark.parametrize("text", ["", HOSTILE])
def test_the_page_is_whole_and_fetches_nothing(text: str) -> None:
    """Whatever the texts of a model and a subject are."""
    outline = Outline(kill_matrix_html(matrix(text)))
    assert outline.open == []
    ids = outline.attributes("id")
    assert len(ids) == len(set(ids))
    inner = {href[1:] for href in outline.attributes("href")}
    assert {name for name in inner if not name.startswith("i-")} <= set(ids)
    names = {name for _, attrs in outline.tags for name in attrs}
    assert not names & {"src", "srcset", "style", "action"}
    assert not any(name.startswith("on") for name in names)


def test_a_hostile_text_stays_text() -> None:
    """No element of it is one of the page, and no control character is left."""
    page = kill_matrix_html(matrix(HOSTILE))
    assert "</script><b>&" not in page
    assert "\x1b" not in page
    canonical_json(matrix(HOSTILE)).encode("ascii")


def test_the_rules_that_nothing_kills_come_first() -> None:
    """On the page and on the terminal, a MUST before a SHOULD, the most tried before the others."""
    page = kill_matrix_html(matrix())
    order = [page.index(f"<code>check.{number}</code>") for number in (0, 100, 101, 102)]
    assert order == sorted(order)
    lines = list(kill_matrix_lines(matrix()))
    named = [line.split()[0] for line in lines if line.startswith("  R-") and "(" in line]
    assert named == ["R-5", "R-3", "R-1", "R-6", "R-4"]
    assert "  … and 2 more (--html and --json have all)" in lines


def test_the_totals_count_everything() -> None:
    """In one line, with what was not drawn."""
    assert totals_line(matrix()) == (
        "10 rules: 1 killed, 7 that nothing kills, 1 not judged here and 1 not for this subject."
        " 5 of 8 mutants: 1 noticed, 1 unnoticed, 1 without effect, 1 prove nothing and"
        " 1 not tried. 2 scenarios, 12 trials"
    )


def test_where_every_rule_is_killed_the_page_says_so() -> None:
    """And the terminal shows no list of rules."""
    whole = matrix(survivors=0)
    whole = whole.model_copy(update={"rules": whole.rules[1:]})
    assert "mutants break every rule" in kill_matrix_html(whole)
    assert not any(line.startswith("Rules") for line in kill_matrix_lines(whole))


def test_a_matrix_in_which_nothing_was_judged_calls_no_rule_killed() -> None:
    """The terminal says why the scenarios show nothing, the first of them."""
    passed_over = tuple(PassedOver(scenario=f"a/{n}", because=f"why {n}") for n in range(4))
    rules = (rule(1, "not for this subject"),)
    empty = matrix().model_copy(update={"rules": rules, "passed_over": passed_over})
    assert not empty.is_proof
    assert "no rule was judged" in kill_matrix_html(empty)
    assert "mutants break every rule" not in kill_matrix_html(empty)
    lines = list(kill_matrix_lines(empty))
    place = lines.index("Scenarios that show nothing: 4")
    assert lines[place + 1 : place + 4] == [
        "  a/0: why 0",
        "  a/1: why 1",
        "  … and 2 more (--html and --json have all)",
    ]
    assert totals_line(empty.model_copy(update={"rules": ()})).startswith("0 rules. 5 of 8")


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """But for a note that is as it is."""
    lines = [line for line in kill_matrix_lines(matrix(), width) if "--html" not in line]
    assert max(map(len, lines)) <= width


def test_equal_matrices_give_equal_bytes() -> None:
    """The digest on the page is that of the JSON."""
    assert kill_matrix_html(matrix()) == kill_matrix_html(matrix())
    assert KillMatrix.model_validate_json(canonical_json(matrix())) == matrix()
