"""What is kept while the same object comes again is made anew for any other object."""

from __future__ import annotations

from faultclock.model.again import kept_while_same


def test_what_is_made_is_kept_for_the_same_objects_and_no_others() -> None:
    """Equal objects are others: what tells them apart may not show when they are compared."""
    made: list[tuple[list[int], ...]] = []

    @kept_while_same
    def make(*given: list[int]) -> int:
        made.append(given)
        return len(made)

    one, equal = [1], [1]
    assert [make(one, one), make(one, one), make(one, equal), make(one, one)] == [1, 1, 2, 3]
