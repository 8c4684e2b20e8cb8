"""One tree, whatever the format: equal values at equal places, and the same bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import SourceError
from faultclock.load.located.toml_text import parse_toml
from faultclock.load.located.tree import OURS, RECORDINGS, Mapping, Node, Place, children, to_data
from faultclock.load.located.yaml_text import parse_yaml
from faultclock.recordings.exchange import Oddities
from faultclock.recordings.inert import parse

_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)
_VALUES = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=12,
)


def walked(node: Node) -> Iterator[Node]:
    """Yield a node and all below it."""
    yield node
    for child in children(node):
        yield from walked(child)


def places(root: Node) -> list[tuple[Place, list[Place]]]:
    """Return where each node stands, with where its keys stand."""
    return [
        (node.place, list(node.keys.values()) if isinstance(node, Mapping) else [])
        for node in walked(root)
    ]


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4), st.sampled_from([None, 1, 3]))
def test_json_and_yaml_are_one_tree(data: dict[str, object], indent: int | None) -> None:
    """JSON is YAML: both readers find each value and each key at the same line and column."""
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    by_yaml = parse_yaml(text, "x.yaml")
    by_json = parse(text.encode(), "x.json", Oddities())
    assert to_data(by_yaml) == to_data(by_json) == data
    assert places(by_yaml) == places(by_json)


@given(st.lists(st.integers() | st.booleans(), max_size=4))
def test_a_list_of_toml_stands_where_one_of_yaml_does(items: list[int]) -> None:
    """`x = [1, 2]` and `x : [1, 2]` differ in one sign."""
    text = json.dumps(items)
    by_toml, by_yaml = parse_toml(f"x = {text}", "x.toml"), parse_yaml(f"x : {text}", "x.yaml")
    assert to_data(by_toml) == to_data(by_yaml) == {"x": items}
    assert places(by_toml) == places(by_yaml)


def test_what_nests_too_deep_is_refused_in_the_same_words() -> None:
    """Each format has the bound of its purpose, and none exhausts the stack."""
    deep = "[" * 100_000
    with pytest.raises(SourceError, match=r"^x:1:67: this is nested more than 64 deep$"):
        parse_yaml(f"x: {deep}", "x")
    with pytest.raises(SourceError, match=r"^x:1:\d+: this is nested more than 64 deep$"):
        parse_toml(f"{'x.' * 1_000}x = 1", "x")
    oddities = Oddities()
    parse(deep.encode(), "x", oddities)
    assert [oddity.message.partition(": ")[2] for oddity in oddities] == [
        f"this is nested more than {RECORDINGS.depth_max} deep"
    ]
    assert OURS.depth_max < RECORDINGS.depth_max
