"""`--dialect`, `--services`, `--reads`, `--as`: what is said of a target, in each command."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


#: `--dialect`, for `speaking`.
dialect_option = click.option(
    "--dialect",
    metavar="ID",
    help="The provider API that the target speaks, such as anthropic-messages. The default is "
    "what its binding says, or what a run shows.",
)


def world_flags(function: FunctionT) -> FunctionT:
    """Add `--services` and `--reads`, for `speaking`."""
    function = click.option(
        "--reads",
        multiple=True,
        metavar="TOOL",
        help="Tools of an agent that only read or compute, so that they may run twice: one name, or"
        " several with commas; NAME=no for one that acts, whatever its name says.",
    )(function)
    return click.option(
        "--services",
        metavar="FILE",
        help="Other hosts that the target or its tools may ask, and what they answer: a file with"
        " `services:`, or a recording (a cassette, a HAR file).",
    )(function)


def world_options(function: FunctionT) -> FunctionT:
    """Add `--services` and `--reads`; the command gets a `subject` that says them."""

    @wraps(function)
    def command(
        *args: Any,
        services: str | None,
        reads: tuple[str, ...],
        subject: str | None,
        **others: Any,
    ) -> Any:
        for flag, given in (("--services", services), ("--reads", reads)):
            if subject is None and given:
                raise click.UsageError(f"{flag} is about the subject: name one")
        said = subject and speaking(subject, None, services=services, reads=reads)
        return function(*args, subject=said, **others)

    return world_flags(cast("FunctionT", command))


def subject_options(function: FunctionT) -> FunctionT:
    """Add `--dialect` and `world_options`; the command gets a `subject` that says them."""

    @wraps(function)
    def command(*args: Any, dialect: str | None, subject: str | None, **others: Any) -> Any:
        if subject is None and dialect is not None:
            raise click.UsageError("--dialect is about the subject: name one")
        said = speaking(subject, dialect) if subject is not None else None
        return function(*args, subject=said, **others)

    return dialect_option(world_options(cast("FunctionT", command)))


#: `--as`, for `speaking`.
as_option = click.option(
    "--as",
    "as_",
    metavar="KIND",
    help="What the target is, where the guess is wrong: a function of a `prompt`, of "
    "`messages`, of `nothing` or of a `request`, a `client` object, or an `agent` or a "
    "function that makes one.",
)


def speaking(
    subject: str,
    dialect: str | None,
    as_: str | None = None,
    services: str | None = None,
    reads: tuple[str, ...] = (),
) -> str:
    """Return a target with what the options say of it, as every command understands it."""
    if dialect is None and as_ is None and services is None and not reads:
        return subject
    # Imported here: most commands that take a target are given neither.
    from faultclock.subjects.said import said_of

    if services is not None and Path(services).is_absolute():
        # It stands in reports and in commands, which name no absolute path.
        services = os.path.relpath(services)
    names = [name for given in reads for name in given.split(",")]
    return said_of(subject, as_=as_, dialect=dialect, services=services, reads=names)
