"""`faultclock list`: what is shipped, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from faultclock.cli.options import DEFAULT_MODEL, model_option
from faultclock.cli.say import machine, say
from faultclock.errors import UnknownNameError

if TYPE_CHECKING:
    from faultclock.model.error_model.error_model import ErrorModel

Entry = dict[str, Any]


_EPILOG = """\
Without KIND, it says which kinds there are. NAME is the id of one of them, or a family of
scenarios, and shows all that is known of it. With --json the output is a list of objects, each
with an `id`: all of them, or those that NAME selects.

\b
Examples:
  faultclock list
  faultclock list scenarios
  faultclock list scenarios rate-limits
  faultclock list models common
  faultclock list requirements --model stud-cli
  faultclock list subjects --json | jq -r '.[] | select(.available) | .id'
"""

#: Kind to what it is.
_KINDS = {
    "scenarios": "situations that a run puts your code into",
    "models": "error models: what a run is judged by, and their readings",
    "subjects": "clients, references and deliberately wrong programs to run",
    "checks": "what is compared in a trace, by the error model of --model",
    "requirements": "the sentences of the error model of --model",
    "dialects": "APIs that the fake provider speaks",
    "maps": "how the logs of other systems are read, for `faultclock judge`",
}


@click.command(name="list", epilog=_EPILOG)
@click.argument(
    "what",
    type=click.Choice(list(_KINDS)),
    metavar="[KIND]",
    required=False,
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--long", "in_full", is_flag=True, help="Show all of it: every scenario, reading and miniature."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of objects.")
@model_option
def command(
    what: str | None, names: tuple[str, ...], in_full: bool, as_json: bool, model: str
) -> None:
    """List what is shipped: scenarios, models (with their readings), subjects, checks and others.

    KIND is one of scenarios, models, subjects, checks, requirements, dialects and maps.
    """
    if what is None:
        _list_kinds(as_json=as_json)
        return
    found = _named(what, _LISTS[what](model), names)
    if as_json:
        machine(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return
    from faultclock.cli import listing_text

    show = listing_text.in_full if in_full or names else listing_text.in_short
    for line in show(what, found):
        say(line)


def _list_kinds(*, as_json: bool) -> None:
    if as_json:
        kinds = [{"id": kind, "title": title} for kind, title in _KINDS.items()]
        machine(json.dumps(kinds, indent=2) + "\n")
        return
    for kind, title in _KINDS.items():
        say(f"  {kind.ljust(14)}{title}")
    say("show one kind: faultclock list scenarios")


def _named(what: str, entries: list[Entry], names: tuple[str, ...]) -> list[Entry]:
    """Return those of `entries` that `names` select by their ids or families; all without one."""
    for name in names:
        if not any(name in (entry["id"], entry.get("family")) for entry in entries):
            families = dict.fromkeys(str(entry.get("family", entry["id"])) for entry in entries)
            known = tuple(entry["id"] for entry in entries) if "/" in name else tuple(families)
            raise UnknownNameError(what.removesuffix("s"), name, known)
    return [
        entry
        for entry in entries
        if not names or entry["id"] in names or entry.get("family") in names
    ]


def _scenarios(_: str) -> list[Entry]:
    from faultclock.load.scenario import find_scenarios

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
    from faultclock.load.error_model import model_ids

    return [_model_entry(_load(id_)) for id_ in model_ids()]


def _model_entry(model: ErrorModel) -> Entry:
    return {
        "id": model.id,
        "title": model.title,
        "is_default": model.id == DEFAULT_MODEL,
        "is_of_a_document": model.is_of_a_document,
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
    from faultclock.load.foreign.map import foreign_map_ids, load_foreign_map

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
    from faultclock.load.payloads import dialect_names, load_dialect

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
    from faultclock.subjects.registry import catalog

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
    from faultclock.run.kill_matrix import check_entries

    return [entry.model_dump(mode="json") for entry in check_entries(_load(model))]


def _requirements(model: str) -> list[Entry]:
    loaded = _load(model)
    return [
        {"model": loaded.id, **requirement.model_dump(mode="json")}
        for requirement in loaded.requirements
    ]


def _load(id_or_path: str) -> ErrorModel:
    from faultclock.load.error_model import load_error_model

    return load_error_model(id_or_path)


_LISTS: dict[str, Callable[[str], list[Entry]]] = {
    "scenarios": _scenarios,
    "models": _models,
    "maps": _maps,
    "dialects": _dialects,
    "subjects": _subjects,
    "checks": _checks,
    "requirements": _requirements,
}
