"""`--cpu-profile`: whose processor time the runs of a command take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from faultclock.cli.say import say

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def cpu_profile_option(function: FunctionT) -> FunctionT:
    """Add `--cpu-profile`; the command knows nothing of it."""

    @wraps(function)
    def command(*args: Any, cpu_profile: str | None, **options: Any) -> Any:
        if cpu_profile is None:
            return function(*args, **options)
        # Imported here: few runs are measured.
        from faultclock.load.files import check_output_file, write_text_atomically
        from faultclock.run.process.cpu_time import CpuTime, as_json, in_words

        check_output_file(cpu_profile)
        with CpuTime() as cpu:
            code = function(*args, **options)
            spent = cpu.spent()
        write_text_atomically(cpu_profile, as_json(spent))
        say(f"  {in_words(spent)} ({cpu_profile})", err=True)
        return code

    return click.option(
        "--cpu-profile",
        metavar="FILE",
        help="Write whose processor time the runs take, as JSON: your code, its libraries, the"
        " simulated world, the judge. The runs take longer, and are the same.",
    )(cast("FunctionT", command))
