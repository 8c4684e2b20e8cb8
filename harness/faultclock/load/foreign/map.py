"""Maps of foreign logs: the shipped ones by id, or a file of the user's own; and their mistakes.

What a map says by itself is checked when it is read; whether it speaks of what its error model
knows, by `check_foreign_map`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

from faultclock.errors import Problem, SourceError
from faultclock.load.foreign.values import label
from faultclock.load.known_keys import Location
from faultclock.load.resources import YAML_SUFFIXES, file_of, foreign_maps_root, ids_in
from faultclock.load.yaml_file import Document, read_document
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.event_sets import resolved
from faultclock.model.error_model.ordering import event_refs
from faultclock.model.foreign_map import ForeignEvent, ForeignMap
from faultclock.model.trace.events import EVENT_KINDS
from faultclock.model.trace.trace import Trace

_NAMED_KINDS = frozenset({"declared.event", "declared.audit_event"})


def foreign_map_ids() -> tuple[str, ...]:
    """Return the ids of the shipped maps, sorted."""
    return ids_in(foreign_maps_root())


def is_foreign_map(document: Document) -> bool:
    """Return whether a file means to be a map, and no scenario or error model."""
    return {"name", "model", "events"} <= document.data.keys()


def load_foreign_map(id_or_path: str) -> ForeignMap:
    """Return a shipped map by its id, or the one in a file.

    Its `model` is an id, or a path that can be opened from the working folder.

    Raises:
        UnknownNameError: there is no such map.
        InputError: the file cannot be read, or holds no map; with every problem in it.
    """
    path = Path(file_of("map", id_or_path, foreign_maps_root()))
    found = foreign_map_of(read_document(path))
    return found.model_copy(update={"model": model_beside(path, found.model)})


def model_beside(path: str | os.PathLike[str], model: str) -> str:
    """Return the error model that a map at `path` names: an id as it is, or a path beside it."""
    return str(Path(path).parent / model) if model.endswith(YAML_SUFFIXES) else model


def foreign_map_of(document: Document) -> ForeignMap:
    """Return the map in a document, its `model` as it is written.

    Raises:
        SourceError: with every problem in it.
    """
    data = dict(document.data)
    if isinstance(events := data.get("events"), dict):
        # A name alone (`run_started:`) is an entry without anything special.
        data["events"] = {name: {} if entry is None else entry for name, entry in events.items()}
    return document.validate(ForeignMap, data)


def check_foreign_map(document: Document, map_: ForeignMap, model: ErrorModel) -> None:
    """Check that a map speaks of what `model` knows.

    Raises:
        SourceError: with every name of an event, class or code that the model does not have.
    """
    problems = tuple(_problems(document, map_, model))
    if problems:
        raise SourceError(problems)


def unnamed_events(trace: Trace, map_: ForeignMap, model: ErrorModel) -> dict[str, int]:
    """Return the events of a log that neither its map nor the error model names, and how often.

    They are read as they are, and no rule can speak of them: a slip would stay unseen.
    """
    known = {label(name) for name in (*map_.events, *_names(model))}
    known |= {label(entry.name) for _, entry in map_.entries() if entry.name is not None}
    return Counter(
        event.payload["name"]
        for event in trace.events
        if event.kind in ("declared.event", "declared.audit_event")
        and event.payload["name"] not in known
    )


def _problems(document: Document, map_: ForeignMap, model: ErrorModel) -> Iterator[Problem]:
    names = _names(model)
    for name, of_name in map_.events.items():
        several = isinstance(of_name, tuple)
        for index, entry in enumerate(of_name if isinstance(of_name, tuple) else (of_name,)):
            at: Location = ("events", name, index) if several else ("events", name)
            if entry.name is not None and entry.name not in names:
                message = f"the error model {model.id} knows no event '{entry.name}'"
                hint = _near(entry.name, names)
                yield document.problem((*at, "name"), message, hint)
            for kind in entry.signs:
                if kind not in EVENT_KINDS:
                    message = f"there are no facts of the kind '{kind}'"
                    yield document.problem((*at, "signs"), message, _near(kind, EVENT_KINDS))
            yield from _unknown_pairs(document, at, entry, model)


def _unknown_pairs(
    document: Document, at: Location, entry: ForeignEvent, model: ErrorModel
) -> Iterator[Problem]:
    """Yield constants that are no class, or no code of their class."""
    classes = {item.id: item for item in model.classes}
    for key, named in (("error", entry.error), ("retry", entry.retry)):
        class_name = None if named is None else named.error_class
        if named is None or class_name is None or not class_name.startswith("="):
            continue
        found = classes.get(class_name[1:])
        if found is None:
            message = f"the error model {model.id} has no class '{class_name[1:]}'"
            hint = _near(class_name[1:], classes)
            yield document.problem((*at, key, "class"), message, hint)
            continue
        code = (named.code or "").removeprefix("=")
        if code != (named.code or "") and found.codes and code not in found.codes:
            message = f"the class {found.id} has no code '{code}'"
            yield document.problem((*at, key, "code"), message, _near(code, found.codes))


def _names(model: ErrorModel) -> frozenset[str]:
    """Return every name of an event or a record that the rules of the model can tell apart."""
    patterns = [*model.events.values()]
    for rule in model.ordering:
        for ref in event_refs(rule):
            patterns += [pattern for _, pattern in resolved(ref, model.events)]
    names: set[str] = set()
    for pattern in patterns:
        wanted = pattern.where.get("name")
        if _NAMED_KINDS.intersection(pattern.kinds):
            choices = wanted if isinstance(wanted, tuple) else (wanted,)
            names.update(choice for choice in choices if isinstance(choice, str))
    return frozenset(names)


def _near(name: str, known: Iterable[str]) -> str:
    choices = sorted(known)
    near = get_close_matches(name, choices, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(choices)}"
