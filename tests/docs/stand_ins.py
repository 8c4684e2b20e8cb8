"""What is checked of a command that a test must not run: that there is what it names.

`pip install` would reach out to the network, and `make` builds environments.
"""

from __future__ import annotations

import re
import shlex
import tomllib

import click

from faultclock.cli.app import app
from tests.architecture.source_tree import PROJECT

_EXTRAS = re.compile(r"faultclock\[([\w,-]+)\]")
_UPDATES = {"clone", "push", "fetch", "pull"}


def stands_for_itself(command: str) -> bool:
    """Return whether the command is one that no test runs, on whatever page."""
    words = _words(command)
    return (
        words[:2] in (["pip", "install"], ["npm", "install"])
        or words[:1] == ["make"]
        or (words[:1] == ["git"] and bool(_UPDATES & set(words[1:2])))
    )


def problem_of(command: str) -> str | None:
    """Return what the command names that is not there, or None."""
    words = _words(command)
    if words[:2] == ["pip", "install"]:
        known = _project()["optional-dependencies"]
        extras = [name for match in _EXTRAS.findall(command) for name in match.split(",")]
        return next((f"no extra {name}" for name in extras if name not in known), None)
    if words[:1] == ["make"]:
        makefile = (PROJECT / "Makefile").read_text("utf-8")
        targets = [word for word in words[1:] if "=" not in word]
        missing = [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
        return f"no target {missing[0]}" if missing else None
    if words and words[0].rpartition("/")[2] == "faultclock":
        return _problem_of_options(words[1:])
    return None


def _problem_of_options(words: list[str]) -> str | None:
    ours = words[: words.index("--")] if "--" in words else words
    context = click.Context(app, info_name="faultclock")
    command = app.get_command(context, ours[0]) if ours else app
    if command is None:
        return f"no command {ours[0]}"
    group = click.Context(command)
    while isinstance(command, click.Group) and len(ours) > 1:
        inner = command.get_command(group, ours[1])
        if inner is None:
            break
        command, ours = inner, ours[1:]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    given = [word.partition("=")[0] for word in ours[1:] if word.startswith("-")]
    return next((f"no option {name}" for name in given if name not in known), None)


def _words(command: str) -> list[str]:
    return shlex.split(command.replace("\\\n", " "), comments=True)


def _project() -> dict[str, dict[str, list[str]]]:
    project: dict[str, dict[str, list[str]]] = tomllib.loads(
        (PROJECT / "pyproject.toml").read_text("utf-8")
    )["project"]
    return project
