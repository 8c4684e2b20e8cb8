"""`--dialect`, `--services`, `--as`: what is said of a target, in every command that takes one."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
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


def services_flag(function: FunctionT) -> FunctionT:
    """Add `--services`, for `speaking`."""
    return click.option(
        "--services",
        metavar="FILE",
        help="Other hosts that the target or its tools may ask, and what they answer: a file with"
        " `services:`, or a recording (a cassette, a HAR file).",
    )(function)


def services_option(function: FunctionT) -> FunctionT:
    """Add `--services`; the command gets a `subject` that says it, and no services."""

    @wraps(function)
    def command(*args: Any, services: str | None, subject: str | None, **others: Any) -> Any:
        if subject is None and services is not None:
            raise click.UsageError("--services is about the subject: name one")
        said = subject and speaking(subject, None, services=services)
        return function(*args, subject=said, **others)

    return services_flag(cast("FunctionT", command))


def subject_options(function: FunctionT) -> FunctionT:
    """Add `--dialect` and `--services`; the command gets a `subject` that says them."""

    @wraps(function)
    def command(*args: Any, dialect: str | None, subject: str | None, **others: Any) -> Any:
        if subject is None and dialect is not None:
            raise click.UsageError("--dialect is about the subject: name one")
        said = speaking(subject, dialect) if subject is not None else None
        return function(*args, subject=said, **others)

    return dialect_option(services_option(cast("FunctionT", command)))


def as_option(function: FunctionT) -> FunctionT:
    """Add `--as`, for `speaking`."""
    return click.option(
        "--as",
        "as_",
        metavar="KIND",
        help="What the target is, where the guess is wrong: a function of a `prompt`, of "
        "`messages`, of `nothing` or of a `request`, a `client` object, or an `agent` or a "
        "function that makes one.",
    )(function)


def speaking(
    subject: str, dialect: str | None, as_: str | None = None, services: str | None = None
) -> str:
    """Return a target with what the options say of it, as every command understands it."""
    if dialect is None and as_ is None and services is None:
        return subject
    # Imported here: most commands that take a target are given neither.
    from faultclock.subjects.adopt import said_of

    if services is not None and Path(services).is_absolute():
        # It stands in reports and in commands, which name no absolute path.
        services = os.path.relpath(services)
    return said_of(subject, as_=as_, dialect=dialect, services=services)
