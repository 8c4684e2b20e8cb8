"""What the source says of each field: the docstring that stands below it.

Pydantic can read them too, but does so for every class when it is imported, which is a third of
the time that a command takes to start; only the schemas and the reference need them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache


def attribute_docs(cls: type) -> dict[str, str]:
    """Return the docstring of each attribute that has one, inherited ones included."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("faultclock."):
            docs |= _own_docs(base)
    return docs


@cache
def _own_docs(cls: type) -> dict[str, str]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, below in zip(definition.body, definition.body[1:], strict=False):
        match statement, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text)
    return docs
