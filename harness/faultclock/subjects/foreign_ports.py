"""Runtimes of another language, and what they use of their Surroundings.

The Surroundings go over as data in the spelling of JavaScript (`session_id` is `sessionId`, seconds
are milliseconds), with the names of what each port does. A use of a port comes back as one event,
and is made here. So a port that Python's runtimes are given needs nothing of its own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from functools import cache, partial
from typing import Any, get_origin, get_type_hints

from faultclock.errors import InternalError, SubjectError
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding
from faultclock.subjects.foreign import Event, Export, Talk, snake
from faultclock.subjects.ports import (
    Archive,
    Extension,
    Hook,
    Host,
    InteractionAnswer,
    Interactor,
    Policy,
    Queue,
    RunResult,
    SessionStore,
    StateMachine,
    Surroundings,
    TelemetrySink,
    Tool,
    Workflow,
)

#: What of the Surroundings does something, by its name, and the port that says what.
_PORTS: Mapping[str, type] = {
    "host": Host,
    "store": SessionStore,
    "tools": Tool,
    "interactors": Interactor,
    "extensions": Extension,
    "state_machine": StateMachine,
    "policy": Policy,
    "hooks": Hook,
    "telemetry": TelemetrySink,
    "queue": Queue,
    "archive": Archive,
    "workflow": Workflow,
}
#: The working directory of the process is that folder.
_NOT_SAID = ("folder",)
#: What is no argument of another language: the process says that it gives up, and does no work.
_SIGNAL, _WORK = "signal", "work"
#: What an error is named in the process: as an operating system names it.
_CODES: Mapping[type[Exception], str] = {
    TimeoutError: "ETIMEDOUT",
    ConnectionError: "ECONNREFUSED",
    ValueError: "EINVAL",
    PermissionError: "EACCES",
    FileNotFoundError: "ENOENT",
}
_MS_PER_S = 1_000
_SECONDS = "_s"


def runtime_of(export: Export, id_: str, options: object) -> Binding:
    """Bind what a module of another language makes a runtime with.

    Args:
        options: what it says of itself in `faultclock`, as `runtime` takes it.

    Raises:
        SubjectError: an option cannot be meant.
    """
    if not isinstance(options, Mapping):
        raise SubjectError("its `faultclock` is no object", hint="write { declares: ['errors'] }")
    said: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in options.items()
    }

    def live(surroundings: Surroundings) -> ForeignRuntime:
        return ForeignRuntime(export, surroundings)

    known: dict[str, Any] = {"id": id_, "title": f"{export.__name__} as it is", "style": "sync"}
    return runtime(**{**said, **known})(live)


class ForeignRuntime:
    """One life of a runtime that a module of another language makes.

    It has the methods of `Runtime` that the object over there has.
    """

    def __init__(self, export: Export, surroundings: Surroundings) -> None:
        self._export = export
        ports = Ports(export, surroundings)
        export.world.serve, export.world.told = ports.use, ports.tell
        for name in export.asked(list(ports.said()), do="make"):
            method = getattr(self, f"_{snake(name)}", partial(self._asked, name))
            setattr(self, snake(name), method)

    def _asked(self, name: str, *given: Any) -> Any:
        return self._export.asked([spelled(item) for item in given], do=name)

    def _run_turn(self, text: str) -> Any:
        return _result(self._asked("runTurn", text))

    def _stream_turn(self, text: str) -> Any:
        return _result(self._asked("streamTurn", text))

    def _ask(
        self, kind: str, prompt: str, options: Sequence[str], deadline_s: float | None
    ) -> InteractionAnswer:
        deadline_ms = None if deadline_s is None else deadline_s * _MS_PER_S
        answer = self._asked("ask", kind, prompt, options, deadline_ms)
        return made_of(InteractionAnswer, answer)  # type: ignore[no-any-return]


def _result(value: Any) -> Any:
    """Return what a turn came to: a text, or an object with what a RunResult has."""
    is_one = isinstance(value, Mapping) and ("state" in value or "text" in value)
    return made_of(RunResult, value) if is_one else value


class Ports:
    """The ports of one life, as a program of another language sees and uses them."""

    def __init__(self, export: Export, surroundings: Surroundings) -> None:
        self._export = export
        self._surroundings = surroundings

    def said(self) -> Iterator[Any]:
        """Yield the Surroundings as data, and where in them a port is, with what it does."""
        data: dict[str, Any] = {}
        ports: list[dict[str, Any]] = []
        for item in fields(Surroundings):
            name, value = item.name, getattr(self._surroundings, item.name)
            port = _PORTS.get(name)
            if name in _NOT_SAID:
                continue
            if port is None or value is None:
                data |= spelled_field(name, value)
                continue
            does = [camel(method) for method in _methods(port)]
            of, tells = camel(name), port is Host
            if isinstance(value, tuple):
                data[of] = [_shown(port, one) for one in value]
                places = [f"{of}.{number}" for number in range(len(value))]
            else:
                data[of], places = _shown(port, value), [of]
            ports += [{"of": place, "does": does, "tells": tells} for place in places]
        yield data
        yield ports

    def tell(self, event: Event) -> None:
        """Take what the program says of itself. What cannot be understood says nothing."""
        # It has gone on since, so there is no line at which an error could be raised.
        with suppress(Exception):
            self._used(event, None)

    def use(self, event: Event, talk: Talk) -> Event:
        """Use a port as the program asks, and return what came of it."""
        if event["op"] != "use":
            raise InternalError(f"a host of the protocol asks for {event['op']!r}")
        try:
            return {"value": spelled(self._used(event, talk))}
        except Exception as error:  # noqa: BLE001 - what a port raises is data
            return failed(error)

    def _used(self, event: Event, talk: Talk | None) -> Any:
        of, does = event["of"].split("."), snake(event["do"])
        method = _methods(_PORTS[snake(of[0])])[does]
        port = getattr(self._surroundings, snake(of[0]))
        port = port[int(of[1])] if len(of) > 1 else port
        left, named = list(event["arguments"]), {}
        placed: list[Any] = []
        for item in list(inspect.signature(method).parameters.values())[1:]:
            if item.name == _SIGNAL:
                named[_SIGNAL] = talk
            elif item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD):
                placed.append(self._typed(method, item.name, left.pop(0) if left else None))
            elif item.name != _WORK:
                named |= _named(item, left[0] if left else None)
        return getattr(port, does)(*placed, **named)

    def _typed(self, method: Callable[..., Any], name: str, value: Any) -> Any:
        hint = _hints(method).get(name)
        if is_dataclass(hint):
            return made_of(hint, value)
        if get_origin(hint) is Callable and isinstance(value, Mapping):
            return partial(self._call_back, value["callback"])
        return value

    def _call_back(self, number: int, *given: Any) -> None:
        self._export.asked([spelled(item) for item in given], do="back", callback=number)


def _methods(port: type) -> Mapping[str, Callable[..., Any]]:
    return {
        name: it
        for name, it in vars(port).items()
        if inspect.isfunction(it) and not name.startswith("_")
    }


def _shown(port: type, value: Any) -> dict[str, Any]:
    """Return what a port has beside what it does; a tool has what its contract says."""
    said: dict[str, Any] = {}
    for name, it in vars(port).items():
        if isinstance(it, property):
            held = getattr(value, name)
            said |= spelled(held) if name == "contract" else spelled_field(name, held)
    return said


def _named(item: inspect.Parameter, given: Any) -> dict[str, Any]:
    """Return what the last argument, an object, has for a parameter that is given by its name."""
    said = given if isinstance(given, Mapping) else {}
    if item.kind is item.VAR_KEYWORD:
        return dict(said)
    default = None if item.default is item.empty else item.default
    return {item.name: said.get(camel(item.name), default)}


_hints = cache(get_type_hints)


# ---------------------------------------------------------------------- spelling


def camel(name: str) -> str:
    """Return a name in the spelling of JavaScript: `timeout_s` is `timeoutMs`."""
    name = f"{name.removesuffix(_SECONDS)}_ms" if name.endswith(_SECONDS) else name
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def spelled_field(name: str, value: Any) -> dict[str, Any]:
    """Return a field as JavaScript spells it; seconds are milliseconds."""
    return {camel(name): _scaled(value, _MS_PER_S) if name.endswith(_SECONDS) else spelled(value)}


def spelled(value: Any) -> Any:
    """Return a value of a port as JSON, its fields in the spelling of JavaScript."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = [spelled_field(it.name, getattr(value, it.name)) for it in fields(value)]
        return {key: item for part in parts for key, item in part.items()}
    if isinstance(value, Mapping):
        return {str(key): spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [spelled(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


def made_of(kind: Any, value: Any) -> Any:
    """Return an object of a port's class from what another language spells.

    Raises:
        TypeError: it is no object, or something of it is missing.
    """
    said = value if isinstance(value, Mapping) else {}
    known = {it.name: it for it in fields(kind)}
    lacks = [
        camel(name)
        for name, it in known.items()
        if camel(name) not in said and it.default is it.default_factory is MISSING
    ]
    if lacks or not isinstance(value, Mapping):
        raise TypeError(f"{kind.__name__}: there is no {' and no '.join(lacks) or 'object'}")
    return kind(
        **{
            name: _scaled(said[camel(name)], 1 / _MS_PER_S)
            if name.endswith(_SECONDS)
            else said[camel(name)]
            for name in known
            if camel(name) in said
        }
    )


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, Mapping):
        return {key: _scaled(item, factor) for key, item in value.items()}
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * factor if is_number else value


def failed(error: Exception) -> Event:
    """Return what a program of another language is told of an error."""
    code = next((name for kind, name in _CODES.items() if isinstance(error, kind)), None)
    said: Event = {"message": str(error), "code": getattr(error, "code", code)}
    if (error_class := getattr(error, "error_class", None)) is not None:
        said["error_class"] = error_class
    return {"error": said}
