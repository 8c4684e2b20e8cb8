"""Candidates: what in a folder or a file can be checked, found without running any of it.

A file counts where it imports something that can ask. Of its functions those count whose parameters
a target may have, by the same reading of them that `adopt` has; and its agents and client objects,
by the names of what makes them. What it imports and what is a tool of an agent does not count.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from msgspec import Struct

from faultclock.errors import SubjectError
from faultclock.subjects.adopt_clients import KNOWN_CLASSES
from faultclock.subjects.adopt_signature import wanted_by
from faultclock.subjects.frameworks.known import FRAMEWORKS
from faultclock.subjects.source import imported_modules, statements_of

_OURS = "faultclock"
#: What code imports that asks a model, or anything over HTTP.
_ASKING = frozenset(
    [
        *(item.package.partition(".")[0] for item in FRAMEWORKS),
        "aiohttp",
        "anthropic",
        "boto3",
        "cohere",
        _OURS,
        "google",
        "httpx",
        "httpx2",
        "instructor",
        "langchain",
        "langchain_anthropic",
        "langchain_core",
        "langchain_openai",
        "litellm",
        "mistralai",
        "ollama",
        "openai",
        "requests",
        "urllib",
        "urllib3",
    ]
)
#: What makes an agent; a graph is compiled, and so is a regular expression, which takes arguments.
_MAKES_AGENT = re.compile(r"\w*Agent|AgentWorkflow|Crew|create_(\w+_)?agent")
_COMPILE = "compile"
_MAIN = "main"
#: Targets that a hint names.
_NAMED_MAX = 3
_DECORATORS = ("provider_adapter", "runtime", "tool", "session_store", "extension")
_FOLDERS_PASSED = frozenset(
    {"build", "conformance", "dist", "docs", "env", "node_modules", "site-packages", "tests"}
)
_DEPTH_MAX = 3
_FILES_MAX = 400
_BYTES_MAX = 400_000
_ASKS_ITSELF, _TAKES_NOTHING = 0, 2
_AGENT = "an agent"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Candidate(Struct, frozen=True, kw_only=True):
    """Something that `adopt` may take.

    Attributes:
        spec: as a target is named, such as `my_client.py:ask`.
        kind: what it is, in plain words.
        rank: the likeliest have the lowest.
    """

    spec: str
    kind: str
    rank: int


def candidates(folder: Path) -> tuple[Candidate, ...]:
    """Return what in `folder` may ask a model, the likeliest first."""
    found = [item for path in _files(folder) for item in _in_file(path, folder)]
    return tuple(sorted(found, key=lambda item: (item.rank, item.spec.count("/"), item.spec)))


def agents_in(file: Path) -> tuple[str, ...]:
    """Return the names of the agents that a file makes at its top."""
    found = (item for item in _in_file(file, file.parent) if item.kind == _AGENT)
    return tuple(item.spec.rpartition(":")[2] for item in found)


def what_to_name(place: str, file: Path, wrong: str = "") -> str:
    """Return a hint for a person who named nothing in a file, or nothing that is in it.

    Args:
        place: the file or module as it was named.
        wrong: the name that was given.
    """
    found = sorted(_in_file(file, file.parent, meant=True), key=lambda item: item.rank)
    names = [item.spec.rpartition(":")[2] for item in found if item.rank < _TAKES_NOTHING]
    near = get_close_matches(wrong, names, n=1)
    names = [*near, *(name for name in names if name not in near)]
    if names:
        return f"write {' or '.join(f'{place}:{name}' for name in names[:_NAMED_MAX])}"
    others = [item.spec.rpartition(":")[2] for item in found]
    if not others or _MAIN in others:
        return (
            "nothing at the top of the file can be checked as it is: write a function that makes"
            " the agent, `def make_agent(): return ...`, or one that asks the model,"
            f" `def ask(prompt): ...`, and name {place}:make_agent or {place}:ask"
        )
    return f"write {' or '.join(f'{place}:{name}' for name in others[:_NAMED_MAX])}"


def _files(folder: Path) -> Iterator[Path]:
    count = 0
    for place, folders, names in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < _DEPTH_MAX
            and name not in _FOLDERS_PASSED
            and not name.startswith((".", "_", "venv"))
        )
        for name in sorted(names):
            if name.endswith(".py") and not name.startswith(("test_", "conftest", "setup.")):
                count += 1
                if count > _FILES_MAX:
                    return
                yield Path(place, name)


def _in_file(path: Path, folder: Path, *, meant: bool = False) -> Iterator[Candidate]:
    """Yield what of a file can be checked.

    Args:
        meant: a person has named the file, so it counts whatever it imports.
    """
    try:
        if not path.is_file():
            return  # a pipe may never end
        source = path.read_bytes()
    except OSError:
        return
    if len(source) > _BYTES_MAX:
        return
    body = statements_of(source)
    asking = _asking_names(body)
    if not asking and not meant:
        return
    place = path.relative_to(folder).as_posix()
    bound = _DECORATORS if _OURS in imported_modules(source) else ()
    makers = (it for it in KNOWN_CLASSES if not _MAKES_AGENT.fullmatch(it))
    objects = list(_objects(body, (*makers, *bound)))
    asking |= {name for name, _ in objects}
    for name, kind in objects:
        yield _candidate(place, name, f"a {kind} object", _ASKS_ITSELF + 1)
    made = list(_agents(body, asking))
    for name in made:
        yield _candidate(place, name, _AGENT, _ASKS_ITSELF)
    asking |= set(made)
    tools = set() if bound else _tools(body, made)
    for node in body:
        if isinstance(node, _Function | ast.ClassDef) and node.name not in tools:
            yield from _of_definition(node, place, asking, bound)


def _objects(body: list[ast.stmt], makers: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield name and class of each client object, agent or subject that a file makes."""
    for node in body:
        if isinstance(node, ast.Assign):
            asked = _called(node.value)
            if asked in makers:
                for target in node.targets:
                    if isinstance(target, ast.Name) and not target.id.startswith("_"):
                        yield target.id, asked


def _agents(body: list[ast.stmt], asking: set[str]) -> Iterator[str]:
    """Yield the name of each agent that a file makes with what it imports."""
    for node in body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        asked, made_by = _called(node.value), node.value.func
        root = next((it.id for it in ast.walk(made_by) if isinstance(it, ast.Name)), "")
        compiled = asked == _COMPILE and isinstance(made_by, ast.Attribute) and not node.value.args
        if compiled or (root in asking and _MAKES_AGENT.fullmatch(asked)):
            for target in node.targets:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    yield target.id


def _tools(body: list[ast.stmt], agents: list[str]) -> set[str]:
    """Return the functions of a file that agents call: by a decorator, or in a list of `tools`."""
    found = set()
    for node in ast.walk(ast.Module(body=body, type_ignores=[])):
        if isinstance(node, _Function):
            said = [ast.unparse(item).partition("(")[0] for item in node.decorator_list]
            if any("tool" in item or item.partition(".")[0] in agents for item in said):
                found.add(node.name)
        elif isinstance(node, ast.keyword) and node.arg == "tools":
            found |= {item.id for item in ast.walk(node.value) if isinstance(item, ast.Name)}
    return found


def _asking_names(body: list[ast.stmt]) -> set[str]:
    """Return the names of a file that stand for something that can ask."""
    names: set[str] = set()
    for node in ast.walk(ast.Module(body=body, type_ignores=[])):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in _ASKING:
                    names.add((alias.asname or alias.name).split(".")[0])
        elif (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and (node.module or "").split(".")[0] in _ASKING
        ):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def _of_definition(
    node: _Function | ast.ClassDef, place: str, asking: set[str], decorators: tuple[str, ...]
) -> Iterator[Candidate]:
    if node.name.startswith("_"):
        return
    bound = next((name for name in map(_called, node.decorator_list) if name in decorators), None)
    if bound is not None:
        yield _candidate(place, node.name, f"bound by @{bound}", _ASKS_ITSELF)
        return
    if isinstance(node, ast.ClassDef) or _wants_an_object(node, asking):
        return
    try:
        wanted = wanted_by(_like(node), node.name)
    except (SubjectError, SyntaxError, ValueError, TypeError):
        return
    used = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    rank = _ASKS_ITSELF if used & asking else _ASKS_ITSELF + 1
    how = "an async" if isinstance(node, ast.AsyncFunctionDef) else "a blocking"
    takes = {"nothing": "that takes nothing", "request": "of a request"}
    kind = f"{how} function {takes.get(wanted.form, f'of {_A[wanted.form]}')}"
    yield _candidate(place, node.name, kind, rank + _TAKES_NOTHING * (wanted.form == "nothing"))


def _wants_an_object(node: _Function, asking: set[str]) -> bool:
    """Return whether a parameter is an object of a library, by its annotation: a server, say."""
    noted = (item.annotation for item in [*node.args.posonlyargs, *node.args.args])
    return any(isinstance(item, ast.Name) and item.id in asking for item in noted)


_A = {"prompt": "a prompt", "messages": "messages", "nothing": "", "request": ""}


def _candidate(place: str, name: str, kind: str, rank: int) -> Candidate:
    return Candidate(spec=f"{place}:{name}", kind=kind, rank=rank)


def _called(node: ast.expr) -> str:
    """Return the last name of what is called, or of a decorator; empty for anything else."""
    if isinstance(node, ast.Call):
        # A decorator with options is called, and what it makes is called in turn.
        node = node.func.func if isinstance(node.func, ast.Call) else node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _like(node: _Function) -> Callable[..., Any]:
    """Return a function with the parameters of `node` that does nothing."""
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]

    def parameter(item: ast.arg) -> inspect.Parameter:
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if item in given.kwonlyargs
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        noted = item.annotation
        return inspect.Parameter(
            item.arg,
            kind,
            default=None if item.arg in defaults else inspect.Parameter.empty,
            annotation=inspect.Parameter.empty if noted is None else ast.unparse(noted),
        )

    positional = [*given.posonlyargs, *given.args]
    defaults = {item.arg for item in positional[len(positional) - len(given.defaults) :]}
    defaults |= {
        item.arg
        for item, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if value is not None
    }

    def like(*_args: object, **_named: object) -> None: ...

    like.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter(item) for item in every]
    )
    return like
