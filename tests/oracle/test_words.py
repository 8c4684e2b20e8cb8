"""What a finding quotes is short, and repeats nothing that must stay secret."""

from __future__ import annotations

from faultclock.oracle.words import excerpt, short


def test_a_text_of_the_longest_length_is_whole() -> None:
    """One character more, and the last one that fits is an ellipsis."""
    assert short("x" * 160) == "x" * 160
    assert short("x" * 161) == "x" * 159 + "…"
    assert short("four", 3) == "fo…"


def test_a_quotation_of_a_value_is_its_json() -> None:
    """Keys are sorted, so that the same value gives the same words."""
    assert excerpt({"b": "ü", "a": None}) == repr('{"a": null, "b": "ü"}')


def test_a_quotation_holds_no_secret() -> None:
    """A report is read by more people than a trace."""
    assert "sk-12345678abcdef" not in excerpt("the key is sk-12345678abcdef")
