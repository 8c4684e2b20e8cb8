"""Scaffolds: the same choice gives the same texts, and they are what their owner's tools accept."""

from __future__ import annotations

import ast
import tomllib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import InputError
from faultclock.model.scenario.scenario import Role
from faultclock.render.scaffold import CLIENTS, Choice, scaffold, with_table

LINE_MAX = 100
ROLES: tuple[Role, ...] = ("runtime", "tool", "session_store", "extension")
CHOICES = [
    *(Choice(client=name, job="gitlab") for name in CLIENTS),
    *(Choice(role=role) for role in ROLES),
]
TABLE = '[tool.faultclock]\nsubject = "a.py:subject"\n'


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: f"{choice.role}-{choice.client}")
def test_every_text_is_of_its_language_and_no_line_is_long(choice: Choice) -> None:
    """And the subject that the table names is a name in the file that is written."""
    made = scaffold(choice)
    assert made == scaffold(choice)
    for path, text in {**made.files, "pyproject.toml": made.table}.items():
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert max(map(len, text.splitlines())) <= LINE_MAX, path
        if path.endswith(".py"):
            names = {getattr(node, "name", "") for node in ast.parse(text).body}
            assert "subject" in names or "\nsubject = " in text
        elif path.endswith((".yml", ".yaml")):
            assert yaml.safe_load(text)
        else:
            assert tomllib.loads(text)["tool"]["faultclock"]["subject"] == made.subject
    assert made.subject.removesuffix(":subject") in made.files
    assert made.scenario in made.files


def test_a_binding_is_about_ten_lines() -> None:
    """Without its docstrings, imports and empty lines, a client is bound in 6 to 15 lines."""
    for name in CLIENTS:
        text = scaffold(Choice(client=name)).files["conformance/adapter.py"]
        (function,) = (
            node
            for node in ast.parse(text).body
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        )
        assert function.end_lineno is not None
        assert 6 <= function.end_lineno - function.body[0].lineno <= 15, name


NAMES = st.text("abc", min_size=1, max_size=2)
VALUES = st.recursive(
    st.integers()
    | st.text("xyz\n\"'é", max_size=3).map(repr).filter(lambda text: "\\" not in text),
    lambda children: st.lists(children, max_size=2),
    max_leaves=3,
)


@given(st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=2), VALUES), max_size=4))
def test_what_a_file_says_is_said_after_it_too(tables: list[tuple[list[str], object]]) -> None:
    """A text that is TOML keeps its meaning, or the table is refused; there is nothing between."""
    text = "".join(f"[{'.'.join(name)}]\nk = {value}\n" for name, value in tables)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(InputError, match="no TOML"):
            with_table(text, TABLE, "pyproject.toml")
        return
    after = tomllib.loads(text + with_table(text, TABLE, "pyproject.toml"))
    assert after.pop("tool") == {"faultclock": {"subject": "a.py:subject"}}
    assert after == before
