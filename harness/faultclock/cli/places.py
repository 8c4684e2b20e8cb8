"""Where the forms of one result go: checked before it is made, written after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from typing import IO, TypeVar

from msgspec import Struct

from faultclock.cli.say import machine
from faultclock.errors import InputError
from faultclock.load.files import check_output_file, write_text_atomically

ValueT = TypeVar("ValueT")
#: The place that is standard output.
STDOUT = "-"


class Places(Struct, frozen=True):
    """Where each form of one result goes; `-` is standard output."""

    of: Mapping[str, str]

    @property
    def out(self) -> IO[str]:
        """Where words for people go beside them."""
        return sys.stderr if STDOUT in self.of.values() else sys.stdout

    @property
    def files(self) -> list[str]:
        """Those that are files."""
        return [place for place in self.of.values() if place != STDOUT]

    def write(self, value: ValueT, **forms: Callable[[ValueT], str]) -> None:
        """Write each form that was asked for; `forms` make them.

        Raises:
            InputError: one cannot be written.
        """
        for form, place in self.of.items():
            text = forms[form](value)
            if place == STDOUT:
                machine(text)
            else:
                write_text_atomically(place, text)


def places_of(forms: Mapping[str, str | None]) -> Places:
    """Return where each form goes of those that were asked for, checked before anything runs.

    Raises:
        InputError: two forms have one place, or nothing can be written there.
    """
    places = {form: place for form, place in forms.items() if place}
    check_places(places.values(), "JSON and HTML")
    return Places(places)


def check_places(places: Collection[str], what: str) -> None:
    """Check that each of `places` is another one, and can be written.

    Raises:
        InputError: two are one, or one cannot be written.
    """
    real = [place if place == STDOUT else os.path.realpath(place) for place in places]
    if len(set(real)) != len(real):
        raise InputError(f"{what} would be written to one place: give each its own")
    for place in places:
        if place != STDOUT:
            check_output_file(place)
