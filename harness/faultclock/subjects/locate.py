"""From `path/to/file.py:name` or `package.module:name` to the object of that name.

Every fault of a user's file is one SubjectError that names the file, its line, and what to do
next. Nothing but the named module is imported, and nothing in it is called.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct, field

from faultclock.errors import SubjectError
from faultclock.subjects.foreign import ForeignProgram
from faultclock.subjects.offline import LOADING_LIMIT_S, TooLongError, in_time, offline
from faultclock.subjects.outcome import describe_exception, lives_in
from faultclock.subjects.source import FILE_MODULE, imported_modules, place_in

if TYPE_CHECKING:
    from faultclock.model.report.finding import SourcePlace

#: What runs when a file says `os.environ["NAME"]`.
_READS_VARIABLE = type(os.environ).__getitem__.__code__


class Located(Struct, frozen=True, kw_only=True):
    """An object that was named, and where it stands.

    Attributes:
        place: file or module, as it was named.
        name: of the object in it, such as `ask` or `client.ask`.
        stem: short name of the module, the same on every machine.
        target: the object.
        owner: what holds it, for a dotted name; None: the module.
        digest: SHA-256 (hex) of the file; None where there is none.
        source: where it stands in the user's file; None where that is not below this folder.
        file: the file itself; None where there is none.
        module: name of the module that it was imported as.
        mark: what stands between place and name.
        program, timer_granularity_ns, versions: of a module in another language; see `Binding`.
    """

    place: str
    name: str
    stem: str
    target: Any
    owner: Any
    digest: str | None
    source: SourcePlace | None
    file: Path | None = None
    module: str = ""
    mark: str = ":"
    program: ForeignProgram | None = None
    timer_granularity_ns: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> str:
        """The object as it was named."""
        return f"{self.place}{self.mark}{self.name}"

    @property
    def function(self) -> str:
        """A function that can be named in its place, in its language."""
        if self.program is None:
            return "`def ask(prompt): ...`"
        return "`export async function ask(prompt) { ... }`"


def locate(place: str, name: str) -> Located:
    """Import `place` and return the object called `name` in it.

    Args:
        place: a file, where it ends in `.py` or has a slash; a module otherwise.

    Raises:
        SubjectError: it cannot be imported, or has no such object.
    """
    is_file = place.endswith(".py") or "/" in place or "\\" in place
    module, file, source = _import_file(place) if is_file else _import_module(place)
    owner: Any = None
    target: Any = module
    for part in name.split("."):
        owner, target = target, _attribute(target, part, place)
        if target is None:
            is_there = hasattr(owner, part)
            what = f"{name!r} in it is None" if is_there else f"there is no {name!r} in it"
            raise SubjectError(f"{place}: {what}", hint=_near(file, name, place))
    return Located(
        place=place,
        name=name,
        stem=module.__name__.rpartition(".")[2],
        target=target,
        owner=None if owner is module else owner,
        digest=None if file is None else hashlib.sha256(source).hexdigest(),
        source=None if file is None else place_in(file, source, name),
        file=file,
        module=module.__name__,
    )


def read_file(place: str, suffixes: tuple[str, ...]) -> tuple[Path, bytes]:
    """Return the path and the content of the file that a person names.

    Args:
        suffixes: of the files that may have been meant where there is none of that name.

    Raises:
        SubjectError: it cannot be read.
    """
    path = Path(place).expanduser()
    try:
        if path.exists() and not path.is_file():
            raise SubjectError(f"{place}: this is a folder or a device, not a file")
        return path, path.read_bytes()
    except FileNotFoundError:
        beside = path.parent.glob("*") if path.parent.is_dir() else ()
        names = [item.name for item in beside if item.suffix in suffixes]
        near = get_close_matches(path.name, names, n=1)
        hint = f"did you mean {path.parent / near[0]}?" if near else "check the path"
        raise SubjectError(f"{place}: there is no such file", hint=hint) from None
    except OSError as error:
        raise SubjectError(f"{place}: cannot be read: {error.strerror}") from error


def _attribute(target: Any, name: str, place: str) -> Any:
    with imported(place):
        # A property or a lazy module may run the user's code.
        return getattr(target, name, None)


def _near(file: Path | None, name: str, place: str) -> str:
    if file is None:
        return "name a function, a method or a client object"
    # Imported here: nothing that works needs it.
    from faultclock.subjects.candidates import what_to_name

    return what_to_name(place, file, name)


def _import_file(place: str) -> tuple[types.ModuleType, Path, bytes]:
    try:
        place.encode("utf-8")
    except UnicodeEncodeError:
        hint = "give the file another name"
        raise SubjectError(f"{place}: the name of this file is not UTF-8", hint=hint) from None
    path, source = read_file(place, (".py",))
    # The prefix keeps a file named like a library from taking that library's place.
    module = types.ModuleType(FILE_MODULE + path.stem)
    module.__file__ = str(path.resolve())
    with _on_path(path.resolve().parent, project=True), imported(place):
        # Compiled from the bytes that are digested; a cached .pyc could be of other ones.
        code = compile(source, str(path), "exec", dont_inherit=True)
        sys.modules[module.__name__] = module
        try:
            exec(code, module.__dict__)  # noqa: S102 - running the user's file is the purpose
        except BaseException as error:
            del sys.modules[module.__name__]
            shadow = _shadow_of_a_library(source, path.resolve().parent)
            if shadow is not None and isinstance(error, (ImportError, AttributeError)):
                raise SubjectError(
                    f"it imports the library {shadow.stem!r}, and finds {shadow.name} of this"
                    " folder in its place",
                    hint=f"give {shadow.name} another name than that of a library",
                ) from error
            raise
    return module, path, source


def _shadow_of_a_library(source: bytes, folder: Path) -> Path | None:
    """Return a file or folder in `folder` that takes the place of a library that `source` imports.

    It is one only where the library is installed: any other import means what stands beside it.
    """
    for name in imported_modules(source):
        for beside in (folder / f"{name}.py", folder / name / "__init__.py"):
            if beside.is_file() and _is_installed(name, folder):
                return beside if beside.name != "__init__.py" else beside.parent
    return None


def _is_installed(name: str, folder: Path) -> bool:
    """Return whether a module of that name is found anywhere but in `folder`."""
    others = [item for item in sys.path if Path(item or ".").resolve() != folder]
    try:
        return PathFinder.find_spec(name, others) is not None
    except (ImportError, ValueError):
        return False


def _import_module(place: str) -> tuple[types.ModuleType, Path | None, bytes]:
    with _on_path(Path.cwd()), imported(place):
        module = importlib.import_module(place)
    file = getattr(module, "__file__", None)
    return (module, Path(file), Path(file).read_bytes()) if file else (module, None, b"")


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
    lives_in(str(folder), *last)
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
def imported(place: str, doing: str = "importing it") -> Iterator[None]:
    """Turn what an import raises into one SubjectError about `place`.

    Args:
        doing: what is done, for the message.
    """
    try:
        with offline(), in_time():
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
        from faultclock.subjects.frameworks.known import distribution_of

        raise SubjectError(
            f"{_where(place, error)}: it imports {name!r}, which is not installed",
            hint=f"pip install {distribution_of(name)}; or, if it is your own, install your"
            " project: pip install -e .",
        ) from error
    except TooLongError as error:
        raise SubjectError(
            f"{_where(place, error)}: {doing} had not ended after {LOADING_LIMIT_S:.0f} s",
            hint="put what takes so long into a function that the target calls",
        ) from error
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        # A script may end itself, or skip itself as a test: that is a fault, too.
        said = describe_exception(error)[0]
        text = f"{said['type']}: {said['message']}".rstrip(": ")
        raise SubjectError(
            f"{_where(place, error)}: {doing} raised {text}", hint=_hint(error)
        ) from error


def _tell_syntax(place: str, error: SyntaxError) -> NoReturn:
    file = error.filename or place
    raise SubjectError(
        f"{file}:{error.lineno or 1}:{error.offset or 1}: {error.msg}",
        hint=(error.text or "").strip() or None,
    ) from error


def _hint(error: BaseException) -> str | None:
    if isinstance(error, ImportError):
        # It says what is missing.
        return None
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if type(error) is KeyError and trace is not None and trace.tb_frame.f_code is _READS_VARIABLE:
        return f"it reads the variable {error.args[0]}, which is not set here: any text will do"
    return (
        "if that line asks a model, move it into a function, or below `if __name__ == '__main__':`:"
        " the file is imported before the simulated world exists"
    )


def _where(place: str, error: BaseException) -> str:
    """Return `file:line` of the innermost frame in the user's own file."""
    line: int | None = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in {place, str(Path(place).expanduser())}:
            line = trace.tb_lineno
        trace = trace.tb_next
    return place if line is None else f"{place}:{line}"
