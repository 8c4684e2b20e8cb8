"""What a framework keeps as Python objects, as a text of the store."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from faultclock.subjects.frameworks.pickled import pickled, unpickled

LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.frozensets(st.text())
STATES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner)
)


@given(STATES)
def test_a_state_comes_back_as_it_was(state: object) -> None:
    """With its sets and its tuples."""
    assert unpickled(pickled(state)) == state


def test_two_equal_texts_need_not_be_one_object() -> None:
    """Whether a library has made a copy differs between processes."""
    text = "thread-1"
    copy = "".join(["thread", "-1"])
    assert copy is not text
    assert pickled([text, text]) == pickled([text, copy])


def test_a_set_is_written_in_order() -> None:
    """Its own order follows how it was filled."""
    there, back = set(range(0, 8_000, 8)), set(range(7_992, -8, -8))
    assert list(there) != list(back)
    assert there == back
    assert pickled(there) == pickled(back)


def test_a_state_may_hold_itself() -> None:
    """Such as a step of an agent that refers to what holds it."""
    step: dict[str, object] = {"number": 1}
    step["meta"] = {"step": step}
    back = unpickled(pickled(step))
    assert back["meta"]["step"] is back
