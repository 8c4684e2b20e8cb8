"""Plain values: whatever a subject hands over becomes JSON data that is the same in every run."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.plain import canonical, digest, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


def test_what_has_no_json_form_becomes_the_name_of_its_type() -> None:
    """No object's own text gets into a trace, since it may hold an address."""
    found = plain({"thing": object(), "set": {1}, "bytes": b"x", ("a", 1): 2.5, "n": 1 << 70})
    assert found == {
        "thing": "<object>",
        "set": "<set>",
        "bytes": "<bytes>",
        "['a', 1]": "2.5",
        "n": "<an integer of 71 bits>",
    }


def test_secrets_and_endless_structures_are_cut() -> None:
    """A trace holds neither a key nor a whole memory."""
    endless: list[Any] = []
    endless.append(endless)
    assert plain("use sk-simulated-0123456789") == "use <secret>"
    assert "list" in json.dumps(plain(endless))
    assert len(plain("x" * 10_000)) == 4_001
    assert len(plain(range(10_000))) == 1_000


@given(JSON)
def test_canonical_text_is_json_of_the_same_value(value: Any) -> None:
    """Nothing that has a JSON form is changed."""
    assert json.loads(canonical(value)) == value


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    """Equal arguments have equal digests."""
    assert digest(dict(reversed(value.items()))) == digest(value)


def test_a_value_without_json_form_has_a_digest_too() -> None:
    """It is that of its plain form, so it does not depend on the object."""
    assert digest({"thing": object()}) == digest({"thing": object()})
    assert digest(float("nan")) == digest("nan")
