"""What `faultclock list` shows of each kind of thing, as lines: in short, and in full."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from faultclock.render.wording import count, listed

Entry = dict[str, Any]

_WIDTH = 80


def in_short(what: str, entries: list[Entry]) -> Iterable[str]:
    """Return what a screen has room for."""
    return _SHORT.get(what, _FULL[what])(entries)


def in_full(what: str, entries: list[Entry]) -> Iterable[str]:
    """Return everything that people may want to know."""
    return _FULL[what](entries)


def _families(entries: list[Entry]) -> Iterator[str]:
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        families.setdefault(entry["family"], []).append(entry)
    rows: list[tuple[str, ...]] = [
        ("", family, str(len(members)), listed(sorted({_role_words(item) for item in members})))
        for family, members in families.items()
    ]
    yield f"{count(len(entries), 'scenario')} in {count(len(families), 'family', 'families')}"
    yield from _columns(rows)
    yield "one family: faultclock list scenarios FAMILY    all: --long"


def _models_in_short(entries: list[Entry]) -> Iterator[str]:
    for entry in entries:
        yield from _wrapped(_model_line(entry))
        rules = count(entry["requirements"], "requirement")
        readings = count(len(entry["switches"]), "reading") if entry["switches"] else "no reading"
        yield f"  {rules}, {readings} to choose"
    yield "one model with its readings: faultclock list models MODEL    all: --long"


def _subjects_in_short(entries: list[Entry]) -> Iterator[str]:
    small = [entry for entry in entries if entry["kind"] == "miniature"]
    yield from _show_subjects([entry for entry in entries if entry["kind"] != "miniature"])
    if small:
        roles = Counter(_role_words(entry) for entry in small)
        each = listed([f"{number} {role}" for role, number in roles.most_common()])
        said = f"{count(len(small), 'miniature')}, each wrong in one named way: {each}"
        yield from _wrapped(f"{said}. --long names them.")


def _model_line(entry: Entry) -> str:
    source = entry["source"]
    name = f"{entry['id']} (the default)" if entry["is_default"] else entry["id"]
    source_words = (
        f"{source['document']} of {source['system']}"
        if entry["is_of_a_document"]
        else "each requirement names its sources"
    )
    return f"{name}  {entry['title']}: {source_words}"


def _wrapped(text: str) -> list[str]:
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def _show_scenarios(entries: list[Entry]) -> Iterable[str]:
    families: dict[str, list[Entry]] = {entry["family"]: [] for entry in entries}
    for entry in entries:
        families[entry["family"]].append(entry)
    for family, members in families.items():
        yield f"{family} ({len(members)})"
        yield from _columns(
            [("", item["id"], _role_words(item), item["title"]) for item in members]
        )


def _show_models(entries: list[Entry]) -> Iterable[str]:
    for entry in entries:
        yield _model_line(entry)
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


_FULL: dict[str, Callable[[list[Entry]], Iterable[str]]] = {
    "scenarios": _show_scenarios,
    "models": _show_models,
    "maps": _show_maps,
    "dialects": _show_dialects,
    "subjects": _show_subjects,
    "checks": _show_checks,
    "requirements": _show_requirements,
}
_SHORT: dict[str, Callable[[list[Entry]], Iterable[str]]] = {
    "scenarios": _families,
    "models": _models_in_short,
    "subjects": _subjects_in_short,
}
