"""What a terminal shows of a check."""

from __future__ import annotations

import re
import shlex

import pytest
from syrupy.assertion import SnapshotAssertion

from faultclock.model.report.checkup import CheckUp
from faultclock.model.report.finding import Finding
from faultclock.model.trace.notes import Frame
from faultclock.render.checkup_text import COLUMNS, checkup_lines, problem_line
from tests.check.samples import checkup, finding, noted, run, slept_at
from tests.render.sample_report import HOSTILE

AGAIN = "faultclock check client.py:ask"
#: Words that nobody should have to learn first.
JARGON = ("oracle", "conform", "miniature", "disposition", "inconclusive", "verdict", "fingerprint")


def lines_of(shown: CheckUp, **how: bool) -> list[str]:
    """Return the texts of the screen."""
    found = checkup_lines(shown, wall_s=9.84, jobs=2, again=AGAIN, **how)
    return [line.text for line in found]


def _crash() -> Finding:
    return finding("T-CRASH-01", "ValueError: could not convert 'soon' left the call")


def sample(**more: object) -> CheckUp:
    """Return an answer with a crash, a long wait and something that no run shows."""
    notes, source = slept_at(22)
    return checkup(
        run("retry-after-is-a-word", _crash(), notes=noted("retrying in soon")),
        run("retry-after-is-a-date", _crash(), notes=noted("retrying in Wed")),
        run("an-hour", finding("T-WAIT-01", "it slept for 1h", source=source), notes=notes),
        inconclusive=("A stream that breaks: no request met it",),
        **more,
    )


def many(number: int) -> CheckUp:
    """Return an answer with so many problems."""
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    runs = (run(word, finding("T-RETRY-01", f"case {word}")) for word in words[:number])
    return checkup(*runs)


def test_the_screen_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of what people read is seen before it is shipped."""
    assert "\n".join(lines_of(sample())) == snapshot


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (("First source",), "from First source"),
        (("First source", "Second"), "from First source, and 1 more source"),
        (("First source", "Second", "Third"), "from First source, and 2 more sources"),
    ],
)
def test_one_source_is_named_and_the_others_are_counted(
    sources: tuple[str, ...], said: str
) -> None:
    """Where there is no other, nothing is said of others."""
    found = sample()
    first = found.problems[0].model_copy(update={"sources": sources})
    shown = found.model_copy(update={"problems": (first, *found.problems[1:])})
    (rule,) = (line for line in lines_of(shown) if "from First source" in line)
    assert rule.endswith(said)


def test_a_screen_without_a_problem_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """It says what was tried, and claims nothing of what was not."""
    assert "\n".join(lines_of(checkup(run("healthy")))) == snapshot


@pytest.mark.parametrize("shown", [sample(), many(8), checkup(run("healthy"))])
def test_no_line_is_wider_than_eighty_columns(shown: CheckUp) -> None:
    """It is read in a split terminal and in the log of a build."""
    assert [line for line in lines_of(shown, in_full=True) if len(line) > COLUMNS] == []


def test_a_hostile_text_neither_moves_the_cursor_nor_breaks_the_screen() -> None:
    """What a subject raises is shown, and not obeyed."""
    shown = checkup(
        run("one", finding("T-RETRY-01", HOSTILE * 9, expected=HOSTILE), title=HOSTILE),
        inconclusive=(HOSTILE,),
    )
    lines = lines_of(shown)
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if len(line) > COLUMNS] == []


def test_a_command_works_when_it_is_pasted() -> None:
    """The lines of a long command are one command for a shell."""
    lines = lines_of(sample())
    start = next(index for index, line in enumerate(lines) if line.startswith("    again"))
    pasted = [lines[start].removeprefix("    again")]
    while pasted[-1].endswith("\\"):
        start += 1
        pasted.append(lines[start])
    joined = "\n".join(pasted).replace("\\\n", " ")
    assert shlex.split(joined) == shlex.split(sample().problems[0].reproduce)


def test_of_many_problems_the_first_are_in_full_and_the_rest_by_title() -> None:
    """The worst is on the first screen, and none is left out."""
    lines = lines_of(many(8))
    titles = [line for line in lines if line.startswith(("  ✗ user kept", "  ! user kept"))]
    assert sum(line.startswith("    again") for line in lines) == 3
    assert len(titles) == 5
    assert sum(line.startswith("    again") for line in lines_of(many(8), in_full=True)) == 8
    assert sum(line.startswith("    again") for line in lines_of(many(5))) == 5


def test_a_title_of_the_others_is_wrapped_and_not_cut() -> None:
    """What happened stands there whole on a narrow terminal, too."""
    *first, last = many(8).problems
    title = "it sent the same request again, three times, and after each a wait of an hour"
    shown = many(8).model_copy(
        update={"problems": (*first, last.model_copy(update={"title": title}))}
    )
    assert title in " ".join(" ".join(lines_of(shown)).split())


def test_a_brief_screen_holds_one_problem_and_counts_the_others() -> None:
    """A demonstration and the log of a build have room for the worst one."""
    lines = lines_of(many(8), brief=True)
    assert sum(line.startswith("    again") for line in lines) == 1
    assert "The others: ✗ user kept waiting for nothing (7) (✗ is serious)" in lines
    assert len(lines) <= 24


def test_a_person_meets_no_word_of_ours() -> None:
    """Whoever runs this for the first time has read nothing."""
    text = "\n".join(lines_of(sample()) + lines_of(checkup(run("healthy")))).lower()
    assert [word for word in JARGON if re.search(rf"\b{word}", text)] == []


def test_what_is_known_is_apart_from_what_is_new() -> None:
    """A baseline takes a problem off the list, and not out of sight."""
    shown = sample()
    known = tuple(item.model_copy(update={"known": True}) for item in shown.problems)
    lines = lines_of(shown.model_copy(update={"problems": known}))
    assert "Known by the baseline" in lines
    assert "No other problem in what was tried. These held:" in lines
    assert any(line.endswith("0 serious problems, 0 others") for line in lines)


def of_library() -> CheckUp:
    """Return an answer with a problem that no line of the user's own has a part in."""
    shown = many(1)
    problem = shown.problems[0].model_copy(update={"library": "langgraph 1.2.22"})
    return shown.model_copy(update={"problems": (problem,)})


def test_what_is_no_line_of_the_user_says_where_it_is() -> None:
    """In the place of the line."""
    at = next(line for line in lines_of(of_library()) if line.startswith("    at "))
    assert at == "    at      no line of yours was seen: it is in langgraph 1.2.22, in what that"
    assert not any(line.startswith("    at ") for line in lines_of(many(1)))


def test_an_exception_of_a_library_is_said_with_its_line() -> None:
    """A person can look there, and see that it is so."""
    shown = of_library()
    frame = Frame(file="openai/_parse.py", line=81, function="parse", own=False)
    raised = {"error": "TypeError: no", "frames": (frame,)}
    problem = shown.problems[0].model_copy(update=raised)
    text = "\n".join(lines_of(shown.model_copy(update={"problems": (problem,)})))
    assert "    at      openai/_parse.py:81; no line of yours was seen: it is in" in text


def test_what_the_target_logged_is_shown_where_it_is_asked_for() -> None:
    """The terminal is not the subject's unless a person says so."""
    assert not any("retrying in" in line for line in lines_of(sample()))
    assert any("retrying in soon" in line for line in lines_of(sample(), show_output=True))


def test_nothing_shown_is_said_as_such() -> None:
    """An empty answer must not look like a good one."""
    shown = checkup(run("one"))
    empty = shown.report.model_copy(update={"coverage": ()})
    lines = lines_of(shown.model_copy(update={"report": empty}))
    assert "Nothing could be shown: no run proves anything about this target" in lines


def test_a_problem_in_one_line_keeps_its_margin() -> None:
    """Progress writes a word before it, and the line still fits."""
    (problem,) = many(1).problems
    long = problem.model_copy(update={"title": "x" * 300})
    assert len(problem_line(long, margin=9)) <= COLUMNS - 9
