"""`--python`: the same command, carried out by another interpreter.

A framework that cannot stand beside this environment, or needs another Python, has one of its own.
Faultclock is installed there as well, in the same version; the command becomes that process, with
its arguments, its input and output, and its exit code.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import unquote, urlsplit

import click

import faultclock
from faultclock.cli.options import keep_python
from faultclock.errors import InputError

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_OLDEST = (3, 11)
#: Tells the process there that it is the one that was asked for, whatever its own path is.
_CARRIED_OUT = "FAULTCLOCK_CARRIED_OUT_BY"
#: Written by the other interpreter: its version, then that of its Faultclock.
_ASK = (
    "import sys; sys.path.remove('') if '' in sys.path else None;"
    " print(*sys.version_info[:2], flush=True);"
    " import faultclock; print(faultclock.__version__)"
)
_ASK_LIMIT_S = 60.0


def python_option(function: FunctionT) -> FunctionT:
    """Add `--python`."""
    return click.option(
        "--python",
        metavar="PATH",
        is_eager=True,
        expose_value=False,
        callback=_carry_out,
        help="Carry the command out with this Python, such as other/bin/python: of an environment"
        " in which Faultclock is installed as well, in the same version.",
    )(function)


def _carry_out(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is None or context.resilient_parsing:
        return
    keep_python(context, value)
    if os.environ.pop(_CARRIED_OUT, None) != value:
        _become(checked_python(value), value)


def _become(python: str, value: str) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    words = [python, "-P", "-m", "faultclock.cli", *sys.argv[1:]]
    os.execve(python, words, {**os.environ, _CARRIED_OUT: value})  # noqa: S606 - the person's own


def checked_python(value: str, flag: str = "--python ") -> str:
    """Return the path of an interpreter that has the same Faultclock.

    Args:
        flag: what a person wrote right before `value`, for messages.

    Raises:
        InputError: it has not.
    """
    said = flag.rstrip(" =")
    found = shutil.which(value)
    if found is None:
        raise _no_program(value, flag)
    python = os.path.abspath(found)  # noqa: PTH100 - a link to a Python stays that link
    try:
        done = subprocess.run(  # noqa: S603 - the person's own
            [python, "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASK_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{said}: {value} did not start: {error}") from error
    version, _, there = done.stdout.strip().partition("\n")
    numbers = tuple(int(word) for word in version.split() if word.isdecimal())
    if len(numbers) != len(_OLDEST):
        raise InputError(f"{said}: {value} is no Python: it did not say its version")
    shown = ".".join(map(str, numbers))
    if numbers < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise InputError(f"{said}: {value} is Python {shown}, and Faultclock needs {oldest}")
    if there == faultclock.__version__:
        return python
    last = done.stderr.strip().rpartition("\n")[2]
    lacks = f"has no Faultclock ({last})" if not there else f"has Faultclock {there}"
    raise InputError(
        f"{said}: {value} (Python {shown}) {lacks}, and this is {faultclock.__version__}",
        hint=shlex.join([python, "-m", "pip", "install", _requirement()]),
    )


def _no_program(value: str, flag: str) -> InputError:
    """Return why `value` is no program; of the folder of an environment, what its Python is."""
    path, said = Path(value), flag.rstrip(" =")
    if not value or not path.exists():
        return InputError(f"{said}: there is no program {value}")
    if path.is_dir():
        within = path / "bin" / "python"
        hint = f"{flag}{shlex.quote(str(within))}" if within.exists() else None
        return InputError(f"{said}: {value} is a folder, and no Python", hint=hint)
    return InputError(f"{said}: {value} is a file that cannot be executed")


def _requirement() -> str:
    """Return what pip installs as this Faultclock: its version, or the checkout it comes from."""
    try:
        text = metadata.distribution("faultclock").read_text("direct_url.json")
        address = urlsplit(json.loads(text or "{}").get("url", ""))
    except (metadata.PackageNotFoundError, ValueError):
        address = urlsplit("")
    if address.scheme == "file":
        return unquote(address.path)
    return f"faultclock=={faultclock.__version__}"
