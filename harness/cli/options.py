"""Options that several commands share, and the checks of what was given."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from harness.errors import InputError

__all__ = [
    "DEFAULT_MODEL",
    "inline_option",
    "jobs_option",
    "model_option",
    "parse_readings",
    "parse_seconds",
    "readings_option",
    "require_subject",
    "wall_limit_option",
]

DEFAULT_MODEL = "stud-cli"

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def model_option(function: FunctionT) -> FunctionT:
    """Add `--model`."""
    return click.option(
        "--model",
        default=DEFAULT_MODEL,
        show_default=True,
        metavar="ID|FILE",
        help="Error model to judge by.",
    )(function)


def readings_option(function: FunctionT) -> FunctionT:
    """Add `--reading`, for `parse_readings`."""
    return click.option(
        "--reading",
        "readings",
        multiple=True,
        metavar="SWITCH=OPTION",
        help="Read a point where the model's document is silent or contradicts itself in this way.",
    )(function)


def jobs_option(what: str, *, flag: str = "--jobs") -> Callable[[FunctionT], FunctionT]:
    """Add `--jobs`; the command gets the number of usable cores where none is given.

    Args:
        what: there are so many of, as a sentence.
    """
    return click.option(
        flag,
        type=click.IntRange(1, 256),
        callback=lambda _context, _parameter, value: value or len(os.sched_getaffinity(0)),
        metavar="N",
        help=f"{what} The default is one for each usable core.",
    )


def inline_option(function: FunctionT) -> FunctionT:
    """Add `--inline`."""
    return click.option(
        "--inline",
        is_flag=True,
        help="Run in this process instead of one forked child per run: faster, for subjects that "
        "keep no process-wide state.",
    )(function)


def wall_limit_option(function: FunctionT) -> FunctionT:
    """Add `--wall-limit`."""
    return click.option(
        "--wall-limit",
        callback=parse_seconds,
        metavar="DURATION",
        help="End a run that really hangs after this much real time, such as 30s. The default is "
        "the scenario's own limit.",
    )(function)


def parse_readings(texts: tuple[str, ...]) -> dict[str, str]:
    """Return `SWITCH=OPTION` texts as a mapping.

    Raises:
        InputError: one is no such text, or a switch is given twice.
    """
    readings: dict[str, str] = {}
    for text in texts:
        switch, sign, option = text.partition("=")
        if not (sign and switch and option):
            raise InputError(
                f"--reading {text!r} is not SWITCH=OPTION",
                hint="`faultclock list models` shows the switches and their options",
            )
        if readings.get(switch, option) != option:
            raise InputError(f"--reading gives {switch!r} twice: choose one option")
        readings[switch] = option
    return readings


def require_subject(spec: str | None) -> str:
    """Return the subject, which has no sensible default.

    Raises:
        InputError: none was named.
    """
    if not spec:
        raise InputError(
            "no subject: say whose error handling to test",
            hint="--subject openai-async, or --subject path/to/my_adapter.py:subject "
            "(`faultclock list subjects` shows the shipped ones)",
        )
    return spec


def parse_seconds(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Return a text such as `30s` as seconds, for the real clock."""
    if value is None:
        return None
    from harness.model.duration import SECOND_NS, parse_duration

    try:
        duration_ns = parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if duration_ns == 0:
        raise click.BadParameter("it has to be longer than nothing")
    return duration_ns / SECOND_NS
