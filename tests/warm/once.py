"""What several tests need and takes long: made once, whichever worker needs it first."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path


def made_once(folder: Path, name: str, make: Callable[[], str]) -> str:
    """Return the text of this name, which another worker of this session may have made.

    Args:
        folder: one that the workers share, and no other session: `shared_folder` of the tests.
    """
    path = folder / sha256(name.encode()).hexdigest()
    with (folder / f"{path.name}.lock").open("w") as lock:
        # Let go when the file is closed, whatever becomes of this process.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            text = make()
            half = folder / f"{path.name}.half"
            half.write_text(text, "utf-8")
            half.replace(path)
    return path.read_text("utf-8")
