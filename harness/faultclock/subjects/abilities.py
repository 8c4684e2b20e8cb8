"""Abilities: what a subject does when nothing goes wrong, so that it is not asked for the rest.

A person declares them with the options of a decorator, or with words after the name of a target:

    @provider_adapter(streams=False)        my_client.py:ask@no-streams
    @runtime(approvals=False)               my_agent.py:agent@no-approvals

Everything that is not declared is True. A declaration leaves scenarios out by name. A healthy run
confirms it before anything is left out; without one, nothing is left out. What a subject does only
after a failure makes the run inconclusive in which it does it. So a false one hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from faultclock.errors import SubjectError

Streams = Literal["never", "as asked", "always"]

#: What `streams=` takes, and what it means.
_STREAMS: dict[Any, Streams] = {False: "never", True: "as asked", "always": "always"}
#: Options of the decorators, by role. A tool, a store or an extension has a contract instead.
OPTIONS_OF_ROLE: dict[str, tuple[str, ...]] = {
    "provider_adapter": ("streams", "tools"),
    "runtime": ("streams", "tools", "approvals", "sessions", "history", "cancels"),
}
#: Word after the name of a target to the option that it stands for, and its value.
ABILITY_WORDS: dict[str, tuple[str, Any]] = {
    "no-streams": ("streams", False),
    "only-streams": ("streams", "always"),
    "no-tools": ("tools", False),
    "no-approvals": ("approvals", False),
    "no-sessions": ("sessions", False),
    "no-history": ("history", False),
    "no-cancels": ("cancels", False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a subject does in a healthy world.

    Attributes:
        streams: whether it asks for a stream.
        tools: whether it offers tools to the model, and calls them.
        approvals: whether it asks a person before it calls a tool that needs a yes.
        sessions: whether it stores its session, so that it can be resumed.
        history: whether it sends the model the earlier turns of a session.
        cancels: whether a call can be cancelled from outside.
        runs_tools: whether a function runs the tools that it offers, and asks the model again.
        tool_error: what it raises then, where the arguments are made up by the tool's schema;
            empty: nothing.
    """

    streams: Streams = "as asked"
    tools: bool = True
    approvals: bool = True
    sessions: bool = True
    history: bool = True
    cancels: bool = True
    runs_tools: bool = False
    tool_error: str = ""

    def words(self, role: str) -> tuple[str, ...]:
        """Return the words that declare what is missing here, as far as the role has a say."""
        return tuple(
            word
            for word, (option, value) in ABILITY_WORDS.items()
            if option in OPTIONS_OF_ROLE.get(role, ())
            and getattr(self, option) == _meant(option, value)
        )


#: Of a subject that declares nothing.
ALL_ABILITIES = Abilities()


def declared(role: str, options: dict[str, Any]) -> Abilities:
    """Return what the options of a decorator declare; each one that is read is taken out.

    Raises:
        SubjectError: one has a value that means nothing.
    """
    found = Abilities()
    for option in OPTIONS_OF_ROLE.get(role, ()):
        value = options.pop(option, True)
        known = _STREAMS if option == "streams" else (True, False)
        if not isinstance(value, bool | str) or value not in known:
            raise SubjectError(
                f"{option} is {value!r}",
                hint=f"one of: {', '.join(repr(item) for item in known)}",
            )
        found = replace(found, **{option: _meant(option, value)})
    return found


def with_word(abilities: Abilities, word: str) -> Abilities:
    """Return `abilities` with what one of `ABILITY_WORDS` says."""
    option, value = ABILITY_WORDS[word]
    return replace(abilities, **{option: _meant(option, value)})


def false_claims(said: Abilities, seen: Abilities) -> Iterator[tuple[str, str]]:
    """Yield each declared lack that a healthy run contradicts: the option, and what the run showed.

    Args:
        said: what is declared.
        seen: what a healthy run showed.
    """
    if said.streams == "never" and seen.streams != "never":
        yield "streams=False", "it asks for a stream"
    elif said.streams == "always" and seen.streams != "always":
        yield 'streams="always"', "it asks for an answer in one piece"
    shown = {
        "tools": "it offers tools to the model, calls them, or hands on the calls of an answer",
        "approvals": "it asks a person before it calls a tool",
        "sessions": "it stores its session",
        "history": "it sends the model an earlier turn",
        "cancels": "a call can be cancelled",
    }
    for name, what in shown.items():
        if not getattr(said, name) and getattr(seen, name):
            yield f"{name}=False", what


def _meant(option: str, value: Any) -> Any:
    return _STREAMS[value] if option == "streams" else value
