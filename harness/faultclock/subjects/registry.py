"""From a subject's name to its Binding, and the list of those that are shipped.

    reference                 an id of a shipped subject
    path/to/adapter.py:name   a function or binding in a file
    package.module:name       one in an importable module

Every fault of a user's file is one SubjectError that names the file, and what to do next.
Nothing but the named subject's module is imported.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from faultclock.model.scenario.scenario import Role
from faultclock.subjects.adopt import adopt
from faultclock.subjects.binding import Binding
from faultclock.subjects.shipped import SHIPPED
from faultclock.subjects.shipped_loading import miniatures, missing


class SubjectEntry(Struct, frozen=True, kw_only=True):
    """One line of the list of shipped subjects.

    Attributes:
        id: what `--subject` takes.
        title: one line for people.
        kind: a `client` is a real library, the `reference` is right, a `miniature` is wrong in
            one named way.
        needs: libraries that it imports.
        available: whether all of them are installed.
        role: of the scenarios that it can be run through.
        fails: id of the check that a miniature is made to fail.
        model: id of the error model that it is right by, or made to fail by; it is no command's
            default, and means nothing for a client.
        shown_by: id of the scenario that shows a miniature.
        origin: the public bug that a miniature has.
        found_by: whether that scenario shows it as it is written, or only to who explores it.
        dialect: the API that it speaks.
        extra: of the distribution that installs what it needs.
        cannot: what a client does in the real world and not in the simulated one.
        spec: what is loaded for it; empty: its id.
        install: how its libraries are installed.
    """

    id: str
    title: str
    kind: Literal["client", "reference", "miniature"]
    role: Role = "provider_adapter"
    needs: tuple[str, ...] = ()
    available: bool = True
    fails: str | None = None
    model: str = "stud-cli"
    shown_by: str | None = None
    origin: str | None = None
    found_by: Literal["run", "explore"] = "run"
    dialect: str = "openai-chat"
    extra: str | None = None
    cannot: tuple[str, ...] = ()
    spec: str = ""
    install: str = "pip install"

    @property
    def target(self) -> str:
        """What is loaded for it."""
        return self.spec or self.id


def shipped_ids() -> tuple[str, ...]:
    """Return the ids of all shipped subjects."""
    return (*SHIPPED, *miniatures())


def catalog() -> tuple[SubjectEntry, ...]:
    """Return one entry per shipped subject, whether or not its libraries are installed."""
    shipped = (
        SubjectEntry(
            id=id_,
            title=item.title,
            kind=item.kind,
            role=item.role,
            needs=item.needs,
            model=item.model,
            available=not missing(item.needs),
            dialect=item.dialect,
            extra=item.extra,
            cannot=item.cannot,
        )
        for id_, item in SHIPPED.items()
    )
    wrong = (
        SubjectEntry(
            id=id_,
            title=item.binding.title,
            kind="miniature",
            role=item.binding.role,
            fails=item.fails,
            model=item.model,
            shown_by=item.shown_by,
            origin=item.origin,
            found_by=item.found_by,
        )
        for id_, item in miniatures().items()
    )
    return (*shipped, *wrong)


def load_subject(spec: str) -> Binding:
    """Return the binding that `spec` names.

    Args:
        spec: a shipped id, `path/to/file.py:name` or `package.module:name`. What is not bound is
            adopted: `adopt` says how, and what may stand after the name.

    Raises:
        UnknownNameError: it is neither a shipped id nor a place.
        SubjectError: the subject cannot be imported or bound.
    """
    return adopt(spec).binding
