"""Texts of strangers become plain trees: nothing is made, nothing explodes, places are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import SourceError
from faultclock.load.located.tree import Mapping, Place, Scalar, Sequence, to_data
from faultclock.recordings.exchange import Oddities, OddityKind
from faultclock.recordings.inert import parse


def read(text: str | bytes) -> tuple[Any, list[tuple[OddityKind, int]]]:
    """Return the plain value of a text, and kind and line of each oddity."""
    oddities = Oddities()
    content = text.encode() if isinstance(text, str) else text
    tree = parse(content, "some.yaml", oddities)
    return to_data(tree), [(oddity.kind, oddity.place.line) for oddity in oddities]


def test_a_python_tag_is_a_text_and_nothing_is_called(tmp_path: Path) -> None:
    """A cassette that asks for a command to be run gets the words of the command."""
    mark = tmp_path / "was-here"
    value, oddities = read(f"a: 1\nb: !!python/object/apply:os.system ['touch {mark}']\n")
    assert value == {"a": 1, "b": f"touch {mark}"}
    assert oddities == [(OddityKind.PYTHON_TAG, 2)]
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("? !!python/object/apply:multidict.istr\n- Accept\n: x\n", {"Accept": "x"}),
        ("a: !!python/unicode 'b'\n", {"a": "b"}),
        ("a: !!python/tuple [1, 2]\n", {"a": [1, 2]}),
        ("a: !!python/object/new:_io.BytesIO\n  state: !!python/tuple [x, 0, null]\n", {"a": "x"}),
        ("a: !!python/object/apply:builtins.iter\n  args: [[x]]\n", {"a": "x"}),
        ("a: !!python/name:os.system ''\n", {"a": ""}),
        ("a: !!python/object:nobody.Knows {b: c}\n", {"a": {"b": "c"}}),
        ("a: !ruby/object:Thing {b: c}\n", {"a": {"b": "c"}}),
    ],
)
def test_a_tag_leaves_what_it_was_put_on(text: str, value: Any) -> None:
    """Names of headers, texts, tuples and sent files are read as what they are written as."""
    got, oddities = read(text)
    assert got == value
    assert {kind for kind, _ in oddities} <= {OddityKind.PYTHON_TAG, OddityKind.FOREIGN_TAG}
    assert oddities


@pytest.mark.parametrize("tag", ["!!binary", "!binary"])
def test_base64_is_undone(tag: str) -> None:
    """Both spellings of the tag mean bytes."""
    value, oddities = read(f"a: {tag} |\n  aGVsbG8=\n")
    assert value == {"a": b"hello"}
    assert oddities == [(OddityKind.BINARY_VALUE, 1)]


def test_base64_that_is_none_is_a_text() -> None:
    """A broken value does not stop the file."""
    value, oddities = read("a: !!binary x\n")
    assert value == {"a": "x"}
    assert (OddityKind.ODD_SHAPE, 1) in oddities


def test_aliases_that_multiply_are_refused() -> None:
    """Nine levels of nine aliases would be a billion values: it is told before they are made."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 10):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
    with pytest.raises(SourceError, match="more than 2,000,000 values") as caught:
        read("\n".join(lines))
    assert caught.value.problems[0].line > 1


def test_an_alias_of_what_is_not_whole_is_refused() -> None:
    """A value that contains itself has no end."""
    with pytest.raises(SourceError, match="names no complete value"):
        read("a: &a [*a]\n")


def test_an_alias_is_what_it_names() -> None:
    """Recorders write equal headers once."""
    value, oddities = read("a: &x {b: [1]}\nc: *x\n")
    assert value == {"a": {"b": [1]}, "c": {"b": [1]}}
    assert oddities == [(OddityKind.ALIAS, 2)]


@pytest.mark.parametrize("sign", ["[", '{"a":', "- ", "? "])
def test_brackets_without_end_do_not_exhaust_the_stack(sign: str) -> None:
    """Depth is bounded, whichever parser meets it first."""
    oddities = Oddities()
    tree = parse(("interactions:\n" * (sign == "- ") + sign * 100_000).encode(), "deep", oddities)
    assert isinstance(tree, (Mapping, Sequence))
    assert not tree.whole
    assert OddityKind.CUT_OFF in {oddity.kind for oddity in oddities}


@pytest.mark.parametrize(
    "text",
    ["interactions:\n- a: 1\n- a: 'cut", '{"interactions": [{"a": 1}, {"a": "cut'],
)
def test_a_text_that_ends_in_the_middle_gives_what_was_whole(text: str) -> None:
    """What came before the cut is there, and the entry that was cut says that it is not whole."""
    oddities = Oddities()
    tree = parse(text.encode(), "cut", oddities)
    assert isinstance(tree, Mapping)
    found = tree.values["interactions"]
    assert isinstance(found, Sequence)
    assert [(to_data(item), getattr(item, "whole", None)) for item in found.items] == [
        ({"a": 1}, True),
        ({}, False),
    ]


@pytest.mark.parametrize("text", ["", " \n", "just words", "3", "# only this", "\t", "%", "&a"])
def test_what_is_no_collection_is_refused_with_its_place(text: str) -> None:
    """One clear problem, at a line and a column."""
    with pytest.raises(SourceError) as caught:
        read(text)
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == ("some.yaml", 1)


def test_bytes_that_are_no_utf_8_are_told_and_replaced() -> None:
    """A recording in Latin-1 is still read."""
    value, oddities = read(b"a: 1\nb: caf\xe9\n")
    assert value == {"a": 1, "b": "caf�"}
    assert oddities == [(OddityKind.NOT_UTF8, 2)]


def test_utf_16_with_its_mark_is_read() -> None:
    """Some tools of Windows write it."""
    value, oddities = read('{"a": "ä"}'.encode("utf-16"))
    assert value == {"a": "ä"}
    assert oddities == [(OddityKind.NOT_UTF8, 1)]


def test_control_characters_are_told_and_replaced() -> None:
    """YAML does not allow them, and a disk that broke writes them."""
    value, oddities = read("a: 1\nb: x\x00y\n")
    assert value == {"a": 1, "b": "x�y"}
    assert oddities == [(OddityKind.CONTROL_CHARACTERS, 2)]


def test_a_second_document_is_told_and_not_read() -> None:
    """Two cassettes that were put together are one and a note."""
    value, oddities = read("a: 1\n---\na: 2\n")
    assert value == {"a": 1}
    assert oddities == [(OddityKind.CUT_OFF, 2)]


def test_the_first_of_two_equal_keys_counts() -> None:
    """The standard readers keep the last one in silence."""
    for text in ("a: 1\na: 2\n", '{"a": 1,\n"a": 2}'):
        value, oddities = read(text)
        assert value == {"a": 1}
        assert oddities == [(OddityKind.DUPLICATE_KEY, 2)]


def test_half_of_a_pair_in_json_is_replaced() -> None:
    """What cannot be written again is not kept."""
    assert read('{"a": "\\ud83d"}')[0] == {"a": "�"}


def test_places_in_json_are_those_of_the_text() -> None:
    """The standard reader of JSON tells none."""
    tree = parse(b'{\n  "a": [\n    1,\n    {"b": "c"}\n  ]\n}', "x.json", Oddities())
    assert isinstance(tree, Mapping)
    items = tree.values["a"]
    assert isinstance(items, Sequence)
    inner = items.items[1]
    assert isinstance(inner, Mapping)
    leaf = inner.values["b"]
    assert isinstance(leaf, Scalar)
    assert (items.place, inner.place, leaf.place) == (Place(2, 8), Place(4, 5), Place(4, 11))


def test_yaml_in_flow_style_is_not_taken_for_broken_json() -> None:
    """A file that begins with a bracket may be either."""
    assert read("{a: [1, two], b: 'c'}") == ({"a": [1, "two"], "b": "c"}, [])


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _FLOATS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_TEXTS, _JSON), st.sampled_from([None, 1, 4]), st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(
    value: Any, indent: int | None, ascii_only: bool
) -> None:
    """Our reader adds places and takes nothing away."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read(text) == (json.loads(text), [])


@given(st.dictionaries(_TEXTS, st.lists(_TEXTS)))
def test_yaml_is_read_as_it_was_written(value: Any) -> None:
    """What a recorder's own writer quotes comes back as the same text."""
    text = yaml.safe_dump({"interactions": value})
    assert read(text)[0] == {"interactions": value}


@given(st.binary(max_size=300))
def test_any_bytes_are_a_tree_or_a_problem(content: bytes) -> None:
    """Nothing else leaves the reader."""
    try:
        tree: Mapping | Sequence | None = parse(content, "x", Oddities())
    except SourceError:
        tree = None
    assert tree is None or to_data(tree) is not None
