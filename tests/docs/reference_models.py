"""The reference of the error models: every sentence of each, and what judges it."""

from __future__ import annotations

import re
from collections import Counter

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.model.error_model.error_model import ErrorModel
from tests.docs.reference_text import GENERATED, anchor, cell, code, prose, table

_ADDRESS = r"https?://[^\s,;]*[^\s,;.)]"
#: `owner/name#number`, and no part of an address.
_BUG = r"(?<![/\w])[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*#\d+"


def models_page() -> str:
    """Return the page that leads to the others."""
    rows = []
    for id_ in model_ids():
        model = load_error_model(id_)
        levels = Counter(item.level for item in model.requirements)
        excluded = sum(item.excluded is not None for item in model.requirements)
        rows.append(
            (
                f"[`{id_}`](model-{id_}.md)",
                cell(model.title),
                str(len(model.requirements)),
                *(str(levels[level]) for level in ("MUST", "SHOULD", "MAY")),
                str(excluded),
                str(len(model.switches)),
            )
        )
    lines = [
        "# Error models",
        "",
        GENERATED,
        "",
        *prose(
            "The neutral model `common`, which judges where no model is named, and the documents "
            "that are carried, with the number of their sentences. What a model is made of and how "
            "to write one stands in [Error models](../error-models.md)."
        ),
        "",
        *table(
            ("model", "title", "sentences", "MUST", "SHOULD", "MAY", "excluded", "readings"), rows
        ),
    ]
    return "\n".join(lines) + "\n"


def model_page(id_: str) -> str:
    """Return the page of one model."""
    model = load_error_model(id_)
    source = model.source
    lines = [
        f"# Error model {id_}",
        "",
        GENERATED,
        "",
        *prose(
            f"{source.title}: {source.document} of {source.system}, read on {source.read_on}; "
            f"revision {model.revision}."
            if model.is_of_a_document
            else f"{model.title}, in our own words; the sources were read on {source.read_on}; "
            f"revision {model.revision}."
        ),
        "",
        "## Requirements",
        "",
        *_requirements(model),
        "",
    ]
    if any(item.harm is not None for item in model.requirements):
        lines += ["## Harm, remedy and sources", "", *_harms(model)]
    if model.switches:
        lines += [
            "## Readings",
            "",
            *prose(
                "Where the document is silent or contradicts itself. `--reading SWITCH=OPTION` "
                "takes another reading than the default, and the report says so."
            ),
            "",
            *_readings(model),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _requirements(model: ErrorModel) -> list[str]:
    rows = []
    for item in model.requirements:
        judged = (
            ", ".join(
                f"[`{name}`]({_page_of(name, model.id)}#{anchor(name)})" for name in item.checks
            )
            if item.checks
            else f"excluded: {cell(item.excluded or '')}"
        )
        said = " (paraphrased)" if item.wording == "paraphrased" else ""
        rows.append(
            (code(item.id), item.level, cell(item.place), cell(item.sentence) + said, judged)
        )
    return table(("id", "level", "place", "sentence", "judged by"), rows)


def _harms(model: ErrorModel) -> list[str]:
    lines = []
    for item in model.requirements:
        if item.harm is None:
            continue
        lines += [f"### {item.id}", ""]
        lines += [*prose(f"**{str(item.harm).capitalize()}.** {_plain(item.does)}"), ""]
        lines += [*prose(f"What usually mends it: {_plain(item.change)}"), "", "Sources:", ""]
        for source in item.sources:
            lines += prose(_linked(source), first="- ", rest="  ")
        lines.append("")
    return lines


def _linked(source: str) -> str:
    """Return a source with its addresses as links, and its bugs (`owner/name#1`) as well."""
    linked = re.sub(_ADDRESS, lambda found: f"<{found[0]}>", source)
    return re.sub(
        _BUG,
        lambda found: f"<https://github.com/{found[0].replace('#', '/issues/')}>",
        linked,
    )


def _page_of(check: str, model: str) -> str:
    return f"checks-{model}.md" if check.startswith(("ordering.", "audience.")) else "checks.md"


def _readings(model: ErrorModel) -> list[str]:
    lines = []
    for switch in model.switches:
        lines += [f"### {switch.id}", "", *prose(_plain(switch.question)), ""]
        for option in switch.options:
            mark = ", the default" if option.id == switch.default else ""
            words = f"{code(option.id)}{mark}: {_plain(option.means)}"
            lines += prose(words, first="- ", rest="  ")
        lines += ["", *prose(f"Why the default: {_plain(switch.because)}"), ""]
    return lines


def _plain(text: str) -> str:
    """Return a text with nothing in it that Markdown would read."""
    return cell(text).replace("\\|", "|")
