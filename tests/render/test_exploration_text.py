"""What a terminal shows of an exploration."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from faultclock.render.exploration_text import divergence_lines, exploration_lines
from tests.render import sample_exploration as sample


def lines_of(name: str, width: int = 96) -> list[str]:
    """Return the lines about one of the samples."""
    return list(exploration_lines(getattr(sample, f"{name}_exploration")(), width))


def test_runs_without_a_result_are_shown_with_their_reason() -> None:
    """What keeps a scenario from being proved comes first, and each has a command."""
    lines = lines_of("sample")
    place = lines.index("inconclusive  exploration/approved-twice, 2 runs")
    why = "      why        it raised KeyError without a single attempt, so nothing was shown"
    assert lines[place + 1] == why
    assert lines[place + 2].strip() == "(evidence.exercised)"
    assert lines[place + 3].startswith("      again      faultclock replay fc2.")
    assert lines[place + 4] == (
        "inconclusive  exploration/approved-twice and 1 more scenario, 21 runs"
    )


def test_all_of_it_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of what people read is seen before it is shipped."""
    assert "\n".join(lines_of("sample")) == snapshot


@pytest.mark.parametrize("width", [80, 96, 100])
def test_no_line_is_wider_than_the_terminal_but_a_command(width: int) -> None:
    """What is copied must not be broken in two."""
    wide = [line for line in lines_of("sample", width) if len(line) > width]
    assert [line for line in wide if "faultclock " not in line] == []


def test_the_first_difference_has_a_mark_and_is_told_in_full() -> None:
    """Also where it does not fit into one line."""
    long = "answers 401, invalid_api_key, and so on and on until the end of the column"
    found = sample.parting()
    row = found.rows[1].model_copy(update={"failing_text": long})
    found = found.model_copy(update={"rows": (found.rows[0], row, *found.rows[2:])})
    lines = divergence_lines(found, 80)
    marks = [line[6] for line in lines[1:-1]]
    assert marks.count("▶") == 1
    assert marks[0] == " "
    assert "≠" in marks
    told = " ".join(line[8:].split(" │")[0].strip() for line in lines[2:5])
    assert long in told
    assert lines[-1].strip() == "▶ the first difference, ≠ further ones; 12 rows more"


def test_an_exploration_without_failures_is_short() -> None:
    """What was explored, what was reached, and the one sentence."""
    lines = lines_of("passing")
    assert lines[-1] == "✓ token-racer: no failure in 200 runs (seed 7)"
    assert len(lines) < 12


def test_an_exploration_without_runs_claims_nothing() -> None:
    """It is no success."""
    assert lines_of("empty")[-2:] == [
        "? token-racer: 0 runs prove nothing (seed 7)",
        "  ended before all requested runs were made",
    ]


def test_the_last_line_says_what_has_to_go_before_it_can_pass() -> None:
    """Where more runs may be all that is missing, no reason is blamed."""
    blamed = "  inconclusive is not a pass: the reason above has to go first"
    spoilt = sample.exploration(scenarios=(sample.explored(sample.TWICE, INCONCLUSIVE=4),))
    *_, last = exploration_lines(spoilt)
    assert last == blamed
    *_, last = exploration_lines(spoilt.model_copy(update={"complete": False}))
    assert last == "  ended before all requested runs were made"
    assert blamed not in lines_of("passing")


def test_of_many_failures_the_first_are_told_and_the_rest_is_counted() -> None:
    """The reports have them all."""
    many = sample.exploration(groups=tuple(sample.group(first=number) for number in range(1, 10)))
    lines = list(exploration_lines(many))
    assert sum(line.startswith("FAIL") for line in lines) == 6
    assert "… and 3 more failures (--html shows all)" in lines
