"""What a plain YAML word means, and what the parser's messages mean in plain words.

The meanings are those of YAML 1.2's core schema, of which PyYAML reads the older brother: there
`no` is false, `010` is eight and `12:30` is 750.
"""

from __future__ import annotations

import re

import yaml

from faultclock.load.located.tree import OURS, NotReadableError, Place

#: How the words begin where the parser's own follow.
NOT_YAML = "this is not YAML: "

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
# YAML 1.2.2, section 10.3.2, core schema.
_INTEGERS = (
    (re.compile(r"[-+]?[0-9]+"), 10),
    (re.compile(r"0o[0-7]+"), 8),
    (re.compile(r"0x[0-9a-fA-F]+"), 16),
)
#: What every number begins with, also one that is not finite: most scalars are texts.
_BEGINS_A_NUMBER = frozenset("+-.0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

# YAML 1.2.2 counts fewer, but PyYAML counts lines so.
_LINE_END = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_BALANCE = "check the indentation, and that every quote and bracket above is closed"
#: Part of the parser's message, what it means here, and what to do.
_WORDINGS = (
    (
        "mapping values are not allowed",
        "a `:` is not expected here",
        "check the indentation; a text that contains `: ` needs quotes",
    ),
    (
        "could not find expected ':'",
        "this line has no `:`",
        "write `key: value`, or check the indentation",
    ),
    ("did not find expected key", "this line does not fit the lines above it", _BALANCE),
    ("did not find expected '-'", "this line does not fit the lines above it", _BALANCE),
    (
        "did not find expected ',' or",
        "a `[` or `{` above is not closed, or a comma is missing",
        None,
    ),
    ("unexpected end of stream", "the file ends inside a quoted text", "close the quotes"),
    ("alphabetic or numeric", "a text cannot begin with `&` or `*`", "put the text in quotes"),
)


def plain_value(text: str) -> str | int | float | bool | None:
    """Return what an unquoted scalar means.

    Raises:
        ValueError: it is a number that cannot be used; the message is for people.
    """
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] not in _BEGINS_A_NUMBER:
        return text
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(text):
            _check_size(text)
            return int(text, base)
    if _FLOAT.fullmatch(text):
        _check_size(text)
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"the number {text} is too large")
        return value
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a number that can be used here")
    return text


def _check_size(text: str) -> None:
    if len(text) > OURS.digits_max:
        raise ValueError(f"the number {shortened(text)} has more than {OURS.digits_max} digits")


def syntax_error(error: yaml.YAMLError, text: str) -> NotReadableError:
    """Return what is wrong in `text`, at its place and in plain words."""
    if not isinstance(error, yaml.MarkedYAMLError):
        # No position: the C reader met bytes that `NOT_PRINTABLE` lets through.
        return NotReadableError(Place(1, 1), f"{NOT_YAML}{str(error).splitlines()[0]}")
    mark = error.problem_mark or error.context_mark
    place = Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)
    return NotReadableError(place, *_syntax_words(error, text))


def _syntax_words(error: yaml.MarkedYAMLError, text: str) -> tuple[str, str | None]:
    problem = error.problem or error.context or "syntax error"
    mark = error.problem_mark
    # Empty at the end of the text, where the mark may lie past the last line.
    line, rest = "", ""
    if mark is not None:
        line = "".join(_LINE_END.split(text)[mark.line : mark.line + 1])
        rest = line[mark.column :]
    indentation = line[: len(line) - len(line.lstrip())]
    if rest.startswith("\t") or "\t" in indentation:
        return "a tab stands in the indentation", "indent with spaces"
    if "cannot start any token" in problem:
        return f"a text cannot begin with `{rest[:1]}`", "put the text in quotes"
    for part, message, hint in _WORDINGS:
        if part in problem:
            return message, hint
    return f"{NOT_YAML}{problem}", None


def shortened(text: str) -> str:
    """Return at most 40 characters of `text`."""
    return text if len(text) <= 40 else f"{text[:37]}…"
