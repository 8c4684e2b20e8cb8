"""What is durable of a session: whole, cut short, stale, edited, and what may be stored at all."""

from __future__ import annotations

import pickle
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.ports.stored_session import (
    Cell,
    EditMissError,
    Share,
    StoredSession,
    StoreState,
    UnreadableError,
    canonical_json,
    edited,
    initial_session,
    slot_json,
)
from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.store_script import StoredSlot, StoreEdit, StoreScript

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


def stored(manifest: dict[str, Any]) -> StoredSession:
    """Return a session with that manifest."""
    return StoredSession().written(canonical_json(manifest, "it"))


@given(OBJECTS)
def test_what_is_written_is_read(value: dict[str, Any]) -> None:
    """Manifest, journal entry and slot come back equal, and never as the same object."""
    text = canonical_json(value, "it")
    session = StoredSession().written(text).appended(text).appended(text)
    session = session.slot_written("owner", slot_json(3, value))
    assert session.read_manifest() == value
    assert session.read_manifest() is not session.read_manifest()
    assert session.read_journal() == [value, value]
    assert session.read_slot("owner") == Slot(version=3, data=value)
    assert pickle.loads(pickle.dumps(session)) == session


@given(OBJECTS)
def test_half_of_a_text_is_never_read_as_a_whole(value: dict[str, Any]) -> None:
    """A cut-off manifest or slot is unreadable; a cut-off entry is none."""
    text = canonical_json(value, "it")
    session = StoredSession().appended("{}").written(text, "part").appended(text, "part")
    session = session.slot_written("owner", slot_json(None, value), "part")
    with pytest.raises(UnreadableError):
        session.read_manifest()
    with pytest.raises(UnreadableError):
        session.read_slot("owner")
    assert session.read_journal() == [{}]
    assert session.appended(text).read_journal() == [{}, value]


def test_nothing_of_a_change_is_no_change() -> None:
    """A write that never became durable leaves even the revision before as it was."""
    session = stored({"a": 1}).appended("{}").slot_written("owner", slot_json(1, {}))
    assert session.written("{}", "nothing") == session
    assert session.appended("{}", "nothing") == session
    assert session.slot_written("owner", slot_json(2, {}), "nothing") == session


def test_only_a_whole_manifest_clears_the_journal() -> None:
    """What was cut off before its end did not get to the journal."""
    session = stored({"a": 1}).appended("{}")
    assert session.written('{"a":2}', "part").read_journal() == [{}]
    assert session.written('{"a":2}').read_journal() == []


def test_a_stale_read_finds_the_revision_before() -> None:
    """Each text has its own one."""
    session = stored({"a": 1}).appended('{"e":1}').appended('{"e":2}')
    session = session.slot_written("owner", slot_json(1, {})).slot_written(
        "owner", slot_json(2, {})
    )
    assert session.read_journal(stale=True) == [{"e": 1}]
    old = session.read_slot("owner", stale=True)
    assert old is not None
    assert old.version == 1
    session = session.written('{"a":2}')
    assert session.read_manifest(stale=True) == {"a": 1}
    assert session.read_journal(stale=True) == [{"e": 1}, {"e": 2}]
    assert session.written('{"a":3}', "part").read_manifest(stale=True) == {"a": 2}


def test_a_stale_read_of_the_first_revision_finds_nothing() -> None:
    """Before it there was no session."""
    assert stored({"a": 1}).read_manifest(stale=True) is None


def test_an_empty_session_has_nothing_to_read() -> None:
    """No manifest, no entries, no slot."""
    session = StoredSession()
    assert (session.read_manifest(), session.read_journal(), session.read_slot("x")) == (
        None,
        [],
        None,
    )
    assert not session.manifest.can_be_stale


@pytest.mark.parametrize("text", ["", "no json", "[1]", "null", "NaN", '{"a":NaN}', "[" * 100_000])
def test_a_text_that_is_no_json_object_is_unreadable(text: str) -> None:
    """Whatever an edit has put there."""
    with pytest.raises(UnreadableError):
        StoredSession(manifest=Cell(text=text)).read_manifest()


class Colour(Enum):
    """Has no JSON form."""

    RED = 1


def nested(depth: int) -> Any:
    """Return lists in lists."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "the manifest must be a mapping, not a list"),
        (None, "the manifest must be a mapping, not a NoneType"),
        ({"a": {1, 2}}, "a cannot be stored as JSON: it is a set"),
        ({"a": [{"b": b"x"}]}, "a.0.b cannot be stored as JSON: it is a bytes"),
        ({"a": Colour.RED}, "a cannot be stored as JSON: it is a Colour"),
        ({1: 2}, "the manifest cannot be stored as JSON: its key 1 is no text"),
        ({"a": float("nan")}, "the manifest cannot be stored as JSON: Out of range float"),
        ({"a": nested(300)}, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_place(value: Any, message: str) -> None:
    """A store does not silently change what it is given."""
    with pytest.raises(TypeError, match=message.replace(".", r"\.")):
        canonical_json(value, "the manifest")


def test_a_circle_is_refused() -> None:
    """It would have no end."""
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(TypeError, match="nested too deeply"):
        canonical_json(value, "it")


def test_mappings_and_tuples_are_stored_as_objects_and_lists() -> None:
    """JSON knows no others, and nothing of them is lost."""
    value = MappingProxyType({"b": (1, 2), "a": MappingProxyType({})})
    assert canonical_json(value, "it") == '{"a":{},"b":[1,2]}'


@pytest.mark.parametrize(
    ("version", "data"), [(-1, {}), (True, {}), ("1", {}), (1.0, {}), (1, [1]), (1, None)]
)
def test_what_is_no_slot_is_refused(version: Any, data: Any) -> None:
    """A version is a number from 0 or None; the data is an object."""
    with pytest.raises(TypeError, match="a slot's"):
        slot_json(version, data)


# ---------------------------------------------------------------------- script and edits


def test_a_script_without_contents_is_no_session() -> None:
    """Then the first life finds nothing."""
    assert initial_session(StoreScript()) is None
    assert StoreState.initial(StoreScript(), "s9").sessions == {}


def test_the_initial_contents_have_no_revision_before() -> None:
    """They have been there for so long that no read of them is stale."""
    script = StoreScript(
        initial={"a": 1},
        journal=({"e": 1}, {"e": 2}),
        slots={"owner": StoredSlot(version=None, data={"k": 1})},
    )
    state = StoreState.initial(script, "s9")
    session = state.sessions["s9"]
    assert session.read_manifest() == {"a": 1}
    assert session.read_journal() == [{"e": 1}, {"e": 2}]
    assert session.read_slot("owner") == Slot(version=None, data={"k": 1})
    cells = (session.manifest, session.journal, session.slot("owner"))
    assert not any(cell.can_be_stale for cell in cells)
    assert pickle.loads(pickle.dumps(state)) == state


def edit(**fields: Any) -> StoreEdit:
    """Return an edit before life 2."""
    return StoreEdit(before_life=2, **fields)


def test_an_edit_sets_and_removes_by_dotted_path() -> None:
    """A number is an index into a list; the index after the last one appends."""
    session = stored({"a": {"b": 1, "c": 2}, "list": [{"x": 1}, 5], "gone": 1})
    changes = {"a.b": 9, "a.new": None, "list.0.x": 2, "list.2": 6, "top": []}
    after = edited(session, edit(set=changes, remove=("gone", "a.c", "list.1")))
    assert after is not None
    assert after.read_manifest() == {
        "a": {"b": 9, "new": None},
        "list": [{"x": 2}, 6],
        "top": [],
    }
    assert after.read_manifest(stale=True) == session.read_manifest()


@pytest.mark.parametrize(
    "fields",
    [
        {"set": {"a.b.c": 1}},
        {"set": {"missing.b": 1}},
        {"set": {"list.5": 1}},
        {"set": {"list.x": 1}},
        {"remove": ("missing",)},
        {"remove": ("list.1",)},
        {"remove": ("list.-1",)},
        {"remove": ("a.b.c",)},
    ],
)
def test_an_edit_of_what_is_not_there_misses(fields: Any) -> None:
    """And says which path it was."""
    with pytest.raises(EditMissError, match="the manifest has no"):
        edited(stored({"a": {"b": 1}, "list": [1]}), edit(**fields))


@pytest.mark.parametrize(
    "session", [None, StoredSession(), stored({}).written("{}", "part")], ids=repr
)
def test_an_edit_of_no_readable_manifest_misses(session: StoredSession | None) -> None:
    """There is nothing that could be changed."""
    with pytest.raises(EditMissError):
        edited(session, edit(set={"a": 1}))


def test_an_edit_can_replace_the_text_and_slots_and_drop_the_session() -> None:
    """These need nothing to be there."""
    raw = edited(None, edit(raw="{oops", slots={"owner": StoredSlot(version=7)}))
    assert raw is not None
    assert raw.manifest.text == "{oops"
    assert raw.read_slot("owner") == Slot(version=7, data={})
    assert edited(stored({"a": 1}), edit(drop=True)) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write", "append", "slot"]),
            st.sampled_from(["nothing", "part", "all"]),
            OBJECTS,
        ),
        max_size=8,
    )
)
def test_any_sequence_of_changes_is_read_whole_or_not_at_all(
    changes: list[tuple[str, Share, dict[str, Any]]],
) -> None:
    """Against a plain model: each text is the last durable one, or unreadable if that was cut."""
    session = StoredSession()
    manifest: Any = None
    slot: Any = None
    journal: list[Any] = []
    for what, share, value in changes:
        text = canonical_json(value, "it")
        torn = share == "part"
        if what == "write":
            session = session.written(text, share)
            manifest = manifest if share == "nothing" else UnreadableError if torn else value
            journal = [] if share == "all" else journal
        elif what == "append":
            session = session.appended(text, share)
            journal = [*journal, value] if share == "all" else journal
        else:
            session = session.slot_written("o", slot_json(1, value), share)
            slot = slot if share == "nothing" else UnreadableError if torn else value
    assert session.read_journal() == journal
    _same(lambda: session.read_manifest(), manifest)
    _same(lambda: (found := session.read_slot("o")) and dict(found.data), slot)


def _same(read: Any, expected: Any) -> None:
    if expected is UnreadableError:
        with pytest.raises(UnreadableError):
            read()
    else:
        assert read() == expected
