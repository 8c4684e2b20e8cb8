"""Where a run's own files are: one folder, over the files of the system.

    work        the working directory of the run; the one that the command was started in shows
                through
    home, tmp   `~` and the folder for temporary files; empty when a run begins
    elsewhere   what is written at any other place, below its whole path; the system shows through

What shows through can only be read. A file of the system that is written to is first copied into
the folder, so the real one never changes.
"""

# ruff: noqa: PTH118 - at every call of a patch, where pathlib is slow

from __future__ import annotations

import os

from msgspec import Struct

WORK, HOME, TEMPORARY, ELSEWHERE = "work", "home", "tmp", "elsewhere"
#: Devices, and what the kernel says of itself: never files of a run.
_NO_FILES = ("/dev/", "/proc/", "/sys/")


class Overlay(Struct, frozen=True, kw_only=True):
    """How paths lead into the folder.

    Attributes:
        root: the real path of the folder.
        shown: its path as the subject sees it: the same in every run, if the system allows that.
        origin: the working directory of the process before the run.
    """

    root: str
    shown: str
    origin: str

    def within(self, whole: str) -> str | None:
        """Return the name of an absolute path below the folder; None where it is outside."""
        for base in (self.shown, self.root):
            if whole == base:
                return ""
            if whole.startswith(f"{base}{os.sep}"):
                return whole[len(base) + 1 :]
        return None

    def name_of(self, whole: str) -> str | None:
        """Return the name of an absolute path; None for what is no file of a run."""
        within = self.within(whole)
        return name_outside(whole, self.origin) if within is None else within

    def beneath(self, name: str) -> str | None:
        """Return the path of the system that shows through at a name; None where nothing does."""
        top, _, rest = name.partition("/")
        if top == WORK:
            return os.path.join(self.origin, rest) if rest else self.origin
        return f"/{rest}" if top == ELSEWHERE else None


def name_outside(whole: str, origin: str) -> str | None:
    """Return the name of an absolute path that is not below the folder."""
    if whole.startswith(_NO_FILES) or "__pycache__" in whole:
        return None
    if whole == origin:
        return WORK
    below = origin if origin.endswith(os.sep) else f"{origin}{os.sep}"
    if whole.startswith(below):
        return f"{WORK}/{whole[len(below) :]}"
    return f"{ELSEWHERE}{whole}"
