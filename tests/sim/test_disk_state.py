"""What survives a crash: the page cache, name changes, and the promises of two file systems."""

from __future__ import annotations

import pickle
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.sim.host.disk_state import DiskState, FileBody, Leaves

LEAVES: tuple[Leaves, ...] = ("nothing", "part", "all")


def _with_file(
    file_system: Literal["ordered", "posix"] = "ordered", content: bytes = b"old"
) -> tuple[DiskState, FileBody]:
    """Return a state with one durable file `a`."""
    state, body = DiskState(file_system=file_system), FileBody()
    state.add("a", body)
    body.change(0, content)
    state.sync_file(body)
    state.sync_folder("")
    return state, body


def _content(state: DiskState, name: str) -> bytes | None:
    body = state.names.get(name)
    return None if body is None else bytes(body.now)


@pytest.mark.parametrize(
    ("leaves", "expected"), [("nothing", b"old"), ("part", b"old12"), ("all", b"old1234")]
)
def test_of_what_was_not_synced_nothing_half_or_all_survives(
    leaves: Leaves, expected: bytes
) -> None:
    """The scenario chooses how much the disk got of the page cache."""
    state, body = _with_file()
    body.change(3, b"1234")
    state.crash(leaves)
    assert _content(state, "a") == expected


def test_a_file_that_was_emptied_and_half_filled_is_torn() -> None:
    """To write in place is to lose the old content first."""
    state, body = _with_file(content=b"the old one")
    body.change(0, None)
    body.change(0, b"the new")
    assert state.crash("part") == [{"file": "a", "how": "torn"}]
    assert _content(state, "a") == b"the"


@pytest.mark.parametrize("leaves", LEAVES)
def test_what_was_synced_survives(leaves: Leaves) -> None:
    """An fsync is a promise, whatever happens."""
    state, body = _with_file()
    body.change(0, b"new")
    state.sync_file(body)
    assert state.crash(leaves) == []
    assert _content(state, "a") == b"new"


def _replaced(file_system: Literal["ordered", "posix"], *, synced: bool) -> DiskState:
    state, _ = _with_file(file_system)
    fresh = FileBody()
    state.add("b", fresh)
    fresh.change(0, b"new!")
    if synced:
        state.sync_file(fresh)
    state.move("b", "a")
    return state


@pytest.mark.parametrize(
    ("file_system", "synced", "leaves", "expected"),
    [
        # The rename is not committed yet: all is as it was.
        ("ordered", True, "nothing", b"old"),
        ("posix", True, "nothing", b"old"),
        # Once it is, ext4 has written the data of what replaces; POSIX promises nothing.
        ("ordered", False, "part", b"new!"),
        ("posix", False, "part", b"ne"),
        ("posix", True, "part", b"new!"),
        ("posix", False, "all", b"new!"),
    ],
)
def test_a_replace_without_a_folder_sync(
    file_system: Literal["ordered", "posix"], synced: bool, leaves: Leaves, expected: bytes
) -> None:
    """The old file or the new one on ext4; a torn one where nobody synced and nobody promised."""
    state = _replaced(file_system, synced=synced)
    state.crash(leaves)
    assert _content(state, "a") == expected
    assert "b" not in state.names or leaves == "nothing"


def test_a_replace_and_a_folder_sync_survive_everywhere() -> None:
    """That is all that a store can do, and it is enough."""
    for file_system in ("ordered", "posix"):
        for leaves in LEAVES:
            state = _replaced(file_system, synced=True)  # type: ignore[arg-type]
            state.sync_folder("")
            state.crash(leaves)
            assert _content(state, "a") == b"new!"


def test_a_synced_file_without_a_synced_name_is_lost_under_posix_alone() -> None:
    """A sync of a file commits its name on ext4, and says nothing of it elsewhere."""
    for file_system, kept in (("ordered", True), ("posix", False)):
        state, body = DiskState(file_system=file_system), FileBody()  # type: ignore[arg-type]
        state.add("a", body)
        body.change(0, b"x")
        state.sync_file(body)
        state.crash("nothing")
        assert ("a" in state.names) is kept


def test_what_lies_in_a_lost_folder_is_lost() -> None:
    """A synced file cannot be reached when the folder around it never got to the disk."""
    state, body = DiskState(file_system="posix"), FileBody()
    state.add("s", None)
    state.add("s/a", body)
    body.change(0, b"x")
    state.sync_file(body)
    state.sync_folder("s")
    assert state.crash("nothing") == [
        {"file": "s", "how": "gone"},
        {"file": "s/a", "how": "gone"},
    ]


def test_a_removed_file_comes_back_when_its_removal_was_not_synced() -> None:
    """A name that is dropped is a change of names like any other."""
    state, _ = _with_file("posix")
    state.drop("a")
    assert state.crash("nothing") == [{"file": "a", "how": "back"}]
    assert _content(state, "a") == b"old"


def test_after_a_failed_sync_the_next_one_makes_nothing_durable() -> None:
    """The pages count as clean; what is appended behind them stands behind a hole."""
    state, body = _with_file()
    body.change(3, b"lost")
    body.forget()
    body.change(7, b"kept")
    state.sync_file(body)
    state.crash("nothing")
    assert _content(state, "a") == b"old\0\0\0\0kept"


def test_folders_move_with_all_that_is_in_them() -> None:
    """To rename a folder renames every name below it, on both sides of the cache."""
    state, body = DiskState(), FileBody()
    state.add("s", None)
    state.add("s/a", body)
    state.move("s", "t")
    state.sync_folder("")
    state.crash("nothing")
    assert set(state.names) == {"t", "t/a"}


def test_two_names_of_one_file_stay_one_file() -> None:
    """A link is a name, and what is written by one is read by the other, after a crash too."""
    state, body = _with_file()
    state.add("b", body)
    state.crash("all")
    assert state.names["a"] is state.names["b"]


def test_it_can_be_handed_to_another_process() -> None:
    """Each life has a process of its own, and identity must survive the way."""
    state, body = _with_file()
    state.add("b", body)
    copy = pickle.loads(pickle.dumps(state))
    assert copy.names["a"] is copy.names["b"] is copy.durable_names["a"]


_CHANGES = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 12), st.binary(min_size=1, max_size=6)),
        st.tuples(st.integers(0, 12), st.none()),
        st.just("sync"),
    ),
    max_size=12,
)


@given(_CHANGES)
def test_cache_and_disk_agree_whenever_everything_is_synced(changes: list[object]) -> None:
    """However writes and cuts overlap, a sync leaves one content, and a crash then changes none."""
    state, body = _with_file()
    for change in changes:
        if change == "sync":
            state.sync_file(body)
            assert body.durable == body.now
        else:
            body.change(*change)  # type: ignore[misc]
    state.sync_file(body)
    assert state.crash("nothing") == []


@given(_CHANGES)
def test_half_of_the_bytes_is_between_nothing_and_everything(changes: list[object]) -> None:
    """Replaying all changes on the disk gives the cache; half of them never needs more."""
    _, body = _with_file()
    for change in changes:
        if change != "sync":
            body.change(*change)  # type: ignore[misc]
    half = body.half()
    body.settle()
    assert body.durable == body.now
    assert len(half) <= max(len(body.now), 3, *(12 + 6 for _ in changes or [0]))
