"""Contrast of the colour tokens, computed: a browser audit skips drawings and scrolled parts."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = (files("faultclock.render") / "templates" / "report.css").read_text(encoding="utf-8")
TOKEN = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
TOKENS = {name: (light, dark) for name, light, dark in TOKEN.findall(STYLE)}
VERDICTS = ("pass", "fail", "warn", "open", "none")
#: Text on ground, as the style sheet uses them.
TEXTS = [
    *((text, ground) for text in ("ink", "muted") for ground in ("page", "surface", "sunken")),
    *(("link", ground) for ground in ("page", "surface", "sunken", "warn-soft")),
    *((verdict, f"{verdict}-soft") for verdict in VERDICTS),
    *((verdict, ground) for verdict in VERDICTS for ground in ("surface", "sunken")),
    *(("ink", f"{verdict}-soft") for verdict in VERDICTS),
    *(("muted", ground) for ground in ("warn-soft",)),
    ("ink", "tried"),
    ("on-good", "good"),
    ("ink", "legal"),
]
#: Shapes on ground: WCAG 1.4.11 asks for 3.
SHAPES = [
    *((shape, "sunken") for shape in ("good", "fail", "warn", "ink", "pass", "muted")),
    ("good", "surface"),
    ("ink", "legal"),
]


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb` (WCAG 2.2)."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_formula_gives_the_known_ends() -> None:
    """Black on white is 21, a colour on itself 1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#777777") == pytest.approx(1)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), TEXTS)
def test_text_is_readable_on_its_ground(text: str, ground: str, mode: int) -> None:
    """Every pair that the style sheet uses has at least 4.5."""
    assert contrast(TOKENS[text][mode], TOKENS[ground][mode]) >= 4.5


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("shape", "ground"), SHAPES)
def test_shapes_stand_out_from_their_ground(shape: str, ground: str, mode: int) -> None:
    """Bars, marks and ticks have at least 3."""
    assert contrast(TOKENS[shape][mode], TOKENS[ground][mode]) >= 3


def test_no_colour_is_written_outside_the_tokens() -> None:
    """A colour that no test sees cannot slip in."""
    rules = STYLE.split("}", 1)[1]
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|rgb\(|hsl\(", rules)
