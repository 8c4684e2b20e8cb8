"""The data of a dialect, from `fixtures/payloads/<dialect>.yaml`: its errors, and where it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from faultclock.errors import Problem, SourceError, UnknownNameError
from faultclock.load.resources import fixtures_root
from faultclock.load.yaml_file import load_yaml
from faultclock.model.scenario.payload import ErrorPayload, PayloadFile


def load_payloads(dialect: str, root: Path | None = None) -> Mapping[str, ErrorPayload]:
    """Return the error payloads of `dialect` by name; see `load_dialect`."""
    return load_dialect(dialect, root).payloads


def load_dialect(dialect: str, root: Path | None = None) -> PayloadFile:
    """Return the data of `dialect`. What comes with Faultclock is read once.

    Args:
        dialect: such as `openai-chat`.
        root: folder that holds `payloads/`; None means the fixtures that come with Faultclock.

    Raises:
        UnknownNameError: no file of that dialect exists.
        SourceError: the file is wrong; every problem has its line and column.
    """
    return _shipped(dialect) if root is None else _read(dialect, root)


def dialect_names(root: Path | None = None) -> tuple[str, ...]:
    """Return the names of all dialects, sorted."""
    return _shipped_names() if root is None else tuple(_files(root))


@cache
def _shipped_names() -> tuple[str, ...]:
    return tuple(_files(fixtures_root()))


@cache
def _shipped(dialect: str) -> PayloadFile:
    return _read(dialect, fixtures_root())


def _files(root: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted((root / "payloads").glob("*.yaml"))}


def _read(dialect: str, root: Path) -> PayloadFile:
    files = _files(root)
    if dialect not in files:
        raise UnknownNameError("dialect", dialect, tuple(files))
    loaded = load_yaml(files[dialect], PayloadFile)
    if loaded.dialect != dialect:
        problem = Problem(
            path=str(files[dialect]),
            line=1,
            column=1,
            message=f"the file of the dialect {dialect!r} says that it is of {loaded.dialect!r}",
        )
        raise SourceError((problem,))
    return loaded
