"""Subjects of another language: what a module of it exports, and what such code raises.

An export is called as a function of Python is, so everything that takes functions takes it: its
parameters are a signature, its pieces are an iterator, its errors are exceptions whose traceback
has the lines of its own file. How its process is run, and in which time, others say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from inspect import Parameter, Signature
from types import FrameType, TracebackType
from typing import Any, Protocol

from faultclock.subjects.ports import ProviderRequest

Event = dict[str, Any]
#: File, line and function, as a host of the protocol says them.
Place = Sequence[Any]

_RAISE = compile("raise SystemError", "<foreign>", "exec")
#: How the files of a platform begin: none of their lines is the user's or a library's.
_PLATFORM = "node:"


class Talk(Protocol):
    """Something that a program asks for, until it is answered."""

    def say(self, answer: Event) -> Event:
        """Say something to the program, and return what it says to that."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the program gives up."""
        ...


class ForeignWorld(Protocol):
    """The world in which a program is asked for what it exports.

    Attributes:
        serve: answers what the program itself asks for: its tools, a person, a store.
        told: takes what it says of itself.
    """

    serve: Callable[[Event, Talk], Event] | None
    told: Callable[[Event], None] | None

    def call(self, what: Mapping[str, Any]) -> Iterator[Event]:
        """Ask for something, and yield what is said of it until it is over."""
        ...

    def cancel(self) -> None:
        """Ask the program to give up every call that is open."""
        ...


class ForeignProgram(Protocol):
    """A program that is run in a process of its own, by the protocol of `reference/lockstep.md`.

    Attributes:
        world: set for as long as there is one.
    """

    world: ForeignWorld | None

    def alive(self, prepare: Callable[[], None]) -> AbstractContextManager[None]:
        """Have a fresh process for as long as the context lasts; it serves one life.

        Args:
            prepare: called in each new process before anything else.
        """
        ...

    def exchange(self, turn: Event) -> Event:
        """Give the process one turn, and return what it did."""
        ...


class Export:
    """Something that a module exports. It is called with plain values and requests.

    Args:
        parameters: as the host describes them; None for a client, which takes the request.

    Attributes:
        agent: what the host says of an agent of a framework; None for all else.
        makes: calls it once, outside of a run, and returns what the function makes; None where that
            is not known.
    """

    def __init__(
        self,
        program: ForeignProgram,
        name: str,
        *,
        parameters: Sequence[Mapping[str, Any]] | None,
        is_async: bool = True,
    ) -> None:
        self._program = program
        self._parameters = parameters or ()
        self.is_async = is_async
        self.client: Any = None
        self.agent: Mapping[str, Any] | None = None
        self.makes: Callable[[], Export] | None = None
        self.__name__ = self.__qualname__ = name
        if parameters is not None:
            self.__signature__ = signature_of(parameters)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Return what it returns, or an iterator over the pieces.

        Raises:
            ForeignError: what it raised.
        """
        return self.asked(self._arguments(given, named))

    @property
    def world(self) -> ForeignWorld:
        """The world that the program is in."""
        world = self._program.world
        assert world is not None, "called outside of a world"
        return world

    def asked(self, arguments: Sequence[Any], **how: Any) -> Any:
        """Return what it returns for these arguments, or an iterator over the pieces.

        Args:
            how: what else the call says.

        Raises:
            ForeignError: what it raised.
        """
        events = self.world.call({"export": self.__name__, "arguments": list(arguments), **how})
        first = next(events)
        return _pieces(first, events) if first["op"] == "yielded" else _value(first)

    def _arguments(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        left = [_plain(item) for item in given]
        arguments: list[Any] = []
        for parameter in self._parameters:
            if fields := parameter.get("fields"):
                said = {item["name"]: named.get(snake(item["name"])) for item in fields}
                arguments.append({name: _plain(it) for name, it in said.items() if it is not None})
            elif left and (not parameter["optional"] or len(left) == len(given) == 1):
                arguments.append(left.pop(0))
            else:
                arguments.append(None)
        while arguments and arguments[-1] is None:
            arguments.pop()
        return arguments + left


def snake(name: str) -> str:
    """Return a name in the spelling of Python: `baseURL` is `base_url`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def signature_of(parameters: Sequence[Mapping[str, Any]]) -> Signature:
    """Return the parameters of a function as one of Python has them.

    The fields of an object that is taken apart are keyword arguments.
    """
    made: list[Parameter] = []
    for item in parameters:
        kind = Parameter.KEYWORD_ONLY if "fields" in item else Parameter.POSITIONAL_OR_KEYWORD
        for said in item.get("fields") or (item,):
            optional = item["optional"] or said["optional"] or "fields" in said
            default = None if optional else Parameter.empty
            if said["name"].isidentifier():
                made.append(Parameter(snake(said["name"]), kind, default=default))
    # Where one must be given after one that may be left out, both are: JavaScript allows it.
    last = max((n for n, it in enumerate(made) if it.default is it.empty), default=-1)
    made = [it.replace(default=Parameter.empty) if n < last else it for n, it in enumerate(made)]
    return Signature(sorted(made, key=lambda item: item.kind))


def _plain(value: Any) -> Any:
    """Return a value as the other language has it; a request has the names that are usual there."""
    if not isinstance(value, ProviderRequest):
        return value
    return {
        "model": value.model,
        "messages": value.messages,
        "stream": value.stream,
        "tools": value.tools,
        "timeoutMs": round(value.timeout_s * 1_000),
        "baseURL": value.base_url,
        "apiKey": value.api_key,
    }


def _value(event: Event) -> Any:
    if event["op"] == "raised":
        raise error_of(event["error"])
    return event["value"]


def _pieces(event: Event, events: Iterator[Event]) -> Generator[Any, None, Any]:
    while event["op"] == "yielded":
        yield event["value"]
        event = next(events)
    return _value(event)


# ---------------------------------------------------------------------- errors


class ForeignError(Exception):
    """What code of another language has raised; each of its types is one here.

    Attributes:
        is_accident: an operation raised it, and no statement of a program.
        error_class, code: where it is a typed error.
    """

    is_accident: bool
    error_class: str | None = None
    code: str | None = None


def error_of(said: Mapping[str, Any]) -> ForeignError:
    """Return an error that a host has described, with its causes and its traceback."""
    error = _type_of(str(said["type"]))(str(said["message"]))
    error.is_accident = not said["is_made"]
    error.error_class, error.code = said.get("error_class"), said.get("code")
    places = [place for place in said["stack"] if not str(place[0]).startswith(_PLATFORM)]
    error.__traceback__ = _traceback(places, is_raised=bool(said["is_made"]))
    causes = [said["cause"]] if said.get("cause") else said.get("errors") or []
    if causes:
        error.__cause__ = error_of(causes[0])
    return error


@cache
def _type_of(name: str) -> type[ForeignError]:
    # Of no module: the chain in a trace then has the name alone.
    return type(name, (ForeignError,), {"__module__": "builtins"})


def _traceback(places: Sequence[Place], *, is_raised: bool) -> TracebackType | None:
    """Return a traceback with one step for each place, of which the innermost comes first.

    Args:
        is_raised: the innermost step stands on a `raise` statement.
    """
    trace: TracebackType | None = None
    for file, line, function in places:
        frame, raises_at = _frame(str(file), str(function))
        at = raises_at if is_raised or trace is not None else 0
        trace = TracebackType(trace, frame, at, max(1, int(line)))
    return trace


@cache
def _frame(file: str, function: str) -> tuple[FrameType, int]:
    """Return a frame of a function in a file, and the place of its `raise` statement."""
    code = _RAISE.replace(co_filename=file, co_name=function, co_qualname=function)
    try:
        exec(code, {})  # noqa: S102 - one statement of ours, which raises
    except SystemError as error:
        trace = error.__traceback__
        assert trace is not None
        assert trace.tb_next is not None
        return trace.tb_next.tb_frame, trace.tb_next.tb_lasti
    raise AssertionError("it raises")
