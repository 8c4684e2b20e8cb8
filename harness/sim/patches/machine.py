"""What machine a subject runs on: always the same one.

Clients tell it to the provider (`X-Stainless-OS`), so traces would differ between machines; and
the standard library asks a subprocess for the processor's name.
"""

from __future__ import annotations

import platform
from typing import Final

from harness.sim.patches.registry import Patch, dispatching

__all__ = ["PATCHES"]

_MACHINE: Final = platform.uname_result("Linux", "localhost", "6.1.0", "#1 SMP", "x86_64")
# A cached property, which a subprocess would compute.
_MACHINE.__dict__["processor"] = ""


def _uname() -> platform.uname_result:
    return _MACHINE


PATCHES: tuple[Patch, ...] = (Patch(platform, "uname", dispatching(_uname)),)
