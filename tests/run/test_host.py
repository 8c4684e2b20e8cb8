"""What a subject declares becomes plain data."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.run.host import plain

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


def without_floats(value: object) -> bool:
    """Return whether `value` is JSON data without a float."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and without_floats(v) for k, v in value.items())
    if isinstance(value, list):
        return all(without_floats(item) for item in value)
    return value is None or isinstance(value, (bool, int, str))


@given(VALUES)
def test_anything_becomes_json_without_floats(value: object) -> None:
    """A float's text is no fact to compare bytes by."""
    assert without_floats(plain(value))


def test_a_structure_that_contains_itself_ends() -> None:
    """A subject may declare anything."""
    endless: list[object] = []
    endless.append(endless)
    assert without_floats(plain(endless))
