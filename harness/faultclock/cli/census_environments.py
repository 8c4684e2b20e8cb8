"""`census --env`: the same census in several environments, each with libraries of its own.

An environment is a Python in which Faultclock is installed as well, in the same version, and which
carries the census out; or a folder with the `node_modules` of npm packages, whose clients this
process runs.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from faultclock.cli.elsewhere import checked_python
from faultclock.cli.exits import INCONCLUSIVE, OK
from faultclock.errors import InputError, UnknownNameError
from faultclock.subjects.node.clients import NODE_CLIENTS, has_packages, node_clients
from faultclock.subjects.node.locate import is_module

if TYPE_CHECKING:
    from faultclock.model.report.census import Census
    from faultclock.subjects.registry import SubjectEntry

#: It stands after an `@` in the ids of clients.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FORM = "write --env NAME=other/bin/python, or --env NAME=folder/with/node_modules"
#: Takes a census of these clients in this process.
Take = Callable[[Sequence["SubjectEntry"]], "Census"]


class Environment(Struct, frozen=True, kw_only=True):
    """Where clients are installed.

    Attributes:
        name: what a person calls it.
        python: its interpreter; None: it is one of Node.
        folder: with its `node_modules`; None: it is one of Python.
        clients: ids of the clients that are run there; none: all that are installed.
    """

    name: str
    python: str | None
    folder: Path | None
    clients: tuple[str, ...]

    def census(self, options: Sequence[str], take: Take, *, quiet: bool) -> Census:
        """Take the census there.

        Args:
            options: of the command, with which another Python is to take it.
            take: takes it here.

        Raises:
            InputError: it cannot be taken there; the other Python has said why.
        """
        from faultclock.profile.census_merge import taken_in

        if self.folder is not None:
            with node_clients(self.folder) as entries:
                return taken_in(take(tuple(self._wanted(entries))), self.name)
        assert self.python is not None
        return taken_in(self._carried_out(self.python, options, quiet=quiet), self.name)

    def _wanted(self, entries: Sequence[SubjectEntry]) -> Iterator[SubjectEntry]:
        for entry in entries:
            if self.clients and entry.id not in self.clients:
                continue
            if self.clients and not entry.available:
                packages = " ".join(entry.needs)
                raise InputError(
                    f"--env {self.name}: client {entry.id!r} needs {packages}, which is not there",
                    hint=f"npm install {packages}",
                )
            yield entry

    def _carried_out(self, python: str, options: Sequence[str], *, quiet: bool) -> Census:
        from faultclock.load.census import load_census

        with tempfile.TemporaryDirectory() as folder:
            written = str(Path(folder, "census.json"))
            words = [*self.clients, *options, "--json", written, *(("--quiet",) if quiet else ())]
            done = subprocess.run(  # noqa: S603 - the person's own
                [python, "-P", "-m", "faultclock.cli", "census", *words],
                stdin=subprocess.DEVNULL,
                # Its table is of no use; progress and errors are for the person here as well.
                stdout=subprocess.DEVNULL,
                check=False,
            )
            if done.returncode in (OK, INCONCLUSIVE):
                return load_census(written)
        raise InputError(
            f"--env {self.name}: the census there ended with exit code {done.returncode}",
            hint="its own message is above",
        )


def environments(given: Sequence[str], clients: Sequence[str]) -> tuple[Environment, ...]:
    """Return the environments that a person named, each with the clients that it is to run.

    Args:
        given: the values of `--env`.
        clients: ids that a person named; none: all.

    Raises:
        InputError: a value names no environment, or none has a client that is named.
        UnknownNameError: a client is not known.
    """
    _check_clients(clients, at_all=bool(given))
    made: dict[str, Environment] = {}
    for value in given:
        name, equals, place = value.partition("=")
        if not equals or not place or _NAME.fullmatch(name) is None:
            raise InputError(f"--env {value}: this is not NAME=PLACE", hint=_FORM)
        if name in made:
            raise InputError(f"--env: two environments are called {name}")
        folder = Path(place).expanduser()
        is_node = has_packages(folder)
        wanted = tuple(it for it in dict.fromkeys(clients) if (it in NODE_CLIENTS) == is_node)
        if clients and not wanted:
            kind = "Node" if is_node else "Python"
            raise InputError(f"--env {name}: none of the clients that you named is for {kind}")
        made[name] = Environment(
            name=name,
            python=None if is_node else checked_python(place, f"--env {name}="),
            folder=folder if is_node else None,
            clients=wanted,
        )
    for client in clients if made else ():
        if not any(client in item.clients for item in made.values()):
            kind = "node=folder/with/node_modules" if client in NODE_CLIENTS else "py=bin/python"
            raise InputError(f"no environment can have {client}", hint=f"add --env {kind}")
    return tuple(made.values())


def _check_clients(clients: Sequence[str], *, at_all: bool) -> None:
    """Refuse what is known to be wrong before the first of the long runs."""
    from faultclock.profile.census_clients import is_real_client
    from faultclock.subjects.registry import catalog

    for client in clients:
        if client in NODE_CLIENTS and not at_all:
            raise InputError(
                f"{client} is a client for Node, and needs an environment",
                hint=f"npm install {' '.join(NODE_CLIENTS[client].packages)},"
                " and --env node=. for the folder with its node_modules",
            )
        if at_all and is_module(client):
            raise InputError(
                f"{client} has its packages beside itself, and not in an environment",
                hint="take its census without --env, and give its JSON to --add",
            )
        if at_all and ":" not in client and client not in NODE_CLIENTS:
            known = tuple(entry.id for entry in catalog() if is_real_client(entry))
            if client not in known:
                raise UnknownNameError("client", client, (*known, *NODE_CLIENTS))
