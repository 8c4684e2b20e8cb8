"""Writes several text files, all of them or none: first as drafts, then each under its name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from faultclock.errors import InputError
from faultclock.load.files import check_output_file


def write_all(texts: Mapping[str, str], *, replace: bool, always: Collection[str] = ()) -> None:
    """Write each text as UTF-8 to its path; where one cannot be written, none is.

    Args:
        replace: whether files that are there already are replaced.
        always: paths that are replaced also without `replace`.

    Raises:
        InputError: a file is there already, or cannot be written.
    """
    for path in texts:
        check_output_file(path)
        if not replace and path not in always and os.path.lexists(path):
            raise InputError(f"{path}: this file is there already", hint="--force replaces it")
    drafts: dict[Path, Path] = {}
    path = ""
    try:
        for path, text in texts.items():
            target = Path(os.path.realpath(path))
            draft = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
            drafts[draft] = target
            with draft.open("wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
        for draft, target in drafts.items():
            path = str(target)
            draft.replace(target)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        for draft in drafts:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
