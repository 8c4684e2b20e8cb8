"""HTML: one self-contained file that works from a disk, with scripts off, in light and dark.

The page asks for nothing: styles, script and drawings are inside, and a Content Security Policy
allows exactly that one style and that one script, by digest. All content is rendered here; the
script only filters, copies and unfolds. Text from subjects is escaped by Jinja's autoescape,
and control characters are made visible.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.model.finding import Report, Verdict
from harness.render.json_text import json_digest
from harness.render.matrix import make_matrix
from harness.render.overview import make_overview
from harness.render.sections import make_sections
from harness.render.verdict_words import GLOSSARY, LOOKS, Look
from harness.render.wording import count, exact_time, short_digest, short_time, visible

__all__ = ["html_report"]

_NO_FINDING = Look(key="void", word="not judged", means="No check of this group spoke.")


def html_report(report: Report) -> str:
    """Return `report` as one HTML document; equal reports give equal text."""
    sections = make_sections(report)
    style, script = _asset("report.css"), _asset("report.js")
    page = _environment().get_template("report.html.j2")
    return page.render(
        report=report,
        overview=make_overview(report, sections),
        matrix=make_matrix(sections),
        sections=sections,
        known_checks=frozenset(entry.id for entry in report.checks),
        style=style,
        script=script,
        policy=_policy(style, script),
        glossary=[(verdict, LOOKS[verdict]) for verdict in GLOSSARY],
        report_digest=json_digest(report),
    )


def _policy(style: str, script: str) -> str:
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_source_hash(style)}'; script-src '{_source_hash(script)}'"
    )


def _source_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> Markup:
    text = (files("harness.render") / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of this package, never text from a report


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("harness.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.globals.update(look=_look)
    environment.filters.update(
        ticks=_ticks,
        count=count,
        exact_time=exact_time,
        short_digest=short_digest,
        short_time=short_time,
    )
    return environment


def _ticks(text: str) -> Markup:
    """Return `text` with what stands between backticks as code."""
    plain, code = Markup("{}"), Markup("<code>{}</code>")
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return plain.format(visible(text))
    return Markup("").join(
        (code if index % 2 else plain).format(visible(part)) for index, part in enumerate(parts)
    )


def _look(verdict: Verdict | None) -> Look:
    return _NO_FINDING if verdict is None else LOOKS[verdict]


def _finalize(value: object) -> object:
    """Make control characters visible in everything that a template prints, but in markup."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value
