"""The memory of this process, moved to huge pages: a fork copies a table of all pages.

A worker of the tests has some 430 MB when all is collected, and forks for each run in a process of
its own. In pages of 4 KiB that takes longer than most of the runs.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

#: Of Linux 6.1 and newer. An older one refuses it, and then nothing changes.
_MADV_COLLAPSE = 25
_HUGE = 2 << 20
#: Memory that can be written and stands for no file.
_OWN = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0 *(?:\[heap\])?$", re.MULTILINE)


def move_to_huge_pages() -> None:
    """Have the memory that this process has by now in as few pages as possible."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    advise = ctypes.CDLL(None).madvise
    for start, end in (map(_address, found.groups()) for found in _OWN.finditer(maps.read_text())):
        first, last = -(-start // _HUGE) * _HUGE, end // _HUGE * _HUGE
        if first < last:
            advise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_COLLAPSE)


def _address(digits: str) -> int:
    return int(digits, 16)
