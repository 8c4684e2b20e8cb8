"""`faultclock init`: what a project needs so that `faultclock run` and its build server gate it."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import click

from faultclock.cli.exits import OK
from faultclock.cli.init_target import (
    Wish,
    asked_for,
    names_a_target,
    project_folder,
    set_up_target,
)
from faultclock.cli.placing import add_all, check_absent
from faultclock.cli.say import say, say_lines
from faultclock.cli.target_options import as_option, dialect_option
from faultclock.errors import InputError
from faultclock.load.yaml_file import read_bytes
from faultclock.model.scenario.scenario import Role
from faultclock.render.scaffold import (
    CLIENTS,
    FOLDER,
    Choice,
    ContinuousIntegration,
    Scaffold,
    has_table,
    scaffold,
    with_subject,
    with_table,
)

_PYPROJECT = "pyproject.toml"
#: As they are written on a command line.
_ROLES: dict[str, Role] = {
    "provider-adapter": "provider_adapter",
    "runtime": "runtime",
    "tool": "tool",
    "session-store": "session_store",
    "extension": "extension",
}

_CLIENT_LINES = "\n".join(f"  {name:17}{kind.title}" for name, kind in CLIENTS.items())
_EPILOG = f"""\
TARGET is your own code, as `faultclock check` takes it, such as my_client.py:ask. It is run once
where nothing goes wrong, and the configuration says what that shows: the API that it speaks, and
what it never does. On a terminal, without any argument, the code in this folder that may ask a
model is offered.

DIR is the folder of a project without such code, the one with pyproject.toml; the default is this
one. Then a file is written that binds a client, too. Each of these is yours to change:

\b
  {FOLDER}/adapter.py       your code, bound in about ten lines (agent.py, tool.py, … by role)
  {FOLDER}/scenarios/       a first scenario of your own, which pytest collects
  pyproject.toml               [tool.faultclock], so that `faultclock run` needs no options
  .github/workflows/           the gate, as a job for every push (or .gitlab-ci.yml)

No file is overwritten without --force: one that is there is left, or nothing is written at all. To
an existing pyproject.toml the table is added at its end; to an existing table, the subject.

\b
Clients; the default is the first of them that is installed here:
{_CLIENT_LINES}

\b
Examples:
  faultclock init my_client.py:ask
  faultclock init my_package.llm:client --dialect anthropic-messages
  faultclock init
  faultclock init --client anthropic --ci gitlab
  faultclock init --role tool --ci none
  faultclock init my-project --client own --dry-run

\b
Exit codes: 0 the files are written (or shown), 2 one is there already or cannot be written, or the
target does not work when nothing goes wrong.
"""


@click.command(name="init", epilog=_EPILOG)
@click.argument("what", default="", metavar="[TARGET|DIR]")
@click.option(
    "--client",
    type=click.Choice(tuple(CLIENTS)),
    metavar="NAME",
    help="Client to bind, from the list below.",
)
@click.option(
    "--role",
    type=click.Choice(tuple(_ROLES)),
    metavar="ROLE",
    help=f"What your code is: {', '.join(_ROLES)}. The default is the first.",
)
@click.option(
    "--ci",
    type=click.Choice(("github", "gitlab", "none")),
    default="github",
    metavar="SERVER",
    help="Build server to write the gate for: github (the default), gitlab, none.",
)
@as_option
@dialect_option
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--force", is_flag=True, help="Replace files, or a subject, that are there already.")
def command(
    what: str,
    client: str | None,
    role: str | None,
    ci: str,
    as_: str | None,
    dialect: str | None,
    dry_run: bool,
    force: bool,
) -> int:
    """Set up a project: bind your code, write a first scenario, and gate every push.

    What is written runs at once: the last lines say with which commands.
    """
    if client is not None and role not in (None, "provider-adapter"):
        raise click.UsageError(f"--client is for provider adapters, and --role says {role}")
    chosen = client is not None or role is not None
    if not what and not chosen and sys.stdin.isatty():
        what = asked_for() or ""
    if names_a_target(what):
        if chosen:
            raise click.UsageError("--client and --role are for a project without a TARGET")
        root = project_folder(what)
        text = _text_of(root / _PYPROJECT)
        job = cast(ContinuousIntegration, ci)
        wish = Wish(
            target=what,
            as_=as_,
            dialect=dialect,
            job=job,
            project=_project(root, text),
            dry_run=dry_run,
            force=force,
        )
        set_up_target(root, text, wish)
        return OK
    if as_ or dialect:
        raise click.UsageError("--as and --dialect are about a TARGET: name one")
    return _set_up_folder(
        what or ".", client, role, cast(ContinuousIntegration, ci), dry_run=dry_run, force=force
    )


def _set_up_folder(
    folder: str,
    client: str | None,
    role: str | None,
    job: ContinuousIntegration,
    *,
    dry_run: bool,
    force: bool,
) -> int:
    root = Path(folder)
    if os.path.lexists(root) and not root.is_dir():
        raise InputError(
            f"{folder}: this is no folder",
            hint="name the folder of your project, or code in it as FILE.py:NAME",
        )
    pyproject = root / _PYPROJECT
    text = _text_of(pyproject)
    written = scaffold(
        Choice(
            role=_ROLES[role or "provider-adapter"],
            client=client or _installed_client(),
            job=job,
            project=_project(root, text),
        )
    )
    if force and text is not None and has_table(text, str(pyproject)):
        whole = with_subject(text, written.table, str(pyproject), replace=True)
        added = None
    else:
        added = with_table(text or "", written.table, str(pyproject))
        whole = (text or "") + added
    if dry_run:
        _show(written, added or whole, is_new=text is None or added is None)
    if not force:
        check_absent(root, written.files, instead=_instead(written))
    if dry_run:
        say("nothing was written: this was --dry-run")
        return OK
    if text is None or force:
        texts = {**written.files, _PYPROJECT: whole}
        add_all(root, texts, appended=None, replaced=tuple(texts) if force else ())
    else:
        add_all(root, written.files, appended=(pyproject, whole[len(text) :]))
    _tell(root, written, is_new=text is None, chosen=client is None and role is None)
    return OK


def _text_of(path: Path) -> str | None:
    """Return the text of a file as it is, line endings included, or None where there is none.

    Raises:
        InputError: it cannot be read, or could not be written.
    """
    if not os.path.lexists(path):
        return None
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is no UTF-8, which TOML has to be") from None
    if not os.access(path, os.W_OK):
        raise InputError(f"{path}: cannot be written: permission denied")
    return text


def _installed_client() -> str:
    return next(name for name, kind in CLIENTS.items() if _can_import(kind.module))


def _can_import(module: str | None) -> bool:
    if module is None:
        return True
    # The parent of a module that is not there is not there either.
    with suppress(ModuleNotFoundError):
        return find_spec(module) is not None
    return False


def _project(root: Path, pyproject: str | None) -> str:
    """Return what pip has to install so that the code of the project can be imported."""
    with suppress(tomllib.TOMLDecodeError):
        if "project" in tomllib.loads(pyproject or ""):
            return "."
    return "-r requirements.txt" if (root / "requirements.txt").is_file() else ""


def _instead(written: Scaffold) -> dict[str, str]:
    """Return what else can be done about a job that is there already."""
    if written.job is None:
        return {}
    return {written.job: "--ci none leaves it as it is, and --dry-run shows the job to add to it"}


def _show(written: Scaffold, added: str, *, is_new: bool) -> None:
    """Print every text below its path; nothing is written."""
    texts = {**written.files, _PYPROJECT if is_new else f"{_PYPROJECT}, at its end": added}
    for path, text in texts.items():
        say(f"--- {path}")
        say_lines(text.strip("\r\n"))
        say()


def _tell(root: Path, written: Scaffold, *, is_new: bool, chosen: bool) -> None:
    for path in written.files:
        say(f"wrote {root / path}")
    did = "wrote" if is_new else "added [tool.faultclock] to"
    say(f"{did} {root / _PYPROJECT}")
    if chosen:
        say("  (the first client that is installed here; --client names another)")
    say("next:")
    steps = []
    if root.resolve() != Path.cwd():
        steps.append((f"cd {shlex.quote(str(root))}", ""))
    if not _can_import(written.module):
        steps.append((f"pip install {written.needs}", f"{written.module} is not installed here"))
    steps += [
        (f"faultclock doctor {written.subject}", "is it bound right?"),
        ("faultclock run --html report.html", "what does it do when things fail?"),
        (f"pytest {FOLDER}", "your own scenarios, beside your tests"),
    ]
    width = max(len(line) for line, _ in steps)
    for line, why in steps:
        say(f"  {line:<{width}}  {why}".rstrip())
