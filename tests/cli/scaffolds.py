"""Sets up a project for each client and role, and does what its job does: one process for all.

A run patches the process that it is in, so this is a program: `python -m tests.cli.scaffolds
FOLDER` prints what each of them came to, as JSON. The command is that of the job that was written,
for the first scenario alone; subject and model come from the configuration that was written.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from click.testing import CliRunner

from faultclock.cli.app import app
from faultclock.render.scaffold import CLIENTS

#: The roles that have no client to choose.
ROLES = ("runtime", "tool", "session-store", "extension")
SUMMARY = "summary.md"


def chosen() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a name for each scaffold, and the words that ask for it."""
    yield from ((name, ("--client", name)) for name in CLIENTS)
    yield from ((name, ("--role", name, "--ci", "gitlab")) for name in ROLES)


def command_of(folder: Path) -> str:
    """Return the command with which the job in `folder` runs Faultclock."""
    gitlab = folder / ".gitlab-ci.yml"
    if gitlab.exists():
        commands = yaml.safe_load(gitlab.read_text())["faultclock"]["script"]
    else:
        job = yaml.safe_load((folder / ".github/workflows/faultclock.yml").read_text())
        commands = [step.get("run", "") for step in job["jobs"]["conformance"]["steps"]]
    (found,) = (text for text in commands if text.startswith("faultclock run "))
    return str(found)


def came_to(folder: Path, words: tuple[str, ...]) -> tuple[int, str]:
    """Set `folder` up, do what its job does, and return exit code and output."""
    made = CliRunner().invoke(app, ["init", str(folder), *words])
    if made.exit_code:
        return made.exit_code, made.output
    os.chdir(folder)
    command = command_of(folder).replace("$GITHUB_STEP_SUMMARY", SUMMARY)
    _, run, *options = shlex.split(command)
    ran = CliRunner().invoke(app, [run, "conformance/scenarios", "--jobs", "1", *options])
    return ran.exit_code, ran.output


if __name__ == "__main__":
    root = Path(sys.argv[1])
    results = {name: came_to(root / name, words) for name, words in chosen()}
    sys.stdout.write(json.dumps(results))
