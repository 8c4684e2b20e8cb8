"""What the commands about certificates share: days, passphrases, and what has to be installed."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from importlib.util import find_spec
from typing import Any, TypeVar

import click

from faultclock.errors import InputError

_NEEDED = ("rfc8785", "securesystemslib", "cryptography")
#: https://reproducible-builds.org/specs/source-date-epoch/
_EPOCH = "SOURCE_DATE_EPOCH"

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


passphrase_option = click.option(
    "--passphrase-env",
    metavar="NAME",
    help="Environment variable with the passphrase of the private key.",
)


def passphrase_of(name: str | None) -> str | None:
    """Return the passphrase that an environment variable holds, and take it out of there.

    So no subject that is run afterwards can read it.

    Raises:
        InputError: there is no such variable, or it is empty.
    """
    if name is None:
        return None
    passphrase = os.environ.pop(name, "")
    if not passphrase:
        raise InputError(
            f"the environment variable {name} is not set, or empty",
            hint="it holds the passphrase of the private key",
        )
    return passphrase


def require_certify() -> None:
    """Refuse if what signs and verifies is not installed.

    Raises:
        InputError: it is not.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"certificates need {missing[0]}, which is not installed",
            hint="pip install 'faultclock[certify]'",
        )


def day(_: click.Context, __: click.Parameter, value: str | None) -> date | None:
    """Return a text such as `2027-12-31` as a day."""
    if value is None:
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no day: write it as 2027-12-31") from None


def today() -> date:
    """Return the day by which a key expires: the clock's, in UTC."""
    return datetime.now(UTC).date()


def source_date() -> date | None:
    """Return the day that SOURCE_DATE_EPOCH names, in UTC; None: it is not set.

    Raises:
        InputError: it is no number of seconds.
    """
    text = os.environ.get(_EPOCH, "")
    if not text:
        return None
    try:
        return datetime.fromtimestamp(int(text), UTC).date()
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{_EPOCH} is {text!r}, which is no number of seconds") from None
