"""JSON Schema as contracts use it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import SubjectError
from faultclock.subjects.schemas import check_schema, misfit, misfitting

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


def test_what_fits_has_nothing_wrong() -> None:
    """An empty schema fits anything, too."""
    assert misfit(CITY, {"city": "Ulm"}) is None
    assert misfit({}, [1, None]) is None


def test_what_does_not_fit_is_told_with_its_place() -> None:
    """One line, for a finding."""
    assert misfit(CITY, {"city": 7}) == "city: 7 is not of type 'string'"
    assert misfit(CITY, {}) == "'city' is a required property"


def test_a_schema_is_checked_by_what_it_holds_now() -> None:
    """One that was right may have been changed since; what is no plain data is looked at, too."""
    schema: dict[str, object] = {"type": "object"}
    check_schema("input_schema", schema)
    schema["type"] = "objekt"
    for _ in range(2):
        with pytest.raises(SubjectError, match="input_schema at type"):
            check_schema("input_schema", schema)
    with pytest.raises(SubjectError, match="output_schema"):
        check_schema("output_schema", {"type": object()})


def test_no_reference_is_ever_fetched() -> None:
    """A contract that points elsewhere is wrong, and the world is not asked."""
    wrong = misfit({"$ref": "https://example.com/schema.json"}, 1)
    assert wrong is not None
    assert "cannot be resolved" in wrong


@pytest.mark.parametrize(
    "schema",
    [[], "object", {"type": "objekt"}, {"required": "city"}, {"required": ("city",)}, {"$id": b""}],
)
def test_what_is_no_schema_is_refused(schema: object) -> None:
    """With the name of the option that holds it."""
    with pytest.raises(SubjectError, match="input_schema"):
        check_schema("input_schema", schema)


def test_a_misfit_is_made_where_there_is_one() -> None:
    """Near the valid one, so that it looks like a model's mistake."""
    made = misfitting(CITY, {"city": "Ulm"})
    assert made is not None
    assert misfit(CITY, made) is not None
    assert misfitting({}, {}) is None


@given(
    names=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True),
    kind=st.sampled_from(["string", "integer", "boolean", "array"]),
)
def test_a_schema_with_a_required_property_always_has_a_misfit(names: list[str], kind: str) -> None:
    """Whatever its properties are."""
    schema = {"type": "object", "properties": {n: {"type": kind} for n in names}, "required": names}
    valid = {n: {"string": "", "integer": 1, "boolean": True, "array": []}[kind] for n in names}
    assert misfit(schema, valid) is None
    assert misfitting(schema, valid) is not None
