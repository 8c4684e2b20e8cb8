"""Defaults of a command from `[tool.faultclock]`: looked up once, shown, and beaten by every flag.

Only a command that is about to run reads the file; no `--help` fails because of it.
"""

from __future__ import annotations

import copy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from faultclock.cli.say import say

if TYPE_CHECKING:
    from faultclock.model.config import Config

#: The commands that take defaults from a configuration.
CONFIGURED = frozenset({"check", "run", "explore", "infer", "certify"})

#: Parameter to the flag that shows it, in the order in which they are shown.
_FLAGS = {
    "scenarios": "",
    "subject": "--subject ",
    "model": "--model ",
    "readings": "--reading ",
    "seeds": "--seeds ",
    "reads": "--reads ",
    "wall_limit": "--wall-limit ",
    "baseline": "--baseline ",
    "history": "--history ",
}
#: Where a context keeps the names of the parameters that the configuration filled afterwards.
_FILLED = "faultclock.cli.configured.filled"
#: What belongs to another parameter, and does not count where that one is given by hand.
_BELONGS_TO = {"readings": "model", "baseline": "subject", "reads": "subject"}


def configured(command: click.Command) -> click.Command:
    """Return `command` with defaults from the configuration, which its help then mentions."""
    names = [name for name in _FLAGS if any(param.name == name for param in command.params)]
    mine = copy.copy(command)
    mine.epilog = _epilog(command.epilog or "", names)

    def make_context(
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if extra.get("resilient_parsing"):
            # A shell asks what may be typed here.
            return type(command).make_context(mine, info_name, args, parent, **extra)
        # Reading the arguments empties the list.
        helps = not {"-h", "--help"}.isdisjoint(args)
        found = None if helps else _found()
        defaults = {} if found is None else _defaults(found[0], names)
        context = type(command).make_context(
            mine, info_name, args, parent, default_map=defaults, **extra
        )
        _settle(context, defaults)
        if found is not None and not context.params.get("quiet"):
            _tell(context, defaults, found[1])
        return context

    mine.make_context = make_context  # type: ignore[method-assign]
    return mine


def was_typed(context: click.Context, name: str) -> bool:
    """Return whether a person gave the parameter `name` on the command line."""
    is_filled = context.meta.get(_FILLED) == name
    return _is_given(context, name) and bool(context.params[name]) and not is_filled


def _epilog(written: str, names: list[str]) -> str:
    keys = ", ".join(name.replace("_", "-") for name in names)
    said = (
        "What is not given here comes from [tool.faultclock] of the nearest pyproject.toml"
        f" upwards, if there is one: {keys}."
    )
    return f"{written}\n\n{said}\n"


def _found() -> tuple[Config, Path] | None:
    from faultclock.load.config import as_seen_from, find_config

    found = find_config(".")
    if found is None:
        return None
    config, path = found
    return as_seen_from(Path.cwd(), config, path), path


def _defaults(config: Config, names: list[str]) -> dict[str, Any]:
    """Return what is configured of `names`, as the command line would have it."""
    values = config.model_dump(exclude_unset=True, mode="json")
    if "readings" in values:
        readings = sorted(config.readings.items())
        values["readings"] = tuple(f"{switch}={option}" for switch, option in readings)
    for name in ("scenarios", "reads"):
        if name in values:
            values[name] = getattr(config, name)
    return {name: values[name] for name in names if values.get(name)}


def _settle(context: click.Context, defaults: dict[str, Any]) -> None:
    """Correct what click cannot know of the defaults."""
    params = context.params
    for name, owner in _BELONGS_TO.items():
        if name not in defaults or not _is_given(context, owner):
            continue
        if owner == "subject" and owner not in defaults:
            # It is of the one subject that there is; what is said of another is refused.
            continue
        if params[owner] != defaults.get(owner) and not _is_given(context, name):
            params[name] = () if isinstance(params[name], tuple) else None
            del defaults[name]
    if "scenarios" in defaults and not params.get("scenarios"):
        # Older versions of click have no default for an argument that may be given many times.
        params["scenarios"] = defaults["scenarios"]
        context.meta[_FILLED] = "scenarios"


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _tell(context: click.Context, defaults: dict[str, Any], path: Path) -> None:
    """Say in one line what was not typed."""
    from faultclock.cli.selection import without_root

    shown = [
        f"{_FLAGS[name]}{shlex.quote(str(value))}"
        for name, values in defaults.items()
        if not (_is_given(context, name) and context.params[name])
        for value in _each(values)
    ]
    if shown:
        line = f"faultclock: {without_root(str(path))} gives {' '.join(shown)}"
        say(line, err=True)


def _each(values: Any) -> Iterator[Any]:
    if isinstance(values, tuple):
        yield from values
    else:
        yield values
