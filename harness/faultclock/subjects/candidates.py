"""Candidates: what in a folder looks like code that asks a model, found without running any of it.

A file counts where it imports something that can ask. Of its functions those count whose parameters
a target may have, by the same reading of them that `adopt` has; and its client objects, by the
names of their classes.
"""

from __future__ import annotations

import ast
import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultclock.errors import SubjectError
from faultclock.subjects.adopt_clients import KNOWN_CLASSES
from faultclock.subjects.adopt_signature import wanted_by

#: What code imports that asks a model, or anything over HTTP.
_ASKING = frozenset(
    [
        "agents",
        "aiohttp",
        "anthropic",
        "boto3",
        "cohere",
        "faultclock",
        "google",
        "httpx",
        "httpx2",
        "instructor",
        "langchain",
        "langchain_anthropic",
        "langchain_core",
        "langchain_openai",
        "langgraph",
        "litellm",
        "mistralai",
        "ollama",
        "openai",
        "pydantic_ai",
        "requests",
        "urllib",
        "urllib3",
    ]
)
_DECORATORS = ("provider_adapter", "runtime", "tool", "session_store", "extension")
_FOLDERS_PASSED = frozenset(
    {"build", "conformance", "dist", "docs", "env", "node_modules", "site-packages", "tests"}
)
_DEPTH_MAX = 3
_FILES_MAX = 400
_BYTES_MAX = 400_000
_ASKS_ITSELF, _TAKES_NOTHING = 0, 2

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
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


def _in_file(path: Path, folder: Path) -> Iterator[Candidate]:
    try:
        if not path.is_file():
            return  # a pipe may never end
        source = path.read_bytes()
        if len(source) > _BYTES_MAX:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(source).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    asking = _asking_names(body)
    if not asking:
        return
    place = path.relative_to(folder).as_posix()
    objects = list(_objects(body))
    asking |= {name for name, _ in objects}
    for name, kind in objects:
        yield _candidate(place, name, f"a {kind} object", _ASKS_ITSELF + 1)
    for node in body:
        if isinstance(node, _Function | ast.ClassDef):
            yield from _of_definition(node, place, asking)


def _objects(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield name and class of each client object, agent or subject that a file makes."""
    for node in body:
        if isinstance(node, ast.Assign):
            asked = _called(node.value)
            if asked in KNOWN_CLASSES or asked in _DECORATORS:
                for target in node.targets:
                    if isinstance(target, ast.Name) and not target.id.startswith("_"):
                        yield target.id, asked


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
    node: _Function | ast.ClassDef, place: str, asking: set[str]
) -> Iterator[Candidate]:
    if node.name.startswith("_"):
        return
    bound = next((name for name in map(_called, node.decorator_list) if name in _DECORATORS), None)
    if bound is not None:
        yield _candidate(place, node.name, f"bound by @{bound}", _ASKS_ITSELF)
        return
    if isinstance(node, ast.ClassDef):
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
