"""Templates: plain data with holes, which become the bodies, events and headers of a dialect.

    "msg_{hex('message', 24)}"     a text with holes, each an expression
    "{usage}"                      the value itself where a hole is all of a text
    stop_details if refused: …     a member that is there where the expression holds
    ...envelope:                   here stand the members of that value
    - each call: …                 in a list: an item for each of `calls`
    - if speaks: …                 in a list: an item where the expression holds

An expression is a small part of Python: names, members, figures, comparisons, conditions, and calls
of the functions below. A name is of the moment (`text`, `call`, `ending`), or a part of the
dialect's file. An object that comes from outside has None for each member that it has not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from faultclock.errors import InternalError
from faultclock.fakes.sheets.paths import first_at, values_at
from faultclock.fakes.wire.event_stream import objects_in, text_in
from faultclock.fakes.wire.said import split_text
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS

#: What fills a template.
Filler = Callable[["Scope"], Any]

_HOLE = re.compile(r"\{([^{}]+)\}")
_ALLOWED = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.UnaryOp, ast.Not),
    *(ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is),
    *(ast.IsNot, ast.IfExp, ast.Call, ast.List, ast.Dict),
)
#: The parameter of a filler.
_SCOPE_ONLY = ast.parse("lambda scope: 0", mode="eval").body.args  # type: ignore[attr-defined]
#: In how many characters a stream sends the arguments of a tool.
_PART_CHARS = 12


class Members(dict[str, Any]):
    """A JSON object; a member that it has not is None."""

    def __getattr__(self, name: str) -> Any:
        """Return the member `name`."""
        return self.get(name)


class Scope(dict[str, Any]):
    """What the names in expressions stand for at one moment, and the parts of a dialect's file."""

    def __init__(self, parts: Mapping[str, Filler], **names: Any) -> None:
        super().__init__(names)
        self._parts = parts

    def __missing__(self, name: str) -> Any:
        """Return the part `name`, filled."""
        return self._parts[name](self)


def expression(text: str) -> Filler:
    """Return what gives the value of an expression.

    Raises:
        InternalError: it is none, or uses more of Python than an expression may.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise InternalError(f"{text!r} is no expression: {error.msg}") from None
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else ""
        if not isinstance(node, _ALLOWED) or name.startswith("_"):
            raise InternalError(f"{text!r} is no expression of a template")
    made = ast.Lambda(args=_SCOPE_ONLY, body=_FromScope().visit(tree).body)
    code = compile(ast.fix_missing_locations(ast.Expression(made)), f"<{text}>", "eval")
    # The text is a file of ours, and has passed the list of what is allowed.
    filler: Filler = eval(code, _FUNCTIONS)  # noqa: S307
    return filler


class _FromScope(ast.NodeTransformer):
    """Makes `scope['name']` of each name that is not one of the functions below."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _FUNCTIONS:
            return node
        scope = ast.Name(id="scope", ctx=ast.Load())
        return ast.Subscript(value=scope, slice=ast.Constant(node.id), ctx=ast.Load())


def template(value: Any) -> Filler:
    """Return what fills `value`, which is plain data with holes."""
    match value:
        case _ if _is_plain(value):
            return lambda _: value
        case str():
            return _of_text(value)
        case dict():
            return _of_mapping(value)
    return _of_list(value)


def loop(text: str) -> Callable[[Scope], Iterable[Scope]]:
    """Return what gives the scopes of `each call`, `each token of text` or `each part of …`."""
    what, _, of = text.removeprefix("each ").partition(" of ")
    source = expression(of or f"{what}s")
    split = {"token": split_text, "part": _parts_of}.get(what, iter)

    def scopes(scope: Scope) -> Iterable[Scope]:
        for number, item in enumerate(split(source(scope) or ""), 1):
            scope[what], scope[f"{what}_number"] = item, number
            yield scope

    return scopes


def _is_plain(value: Any) -> bool:
    """Whether nothing in a template is to be filled."""
    match value:
        case str():
            return not _HOLE.search(value)
        case dict():
            keyed = all(" if " not in key and not key.startswith("...") for key in value)
            return keyed and all(map(_is_plain, value.values()))
        case list():
            # What stands in a list for items has a key of its own.
            return all(map(_is_plain, value)) and not any(map(_loop_or_condition, value))
    return True


def _of_text(text: str) -> Filler:
    pieces = _HOLE.split(text)
    # Every second piece is an expression.
    fillers = [expression(piece) for piece in pieces[1::2]]
    if len(pieces) == 3 and not pieces[0] and not pieces[2]:
        return fillers[0]
    between = pieces[::2]

    def fill(scope: Scope) -> str:
        filled = [str(filler(scope)) for filler in fillers]
        return "".join(a + b for a, b in zip(between, [*filled, ""], strict=True))

    return fill


def _of_mapping(value: Mapping[str, Any]) -> Filler:
    members = [(*_key(key), key, item) for key, item in value.items()]
    fillers = [
        (name, holds, expression(name[3:]) if name.startswith("...") else template(item))
        for name, holds, _, item in members
    ]

    def fill(scope: Scope) -> dict[str, Any]:
        filled: dict[str, Any] = {}
        for name, holds, filler in fillers:
            if holds is not None and not holds(scope):
                continue
            if name.startswith("..."):
                filled.update(filler(scope))
            else:
                filled[name] = filler(scope)
        return filled

    return fill


def _key(key: str) -> tuple[str, Filler | None]:
    name, is_conditional, condition = key.partition(" if ")
    return name, expression(condition) if is_conditional else None


def _of_list(items: list[Any]) -> Filler:
    fillers = [_of_item(item) for item in items]
    return lambda scope: [value for filler in fillers for value in filler(scope)]


def _of_item(item: Any) -> Callable[[Scope], Iterable[Any]]:
    """Return what gives the items that stand in a list for one of its template."""
    key = _loop_or_condition(item)
    filler = template(item[key] if key else item)
    if key.startswith("each "):
        scopes = loop(key)
        return lambda scope: [filler(each) for each in scopes(scope)]
    if key:
        holds = expression(key.removeprefix("if "))
        return lambda scope: [filler(scope)] if holds(scope) else []
    return lambda scope: [filler(scope)]


def _loop_or_condition(item: Any) -> str:
    """Return the `each …` or `if …` that an item of a list is; empty where it is neither."""
    key = next(iter(item)) if isinstance(item, dict) and len(item) == 1 else ""
    return key if key.startswith(("each ", "if ")) else ""


# ---------------------------------------------------------------------- functions of expressions


def _parts_of(text: str) -> list[str]:
    return [text[at : at + _PART_CHARS] for at in range(0, len(text), _PART_CHARS)]


def _object(value: object) -> Members | None:
    return Members(value) if isinstance(value, dict) else None


def _first(*values: Any) -> Any:
    """Return the first of `values` that is not None."""
    return next((value for value in values if value is not None), None)


def _instant(unix_s: int) -> str:
    """Return the RFC 3339 form of an instant, whole seconds."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def go_duration(duration_ns: int) -> str:
    """Return a duration as OpenAI's reset headers write it: `6ms`, `8.64s`, `1m30s`, `0s`.

    Parts of a millisecond are rounded up: the time in it must not be too early.
    """
    rest_ms = -(-duration_ns // MILLISECOND_NS)
    if 0 < rest_ms < 1_000:
        return f"{rest_ms}ms"
    minutes, rest_ms = divmod(rest_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest_ms / 1_000:.3f}".rstrip("0").rstrip(".")
    lead = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{lead}{seconds}s"


_FUNCTIONS: dict[str, Any] = {
    "__builtins__": {},
    "as_list": lambda value: value if isinstance(value, list) else [],
    "as_object": _object,
    "as_objects": lambda value: list(map(Members, objects_in(value))),
    "as_text": text_in,
    "at": first_at,
    "begins": str.startswith,
    "every": values_at,
    "first": _first,
    "go_duration": go_duration,
    "instant": _instant,
    "matches": lambda text, pattern: re.fullmatch(pattern, text) is not None,
    "max": max,
    "milliseconds": lambda duration_ns: -(-duration_ns // MILLISECOND_NS),
    "printable": lambda value: value if value and value.isprintable() else None,
    "seconds": lambda duration_ns: -(-duration_ns // SECOND_NS),
    "unquote": unquote,
}
