"""What all pages share: the templates' environment, the frame, and the policy that locks a page.

A page asks for nothing: styles, script and drawings are inside, and a Content Security Policy
allows exactly that one style and that one script, by digest. Text from subjects is escaped by
Jinja's autoescape, and control characters are made visible.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from faultclock.model.report.finding import Verdict
from faultclock.render.verdict_words import GLOSSARY, LOOKS, Look
from faultclock.render.wording import (
    clipped,
    count,
    exact_time,
    short_digest,
    short_time,
    time_word,
    visible,
)

_NO_FINDING = Look(key="void", word="not judged", means="No check of this group spoke.")


def frame(*sheets: str) -> dict[str, Any]:
    """Return what every page is made with; `sheets` are its own styles beside the common ones."""
    style, script = asset("report.css", *sheets), asset("report.js")
    return {
        "style": style,
        "script": script,
        "policy": policy(style, script),
        "glossary": [(verdict, LOOKS[verdict]) for verdict in GLOSSARY],
    }


def policy(style: str, script: str) -> str:
    """Return the Content Security Policy of a page that holds exactly these two."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_source_hash(style)}'; script-src '{_source_hash(script)}'"
    )


@cache
def asset(*names: str) -> Markup:
    """Return files of the templates' folder, one after the other, as they are."""
    folder = files("faultclock.render") / "templates"
    text = "".join((folder / name).read_text(encoding="utf-8") for name in names)
    return Markup(text)  # noqa: S704 - files of this package, never text from a report


@cache
def environment() -> Environment:
    """Return the environment that renders every template."""
    made = Environment(
        loader=PackageLoader("faultclock.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    made.globals.update(look=_look)
    made.filters.update(
        clipped=clipped,
        sentence_case=_sentence_case,
        short=_short,
        ticks=_ticks,
        count=count,
        exact_time=exact_time,
        short_digest=short_digest,
        short_time=short_time,
        time_word=time_word,
    )
    return made


def _source_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _ticks(text: str) -> Markup:
    """Return `text` with what stands between backticks as code."""
    plain, code = Markup("{}"), Markup("<code>{}</code>")
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return plain.format(visible(text))
    return Markup("").join(
        (code if index % 2 else plain).format(visible(part)) for index, part in enumerate(parts)
    )


def _short(place: float) -> str:
    """Return a place in a drawing: a unit is about a pixel, so no more than that is written."""
    return f"{place:.0f}"


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _look(verdict: Verdict | None) -> Look:
    return _NO_FINDING if verdict is None else LOOKS[verdict]


def _finalize(value: object) -> object:
    """Make control characters visible in everything that a template prints, but in markup."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value
