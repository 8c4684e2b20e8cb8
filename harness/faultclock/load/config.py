"""`[tool.faultclock]` of the nearest pyproject.toml upwards: found, read, problems with places.

What it names as a path is relative to the file, wherever a command is run; `as_seen_from` says
so. An id of something shipped means the same in every folder, and stays.
"""

from __future__ import annotations

import os
from pathlib import Path

from faultclock.load.located.tree import Mapping, Place, refused, to_data
from faultclock.load.resources import YAML_SUFFIXES, scenarios_root
from faultclock.load.yaml_file import Document, read_bytes
from faultclock.model.config import Config

FILE_NAME = "pyproject.toml"
_TABLE = "faultclock"


def find_config(start: str | os.PathLike[str]) -> tuple[Config, Path] | None:
    """Return the table that counts in the folder `start`, and the file that has it.

    A pyproject.toml without the table is passed over: that of a package may lie below that of
    its project.

    Raises:
        InputError: a file cannot be read.
        SourceError: it is not TOML, or the table is wrong; every problem is in it.
    """
    folder = Path(start).absolute()
    for parent in (folder, *folder.parents):
        path = parent / FILE_NAME
        if path.is_file() and (config := load_config(path)) is not None:
            return config, path
    return None


def load_config(path: Path) -> Config | None:
    """Return what the file at `path` says; None if it has no table of ours.

    Raises:
        InputError: it cannot be read.
        SourceError: as `find_config` does.
    """
    shown = os.path.relpath(path)
    content = read_bytes(path)
    if _TABLE.encode() not in content:
        # No command has to wait for a reader, nor to say what is wrong with it otherwise.
        return None
    # Imported here: most commands find no table of ours, and its patterns take their time.
    from faultclock.load.located.toml_text import parse_toml

    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise refused(Place(line, 1), shown, "this line is not UTF-8") from None
    table = parse_toml(text, shown).values.get("tool")
    ours = table.values.get(_TABLE) if isinstance(table, Mapping) else None
    if ours is None:
        return None
    if not isinstance(ours, Mapping):
        raise refused(ours.place, shown, f"`tool.{_TABLE}` should be a table")
    data = to_data(ours)
    assert isinstance(data, dict)
    return Document(path=shown, data=data, tree=ours).validate(Config)


def as_seen_from(folder: str | os.PathLike[str], config: Config, path: Path) -> Config:
    """Return `config` with its paths as they have to be written in `folder`.

    Args:
        path: the file that the configuration was read from.
    """
    root = path.absolute().parent

    def seen(text: str) -> str:
        return os.path.relpath(root / Path(text).expanduser(), folder)

    changes: dict[str, object] = {}
    if config.subject is not None and _names_a_file(config.subject):
        file, colon, name = config.subject.rpartition(":")
        changes["subject"] = f"{seen(file)}{colon}{name}" if colon else seen(name)
    if config.model is not None and _is_model_file(config.model):
        changes["model"] = seen(config.model)
    if config.scenarios:
        changes["scenarios"] = tuple(
            seen(item) if _is_path(root, item) else item for item in config.scenarios
        )
    for name in ("baseline", "history"):
        if (value := getattr(config, name)) is not None:
            changes[name] = seen(value)
    return config.model_copy(update=changes)


def _names_a_file(spec: str) -> bool:
    place = spec.rpartition(":")[0] or spec
    return place.endswith(".py") or "/" in place or "\\" in place


def _is_model_file(name: str) -> bool:
    return name.endswith(YAML_SUFFIXES) or "/" in name


def _is_path(root: Path, selector: str) -> bool:
    """Return whether it names a file or folder: what is shipped comes first everywhere."""
    name = selector.rstrip("/")
    if not name.startswith(".") and not Path(name).is_absolute():
        shipped = scenarios_root()
        if (shipped / name).is_dir() or (shipped / f"{name}.yaml").is_file():
            return False
    # A missing file is reported by its path.
    return name.endswith(YAML_SUFFIXES) or (root / name).exists()
