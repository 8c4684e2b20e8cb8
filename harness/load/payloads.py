"""The error payloads of a dialect, from `fixtures/payloads/<dialect>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.errors import Problem, SourceError, UnknownNameError
from harness.load.resources import fixtures_root
from harness.load.yaml_file import load_yaml
from harness.model.payload import ErrorPayload, PayloadFile

__all__ = ["load_payloads"]


def load_payloads(dialect: str, root: Path | None = None) -> Mapping[str, ErrorPayload]:
    """Return the error payloads of `dialect` by name.

    Args:
        dialect: such as `openai-chat`.
        root: folder that holds `payloads/`; None means the fixtures that come with Faultclock.

    Raises:
        UnknownNameError: no file of that dialect exists.
        SourceError: the file is wrong; every problem is told with its line and column.
    """
    folder = (root or fixtures_root()) / "payloads"
    files = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
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
    return loaded.payloads
