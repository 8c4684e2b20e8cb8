"""From `app.mjs#ask` to what a module for Node exports under that name.

Every fault of a user's module is one SubjectError with the file, its line, and what to do next. The
module is loaded in a process of Node, and nothing in it is called.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from faultclock.errors import InternalError, SubjectError
from faultclock.subjects.adopt_clients import Client
from faultclock.subjects.adopt_signature import is_understood, wanted_by
from faultclock.subjects.asking import streamed
from faultclock.subjects.binding import Binding
from faultclock.subjects.foreign import Event, Export, snake
from faultclock.subjects.foreign_ports import runtime_of
from faultclock.subjects.locate import Located, read_file
from faultclock.subjects.node.program import (
    LOAD_LIMIT_S,
    OLDEST,
    PROTOCOL,
    NodeProcess,
    NodeProgram,
    node_command,
)
from faultclock.subjects.outcome import scrub
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.reading import reply_of
from faultclock.subjects.source import place_at

_SUFFIXES = (".mjs", ".js", ".cjs", ".mts", ".ts", ".cts")
_TYPES = (".mts", ".ts", ".cts")
_WRITE = "write `export async function ask(prompt) { ... }` in it"
_LATER = "put that into a function"
#: What a module makes at its top and may export: an agent, a graph, a client, a function.
_MADE = re.compile(
    r"^(?:const|let|var) +(?P<object>\w+)[^;=]*=\s*(?:await\s+)?"
    r"(?:new +\w*(?:Agent|OpenAI|Anthropic|GoogleGenAI|Mistral)\b|create\w*Agent\b"
    r"|(?:[^;\n]|\n\s)*?\.compile\()"
    r"|^(?:async +)?function +(?P<function>\w+)",
    re.MULTILINE,
)
_IN_A_RUN = "leave that to the first turn: no world runs yet"
#: Kinds of exports that can be asked.
_ASKED = ("function", "client", "agent", "runtime")
#: Exports that a message names, at most.
_NAMES_MAX = 5
#: Real seconds for `node --version` and `node --check`.
_LOOK_LIMIT_S = 20.0


def is_module(target: str) -> bool:
    """Return whether a target names a module for Node."""
    return target.partition("#")[0].endswith(_SUFFIXES)


def locate_export(target: str) -> Located:
    """Load the module that `target` names, and return what it exports under that name.

    Args:
        target: `app.mjs#ask`, or `app.mjs` where only one export can be asked.

    Raises:
        SubjectError: it cannot be loaded, or there is no such export.
    """
    place, _, name = target.partition("#")
    path, source = read_file(place, _SUFFIXES)
    file = path.resolve()
    hidden = _hidden(place, source.decode("utf-8", "replace"))
    said = _loaded(place, file, hidden)
    exports: list[Mapping[str, Any]] = [item for item in said["exports"] if item["kind"] in _ASKED]
    program = NodeProgram(file)
    chosen = _named(place, name, exports, hidden) if name else _only(place, exports, hidden)
    name = name or str(chosen["name"])
    return Located(
        place=place,
        name=name,
        stem=file.stem,
        mark="#",
        target=_export(program, name, chosen, place, file),
        owner=None,
        digest=hashlib.sha256(source).hexdigest(),
        source=place_at(file, _line_of(source.decode("utf-8", "replace"), name)),
        program=program,
        timer_granularity_ns=int(said["timer_granularity_ns"]),
        versions=said["versions"],
    )


# ---------------------------------------------------------------------- loading


def _loaded(place: str, file: Path, hidden: str = "", making: str = "") -> Event:
    process = NodeProcess(file, making=making)
    try:
        said = process.greeting(LOAD_LIMIT_S)
    except TimeoutError:
        hint = "take out of it what goes on for ever"
        raise SubjectError(f"{place}: it is not loaded within a minute", hint=hint) from None
    finally:
        process.end()
    if said is None:
        _check_version()
        raise SubjectError(
            f"{place}: Node ended while it loaded it", hint=f"try it by itself: node {place}"
        )
    if said["lockstep"] != PROTOCOL:
        raise InternalError(f"the host speaks version {said['lockstep']} of the protocol")
    if "failed" in said:
        _check_version()
        _tell(place, file, said["failed"], said["reached"], hidden, making)
    return said


def _check_version() -> None:
    """Refuse a Node that is too old; it may not even understand our own files."""
    version = _output(node_command(), "--version")
    found = re.match(r"v(\d+)\.", version)
    if found is None or int(found[1]) < OLDEST:
        raise SubjectError(
            f"Node here is {version.strip() or 'none that says its version'}, which is too old",
            hint=f"use Node {OLDEST} or newer",
        )


def _output(*command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - Node itself
            command, capture_output=True, timeout=_LOOK_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _tell(
    place: str,
    file: Path,
    failed: Mapping[str, Any],
    reached: Mapping[str, Any] | None,
    hidden: str,
    making: str,
) -> NoReturn:
    """Say why a module does not load.

    Args:
        reached: what of the world it reached for before.
        hidden: how to export what it makes.
        making: the export that was called to make an agent; empty: it was only loaded.

    Raises:
        SubjectError: always.
    """
    kind, message = str(failed["type"]), str(failed["message"])
    hint = f"try it by itself: node {place}"
    doing = f"making the agent with {making}" if making else "loading it"
    what = f"{doing} raised {scrub(f'{kind}: {message}')}"
    if reached is not None:
        is_asked = reached["op"] == "connect"
        what = "it asks {host} while" if is_asked else "it uses {what} while"
        when = f"{making} makes the agent" if making else "it is loaded"
        what = f"{what.format(**reached)} {when}"
        hint = _IN_A_RUN if making else f"{_LATER}; {hidden}"
    elif found := re.match(r"Cannot find package '([^']+)'", message):
        what, hint = f"it imports {found[1]!r}, which is not installed", f"npm install {found[1]}"
    elif failed.get("code") == "ERR_UNKNOWN_FILE_EXTENSION" and file.suffix in _TYPES:
        what = "this Node runs no TypeScript"
        hint = "use Node 22.18 or newer, or name the JavaScript that it is compiled to"
    elif kind == "SyntaxError":
        what = f"{kind}: {scrub(message)}"
    elif not kind:
        what = f"it cannot be loaded: {message}"
    line = _line_in(file, failed)
    where = place if line is None or reached is not None else f"{place}:{line}"
    raise SubjectError(f"{where}: {what}", hint=hint)


def _line_in(file: Path, failed: Mapping[str, Any]) -> int | None:
    """Return the line (1-based) of the module at which loading it failed; None: it is not known."""
    for path, line, _ in failed["stack"]:
        if path == str(file):
            return int(line)
    if failed["type"] != "SyntaxError":
        return None
    # An error in a module that was never run has no place in Node's own message.
    said = _output(node_command(), "--check", str(file))
    found = re.search(rf"^(?:file://)?{re.escape(str(file))}:(\d+)$", said, re.MULTILINE)
    return None if found is None else int(found[1])


# ---------------------------------------------------------------------- what is exported


def _named(
    place: str, name: str, exports: Sequence[Mapping[str, Any]], hidden: str
) -> Mapping[str, Any]:
    first = name.partition(".")[0]
    found = next((item for item in exports if item["name"] == first), None)
    if found is not None and "." not in name:
        return found
    if "." in name:
        # A method: what it takes is not known here.
        prompt = {"name": "prompt", "optional": False}
        return {"name": name, "kind": "function", "is_async": True, "parameters": [prompt]}
    raise SubjectError(
        f"{place}: it exports no {name!r} that can be asked", hint=_hint(place, exports, hidden)
    )


def _only(place: str, exports: Sequence[Mapping[str, Any]], hidden: str) -> Mapping[str, Any]:
    """Return the one export that can be asked."""
    fitting = [item for item in exports if _fits(item)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise SubjectError(
            f"{place}: it exports {len(fitting)} things that can be asked",
            hint=_hint(place, fitting, hidden),
        )
    raise SubjectError(
        f"{place}: it exports nothing that can be asked", hint=_hint(place, exports, hidden)
    )


def _hint(place: str, exports: Sequence[Mapping[str, Any]], hidden: str) -> str:
    names = [f"{place}#{item['name']}" for item in exports[:_NAMES_MAX]]
    return f"name {' or '.join(names)}" if names else hidden


def _hidden(place: str, source: str) -> str:
    """Return a hint about what a module makes at its top and does not export."""
    # An agent before a function: that may be one of its tools.
    made = sorted(_MADE.finditer(source), key=lambda item: item["object"] is None)
    if not made:
        return _WRITE
    name = made[0]["object"] or made[0]["function"]
    is_commonjs = "require(" in source and not re.search(r"^import\b", source, re.MULTILINE)
    line = f"exports.{name} = {name};" if is_commonjs else f"export {{ {name} }};"
    return f"write `{line}` at its end, and name {place}#{name}"


def _fits(item: Mapping[str, Any]) -> bool:
    if item["kind"] != "function":
        return True
    try:
        wanted_by(Export(NodeProgram(Path()), item["name"], parameters=_known(item)), "")
    except SubjectError:
        return False
    return True


def _export(
    program: NodeProgram, name: str, item: Mapping[str, Any], place: str, file: Path
) -> Export | Binding:
    if item["kind"] == "function":
        called = Export(program, name, parameters=_known(item), is_async=bool(item["is_async"]))
        called.makes = partial(_made, program, name, place, file)
        return called
    export = Export(program, name, parameters=[{"name": "request", "optional": False}])
    if item["kind"] == "runtime":
        try:
            return runtime_of(export, f"{file.stem}:{name}", item["options"])
        except SubjectError as error:
            raise SubjectError(f"{place}#{name}: {error.message}", hint=error.hint) from None
    if item["kind"] == "agent":
        export.agent = item["agent"]
        return export
    dialect = item["dialect"]
    known = {} if dialect is None else {"dialect": dialect, "dialect_known": True}
    export.client = Client(
        name=str(item["class"]) or "an object",
        style="sync",
        ask=_asked,
        **known,
    )
    return export


def _made(program: NodeProgram, name: str, place: str, file: Path) -> Export:
    """Return the agent that a function makes. Each life makes it anew.

    Raises:
        SubjectError: it makes none.
    """
    said = _loaded(place, file, making=name)
    item = next(it for it in said["exports"] if it["name"] == name)
    if item["kind"] != "agent":
        what = f"an object of the class {item['class']}" if "class" in item else f"a {item['kind']}"
        raise SubjectError(
            f"{place}#{name} returns {what}, and no agent of a framework that Faultclock knows",
            hint=f"if it asks a model itself, name {place}#{name}@nothing",
        )
    export = Export(program, name, parameters=[])
    export.agent = item["agent"]
    return export


def _asked(request: ProviderRequest, client: Any) -> Any:
    """Ask a client object: its pieces are put together, and shown to nobody before."""
    answer = client(request)
    if not isinstance(answer, Iterator):
        return reply_of(answer)
    return streamed(answer)


def _known(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parameters of a function.

    What is not understood may be left out, but for the first: JavaScript demands none.
    """
    if not item["parameters"]:
        return []
    first, *rest = item["parameters"]
    known = ("fields" not in it and is_understood(snake(it["name"])) for it in rest)
    pairs = zip(rest, known, strict=True)
    return [first, *({**it, "optional": it["optional"] or not said} for it, said in pairs)]


def _line_of(source: str, name: str) -> int:
    """Return the line (1-based) on which a module defines `name`; 1 where none is found."""
    first = re.escape(name.partition(".")[0])
    patterns = (
        rf"\bfunction\s*\*?\s+{first}\b",
        rf"\b(?:const|let|var|class)\s+{first}\b",
        rf"\b{first}\b\s*[:=]",
        rf"\bexport\b.*\b{first}\b",
    )
    for pattern in patterns:
        if found := re.search(pattern, source):
            return source.count("\n", 0, found.start()) + 1
    return 1
