"""Error models: a shipped one by id or any file, under the readings that a person chose.

A reading changes the plain data before it is validated, so that a model under any reading is
held to the same rules as one without switches.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from faultclock.errors import Problem, SourceError, UnknownNameError
from faultclock.load.known_keys import Location
from faultclock.load.resources import error_models_root, file_of, ids_in
from faultclock.load.yaml_file import Document, read_document
from faultclock.model.error_model.error_model import ErrorModel, Switch

_SWITCHES = TypeAdapter(tuple[Switch, ...])


def model_ids() -> tuple[str, ...]:
    """Return the ids of the shipped error models, sorted."""
    return ids_in(error_models_root())


def load_error_model(id_or_path: str, readings: Mapping[str, str] | None = None) -> ErrorModel:
    """Return an error model under the chosen readings.

    Args:
        id_or_path: id of a shipped model, or a YAML file.
        readings: switch id to option id; a switch that is not named has its default reading.

    Raises:
        UnknownNameError: there is no such model, switch or option.
        InputError: the file cannot be read.
        SourceError: it is not an error model, or a reading sets what does not exist.
    """
    chosen = readings or {}
    if id_or_path in model_ids():
        return _shipped(id_or_path, tuple(sorted(chosen.items())))
    return _loaded(_document_of(id_or_path), chosen)


@cache
def _shipped(id_: str, readings: tuple[tuple[str, str], ...]) -> ErrorModel:
    """Return a model that comes with Faultclock: what is installed stays as it is."""
    return _loaded(_document_of(id_), dict(readings))


def _loaded(document: Document, readings: Mapping[str, str]) -> ErrorModel:
    switches = _switches(document)
    if switches is None:
        # The switches themselves are malformed: the validation says where.
        return document.validate(ErrorModel)
    chosen = _chosen_options(switches, readings)
    return document.validate(ErrorModel, _with_readings(document, switches, chosen))


def check_error_model(id_or_path: str) -> ErrorModel:
    """Load a model under its default readings and under each other option; return the former.

    Raises:
        HarnessError: as `load_error_model` does; or an option changes nothing, or a rule speaks of
            events that there are not.
    """
    document = _document_of(id_or_path)
    model = _loaded(document, {})
    problems: list[Problem] = []
    for switch_index, switch in enumerate(model.switches):
        for option_index, option in enumerate(switch.options):
            if option.id == switch.default:
                continue
            at: Location = ("switches", switch_index, "options", option_index)
            told = f"with {switch.id}={option.id}: "
            try:
                if _loaded(document, {switch.id: option.id}) == model:
                    message = f"{told}nothing differs from {switch.id}={switch.default}"
                    problems.append(document.problem((*at, "id"), message))
            except SourceError as error:
                # What the option sets is no part of the file's rules: its own line is the place.
                place: Location = (*at, "set", next(iter(option.set), ""))
                problems += [
                    document.problem(place, told + item.message, item.hint)
                    for item in error.problems
                ]
    if problems:
        raise SourceError(tuple(problems))
    return model


def _document_of(id_or_path: str) -> Document:
    return read_document(file_of("error model", id_or_path, error_models_root()))


def _switches(document: Document) -> tuple[Switch, ...] | None:
    try:
        return _SWITCHES.validate_python(document.data.get("switches", ()))
    except ValidationError:
        return None


def _chosen_options(switches: tuple[Switch, ...], readings: Mapping[str, str]) -> dict[str, str]:
    known = {switch.id: switch for switch in switches}
    for name, option in readings.items():
        if name not in known:
            raise UnknownNameError("switch", name, tuple(known))
        options = tuple(item.id for item in known[name].options)
        if option not in options:
            raise UnknownNameError(f"reading of {name}", option, options)
    return {switch.id: readings.get(switch.id, switch.default) for switch in switches}


def _with_readings(
    document: Document, switches: tuple[Switch, ...], chosen: Mapping[str, str]
) -> dict[str, Any]:
    data = copy.deepcopy(document.data)
    for switch_index, switch in enumerate(switches):
        for option_index, option in enumerate(switch.options):
            if option.id != chosen[switch.id]:
                continue
            for path, value in option.set.items():
                reason = _set(data, path, copy.deepcopy(value))
                if reason is not None:
                    location: Location = (
                        *("switches", switch_index),
                        *("options", option_index),
                        *("set", path),
                    )
                    raise SourceError(
                        (document.problem(location, f"`{path}` cannot be set: {reason}"),)
                    )
    return data


def _set(data: dict[str, Any], path: str, value: object) -> str | None:
    """Set what the dotted `path` names; return why it cannot be, or None.

    An element of a list is named by its `id`; null as its new value takes it out of the list.
    A mapping that the file leaves out is made.
    """
    *parents, last = path.split(".")
    owner: Any = data
    for name in parents:
        if isinstance(owner, list):
            owner = next((item for item in owner if _id_of(item) == name), None)
        elif isinstance(owner, dict):
            owner = owner.setdefault(name, {})
        if not isinstance(owner, (dict, list)):
            return f"there is no `{name}`"
    if isinstance(owner, dict):
        owner[last] = value
        return None
    index = next((number for number, item in enumerate(owner) if _id_of(item) == last), None)
    if index is None:
        return f"there is no `{last}`"
    if value is None:
        del owner[index]
    else:
        owner[index] = value
    return None


def _id_of(item: object) -> object:
    return item.get("id") if isinstance(item, dict) else None
