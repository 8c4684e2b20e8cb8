"""TOML with places: every key and value stands where a person looks for it."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import SourceError
from faultclock.load.located.toml_text import parse_toml
from faultclock.load.located.tree import Mapping, Place, Scalar, Sequence, to_data

TEXT = '''\
# A comment with [a.table] and key = "value" in it.
top = 1
[tool.other]
text = """
[tool.ours]
fake = "}, ] # "
"""
[tool . "ours"] # the real one
plain = 'C:\\path' # told
list = [ # of two
  "one", # with a comma,
  { deep = [true, 2.5], "quo\\u0074ed" = 1979-05-27 07:32:00 },
]
a.b.c = +1_000
[[tool.ours.tables]]
n = 1
[[tool.ours.tables]]
n = 2
[tool.ours.tables.below]
x = """""two quotes"""""
'''


def _walk(root: Mapping, *path: str | int) -> Mapping | Sequence | Scalar:
    node: Mapping | Sequence | Scalar = root
    for step in path:
        if isinstance(node, Mapping):
            node = node.values[str(step)]
        else:
            assert isinstance(node, Sequence)
            node = node.items[int(step)]
    return node


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("top",), 2, 7),
        (("tool", "ours", "plain"), 9, 9),
        (("tool", "ours", "list", 0), 11, 3),
        (("tool", "ours", "list", 1, "deep", 1), 12, 19),
        (("tool", "ours", "list", 1, "quoted"), 12, 41),
        (("tool", "ours", "a", "b", "c"), 14, 9),
        (("tool", "ours", "tables", 1, "n"), 18, 5),
        (("tool", "ours", "tables", 1, "below", "x"), 20, 5),
    ],
)
def test_a_value_stands_where_it_is_written(
    path: tuple[str | int, ...], line: int, column: int
) -> None:
    """Texts, comments and quoted keys that look like something else do not lead astray."""
    assert _walk(parse_toml(TEXT, "x.toml"), *path).place == Place(line, column)


def test_the_values_are_those_of_the_reader() -> None:
    """The tree adds places and changes nothing; a date is its text."""
    data = tomllib.loads(TEXT)
    read = to_data(parse_toml(TEXT, "x.toml"))
    assert json.loads(json.dumps(data, default=str)) == read


_KEYS = st.text(min_size=1, max_size=6)
_VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=4))
def test_whatever_is_written_is_read_back(data: dict[str, object]) -> None:
    """Every value of a file comes back, and each key stands where its text begins."""
    lines = [f"{_quoted(key)} = {_written(value)}" for key, value in data.items()]
    root = parse_toml("\n".join(lines), "x.toml")
    assert to_data(root) == data
    assert [place.line for place in root.keys.values()] == list(range(1, len(data) + 1))


@given(st.text(alphabet="[]{}=.,'\"#\\ \n\tab1-:", max_size=30))
def test_what_is_no_toml_is_told_with_a_place(text: str) -> None:
    """Nothing but a SourceError comes of any text, and its place is in the text."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(SourceError) as told:
            parse_toml(text, "x.toml")
        (problem,) = told.value.problems
        assert 1 <= problem.line <= text.count("\n") + 1
        assert problem.column >= 1
    else:
        root = parse_toml(text, "x.toml")
        assert set(root.values) == set(data)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written(value: object) -> str:
    match value:
        case dict():
            inside = ", ".join(f"{_quoted(key)} = {_written(item)}" for key, item in value.items())
            return f"{{{inside}}}"
        case list():
            return f"[{', '.join(map(_written, value))}]"
        case str():
            return _quoted(value)
        case bool():
            return str(value).lower()
    return repr(value)


def test_a_number_that_python_cannot_read_is_refused_at_its_place() -> None:
    """It is no fault of ours that a person's finger stayed on a key."""
    with pytest.raises(SourceError) as caught:
        parse_toml(f"a = 1\n[tool.faultclock]\nsubject = {'9' * 5_000}\n", "pyproject.toml")
    assert str(caught.value) == "pyproject.toml:3:11: the number is too long"


def test_a_number_that_cannot_be_written_again_is_the_text_that_it_is() -> None:
    """Python reads any number of hexadecimal digits, and writes 4,300 decimal ones."""
    tree = parse_toml(f"a = 0x{'f' * 5_000}\nb = 0xff", "t.toml")
    assert to_data(tree) == {"a": f"0x{'f' * 5_000}", "b": 255}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"[tool.faultclock.{'.'.join('a' * 3_000)}]\nb = 1\n", 1),
        (f"x = 1\n{'.'.join('a' * 3_000)} = 1\n", 2),
        (f"x = 1\ny = {'[' * 65}{']' * 65}\n", 2),
    ],
)
def test_what_is_nested_too_deep_is_refused_at_its_place(text: str, line: int) -> None:
    """A dotted key of 3,000 parts nests as brackets do, and no recursion meets it."""
    with pytest.raises(SourceError, match=rf"^t\.toml:{line}:\d+: this is nested more than 64"):
        parse_toml(text, "t.toml")
