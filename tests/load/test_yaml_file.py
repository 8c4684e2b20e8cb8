"""YAML files: what is refused, where the problem is said to be, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import InputError, Problem, SourceError
from faultclock.load.located.tree import OURS
from faultclock.load.yaml_file import load_yaml, parse_document
from faultclock.model.scenario.scenario import ProviderAdapterScenario, Scenario, role_class

GOOD = """\
id: family/slug
title: A title
why: A reason
"""


def validated(raw: bytes) -> Scenario:
    """Return the scenario that a file with this content holds."""
    document = parse_document(raw, "x.yaml")
    return document.validate(role_class(document.data))


def problems_in(content: str | bytes) -> tuple[Problem, ...]:
    """Return the problems of `content` as a scenario."""
    raw = content.encode() if isinstance(content, str) else content
    with pytest.raises(SourceError) as caught:
        validated(raw)
    return caught.value.problems


def spots(content: str | bytes) -> list[tuple[int, int]]:
    """Return line and column of each problem."""
    return [(problem.line, problem.column) for problem in problems_in(content)]


def value_of(text: str) -> Any:
    """Return what `key: text` reads as."""
    return parse_document(f"key: {text}\n".encode(), "x.yaml").data["key"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-7", -7),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2026-01-01", "2026-01-01"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("~", None),
        ("null", None),
        ("", None),
        ('"429"', "429"),
        ("'no'", "no"),
        ("[a, 1]", ["a", 1]),
        ("{a: 1}", {"a": 1}),
    ],
)
def test_scalars_read_as_the_core_schema_of_yaml_1_2_says(text: str, value: object) -> None:
    """None of YAML 1.1's surprises: no `no`, no base sixty, no octal by a leading zero."""
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_keys_are_texts_whatever_they_look_like() -> None:
    """A header may be named `429` without quotes."""
    assert parse_document(b"429: a\nno: b\n", "x.yaml").data == {"429": "a", "no": "b"}


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", (3, 1), "the key `a` is here twice: it stands on line 1 already"),
        ("a: {b: 1, c: 2, b: 3}\n", (1, 17), "the key `b` is here twice"),
        ("a: &x [1]\nb: *x\n", (1, 4), "the anchor `&x` is not allowed"),
        ("b: *x\n", (1, 4), "the alias `*x` is not allowed"),
        ("a: !!python/object:os.system 1\n", (1, 4), "the tag `!!python/object:os.system`"),
        ("a: !mine 1\n", (1, 4), "the tag `!mine`"),
        ("", (1, 1), "the file is empty"),
        ("# nothing\n", (1, 1), "the file is empty"),
        ("---\n", (1, 1), "the file is empty"),
        ("- a\n", (1, 1), "the file holds a list"),
        ("hello\n", (1, 1), "the file holds a single value"),
        ("a: 1\n---\nb: 2\n", (2, 1), "a second document begins here"),
        ("a:\n\tb: 1\n", (2, 1), "a tab stands in the indentation"),
        ("a: @b\n", (1, 4), "a text cannot begin with `@`"),
        ("a: b: c\n", (1, 5), "a `:` is not expected here"),
        ("a: [1, 2\nb: 3\n", (2, 2), "not closed, or a comma is missing"),
        ('a: "b\n', (2, 1), "the file ends inside a quoted text"),
        ("a: 1\n  b: 2\n", (2, 4), "a `:` is not expected here"),
        ("a:\n  - 1\n b: 2\n", (3, 2), "does not fit the lines above it"),
        ("a: 1\nb\nc: 3\n", (3, 1), "this line has no `:`"),
        ("? [a]\n: b\n", (1, 3), "a key is a text"),
        ("a: .nan\n", (1, 4), ".nan is not a number that can be used"),
        ("a: 1e999\n", (1, 4), "the number 1e999 is too large"),
        (f"a: {'9' * 5_000}\n", (1, 4), "has more than 40 digits"),
        (b"a: 1\nb: x\xff\n", (2, 5), "this byte is not UTF-8"),
        ("a: 1\nbé: \x00\n", (2, 5), "the character U+0000 is not allowed"),
        ("a: 1\nb: \x1b[0m\n", (2, 4), "the character U+001B is not allowed"),
        ("a: 1".encode("utf-16"), (1, 1), "this byte is not UTF-8"),
        ("a: " + "[" * 65, (1, 67), "nested more than 64 deep"),
    ],
)
def test_a_malformed_file_is_one_problem_at_its_place(
    content: str | bytes, place: tuple[int, int], words: str
) -> None:
    """Each fault of the text is named once, with 1-based line and column."""
    (problem,) = problems_in(content)
    assert (problem.line, problem.column) == place
    assert words in problem.message


def test_an_alias_bomb_is_refused_before_it_multiplies() -> None:
    """The first anchor ends the reading."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{new}: &{new} [*{old}, *{old}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert spots(bomb) == [(1, 4)]


def test_a_deep_nest_does_not_exhaust_the_stack() -> None:
    """A hundred thousand brackets are one problem."""
    assert len(problems_in("a: " + "[" * 100_000)) == 1


def test_a_byte_order_mark_and_windows_line_ends_are_read() -> None:
    """Editors on other systems write them."""
    raw = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    assert parse_document(raw, "x.yaml").validate(ProviderAdapterScenario).id == "family/slug"


def test_all_faults_of_a_file_are_reported_at_once_in_its_order() -> None:
    """Nobody should mend a file one message at a time."""
    content = """\
id: family/slug
titel: A title
why: no
seed: "3"
provider:
  latency: 5
  faults:
    - id: x
      when: {attempts: 5-3}
      then:
        kind: http_error
        status: 300
        error: e
        headers: {retry-after: 2, other: {http_dat: "+3s"}}
        close: yes
    - id: Y
      then: {kind: http_eror}
    - id: z
      then: {}
tasks:
  - {id: a, copies: true, timeout: 3s 4}
zz: 1
"""
    told = [(p.line, p.column, p.message, p.hint) for p in problems_in(content)]
    assert told == [
        (1, 1, "the key `title` is missing", None),
        (2, 1, "unknown key `titel`", "did you mean `title`?"),
        (4, 7, "`seed` should be a whole number, not '3'", None),
        (6, 12, "5 is not a duration", "write a number and a unit, such as 250ms, 1.5s or 2m"),
        (9, 24, "the range 5-3 is empty", None),
        (12, 17, "`status` should be at least 400, not 300", None),
        (
            *(14, 32, "`retry-after` should be a text or a mapping, not 2"),
            'put it in quotes to make it a text: "…"',
        ),
        (14, 35, "the key `http_date` is missing in `other`", None),
        (14, 43, "unknown key `http_dat`", "did you mean `http_date`?"),
        (15, 16, "`close` should be true or false, not 'yes'", None),
        (16, 11, "`id` cannot be 'Y'", "use lower-case letters, digits and hyphens"),
        (17, 20, "`kind` cannot be 'http_eror'", "did you mean `http_error`?"),
        (19, 7, "the key `kind` is missing in `then`", "it says which keys may follow"),
        (21, 21, "`copies` should be a whole number, not true", None),
        (
            *(21, 36, "'3s 4' is not a duration"),
            "write a number and a unit, such as 250ms, 1.5s or 2m",
        ),
        (22, 1, "unknown key `zz`", f"known: {', '.join(ProviderAdapterScenario.model_fields)}"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tasks: ask\n", "`tasks` should be a list, not 'ask'"),
        ("tasks: []\n", "tasks is empty"),
        ("tasks: [ask]\n", "entry 1 of `tasks` should be a mapping, not 'ask'"),
        ("provider: [1]\n", "`provider` should be a mapping, not a list"),
        ("provider:\n", "`provider` should be a mapping, not empty"),
        ("role: boss\n", "`role` cannot be 'boss'"),
        ("seeds: 1.5\n", "`seeds` should be a whole number, not 1.5"),
        ("seeds: 1001\n", "`seeds` should be at most 1000, not 1001"),
        ("seed: 4294967296\n", "`seed` should be less than 4294967296"),
        ("limits: {virtual_time: 999999999d}\n", "longer than 292 years"),
        (f"limits: {{virtual_time: {'9' * 900_000}s}}\n", "is too long for a duration"),
        (f"pair: [{'9' * 900}x]\n", "`pair` should be a text"),
        (f"{'z' * 900}: 1\n", "unknown key `zzz"),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(line: str, words: str) -> None:
    """No message speaks of inputs, types or validators."""
    (problem,) = problems_in(GOOD + line)
    assert words in problem.message
    assert problem.line == 4
    assert len(problem.message) < 300


@pytest.mark.parametrize(
    ("addition", "place"),
    [
        ("provider: {faults: [{id: x, when: {task: asq}, then: {kind: dns_failure}}]}\n", (4, 42)),
        (
            "provider:\n  faults:\n    - {id: x, then: {kind: dns_failure}}\n"
            "    - {id: x, then: {kind: dns_failure}}\n",
            (7, 12),
        ),
        ("tasks: [{id: a}, {id: b}, {id: a}]\n", (1, 1)),
    ],
)
def test_a_rule_over_many_values_points_at_the_one_it_quotes(
    addition: str, place: tuple[int, int]
) -> None:
    """A message at line 1 of a long file would leave the search to the reader."""
    assert spots(GOOD + addition) == [place]


def test_an_empty_text_is_named_empty() -> None:
    """`title: ""` is present, but says nothing."""
    (problem,) = problems_in(GOOD.replace("A title", '""'))
    assert problem.message == "`title` is empty"


@pytest.mark.parametrize("name", ["rel.yaml", "./rel.yaml", "sub/../rel.yaml"])
def test_the_path_is_shown_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A person finds the file by the words they typed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "rel.yaml").write_text("id: 1\n")
    with pytest.raises(SourceError) as caught:
        load_yaml(name, ProviderAdapterScenario)
    assert str(caught.value).startswith(f"{name}:1:")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.mkdir(), "this is a folder or a device"),
        (lambda path: path.write_bytes(b"a" * (OURS.bytes_max + 1)), "larger than 1,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_input_error(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    """Missing, a folder, or far too large: one sentence with the path."""
    path = tmp_path / "x.yaml"
    make(path)
    with pytest.raises(InputError, match=words):
        load_yaml(path, ProviderAdapterScenario)


def test_a_path_with_a_nul_is_an_input_error() -> None:
    """No ValueError of the operating system layer leaks out."""
    with pytest.raises(InputError):
        load_yaml("a\0b.yaml", ProviderAdapterScenario)


def test_transform_changes_the_data_before_it_is_validated(tmp_path: Path) -> None:
    """Readings of an error model work this way."""
    path = tmp_path / "x.yaml"
    path.write_text(GOOD)
    loaded = load_yaml(path, ProviderAdapterScenario, transform=lambda data: {**data, "seed": 9})
    assert loaded.seed == 9


def accepts_or_refuses_politely(raw: bytes) -> None:
    """Read `raw`; anything but a scenario or an InputError fails the test."""
    try:
        parse_document(raw, "x.yaml").validate(ProviderAdapterScenario)
    except InputError:
        return


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_escape_as_another_exception(raw: bytes) -> None:
    """Whatever is in the file, a person gets a sentence."""
    accepts_or_refuses_politely(raw)


YAML_BITS = st.sampled_from(
    [*"[]{}:,-?!&*#|>@`\"'%~ \n\t", "  ", "- ", ": ", "\n  ", "---\n", "...\n", "<<", "id", "429",
     "provider", "faults", "then", "kind", "http_error", "1e3", "\\x", "\u2028", "\x85", "é"]
)  # fmt: skip


@given(st.lists(YAML_BITS, max_size=40))
def test_text_that_looks_like_yaml_never_escapes_as_another_exception(bits: list[str]) -> None:
    """The same for texts that come further than random bytes."""
    accepts_or_refuses_politely("".join(bits).encode())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(["provider", "tasks", "limits", "seed", "pair", "zz"]), json_values
    ),
    st.sampled_from(["provider", "faults"]),
)
def test_wrong_data_never_escapes_as_another_exception(
    extra: dict[str, object], where: str
) -> None:
    """Well-formed files with nonsense in them are refused with positions, too."""
    import json

    data: dict[str, object] = {"id": "a/b", "title": "t", "why": "w", **extra}
    if where == "faults":
        data["provider"] = {"faults": [{"id": "x", "then": {"kind": "http_error", **extra}}]}
    text = json.dumps(data, ensure_ascii=True, indent=1)
    accepts_or_refuses_politely(text.encode())


def test_a_key_that_is_none_of_a_fixed_few_is_unknown() -> None:
    """The key is at fault, not the value behind it."""
    (problem,) = problems_in(GOOD + "role: runtime\nsession: {policies: {tols: fail}}\n")
    assert (problem.line, problem.column) == (5, 22)
    assert (problem.message, problem.hint) == ("unknown key `tols`", "did you mean `tool`?")
