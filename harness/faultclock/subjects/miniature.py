"""A wrong subject: a reference with one named defect, and the one check that must find it.

They prove that every check can fail. What they are made of is in the room `mutants`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from faultclock.subjects.binding import Binding


class Miniature(Struct, frozen=True, kw_only=True):
    """A binding and the id of the check that it is made to fail.

    Attributes:
        model: id of the error model by which it fails it.
        shown_by: id of the scenario that shows it.
        origin: the public bug that it has, as `owner/name#number`.
        found_by: whether the scenario shows it as it is written, or only to who explores it.
    """

    binding: Binding
    fails: str
    shown_by: str
    model: str = "stud-cli"
    origin: str | None = None
    found_by: Literal["run", "explore"] = "run"
