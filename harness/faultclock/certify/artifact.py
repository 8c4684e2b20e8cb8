"""What a certificate is about, and whether it is what ran.

    one = of_path(Path("dist/adapter-1.0-py3-none-any.whl"))
    ... the subject is loaded and run ...
    one = ran(one, loaded_code(before, binding))   # or refused

The code that ran must be in the artifact, byte for byte: a certificate for a wheel that holds
another `adapter.py` would be a certificate of nothing.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import sys
import sysconfig
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

import faultclock
from faultclock.certify.archives import archive_files
from faultclock.certify.trees import digest_of_files, file_digest, tree_files
from faultclock.certify.watching import Reads, modules_before
from faultclock.errors import InputError
from faultclock.model.report.certificate import Artifact, ArtifactKind
from faultclock.run.process.hosting import LostError, where_loaded
from faultclock.run.variables import FIXED
from faultclock.subjects.binding import Binding
from faultclock.subjects.source import FILE_MODULE

#: What a wheel of ours holds beside the package, and a checkout does not: its digests are in the
#: requirement set.
_BUNDLED = "_bundled"
_OURS = Path(faultclock.__file__).resolve().parent
#: What stands before the name of a file that is below the working folder alone.
_WORKING_FOLDER = "working-folder:"


class LoadedFile(Struct, frozen=True, kw_only=True):
    """A file of the subject's own code that is loaded in this process.

    Attributes:
        tail: where it stands below a folder of the import path, such as `package/module.py`.
        path: on this machine.
        digest: SHA-256 (hex).
    """

    tail: str
    path: Path
    digest: str


def of_path(path: Path, *, name: str | None = None) -> Artifact:
    """Return the file, folder, wheel or sdist at `path` as an artifact.

    Args:
        name: of a folder, whose own name says nothing.

    Raises:
        InputError: it cannot be read.
    """
    if path.is_dir():
        files = tree_files(path)
        digest = digest_of_files(files)
        return _artifact("tree", name or path.resolve().name, digest, files)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file or folder")
    digest = file_digest(path)
    if path.name.endswith(".whl"):
        return _artifact("wheel", path.name, digest, archive_files(path))
    if path.name.endswith(".tar.gz"):
        return _artifact("sdist", path.name, digest, archive_files(path))
    return _artifact("file", path.name, digest, {path.name: digest})


def of_shipped(subject: str) -> Artifact:
    """Return the artifact of a subject that comes with Faultclock: the installed package."""
    files = tree_files(_OURS, without=(_BUNDLED,))
    return _artifact("shipped", f"faultclock/{subject}", digest_of_files(files), files)


@cache
def of_package() -> str:
    """Return the digest (SHA-256, hex) of the installed package itself, without scenarios."""
    return digest_of_files(tree_files(_OURS, without=(_BUNDLED,)))


def of_distributions(names: Iterable[str]) -> dict[str, str]:
    """Return for each installed library the digest of its files, as they are installed.

    Raises:
        InputError: one is not installed, or does not say which files it has.
    """
    return {name: _of_distribution(name) for name in sorted(names)}


def loaded_code(
    before: Mapping[str, object], package: str | None, opened: Iterable[Path] = ()
) -> tuple[LoadedFile, ...]:
    """Return the files of the subject's own code: neither Python's, nor ours, nor a library's.

    Args:
        before: modules by name, as they were loaded before the subject was.
        package: name of the subject's own top-level package, which may be an installed one; None:
            it is a file.
        opened: source files that were read: what a run imports, or a module that took itself out
            of the list of modules.

    Raises:
        InputError: a module was not loaded from the file that it names.
    """
    apart = tuple(Path(place).resolve() for place in _libraries())
    found: dict[Path, LoadedFile] = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None:
            continue
        path = Path(file).resolve()
        mine = name.partition(".")[0] == package
        if not mine and (before.get(name) is module or path.is_relative_to(_OURS)):
            continue
        if not mine and any(path.is_relative_to(place) for place in apart):
            continue
        if not path.is_file():
            raise InputError(f"{name}: it was loaded from {path}, which is no longer a file")
        content = path.read_bytes()
        _check_compiled(name, module, path, content)
        found[path] = LoadedFile(
            tail=_tail(name, path), path=path, digest=hashlib.sha256(content).hexdigest()
        )
    for path in sorted(opened):
        strange = not path.is_relative_to(_OURS) and not any(map(path.is_relative_to, apart))
        if strange and path not in found and path.is_file():
            found[path] = LoadedFile(tail=path.name, path=path, digest=file_digest(path))
    return tuple(found.values())


def loaded_code_of(
    binding: Binding, package: str | None, opened: Iterable[Path] = ()
) -> tuple[LoadedFile, ...]:
    """Return the files of the subject's own code, asked where it is loaded; see `loaded_code`.

    Raises:
        InputError: a module was not loaded from the file that it names, or no answer came.
    """
    try:
        found = where_loaded(
            binding, tuple[LoadedFile, ...], _loaded, package, tuple(sorted(opened))
        )
    except LostError as error:
        raise InputError(f"{binding.id}: {error}") from None
    # Files are read here: what is loaded over there may say anything.
    return tuple(replace(item, digest=file_digest(item.path)) for item in found)


def _loaded(
    binding: Binding, package: str | None, opened: tuple[Path, ...]
) -> tuple[LoadedFile, ...]:
    del binding
    return loaded_code(modules_before(), package, opened)


def data_read(reads: Reads, folder: Path | None) -> dict[str, str]:
    """Return the files that a subject read and that are no code: name to SHA-256 (hex).

    Those below its own folder and below the working folder count; of libraries, and of Python
    itself, none. A file that is gone by now has no digest.

    Args:
        folder: where its own files lie; None: it is a module between those of others.

    Raises:
        InputError: one cannot be read.
    """
    apart = (_OURS, *(Path(place).resolve() for place in _libraries()))
    working = Path.cwd().resolve()
    mine = folder.resolve() if folder is not None else None
    found: dict[str, str] = {}
    for path in sorted(reads.data):
        if mine is not None and path.is_relative_to(mine):
            name = path.relative_to(mine).as_posix()
        elif path.is_relative_to(working) and not any(map(path.is_relative_to, apart)):
            name = f"{_WORKING_FOLDER}{path.relative_to(working).as_posix()}"
        else:
            continue
        if path.is_file():
            found[name] = file_digest(path)
    return found


def variables_read(reads: Reads, folder: Path | None) -> tuple[str, ...]:
    """Return the environment variables that the subject's own code asked for, sorted.

    Those that every run finds alike are left out.

    Args:
        folder: where its own files lie; None: it is a module between those of others.
    """
    apart = tuple(Path(place).resolve() for place in _libraries())
    mine = folder.resolve() if folder is not None else None
    return tuple(
        sorted(
            {
                name
                for name, reader in reads.variables
                if name not in FIXED
                and (
                    (mine is not None and reader.is_relative_to(mine))
                    or not any(map(reader.is_relative_to, apart))
                )
            }
        )
    )


def ran(artifact: Artifact, loaded: Collection[LoadedFile], *, root: Path | None) -> Artifact:
    """Return `artifact` with the files in it that the subject was loaded from.

    Args:
        root: of a folder or file, where it is; None: an archive.

    Raises:
        InputError: a loaded file is not in it, or not with the same bytes.
    """
    if not loaded:
        raise InputError(f"{artifact.name}: no part of the subject was loaded from a file")
    places = {_place_in(artifact, item, root) for item in loaded}
    return artifact.model_copy(update={"loaded": tuple(sorted(places))})


def _artifact(kind: ArtifactKind, name: str, digest: str, files: dict[str, str]) -> Artifact:
    return Artifact(kind=kind, name=name, digest=digest, files=files, loaded=())


def _place_in(artifact: Artifact, item: LoadedFile, root: Path | None) -> str:
    """Return the path in the artifact of a file that was loaded."""
    if root is not None:
        top = root.resolve()
        inside = item.path.name if item.path == top else _below(item.path, top)
        places = [inside] if inside in artifact.files else []
    else:
        places = [
            place
            for place in artifact.files
            if place == item.tail or place.endswith(f"/{item.tail}")
        ]
    same = [place for place in places if artifact.files[place] == item.digest]
    if same:
        return same[0]
    if places:
        raise InputError(
            f"{artifact.name} holds another {PurePosixPath(item.tail).name} than the one that ran:"
            f" {item.path}",
            hint="run what the artifact holds: install it, or build it again",
        )
    raise InputError(
        f"{item.path} ran, and is not in {artifact.name}",
        hint="name what holds all of the code: --artifact FOLDER, WHEEL or SDIST",
    )


def _below(path: Path, top: Path) -> str | None:
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else None


def _tail(name: str, path: Path) -> str:
    if name.startswith(FILE_MODULE):
        return path.name
    above = name.split(".")[:-1]
    if path.stem.partition(".")[0] == "__init__":
        above = name.split(".")
    return "/".join((*above, path.name))


def _check_compiled(name: str, module: object, path: Path, content: bytes) -> None:
    """Refuse a module that a cached file of Python's made into something else than its source."""
    spec = getattr(module, "__spec__", None)
    loader = getattr(spec, "loader", None)
    if name.startswith(FILE_MODULE) or path.suffix != ".py":
        # Compiled by us from the bytes that were digested; or a library of machine code.
        return
    if not isinstance(loader, importlib.machinery.SourceFileLoader):
        raise InputError(f"{name}: it was not loaded from its source, {path}")
    try:
        is_same = loader.get_code(loader.name) == loader.source_to_code(content, str(path))
    except (ImportError, SyntaxError, OSError):
        is_same = False
    if not is_same:
        raise InputError(
            f"{name}: what ran is not what {path} says",
            hint="remove the __pycache__ folder beside it",
        )


def _libraries() -> set[str]:
    paths = sysconfig.get_paths()
    return {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}


def _of_distribution(name: str) -> str:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise InputError(f"the library {name!r} is not installed") from None
    files: dict[str, str] = {}
    for item in found.files or ():
        inside = PurePosixPath(item.as_posix())
        # Scripts outside of it and what was noted when it was installed differ by machine.
        outside = ".." in inside.parts or "__pycache__" in inside.parts
        if outside or inside.parts[0].endswith((".dist-info", ".data")) or inside.suffix == ".pth":
            continue
        files[inside.as_posix()] = file_digest(Path(str(item.locate())))
    if not files:
        raise InputError(f"the library {name!r} does not say which files it has")
    return digest_of_files(files)
