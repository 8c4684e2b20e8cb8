"""The one place that prints: what it lets through, and what it makes harmless."""

from __future__ import annotations

import io
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.cli.say import Screen, Span, machine, say, say_lines, screens
from faultclock.printable import harmless
from tests.cli.hostile_text import NASTY, hostile_texts, obeyed


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@given(st.lists(hostile_texts(), max_size=4))
def test_nothing_is_obeyed_however_it_is_cut_into_pieces(pieces: list[str]) -> None:
    """An order that is written in two halves is no order either."""
    stream = io.StringIO()
    screen = Screen(stream)
    for piece in pieces:
        screen.write(piece)
    assert obeyed(stream.getvalue()) == []
    assert stream.getvalue() == harmless("".join(pieces)) or "\t" in "".join(pieces)


@given(st.text("ab:# []é漢🙂\n", max_size=30).filter(lambda text: not obeyed(text)))
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    """Colons, hashes and brackets are common in sentences."""
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r":\x3aerror::x"),
        ("  ::error::x", r"  :\x3aerror::x"),
        (":::error::x", r":\x3a:error::x"),
        ("say ::error::x", "say ::error::x"),
        ("say ##[error]x", r"say ##\x5berror]x"),
        ("##vso[task.x]", r"##vso\x5btask.x]"),
        (":\u200d:error::x", ":\u200d" + r"\x3aerror::x"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\r::b", r"a\r::b"),
        ("a\tb", "a   b"),
    ],
)
def test_an_order_loses_the_character_that_completes_it(text: str, shown: str) -> None:
    """The rest stays readable."""
    assert harmless(text) == shown


def test_a_line_stays_one_line() -> None:
    """A name of a file cannot add a line to the report."""
    stream = io.StringIO()
    say("a\nb: right", out=stream)
    say_lines("c\nd", out=stream)
    assert stream.getvalue() == "a\\nb: right\nc\nd\n"


def test_our_own_colours_are_shown_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not where the user wants none; those of a foreign text never."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    line = (Span(text="x\x1b[8m", style="red bold"), " y")
    terminal, log, plain = Terminal(), io.StringIO(), Terminal()
    say(*line, out=terminal)
    say(*line, out=log)
    monkeypatch.setenv("NO_COLOR", "1")
    say(*line, out=plain)
    assert terminal.getvalue() == "\x1b[31;1mx\\x1b[8m\x1b[0m y\n"
    assert log.getvalue() == plain.getvalue() == "x\\x1b[8m y\n"


def test_what_others_print_is_made_harmless_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """click, Python itself and a subject write to the same two streams."""
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with screens():
        click.echo(NASTY)
        click.UsageError(NASTY).show()
        print(NASTY)  # noqa: T201 - as a subject does
        sys.stderr.writelines([NASTY, NASTY])
    assert sys.stdout is out
    assert "PWN" in out.getvalue()
    assert "PWN" in err.getvalue()
    assert obeyed(out.getvalue()) == obeyed(err.getvalue()) == []


def test_a_format_for_programs_is_written_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads it has rules of its own."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with screens():
        machine('{"a": "\u202e"}\n')
    assert out.getvalue() == '{"a": "\u202e"}\n'


def test_a_stream_of_ascii_is_not_passed_by() -> None:
    """Click would write to the bytes below a stream that cannot show everything."""
    below = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    screen = Screen(below)
    click.echo("\x1b é", file=screen)  # type: ignore[arg-type]
    screen.flush()
    assert below.buffer.getvalue() == b"\\x1b ?\n"  # type: ignore[attr-defined]
