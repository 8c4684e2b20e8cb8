"""The reference store on a real folder, without any simulation: it is ordinary code."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.store import AsyncFileStore, FileStore
from faultclock.subjects.ports import Slot, StoreSurroundings, TypedError
from tests.subjects.conftest import FakeHost


def _store(folder: Path, store_id: str = "local") -> FileStore:
    return FileStore(StoreSurroundings(folder=folder, host=FakeHost(), store_id=store_id))


def test_what_is_written_is_read_by_a_fresh_store(tmp_path: Path) -> None:
    """Manifest, journal and slots, each as it was given."""
    store = _store(tmp_path)
    store.write("alpha", {"n": 1})
    store.append("alpha", {"turn": 1})
    store.append("alpha", {"turn": 2})
    store.write_slot("alpha", "guard", Slot(version=None, data={"x": [1]}))
    fresh = _store(tmp_path)
    assert fresh.read("alpha") == {"n": 1}
    assert fresh.read_journal("alpha") == [{"turn": 1}, {"turn": 2}]
    assert fresh.read_slot("alpha", "guard") == Slot(version=None, data={"x": [1]})
    assert fresh.list_sessions() == ["alpha"]


def test_a_new_manifest_ends_the_journal(tmp_path: Path) -> None:
    """The entries led to it; and the old file does not stay behind."""
    store = _store(tmp_path)
    store.append("alpha", {"turn": 1})
    store.write("alpha", {"n": 1})
    assert store.read_journal("alpha") == []
    assert not list(tmp_path.rglob("journal-0.log"))


def test_nothing_is_there_before_it_is_written(tmp_path: Path) -> None:
    """Absence is an answer."""
    store = _store(tmp_path)
    assert store.read("alpha") is None
    assert store.read_journal("alpha") == []
    assert store.read_slot("alpha", "guard") is None
    assert store.list_sessions() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"null", b'{"value": {}, "sha256": "0"}', b"\xff"])
def test_what_is_not_what_was_written_has_drifted(tmp_path: Path, damage: bytes) -> None:
    """Whatever the parser or the checksum says of it."""
    store = _store(tmp_path)
    store.write("alpha", {"n": 1})
    (manifest,) = tmp_path.rglob("manifest.json")
    manifest.write_bytes(damage)
    for ask in (store.read, store.read_journal, lambda name: store.write(name, {"n": 2})):
        with pytest.raises(TypedError) as caught:
            ask("alpha")
        assert (caught.value.error_class, caught.value.code) == ("Session", "ManifestDrift")
    assert manifest.read_bytes() == damage


def test_another_store_is_refused(tmp_path: Path) -> None:
    """It neither reads nor writes what is not its own."""
    _store(tmp_path).write("alpha", {"n": 1})
    other = _store(tmp_path, "elsewhere")
    for ask in (other.read, lambda name: other.write(name, {"n": 2})):
        with pytest.raises(TypedError) as caught:
            ask("alpha")
        assert caught.value.code == "ResumeMismatch"


def test_a_torn_entry_is_cut_off_before_the_next(tmp_path: Path) -> None:
    """Readers stop at it, and what follows is a line of its own."""
    store = _store(tmp_path)
    store.append("alpha", {"turn": 1})
    (journal,) = tmp_path.rglob("journal-0.log")
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[:20])
    assert store.read_journal("alpha") == [{"turn": 1}]
    store.append("alpha", {"turn": 2})
    assert store.read_journal("alpha") == [{"turn": 1}, {"turn": 2}]


def test_an_error_of_the_system_tells_no_path(tmp_path: Path) -> None:
    """The typed error says what could not be done, and why."""
    (tmp_path / "s-alpha").write_text("in the way")
    with pytest.raises(TypedError) as caught:
        _store(tmp_path).write("alpha", {"n": 1})
    assert caught.value.code == "StoreUnavailable"
    assert str(tmp_path) not in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)


_NAMES = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20
)


@given(first=_NAMES, second=_NAMES)
def test_no_two_names_share_a_file_and_none_leads_out(
    tmp_path_factory: Any, first: str, second: str
) -> None:
    """Any text is a good id of a session or an owner."""
    folder = tmp_path_factory.mktemp("names")
    store = _store(folder)
    places = {store.place(first), store.place(second), store.slot(first, second)}
    assert len(places) == (2 if first == second else 3)
    for place in places:
        assert place.resolve().is_relative_to(folder.resolve())
        assert place != folder


def test_the_async_store_is_the_same_store(tmp_path: Path) -> None:
    """It reads what the blocking one wrote, method by method."""
    surroundings = StoreSurroundings(folder=tmp_path, host=FakeHost(), store_id="local")

    async def use() -> tuple[Any, ...]:
        store = AsyncFileStore(surroundings)
        await store.write("alpha", {"n": 1})
        await store.append("alpha", {"turn": 1})
        await store.write_slot("alpha", "guard", Slot(version=1, data={}))
        return (
            await store.read("alpha"),
            await store.read_journal("alpha"),
            await store.read_slot("alpha", "guard"),
            await store.list_sessions(),
        )

    blocking = FileStore(surroundings)
    assert asyncio.run(use()) == (
        blocking.read("alpha"),
        blocking.read_journal("alpha"),
        blocking.read_slot("alpha", "guard"),
        blocking.list_sessions(),
    )
