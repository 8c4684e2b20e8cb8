"""From a subject's name to its Binding, and the list of those that are shipped.

    reference                 an id of a shipped subject
    path/to/adapter.py:name   a function or binding in a file
    package.module:name       one in an importable module

Every fault of a user's file is one SubjectError that names the file, and what to do next.
Nothing but the named subject's module is imported.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NoReturn

from harness.errors import SubjectError, UnknownNameError
from harness.model.scenario import Role
from harness.subjects.binding import Binding, provider_adapter
from harness.subjects.miniatures import Miniature
from harness.subjects.shipped import SHIPPED
from harness.subjects.source import place_in

__all__ = ["SubjectEntry", "catalog", "load_subject", "shipped_ids"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectEntry:
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
        model: id of the error model that it is right by, or made to fail by.
        shown_by: id of the scenario that shows a miniature, where it says so itself.
        origin: the public bug that a miniature has.
        found_by: whether that scenario shows it as it is written, or only to who explores it.
        dialect: the API that it speaks.
        extra: of the distribution that installs what it needs.
        cannot: what a client does in the real world and not in the simulated one.
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


#: Where miniatures are, by module. Whoever runs a subject of their own pays for none of them.
_MINIATURES = {
    "harness.subjects.adapter_miniatures": "ADAPTER_MINIATURES",
    "harness.subjects.tool_miniatures": "TOOL_MINIATURES",
    "harness.subjects.extension_miniatures": "EXTENSION_MINIATURES",
    "harness.subjects.store_miniatures": "STORE_MINIATURES",
    "harness.subjects.runtime_miniatures": "RUNTIME_MINIATURES",
    "harness.subjects.agent_miniatures": "AGENT_MINIATURES",
    "harness.subjects.race_miniatures": "RACE_MINIATURES",
}
_MINIATURE_PREFIX = "mini-"


@cache
def _miniatures() -> dict[str, Miniature]:
    found: dict[str, Miniature] = {}
    for module, name in _MINIATURES.items():
        found |= getattr(importlib.import_module(module), name)
    return found


def shipped_ids() -> tuple[str, ...]:
    """Return the ids of all shipped subjects."""
    return (*SHIPPED, *_miniatures())


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
            available=not _missing(item.needs),
            dialect=item.dialect,
            extra=item.extra,
            cannot=item.cannot,
        )
        for id_, item in SHIPPED.items()
    )
    miniatures = (
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
        for id_, item in _miniatures().items()
    )
    return (*shipped, *miniatures)


def load_subject(spec: str) -> Binding:
    """Return the binding that `spec` names.

    Args:
        spec: a shipped id, `path/to/file.py:name` or `package.module:name`. A plain function is
            bound on the way.

    Raises:
        UnknownNameError: it is neither a shipped id nor a place.
        SubjectError: the subject cannot be imported or bound.
    """
    if spec.startswith(_MINIATURE_PREFIX) and spec in _miniatures():
        return _miniatures()[spec].binding
    if spec in SHIPPED:
        return _load_shipped(spec)
    place, colon, name = spec.rpartition(":")
    if not colon:
        if spec.endswith(".py"):
            raise SubjectError(
                f"{spec} names a file but no subject in it", hint=f"write {spec}:subject"
            )
        # There are hundreds of miniatures, and nobody who mistypes looks for one of them.
        raise UnknownNameError("subject", spec, shipped_ids(), told=tuple(SHIPPED))
    if not place or not name:
        raise SubjectError(
            f"{spec!r} is no place of a subject", hint="write path/to/adapter.py:subject"
        )
    is_file = place.endswith(".py") or "/" in place or "\\" in place
    module, file, source = _import_file(place) if is_file else _import_module(place)
    binding = _find(module, name, place)
    if file is None:
        return replace(binding, source_digest=None)
    digest = hashlib.sha256(source).hexdigest()
    return replace(binding, source_digest=digest, source=place_in(file, source, name))


def _load_shipped(id_: str) -> Binding:
    item = SHIPPED[id_]
    missing = _missing(item.needs)
    if missing:
        raise SubjectError(
            f"subject {id_!r} needs {' and '.join(missing)}, which is not installed",
            hint=_install_hint(missing[0], item.extra),
        )
    place, _, name = item.place.partition(":")
    try:
        module = importlib.import_module(f"harness.subjects.{place}")
    except ImportError as error:
        # An older version of the library without a name that the adapter uses.
        raise SubjectError(
            f"subject {id_!r} cannot be imported: {error}",
            hint=_install_hint(item.needs[0], item.extra),
        ) from error
    binding = getattr(module, name)
    assert isinstance(binding, Binding)
    return binding


def _import_file(place: str) -> tuple[types.ModuleType, Path, bytes]:
    path = Path(place).expanduser()
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        near = get_close_matches(path.name, _python_files(path.parent), n=1)
        hint = f"did you mean {path.parent / near[0]}?" if near else "check the path"
        raise SubjectError(f"{place}: there is no such file", hint=hint) from None
    except OSError as error:
        raise SubjectError(f"{place}: cannot be read: {error.strerror}") from error
    # The prefix keeps a file named like a library from taking that library's place.
    module = types.ModuleType(f"subject.{path.stem}")
    module.__file__ = str(path.resolve())
    with _on_path(path.resolve().parent, project=True), _told(place):
        # Compiled from the bytes that are digested; a cached .pyc could be of other ones.
        code = compile(source, str(path), "exec", dont_inherit=True)
        sys.modules[module.__name__] = module
        try:
            exec(code, module.__dict__)  # noqa: S102 - running the user's file is the purpose
        except BaseException:
            del sys.modules[module.__name__]
            raise
    return module, path, source


def _import_module(place: str) -> tuple[types.ModuleType, Path | None, bytes]:
    with _on_path(Path.cwd()), _told(place):
        module = importlib.import_module(place)
    file = getattr(module, "__file__", None)
    return (module, Path(file), Path(file).read_bytes()) if file else (module, None, b"")


def _find(module: types.ModuleType, name: str, place: str) -> Binding:
    target: object = module
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is None:
        bound = sorted(key for key, value in vars(module).items() if isinstance(value, Binding))
        near = get_close_matches(name, list(vars(module)), n=1)
        found = bound or near
        hint = f"write {place}:{found[0]}" if found else "decorate a function: @provider_adapter"
        raise SubjectError(f"{place}: there is no {name!r} in it", hint=hint)
    if isinstance(target, Binding):
        return target
    try:
        return provider_adapter(target)  # type: ignore[call-overload, no-any-return]
    except SubjectError as error:
        raise SubjectError(f"{place}:{name}: {error.message}", hint=error.hint) from None


@contextmanager
def _on_path(folder: Path, *, project: bool = False) -> Iterator[None]:
    """Let a subject import what lies beside it; only while it is imported.

    Args:
        folder: comes before all that is installed.
        project: whether the modules of the project around `folder` may be imported, too. They come
            after all that is installed, which a folder of a project can be named like.
    """
    # An entry that is there already stays there: only ours are taken away again.
    last = [str(item) for item in (_project_folders(folder) if project else ())]
    last = [item for item in last if item not in sys.path]
    sys.path[:] = [str(folder), *sys.path, *last]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for entry in (str(folder), *last):
            if entry in sys.path:
                sys.path.remove(entry)


def _project_folders(folder: Path) -> tuple[Path, ...]:
    """Return where the project keeps its modules: a project that nobody has installed has them."""
    for parent in (folder, *folder.parents):
        if (parent / "pyproject.toml").is_file():
            return tuple(item for item in (parent, parent / "src") if item.is_dir())
    return ()


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Turn what an import raises into one SubjectError about `place`."""
    try:
        yield
    except SubjectError as error:
        raise SubjectError(f"{place}: {error.message}", hint=error.hint) from error
    except SyntaxError as error:
        _tell_syntax(place, error)
    except ModuleNotFoundError as error:
        name = error.name or "a module"
        if name == place or place.startswith(f"{name}."):
            raise SubjectError(
                f"there is no module {name!r}",
                hint="run from its folder, install it, or write path/to/file.py:name",
            ) from error
        raise SubjectError(
            f"{_where(place, error)}: it imports {name!r}, which is not installed",
            hint=f"{_install_hint(name.partition('.')[0])}; or, if it is your own, install your"
            " project: pip install -e .",
        ) from error
    except (Exception, SystemExit) as error:  # a script may end itself: that is a fault, too
        raise SubjectError(
            f"{_where(place, error)}: importing it raised {type(error).__name__}: {error}",
            hint="the file is imported before the simulated world exists: build clients inside"
            " the subject, or in open=…",
        ) from error


def _tell_syntax(place: str, error: SyntaxError) -> NoReturn:
    file = error.filename or place
    raise SubjectError(
        f"{file}:{error.lineno or 1}:{error.offset or 1}: {error.msg}",
        hint=(error.text or "").strip() or None,
    ) from error


def _where(place: str, error: BaseException) -> str:
    """Return `file:line` of the innermost frame in the user's own file."""
    line: int | None = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in {place, str(Path(place).expanduser())}:
            line = trace.tb_lineno
        trace = trace.tb_next
    return place if line is None else f"{place}:{line}"


def _missing(needs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in needs if name not in sys.modules and not _is_installed(name))


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        # Of `google.genai` where there is no `google` at all.
        return False


def _install_hint(name: str, extra: str | None = None) -> str:
    return f"pip install {name}" if extra is None else f"pip install 'faultclock[{extra}]'"


def _python_files(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.py")] if folder.is_dir() else []
