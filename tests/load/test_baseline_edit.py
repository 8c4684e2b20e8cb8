"""A baseline is edited in place: whoever wrote the rest of the file finds it as it was."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.errors import SourceError
from faultclock.load.baseline import parse_baseline
from faultclock.load.baseline_edit import edited_baseline, new_baseline
from faultclock.model.report.gate import Baseline
from tests.history.drawn import TODAY, baselines, deviation

NEW = deviation("f/new", "backoff.wait", reason="why: it # is", owner="team")
TEXT = """\
# Ours. Ask before you touch it.
model: 'stud-cli'   # not yet another one
subject: "s"

deviations:

# --- rate limits

# The first one.
- scenario: f/one # here
  check: "backoff.wait"
  reason: >
    It has
    # a schedule of its own.

  owner: me
  expires: 2027-02-01

# The second one:
# in two lines.
-   scenario: f/two
    check: backoff.wait
    expires: "2027-02-01"   # soon
    owner: me
    reason: |
      Wrong.
      # Very.

# The end.
"""


def edited(text: str, *, remove: tuple[int, ...] = (), **changes: object) -> str:
    """Return the text with nothing changed but what is named."""
    options: dict[str, object] = {"renew": {}, "add": ()}
    return edited_baseline(text, "b.yaml", remove=remove, **(options | changes))  # type: ignore[arg-type]


def test_nothing_to_do_changes_nothing() -> None:
    """Not one byte, however the file is spelled."""
    assert edited(TEXT) == TEXT


def test_a_new_entry_comes_last_in_the_spelling_of_the_others() -> None:
    """As far from the margin, with a blank line between where they have one."""
    added = """\

- scenario: f/new
  check: backoff.wait
  reason: 'why: it # is'
  owner: team
  expires: 2027-02-01

# The end.
"""
    assert edited(TEXT, add=(NEW,)) == TEXT.replace("\n# The end.\n", added)


def test_an_entry_goes_with_the_comment_right_above_it() -> None:
    """A heading with a blank line below it stays, and so does the end of the file."""
    start, end = TEXT.index("# The first one."), TEXT.index("# The second one:")
    assert edited(TEXT, remove=(0,)) == TEXT[:start] + TEXT[end:]
    start, end = TEXT.index("\n# The second one:"), TEXT.index("\n# The end.")
    assert edited(TEXT, remove=(1,)) == TEXT[:start] + TEXT[end:]


def test_a_last_day_is_changed_in_its_place() -> None:
    """Quotes and the comment behind it stay."""
    day = date(2030, 12, 31)
    assert edited(TEXT, renew={1: day}) == TEXT.replace('"2027-02-01"', '"2030-12-31"')
    both = edited(TEXT, renew={0: day, 1: day}, add=(NEW,))
    assert both.count("2030-12-31") == 2


def test_all_entries_can_go() -> None:
    """The list is then written as empty, since a key without a value is no list."""
    emptied = edited(TEXT, remove=(0, 1))
    assert "deviations: []\n" in emptied
    assert "# --- rate limits" in emptied
    assert emptied.endswith("# The end.\n")
    again = edited(emptied, add=(NEW,))
    assert "# Ours. Ask" in again
    assert again.count("scenario:") == 1


@pytest.mark.parametrize(
    "text",
    [
        "subject: s\nmodel: m # here\n",
        "subject: s\nmodel: m # here\ndeviations: []\n",
        "{subject: s, model: m} # here\n",
        "deviations: [] # here\nsubject: s\nmodel: m",
        "\ufeffsubject: s # here\r\nmodel: m\r\n",
        "---\nsubject: s # here\nmodel: m\n...\n",
        'subject: s\n"deviations" :\n  -\n    {scenario: a, check: b, reason: c, owner: d,\n'
        "     expires: 2027-02-01} # here\nmodel: m\n",
        "subject: s # here\nmodel: m\ndeviations: [{scenario: a, check: b, reason: c, owner: d,"
        " expires: 2027-02-01}]\n",
    ],
)
def test_other_spellings_of_a_list_can_be_added_to_and_emptied(text: str) -> None:
    """In flow style, empty, without it, with strange line ends: comments stay."""
    count = len(parse_baseline(text.encode(), "b").deviations)
    longer = edited(text, add=(NEW,))
    assert "# here" in longer
    assert len(parse_baseline(longer.encode(), "b").deviations) == count + 1
    shorter = edited(longer, remove=tuple(range(count + 1)))
    assert "# here" in shorter or count
    assert parse_baseline(shorter.encode(), "b").deviations == ()


def test_line_ends_of_a_file_are_kept() -> None:
    """New lines end as its others do, the last one too."""
    text = new_baseline(Baseline(subject="s", model="m", deviations=(deviation(),)))
    made = edited(text.replace("\n", "\r\n").removesuffix("\r\n"), add=(NEW,))
    assert made.count("\r\n") == made.count("\n") == text.count("\n") + 5


def test_a_text_that_ends_with_the_file_keeps_its_end() -> None:
    """A line end behind it would be part of it: the list is written anew."""
    entry = "- scenario: a\n  check: d\n  owner: o\n  expires: 2027-02-01\n  reason: |+\n    c"
    made = edited(f"subject: s\nmodel: m\ndeviations:\n{entry}", add=(NEW,))
    assert parse_baseline(made.encode(), "b").deviations[0].reason == "c"


def test_what_is_no_baseline_is_not_edited() -> None:
    """The mistake is told at its place."""
    with pytest.raises(SourceError, match=r"b\.yaml:1:1"):
        edited("deviations: []\n", add=(NEW,))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  check:", "\tcheck:", r"b\.yaml:11:1: a tab stands in the indentation"),
        ("scenario: f/one", "scenario: &one f/one", r"b\.yaml:10:13: the anchor `&one` is not"),
        ("owner: me", "owner: *one", r"b\.yaml:16:10: the alias `\*one` is not allowed here"),
    ],
)
def test_what_a_baseline_cannot_hold_is_refused_with_its_place(
    old: str, new: str, message: str
) -> None:
    """What cannot be read is not edited."""
    with pytest.raises(SourceError, match=message):
        edited(TEXT.replace(old, new), add=(NEW,))


def test_what_can_be_read_can_be_edited() -> None:
    """A tab inside a plain word, and a line end that only YAML 1.1 knows."""
    text = TEXT.replace("f/one", "f/on\te").replace("# soon", "# soon\u2028# still a comment")
    added = edited(text, add=(NEW,))
    kept = iter(added.splitlines(keepends=True))
    assert all(line in kept for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("text", "index", "shorter"),
    [
        (
            "deviations: [\n  # of A\n  <A>, # A\n  # of B\n  <B> # B\n] # end\n",
            1,
            "deviations: [\n  # of A\n  <A> # A\n] # end\n",
        ),
        (
            "deviations: [\n  # of A\n  <A>, # A\n  # of B\n  <B>, # B\n] # end\n",
            0,
            "deviations: [\n  # of B\n  <B>, # B\n] # end\n",
        ),
        ("deviations: [<A>, <B>]\n", 0, "deviations: [<B>]\n"),
        ("deviations: [<A>, <B>]\n", 1, "deviations: [<A>]\n"),
        ("deviations: [<A>, <B>, ]\n", 1, "deviations: [<A>, ]\n"),
        ("deviations: [<A> # A\n  , <B>]\n", 1, "deviations: [<A> # A\n  ]\n"),
        ("? deviations\n: - <A>\n  - <B>\n", 1, "? deviations\n: - <A>\n"),
        ("? deviations\n: - <A>\n  - <B>\n", 0, "? deviations\n: [<B>]\n"),
    ],
)
def test_an_entry_goes_with_its_comma(text: str, index: int, shorter: str) -> None:
    """Comments of others stay, and one on lines of its own takes its own comments along."""

    def spelled(text: str) -> str:
        entry = r"{scenario: f/\1, check: c, reason: r, owner: o, expires: 2027-02-01}"
        return "subject: s\nmodel: m\n" + re.sub("<([AB])>", entry, text)

    assert edited(spelled(text), remove=(index,)) == spelled(shorter)


@settings(max_examples=30)
@given(baselines())
def test_a_new_file_says_what_it_should(baseline: Baseline) -> None:
    """Whatever the texts are, in the spelling that a person would use."""
    text = new_baseline(baseline)
    assert parse_baseline(text.encode(), "b") == baseline
    assert text.startswith("# Known deviations")


@settings(max_examples=30)
@given(baselines(), st.data())
def test_every_line_that_is_not_of_a_changed_entry_stays(
    baseline: Baseline, data: st.DataObject
) -> None:
    """In its order, and comments with a blank line below them too."""
    lines = new_baseline(baseline).splitlines(keepends=True)
    places = data.draw(st.sets(st.integers(1, len(lines)), max_size=3))
    for place in sorted(places, reverse=True):
        at_entry = place == len(lines) or lines[place].startswith("  - ")
        lines.insert(place, f"\n  # note {place}\n\n" if at_entry else f"# note {place}\n")
    text = "".join(lines)
    indexes = st.integers(0, max(0, len(baseline.deviations) - 1))
    gone = data.draw(st.sets(indexes)) if baseline.deviations else set()
    day = TODAY + timedelta(days=99)
    renewed = {index: day for index in range(len(baseline.deviations)) if index % 2}
    made = edited(text, remove=tuple(gone), renew=renewed, add=(NEW,))
    found = parse_baseline(made.encode(), "b").deviations
    assert found[-1] == NEW
    assert len(found) == len(baseline.deviations) - len(gone) + 1
    if not gone:
        left = iter(made.splitlines())
        kept = [line for line in text.splitlines() if "expires" not in line and "[]" not in line]
        assert all(line in left for line in kept if line)
