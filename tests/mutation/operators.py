"""The operators: which small changes of a module make a mutant.

A mutant is a change of the syntax tree, made in place. Strings, type hints, decorators and
docstrings stay as they are: they decide nothing that a verdict depends on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: The operator that changes nothing. It runs only when it is asked for, and must survive.
NOOP = "noop"

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
_CHOICES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_ORDERINGS = ("reversed", "sorted")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mutant:
    """One change of one module.

    Attributes:
        operator: one of `OPERATORS`.
        function: the qualified name of the changed function or class; empty for module code.
        line: of the change, 1-based.
        statement: number of the changed statement, see `statements`; None outside of functions.
        names: what the changed statement binds, where it stands outside of functions.
        apply: changes the tree that the mutant was made from.
        shown: returns the source of the changed lines, without their indentation, and the same once
            it is changed.
    """

    operator: str
    function: str
    line: int
    statement: int | None
    names: frozenset[str]
    apply: Callable[[], None]
    shown: Callable[[], tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """A node, and where it stands."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    function: str
    statement: ast.stmt | None

    def put(self, node: ast.AST) -> None:
        """Put another node in the place of this one."""
        ast.copy_location(node, self.node)
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node
        ast.fix_missing_locations(node)


def statements(tree: ast.Module) -> dict[ast.stmt, int]:
    """Return the statements of all functions, each with its number, in a fixed order."""
    numbers: dict[ast.stmt, int] = {}
    for function in ast.walk(tree):
        if isinstance(function, _FUNCTIONS):
            for statement in function.body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.stmt) and not is_docstring(node):
                        numbers.setdefault(node, len(numbers))
    return numbers


def is_docstring(node: ast.AST) -> bool:
    """Return whether a node is a string that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def mutants(source: str, tree: ast.Module) -> Iterator[Mutant]:
    """Yield all mutants of a module, in the order of its text.

    Args:
        source: what `tree` was parsed from.
    """
    numbers = statements(tree)
    lines = source.encode().splitlines()
    found = [
        (site, operator, node)
        for site in _sites(tree, "", None)
        for operator, make in OPERATORS.items()
        for node in make(site)
    ]
    for site, operator, node in sorted(found, key=_position):
        yield _mutant(lines, site, operator, node, numbers)


def _position(found: tuple[_Site, str, ast.AST]) -> tuple[int, int]:
    node = found[0].node
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _sites(node: ast.AST, function: str, statement: ast.stmt | None) -> Iterator[_Site]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_fixed(child):
                continue
            inner, within = function, statement
            if isinstance(child, ast.stmt):
                within = child
            yield _Site(
                node=child,
                parent=node,
                field=field,
                index=index,
                function=function,
                statement=within,
            )
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                inner = f"{function}.{child.name}".lstrip(".")
            yield from _sites(child, inner, within)


def _is_fixed(node: ast.AST) -> bool:
    """Return whether nothing in a node is worth a change."""
    if isinstance(node, ast.Assign):
        return any(isinstance(item, ast.Name) and item.id == "__all__" for item in node.targets)
    return isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom) or is_docstring(node)


def _mutant(
    lines: list[bytes], site: _Site, operator: str, node: ast.AST, numbers: dict[ast.stmt, int]
) -> Mutant:
    statement = site.statement
    number = numbers.get(statement) if statement is not None else None
    names: set[str] = set()
    if number is None and statement is not None:
        names = {
            item.id
            for item in ast.walk(statement)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
    return Mutant(
        operator=operator,
        function=site.function,
        line=getattr(site.node, "lineno", 1),
        statement=number,
        names=frozenset(names),
        apply=lambda: site.put(node),
        shown=lambda: _shown(lines, site.node, node),
    )


def _shown(lines: list[bytes], old: ast.AST, new: ast.AST) -> tuple[str, str]:
    """Return the lines that a node stands on, and what they are with another in its place."""
    assert isinstance(old, ast.expr | ast.stmt)
    first, last = old.lineno - 1, (old.end_lineno or old.lineno) - 1
    head = lines[first][: old.col_offset].decode()
    tail = lines[last][old.end_col_offset :].decode()
    before = b" ".join(line.strip() for line in lines[first : last + 1]).decode()
    text = ast.unparse(new)
    if '"' not in text:
        text = text.replace("'", '"')
    return before, f"{head.lstrip()}{text}{tail}"


def _comparison(site: _Site) -> Iterator[ast.AST]:
    node = site.node
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            ops = list(node.ops)
            ops[place] = _COMPARISONS[type(operator)]()
            yield ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def _constant(site: _Site) -> Iterator[ast.AST]:
    if not isinstance(site.node, ast.Constant):
        return
    value = site.node.value
    if isinstance(value, bool):
        yield ast.Constant(value=not value)
    elif isinstance(value, int):
        yield ast.Constant(value=value + 1)
        yield ast.Constant(value=value - 1)


def _member(site: _Site) -> Iterator[ast.AST]:
    """Drop one member of a collection of strings."""
    node = site.node
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
        is_load = not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        if is_load and not isinstance(site.parent, ast.Subscript) and all(map(_is_text, node.elts)):
            for place in range(len(node.elts)):
                elts = node.elts[:place] + node.elts[place + 1 :]
                if isinstance(node, ast.Set):
                    yield ast.Set(elts=elts)
                else:
                    yield type(node)(elts=elts, ctx=ast.Load())
    elif isinstance(node, ast.Dict) and len(node.keys) > 1 and all(map(_is_text, node.keys)):
        for place in range(len(node.keys)):
            yield ast.Dict(
                keys=node.keys[:place] + node.keys[place + 1 :],
                values=node.values[:place] + node.values[place + 1 :],
            )


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _boolean(site: _Site) -> Iterator[ast.AST]:
    node = site.node
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(op=other, values=node.values)
        for place in range(len(node.values)):
            rest = node.values[:place] + node.values[place + 1 :]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(op=node.op, values=rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _condition(site: _Site) -> Iterator[ast.AST]:
    """Decide a condition one way: that of a branch, of a filter or of a case."""
    is_condition = site.field in ("test", "ifs", "guard")
    if is_condition and isinstance(site.node, ast.expr) and not isinstance(site.node, ast.Constant):
        if not isinstance(site.parent, ast.While | ast.Assert):
            yield ast.Constant(value=True)
        if not isinstance(site.parent, ast.Assert):
            yield ast.Constant(value=False)


def _returned(site: _Site) -> Iterator[ast.AST]:
    """Return nothing instead of something, and something instead of nothing."""
    if isinstance(site.parent, ast.Return) and site.field == "value":
        value = site.node.value if isinstance(site.node, ast.Constant) else ...
        if value is None:
            yield ast.Constant(value=True)
        elif not isinstance(value, bool):
            yield ast.Constant(value=None)


def _jump(site: _Site) -> Iterator[ast.AST]:
    if isinstance(site.node, ast.Continue):
        yield ast.Break()
    elif isinstance(site.node, ast.Break):
        yield ast.Continue()
    elif isinstance(site.node, ast.Return) and site.node.value is None:
        yield ast.Pass()


def _choice(site: _Site) -> Iterator[ast.AST]:
    """Take another of several: the last for the first, all for any, the order as it comes."""
    node = site.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if other := _CHOICES.get(node.func.id):
            name = ast.Name(id=other, ctx=ast.Load())
            yield ast.Call(func=name, args=node.args, keywords=node.keywords)
        elif node.func.id in _ORDERINGS and node.args:
            yield ast.Call(
                func=ast.Name(id="list", ctx=ast.Load()), args=node.args[:1], keywords=[]
            )
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        text = ast.unparse(node.slice)
        if text in ("0", "-1"):
            place = ast.Constant(value=-1 if text == "0" else 0)
            yield ast.Subscript(value=node.value, slice=place, ctx=ast.Load())


def _operand(site: _Site) -> Iterator[ast.AST]:
    """Do the opposite arithmetic, or leave the second operand out, also of sets and tuples."""
    node = site.node
    if not isinstance(node, ast.BinOp) or any(
        isinstance(side, ast.JoinedStr) or _is_text(side) for side in (node.left, node.right)
    ):
        return
    if other := _ARITHMETIC.get(type(node.op)):
        yield ast.BinOp(left=node.left, op=other(), right=node.right)
    yield node.left
    if isinstance(node.op, ast.BitOr | ast.BitAnd):
        yield node.right


def _statement(site: _Site) -> Iterator[ast.AST]:
    """Leave a statement out that is there for its effect."""
    node = site.node
    if isinstance(node, ast.AugAssign):
        yield ast.Pass()
    elif isinstance(node, ast.Expr):
        # What yields stays a generator.
        never = ast.BoolOp(op=ast.And(), values=[ast.Constant(value=False), node.value])
        yield ast.Expr(value=never)


def _noop(site: _Site) -> Iterator[ast.AST]:
    if isinstance(site.node, ast.Return):
        yield site.node


#: What each operator puts in the place of a node.
OPERATORS: dict[str, Callable[[_Site], Iterator[ast.AST]]] = {
    "comparison": _comparison,
    "constant": _constant,
    "member": _member,
    "boolean": _boolean,
    "condition": _condition,
    "return": _returned,
    "jump": _jump,
    "choice": _choice,
    "operand": _operand,
    "statement": _statement,
    NOOP: _noop,
}
