"""Short texts made shorter, and the same again."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from faultclock.model.squeeze import squeezed, unsqueezed


@given(data=st.binary(max_size=400))
@example(data=b"")
@example(data=b"\x00" * 300)
@example(data=b"\xff" * 300)
@settings(max_examples=20, deadline=None)
def test_whatever_is_squeezed_comes_out_again(data: bytes) -> None:
    """Every byte, also where there is no pattern at all; the reader needs the length."""
    assert unsqueezed(squeezed(data), len(data)) == data


@given(data=st.binary(max_size=60), length=st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_anything_can_be_unsqueezed(data: bytes, length: int) -> None:
    """Into as many bytes as were asked for: whether they mean anything, others have to tell."""
    assert len(unsqueezed(data, length)) == length


def test_what_texts_are_made_of_is_cheap() -> None:
    """A digest of these bytes is a promise: they must be the same on every machine, for ever."""
    text = b"\x20rate-limits/retry-after-integer\x0copenai-async schedule/1/timer/1/Task-3"
    assert squeezed(text).hex() == PROMISED
    assert unsqueezed(bytes.fromhex(PROMISED), len(text)) == text


PROMISED = "b52d1669a905e796304debad60f27ecff290e6cf91482c61"
