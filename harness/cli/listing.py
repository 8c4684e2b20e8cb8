"""`faultclock list`: what is shipped, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import model_option

if TYPE_CHECKING:
    from harness.model.error_model import ErrorModel

__all__ = ["command"]

Entry = dict[str, Any]

_EPILOG = """\
With --json the output is a list of objects, each with an `id`.

\b
Examples:
  faultclock list scenarios
  faultclock list requirements --model stud-cli
  faultclock list subjects --json | jq -r '.[] | select(.available) | .id'
"""


_KINDS = ("scenarios", "models", "maps", "dialects", "subjects", "checks", "requirements")


@click.command(name="list", epilog=_EPILOG)
@click.argument(
    "what",
    type=click.Choice(_KINDS),
    metavar="|".join(_KINDS),
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of objects.")
@model_option
def command(what: str, as_json: bool, model: str) -> None:
    """List what is shipped: scenarios, models (with their readings), subjects, checks and others.

    Maps are those of foreign logs, for `faultclock judge`. Dialects are the APIs that the fake
    provider speaks. Checks and requirements are those of --model.
    """
    entries, show = _LISTS[what]
    found = entries(model)
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for line in show(found):
        click.echo(line)


def _scenarios(_: str) -> list[Entry]:
    from harness.load.scenario import find_scenarios

    return [
        {
            "id": item.scenario.id,
            "family": item.scenario.family,
            "role": item.scenario.role,
            "models": list(item.scenario.models),
            "title": item.scenario.title,
            "why": item.scenario.why.strip(),
            "pair": item.scenario.pair,
            "origin": item.scenario.origin,
            "faults": [
                *(rule.then.kind for rule in item.scenario.provider.faults),
                *(rule.fault_kind for rule in item.scenario.provider.refusals),
            ],
            "seeds": item.scenario.seeds,
            "path": item.path,
        }
        for item in find_scenarios()
    ]


def _models(_: str) -> list[Entry]:
    from harness.load.error_model import model_ids

    return [_model_entry(_load(id_)) for id_ in model_ids()]


def _model_entry(model: ErrorModel) -> Entry:
    return {
        "id": model.id,
        "title": model.title,
        "revision": model.revision,
        "source": model.source.model_dump(mode="json"),
        "classes": [item.id for item in model.classes],
        "requirements": len(model.requirements),
        "switches": [
            {
                "id": switch.id,
                "question": switch.question,
                "default": switch.default,
                "because": switch.because,
                "options": [{"id": option.id, "means": option.means} for option in switch.options],
            }
            for switch in model.switches
        ],
    }


def _maps(_: str) -> list[Entry]:
    from harness.load.foreign_map import foreign_map_ids, load_foreign_map

    return [
        {
            "id": found.id,
            "title": found.title,
            "model": found.model,
            "source": found.source,
            "events": list(found.events),
        }
        for found in map(load_foreign_map, foreign_map_ids())
    ]


def _dialects(_: str) -> list[Entry]:
    from harness.load.payloads import dialect_names, load_dialect

    return [
        {
            "id": name,
            "title": data.title,
            "base_url": data.base_url,
            "model": data.model,
            "errors": {error: payload.status for error, payload in data.payloads.items()},
        }
        for name in dialect_names()
        for data in (load_dialect(name),)
    ]


def _subjects(_: str) -> list[Entry]:
    from harness.subjects.registry import catalog

    return [
        {
            "id": entry.id,
            "title": entry.title,
            "kind": entry.kind,
            "role": entry.role,
            "needs": list(entry.needs),
            "available": entry.available,
            "dialect": entry.dialect,
            "extra": entry.extra,
            "cannot": list(entry.cannot),
            "fails": entry.fails,
            "found_by": entry.found_by,
        }
        for entry in catalog()
    ]


def _checks(model: str) -> list[Entry]:
    from harness.run.kill_matrix import check_entries

    return [entry.model_dump(mode="json") for entry in check_entries(_load(model))]


def _requirements(model: str) -> list[Entry]:
    loaded = _load(model)
    return [
        {"model": loaded.id, **requirement.model_dump(mode="json")}
        for requirement in loaded.requirements
    ]


def _load(id_or_path: str) -> ErrorModel:
    from harness.load.error_model import load_error_model

    return load_error_model(id_or_path)


def _show_scenarios(entries: list[Entry]) -> Iterable[str]:
    families = {entry["family"]: [] for entry in entries}  # type: dict[str, list[Entry]]
    for entry in entries:
        families[entry["family"]].append(entry)
    for family, members in families.items():
        yield f"{family} ({len(members)})"
        yield from _columns(
            [("", item["id"], _role_words(item), item["title"]) for item in members]
        )


def _show_models(entries: list[Entry]) -> Iterable[str]:
    for entry in entries:
        source = entry["source"]
        yield f"{entry['id']}  {entry['title']}: {source['document']} of {source['system']}"
        if entry["switches"]:
            yield "  Readings (--reading SWITCH=OPTION; * is the default):"
        for switch in entry["switches"]:
            yield f"    {switch['id']}: {switch['question']}"
            for option in switch["options"]:
                mark = "*" if option["id"] == switch["default"] else " "
                yield f"      {mark} {option['id']}: {option['means']}"


def _show_maps(entries: list[Entry]) -> Iterable[str]:
    return _columns(
        [
            (item["id"], f"for {item['model']}", f"{item['title']}: {item['source']}")
            for item in entries
        ]
    )


def _show_dialects(entries: list[Entry]) -> Iterable[str]:
    return _columns(
        [
            (item["id"], f"{len(item['errors'])} errors", f"{item['title']}, {item['base_url']}")
            for item in entries
        ]
    )


def _show_subjects(entries: list[Entry]) -> Iterable[str]:
    kinds = {
        "client": "Clients (real libraries)",
        "reference": "References (these conform)",
        "miniature": "Miniatures (each wrong in one named way)",
    }
    for kind, heading in kinds.items():
        members = [item for item in entries if item["kind"] == kind]
        if members:
            yield heading
            yield from _columns(
                [("", item["id"], _role_words(item), _subject_note(item)) for item in members]
            )
    yield "Your own: --subject path/to/file.py:name"


def _role_words(entry: Entry) -> str:
    return str(entry["role"]).replace("_", " ")


def _subject_note(entry: Entry) -> str:
    if not entry["available"]:
        # An extra of ours brings all that is missing, and in versions that go together.
        way = f": pip install 'faultclock[{entry['extra']}]'" if entry["extra"] else ""
        return f"{entry['title']} (not installed{way})"
    if not entry["fails"]:
        return str(entry["title"])
    when = " when explored" if entry["found_by"] == "explore" else ""
    return f"{entry['title']} (fails {entry['fails']}{when})"


def _show_checks(entries: list[Entry]) -> Iterable[str]:
    rows: list[tuple[str, ...]] = [
        (
            item["id"],
            item["level"] or "-",
            f"{item['says']} Failed by: {', '.join(item['miniatures']) or 'none that is shipped'}.",
        )
        for item in entries
    ]
    return _columns(rows)


def _show_requirements(entries: list[Entry]) -> Iterable[str]:
    return _columns(
        [
            (
                item["id"],
                item["level"],
                ", ".join(item["checks"]) or f"excluded: {item['excluded']}",
                item["sentence"],
            )
            for item in entries
        ],
        longest=48,
    )


def _columns(rows: list[tuple[str, ...]], longest: int = 60) -> Iterable[str]:
    """Yield the rows with aligned columns; the last one is as long as it is."""
    if not rows:
        return
    widths = [
        min(longest, max(len(row[column]) for row in rows)) for column in range(len(rows[0]) - 1)
    ]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()


_LISTS: dict[str, tuple[Callable[[str], list[Entry]], Callable[[list[Entry]], Iterable[str]]]] = {
    "scenarios": (_scenarios, _show_scenarios),
    "models": (_models, _show_models),
    "maps": (_maps, _show_maps),
    "dialects": (_dialects, _show_dialects),
    "subjects": (_subjects, _show_subjects),
    "checks": (_checks, _show_checks),
    "requirements": (_requirements, _show_requirements),
}
