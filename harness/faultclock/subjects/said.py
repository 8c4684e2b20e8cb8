"""What is said of a target after its name, so that every command understands it.

my_client.py:ask                        as its parameters say
my_client.py:ask@messages               it takes messages
my_client.py:ask@anthropic-messages     it speaks that API
my_client.py:ask@prompt,ollama          both
my_client.py:ask@no-streams             it never asks for a stream
my_agent.py:agent@services=hosts.yaml   that file has the other hosts that it may ask
my_agent.py:agent@reads=divide          its tool `divide` only reads or computes
my_agent.py:agent@reads=check_out=no    its tool `check_out` acts, whatever its name says
app.mjs#ask                             a module for Node, and what it exports
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from faultclock.errors import SubjectError, UnknownNameError
from faultclock.subjects.abilities import ABILITY_WORDS
from faultclock.subjects.adopt_signature import FORMS

#: Kinds of targets beside the forms of functions.
CLIENT, AGENT = "client", "agent"

_MARK = "@"
#: Begins the word that names a services file, which no comma and no mark can be part of.
_SERVICES = "services="
#: Begins each word that names a tool of an agent that only reads or computes.
_READS = "reads="
#: Ends the name of one that acts, whatever its name says.
ACTS = "=no"
_NO_WORD = re.compile(r"[,@]")
_NO_NAME = re.compile(r"[^\w.-]|^$")
_KINDS = (*FORMS, CLIENT, AGENT)


class Said(Struct, frozen=True, kw_only=True):
    """A target, and what is said after it: what it is, speaks, lacks and may ask, what reads."""

    target: str
    as_: str | None
    dialect: str | None
    lacks: tuple[str, ...]
    services: str | None
    reads: tuple[str, ...]

    @property
    def whole(self) -> str:
        """The target with all of that."""
        words = [word for word in (self.as_, self.dialect) if word is not None]
        words += self.lacks
        if self.services is not None:
            words.append(f"{_SERVICES}{self.services}")
        words += [f"{_READS}{name}" for name in self.reads]
        return f"{self.target}{_MARK}{','.join(words)}" if words else self.target


def said_in(spec: str, as_: str | None, dialect: str | None) -> Said:
    """Return a target and all that is said of it, in its own words or beside it.

    Raises:
        UnknownNameError: `as_` is no kind of target.
    """
    target, mark, words = spec.rpartition(_MARK)
    said = tuple(dict.fromkeys(filter(None, words.split(","))))
    paths = [word for word in said if word.startswith(_SERVICES)]
    if not mark or any("/" in word or ":" in word for word in said if word not in paths):
        target, said, paths = spec, (), []
    reads = [word for word in said if word.startswith(_READS)]
    for word in said:
        if word in _KINDS:
            as_ = as_ or word
        elif word not in ABILITY_WORDS and word not in (*paths, *reads):
            dialect = dialect or word
    if as_ is not None and as_ not in _KINDS:
        raise UnknownNameError("kind of target", as_, _KINDS)
    return Said(
        target=target,
        as_=as_,
        dialect=dialect,
        lacks=tuple(word for word in said if word in ABILITY_WORDS),
        services=paths[-1].removeprefix(_SERVICES) if paths else None,
        reads=tuple(word.removeprefix(_READS) for word in reads),
    )


def services_file_of(spec: str) -> str | None:
    """Return the services file that a target names; None where it names none."""
    return said_in(spec, None, None).services


def said_of(
    spec: str,
    *,
    as_: str | None = None,
    dialect: str | None = None,
    lacks: Sequence[str] = (),
    services: str | None = None,
    reads: Sequence[str] = (),
) -> str:
    """Return a target with more said after it, as every command understands it.

    Args:
        lacks: words for what it never does, of `ABILITY_WORDS`.
        services: the file with the other hosts that it may ask.
        reads: tools of an agent that only read or compute; with `ACTS` behind it, one that acts.

    Raises:
        UnknownNameError: `as_` is no kind of target.
        SubjectError: a target cannot hold one of these names.
    """
    if services is not None and _NO_WORD.search(services):
        raise SubjectError(
            f"{services}: the name of this file has a comma or an @", hint="give it another name"
        )
    odd = next((name for name in reads if _NO_NAME.search(name.removesuffix(ACTS))), None)
    if odd is not None:
        raise SubjectError(f"{odd!r} is no name of a tool", hint="write --reads divide,subtract")
    said = said_in(spec, as_, dialect)
    known = tuple(dict.fromkeys((*said.lacks, *lacks)))
    only_read = tuple(dict.fromkeys((*said.reads, *reads)))
    return replace(said, lacks=known, services=services or said.services, reads=only_read).whole
