"""A long list in a JSON file is read item by item, and everything else as `json` reads it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.load import json_stream
from faultclock.load.json_stream import read_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def read(content: bytes) -> tuple[Any, list[Any]]:
    """Return what a file holds, and the items of its list `runs`."""
    items: list[Any] = []
    return read_object(io.BytesIO(content), "runs", items.append), items


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@settings(max_examples=25)
@given(value=VALUES, runs=st.lists(VALUES, max_size=5), indent=st.sampled_from([None, 2]))
def test_any_value_is_what_json_reads(
    value: Any, runs: list[Any], indent: int | None, piece: int, encoding: str
) -> None:
    """Wherever a piece of the file ends, and however it is encoded."""
    text = json.dumps({"before": value, "runs": runs, "x": 12}, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_PIECE", max(piece, 4))
        found, items = read(text.encode(encoding))
    assert found == {"before": value, "runs": [], "x": 12}
    assert items == runs


@pytest.mark.parametrize("text", ["12", '"text"', "[1, 2]", "{}", " {} ", "null"])
def test_what_is_no_such_object_is_read_as_it_is(text: str) -> None:
    """A file may hold anything."""
    assert read(text.encode()) == (json.loads(text), [])


def test_a_list_that_is_none_is_a_value() -> None:
    """What belongs there says who reads it."""
    assert read(b'{"runs": {"a": [1]}}') == ({"runs": {"a": [1]}}, [])


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[", b'{"a"', b'{"a":', b'{"a": 1', b'{"a": 1,', b'{"a": 1,}', b"{1: 2}"),
        *(b'{"a": "x', b'{"a": 1} 2', b'{"runs": [', b'{"runs": [1', b'{"runs": [1,', b"tru"),
        *(b'{"runs": [1,]}', b'{"runs": [1 2]}', b'{"runs": [], "runs": []}', b"\xff\xfe\x00"),
        *(b'{"a": 1 "b": 2}', b"[" * 100_000, b'{"runs": [' + b"[" * 100_000),
    ],
)
def test_what_is_no_json_is_refused(content: bytes) -> None:
    """Also where it only ends too early."""
    with pytest.raises((ValueError, RecursionError)):
        read(content)


def test_an_item_is_let_go_before_the_next_one() -> None:
    """However long the list is, one item of it is in memory."""
    taken = 0
    most = 0

    class Endless(io.RawIOBase):
        """A file of a million items."""

        left = 300_000

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            nonlocal most
            most = max(most, size)
            if self.left == 300_000:
                self.left -= 1
                return b'{"runs": [1'
            if not self.left:
                return b""
            self.left -= 1
            return b", 1" if self.left else b"]}"

    def take(_: Any) -> None:
        nonlocal taken
        taken += 1

    assert read_object(Endless(), "runs", take) == {"runs": []}  # type: ignore[arg-type]
    assert taken == 299_999
    assert most <= 1 << 20
