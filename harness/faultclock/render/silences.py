"""Why checks had nothing to judge: each reason once on a page, with a number that sections cite."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from faultclock.render.sections import Section

#: A reason, and the checks that gave it.
Silence = tuple[str, tuple[str, ...]]


class Silences(Struct, frozen=True):
    """The reasons in the order in which they first occur."""

    items: tuple[Silence, ...]

    @staticmethod
    def of(sections: Sequence[Section]) -> Silences:
        """Return the reasons of all `sections`."""
        found = dict.fromkeys(item for section in sections for item in section.silent)
        return Silences(tuple(found))

    def numbers(self, section: Section) -> str:
        """Return the numbers of the reasons of `section`, from 1 on: `1, 4-7`."""
        numbers = sorted(self.items.index(item) + 1 for item in section.silent)
        stretches: list[list[int]] = []
        for number in numbers:
            if stretches and stretches[-1][-1] == number - 1:
                stretches[-1].append(number)
            else:
                stretches.append([number])
        return ", ".join(
            str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in stretches
        )
