"""The engine of dialects: templates, paths, and the files that they stand in."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import InternalError, SourceError
from faultclock.fakes import dialects
from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.sheets.paths import first_at, values_at
from faultclock.fakes.sheets.sheet import read_sheet
from faultclock.fakes.sheets.spoken import HOOKS, SpokenDialect
from faultclock.fakes.sheets.template import Members, Scope, expression, template
from tests.fakes.dialects.asking import answered, events_of, request

SHIPPED = Path(dialects.__file__).parent


def filled(value: Any, parts: dict[str, Any] | None = None, **names: Any) -> Any:
    """Return a template, filled."""
    made = {name: template(part) for name, part in (parts or {}).items()}
    return template(value)(Scope(made, **names))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no hole", "no hole"),
        ("{n}", 3),
        ("{nothing}", None),
        ("<{n}>{n + 1}", "<3>4"),
        ("{call.name}", "weather"),
        ("{call.unknown}", None),
        ("{'big' if n == 3 and not nothing else 'small'}", "big"),
    ],
)
def test_a_hole_is_filled_and_one_that_is_all_of_a_text_is_the_value(
    text: str, value: object
) -> None:
    """A member that an object has not is None."""
    assert filled(text, n=3, nothing=None, call=Members(name="weather")) == value


def test_members_are_left_out_spliced_and_keep_their_order() -> None:
    """The order is that of the template; a member that comes again keeps its first place."""
    parts = {"head": {"id": "x", "name": "y"}}
    value = {"first": 1, "...head": None, "yes if n": 2, "no if not n": 3, "id": "z"}
    assert list(filled(value, parts, n=1).items()) == [
        ("first", 1),
        ("id", "z"),
        ("name", "y"),
        ("yes", 2),
    ]


def test_items_of_a_list_come_once_for_each_and_only_where_a_condition_holds() -> None:
    """Other items stand as they are."""
    value = [0, {"each call": "{call}"}, {"if calls": "some"}, {"if not calls": "none"}]
    assert filled(value, calls=["a", "b"]) == [0, "a", "b", "some"]
    assert filled(value, calls=[]) == [0, "none"]


@pytest.mark.parametrize(
    "text", ["", "1 +", "lambda: 1", "a.__class__", "[x for x in a]", "(yield)", "a := 1"]
)
def test_an_expression_is_only_a_small_part_of_python(text: str) -> None:
    """What is more is refused when the file is read, and nothing of Python's own is at hand."""
    with pytest.raises(InternalError, match="is no expression"):
        expression(text)
    with pytest.raises(KeyError):
        expression("open('x')")(Scope({}))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", [{"a": [{"t": "x", "n": 1}, 5, {"t": "y", "n": 2, "off": True}]}]),
        ("a.*.n", [1, 2]),
        ("a.0.n", [1]),
        ("a.1.n", [2]),
        ("a.*[t=y].n", [2]),
        ("a.*[t=x|y].n", [1, 2]),
        ("a.*[off=true].n", [2]),
        ("a.*[!off].n", [1]),
        ("a.n", []),
        ("b.*", []),
    ],
)
def test_a_path_finds_what_stands_there(path: str, found: list[Any]) -> None:
    """Places count objects alone; what is something else is passed over."""
    value = {"a": [{"t": "x", "n": 1}, 5, {"t": "y", "n": 2, "off": True}]}
    assert values_at(value, path) == found


def test_the_first_value_of_a_path_is_one_that_is_not_null() -> None:
    """None where there is none."""
    assert first_at({"a": [{"n": None}, {"n": 2}]}, "a.*.n") == 2
    assert first_at(3, "a") is None


@given(value=st.recursive(st.none() | st.booleans() | st.text(), lambda it: st.lists(it)))
def test_no_value_makes_a_path_raise(value: object) -> None:
    """It finds nothing."""
    assert values_at(value, "a.*[t=x].b") == []


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("like: openai-chat\nheaderz: {}\n", 2, "unknown key 'headerz'"),
        ("like: openai-chat\nwhole:\n  jsonstyle: plain\n", 3, "unknown key 'jsonstyle'"),
        ("ends: []\nroles: []\n", 1, "'requests' is missing"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_line(
    text: str, line: int, message: str, tmp_path: Path
) -> None:
    """A name that is not known, and one that is missing."""
    base = (SHIPPED / "openai-chat.yaml").read_text("utf-8")
    (tmp_path / "openai-chat.yaml").write_text(base, "utf-8")
    (tmp_path / "acme.yaml").write_text(text, "utf-8")
    with pytest.raises(SourceError) as caught:
        read_sheet(tmp_path, "acme")
    assert (line, message) in [(it.line, it.message) for it in caught.value.problems]


def test_a_file_takes_over_what_it_does_not_say(tmp_path: Path) -> None:
    """Parts one by one, headers as a whole."""
    base = (SHIPPED / "openai-chat.yaml").read_text("utf-8")
    (tmp_path / "openai-chat.yaml").write_text(base, "utf-8")
    text = 'like: openai-chat\nheaders: {a: b}\nlimits: {}\nparts: {opening: ": hello\\n\\n"}\n'
    (tmp_path / "acme.yaml").write_text(text, "utf-8")
    acme = SpokenDialect("acme", read_sheet(tmp_path, "acme"), {})
    usual = dialect_named("openai-chat")
    sent = request(stream=True)
    assert answered(acme, sent).chunks[0].startswith(b": hello\n\ndata: ")
    assert events_of(answered(acme, sent)) == events_of(answered(usual, sent))
    assert answered(acme, sent).headers == (("a", "b"),)


def test_a_dialect_has_at_most_three_functions() -> None:
    """Each takes the place of something in the file, and all else of its module is private."""
    for found in pkgutil.iter_modules(dialects.__path__):
        module = importlib.import_module(f"{dialects.__name__}.{found.name}")
        if not hasattr(module, "DIALECT"):
            assert 1 <= sum(hook in vars(module) for hook in HOOKS) <= 3, found.name
