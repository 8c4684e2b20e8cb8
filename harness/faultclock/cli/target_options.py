"""`--dialect` and `--as`: what is said of a target, in every command that takes one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def dialect_option(function: FunctionT) -> FunctionT:
    """Add `--dialect`, for `speaking`."""
    return click.option(
        "--dialect",
        metavar="ID",
        help="The provider API that the target speaks, such as anthropic-messages. The default is "
        "what its binding says, or what a run shows.",
    )(function)


def subject_dialect_option(function: FunctionT) -> FunctionT:
    """Add `--dialect`; the command gets a `subject` that says it, and no dialect."""

    @wraps(function)
    def command(*args: Any, dialect: str | None, subject: str | None, **others: Any) -> Any:
        if subject is None and dialect is not None:
            raise click.UsageError("--dialect is about the subject: name one")
        said = speaking(subject, dialect) if subject is not None else None
        return function(*args, subject=said, **others)

    return dialect_option(cast("FunctionT", command))


def as_option(function: FunctionT) -> FunctionT:
    """Add `--as`, for `speaking`."""
    return click.option(
        "--as",
        "as_",
        metavar="KIND",
        help="What the target is, where the guess is wrong: a function of a `prompt`, of "
        "`messages`, of `nothing` or of a `request`, or a `client` object.",
    )(function)


def speaking(subject: str, dialect: str | None, as_: str | None = None) -> str:
    """Return a target with what the options say of it, as every command understands it."""
    if dialect is None and as_ is None:
        return subject
    # Imported here: most commands that take a target are given neither.
    from faultclock.subjects.adopt import said_of

    return said_of(subject, as_=as_, dialect=dialect)
