"""`faultclock init` with code that exists: its target is what is configured, as a run showed it.

No file is written for it. The target stands in the configuration with the API that it speaks and
with what it never does, so the gate asks for nothing else and says so by name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from faultclock.cli.placing import add_all, check_absent
from faultclock.cli.say import say, say_lines
from faultclock.render.scaffold import (
    Choice,
    ContinuousIntegration,
    has_table,
    scaffold,
    with_subject,
    with_table,
)

if TYPE_CHECKING:
    from faultclock.check.target import Target

_PYPROJECT = "pyproject.toml"
#: Candidates that are offered.
_OFFERED_MAX = 9
#: What a word after the target says to a person.
_SAYS = {
    "no-streams": "it never asks for a stream",
    "only-streams": "it always asks for a stream",
    "no-tools": "it offers the model no tools",
    "no-approvals": "it calls tools without asking a person",
    "no-sessions": "it stores no session",
    "no-history": "it sends the model no earlier turn",
    "no-cancels": "a turn cannot be cancelled",
}


class Wish(Struct, frozen=True, kw_only=True):
    """What a person asked for.

    Attributes:
        target: as it was named.
        job: the build server that the gate is written for.
        project: what pip has to install so that the project can be imported.
    """

    target: str
    as_: str | None
    dialect: str | None
    job: ContinuousIntegration
    project: str
    dry_run: bool
    force: bool


def names_a_target(what: str) -> bool:
    """Return whether an argument names code rather than a folder."""
    return (":" in what or what.endswith(".py")) and not Path(what).is_dir()


def project_folder(what: str) -> Path:
    """Return the folder of the project that a target is in: the nearest with a pyproject.toml.

    Only folders of the same repository count; without a repository it is this folder. It is this
    folder for a module, too, which is imported from here.
    """
    here = Path.cwd()
    if not _names_a_file(what):
        return Path()
    above = [here, *here.parents]
    top = next((number for number, item in enumerate(above) if (item / ".git").exists()), 0)
    found = (item for item in above[: top + 1] if (item / _PYPROJECT).is_file())
    return Path(os.path.relpath(next(found, here)))


def asked_for() -> str | None:
    """Ask on the terminal which code is bound; None: none of what is here."""
    from faultclock.subjects.candidates import candidates

    found = candidates(Path())[:_OFFERED_MAX]
    if found:
        say("Code in this folder that may ask a model:")
        width = max(len(item.spec) for item in found)
        for number, item in enumerate(found, start=1):
            say(f"  {number}  {item.spec:<{width}}  {item.kind}")
    else:
        say("No code in this folder looks as if it asks a model.")
    while True:
        numbers = f"A number, or {'FILE.py:NAME' if found else 'FILE.py:NAME of your own'}"
        said: str = click.prompt(
            f"{numbers}; nothing for a new file with a client of a library",
            default="",
            show_default=False,
        ).strip()
        if not said:
            return None
        if said.isdigit() and 1 <= int(said) <= len(found):
            return found[int(said) - 1].spec
        if ":" in said:
            return said
        say(f"{said}: write one of the numbers, or FILE.py:NAME")


def set_up_target(root: Path, pyproject: str | None, wish: Wish) -> None:
    """Configure the target of `wish`, and write what a project needs beside it.

    What is there already stays: a configuration gets the subject and nothing else, and files are
    left as they are.

    Raises:
        SubjectError: the target cannot be loaded, or does not work when nothing goes wrong.
        InputError: another subject is configured, or something cannot be written.
    """
    from faultclock.check.target import take
    from faultclock.cli.preparing import prepared

    path = root / _PYPROJECT
    configured = pyproject is not None and has_table(pyproject, str(path))
    target = take(prepared(wish.target, as_=wish.as_, dialect=wish.dialect))
    subject = _seen_from(root, target.settled_spec)
    written = scaffold(
        Choice(role=target.binding.role, job=wish.job, project=wish.project, subject=subject)
    )
    if configured:
        assert pyproject is not None
        after = with_subject(pyproject, written.table, str(path), replace=wish.force)
        files: dict[str, str] = {} if after == pyproject else {_PYPROJECT: after}
        kept: tuple[str, ...] = ()
    else:
        added = with_table(pyproject or "", written.table, str(path))
        kept = tuple(name for name in written.files if os.path.lexists(root / name))
        files = {name: text for name, text in written.files.items() if name not in kept}
        files[_PYPROJECT] = (pyproject or "") + added
    if not wish.dry_run:
        _write(root, files, pyproject)
    elif files:
        _show(files)
    _tell(root, target, subject, files, kept, wish)


def _write(root: Path, files: Mapping[str, str], pyproject: str | None) -> None:
    check_absent(root, [name for name in files if name != _PYPROJECT], instead={})
    replaced = (_PYPROJECT,) if pyproject is not None else ()
    # The configuration comes last: it names the others.
    add_all(root, files, appended=None, replaced=replaced)


def _seen_from(root: Path, spec: str) -> str:
    """Return a target with the path of its file as it is written from `root`."""
    if not _names_a_file(spec):
        return spec
    place, _, name = spec.rpartition(":")
    return f"{Path(os.path.relpath(Path(place).expanduser(), root)).as_posix()}:{name}"


def _names_a_file(spec: str) -> bool:
    place, colon, _ = spec.rpartition(":")
    return bool(colon) and (place.endswith(".py") or "/" in place)


def _show(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        say(f"--- {name}")
        say_lines(text.strip("\r\n"))
        say()


def _tell(
    root: Path,
    target: Target,
    subject: str,
    files: Mapping[str, str],
    kept: tuple[str, ...],
    wish: Wish,
) -> None:
    taken = target.taken_for
    speaks = f" that speaks {taken.dialect}" if taken.dialect else ""
    say(f"{wish.target}: {taken.kind}{speaks}")
    lacks = target.abilities.words(target.binding.role)
    said = subject.rpartition("@")[2].split(",") if "@" in subject else []
    for word in lacks:
        if word in said:
            say(f"  {_SAYS[word]}: what needs that is left out, by name ({word})")
    for name in kept:
        say(f"left as it is: {root / name}")
    if wish.dry_run:
        say("nothing was written: this was --dry-run")
        return
    for name in files:
        if name != _PYPROJECT:
            say(f"wrote {root / name}")
    if _PYPROJECT in files:
        say(f'{root / _PYPROJECT}: subject = "{subject}"')
        if wish.force:
            say("  with a target, --force replaces the subject and nothing else")
    else:
        say(f"{root / _PYPROJECT} has that subject already: nothing to write")
    say("next:")
    say("  faultclock check                   how good is its error handling?")
    say("  faultclock run --html report.html  what does the gate see?")
