"""Options that several commands share, and the checks of what was given."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from faultclock.cli.say import say
from faultclock.errors import InputError

#: The neutral one: the documents that are carried beside it are chosen by name.
DEFAULT_MODEL = "common"

#: What a run may take where a person says nothing: far more than any agent needs for one turn.
_MEMORY_LIMIT_MIB = 2_048
#: Under this name a command keeps what was said.
_MEMORY_LIMIT = "faultclock.memory_limit_mib"
#: Under this name it keeps which Python carries it out.
_PYTHON = "faultclock.python"
#: Parameter to its flag.
_LIMITS = {"wall_limit": "--wall-limit", "memory_limit": "--memory-limit"}

#: Options that say how processes of this machine make runs.
_OF_THIS_MACHINE = {
    "jobs": "--jobs",
    "workers": "--workers",
    "inline": "--inline",
    "cpu_profile": "--cpu-profile",
    "env": "--env",
}

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


model_option = click.option(
    "--model",
    default=DEFAULT_MODEL,
    show_default=True,
    metavar="ID|FILE",
    help="Error model to judge by.",
)


#: `--reading`, for `parse_readings`.
readings_option = click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="SWITCH=OPTION",
    help="Choose a reading where the model's document is silent or contradicts itself, such as "
    "cut-answers=unmapped. `faultclock list models MODEL` shows them. May be given again.",
)


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

    @functools.wraps(function)
    def checked(*args: Any, inline: bool, **options: Any) -> Any:
        limits = limits_given(click.get_current_context()) if inline else ()
        if limits:
            raise click.UsageError(
                f"{limits[0]} ends the process of a run, and --inline makes no process for one"
            )
        return function(*args, inline=inline, **options)

    return click.option(
        "--inline",
        is_flag=True,
        help="Make all runs in one process instead of a forked child for each: for a debugger, and "
        "for subjects that keep no process-wide state. Such runs certify nothing, and no limit "
        "ends one that hangs.",
    )(cast("FunctionT", checked))


def wall_limit_option(function: FunctionT) -> FunctionT:
    """Add `--wall-limit`."""
    return click.option(
        "--wall-limit",
        callback=parse_seconds,
        metavar="DURATION",
        help="End a run that really hangs after this much real time, such as 30s. The default is "
        "the scenario's own limit.",
    )(function)


def memory_limit_option(function: FunctionT) -> FunctionT:
    """Add `--memory-limit`."""
    return click.option(
        "--memory-limit",
        type=click.IntRange(16, 1 << 20),
        metavar="MIB",
        default=_MEMORY_LIMIT_MIB,
        show_default=True,
        expose_value=False,
        callback=_keep_memory_limit,
        help="End a run that takes more memory than this, in MiB, beside what its subject took "
        "when it was loaded.",
    )(function)


def cpu_profile_option(function: FunctionT) -> FunctionT:
    """Add `--cpu-profile`; the command knows nothing of it."""

    @functools.wraps(function)
    def measured(*args: Any, cpu_profile: str | None, **options: Any) -> Any:
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
        help="Write whose processor time the runs take, as JSON: your code, its libraries, the "
        "simulated world, the judge. The runs take longer, and are the same.",
    )(cast("FunctionT", measured))


def cluster_option(function: FunctionT) -> FunctionT:
    """Add `--cluster`; the command knows nothing of it."""

    @functools.wraps(function)
    def clustered(*args: Any, cluster: str | None, **options: Any) -> Any:
        if cluster is None:
            return function(*args, **options)
        context = click.get_current_context()
        for name, flag in _OF_THIS_MACHINE.items():
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(
                    f"{flag} is about processes of this machine, and --cluster makes the runs "
                    "elsewhere"
                )
        # Imported here: few runs need more than one machine.
        from faultclock.run.process.cluster import Cluster
        from faultclock.run.process.workers import working_at

        with Cluster(cluster) as place, working_at(place):
            return function(*args, **options)

    return click.option(
        "--cluster",
        metavar="ADDRESS|local:N",
        callback=_check_cluster,
        help="Have the workers of this Dask cluster make the runs: the address of a scheduler, "
        "such as tcp://host:8786, or local:4 for four workers on this machine.",
    )(cast("FunctionT", clustered))


def _check_cluster(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from faultclock.run.process.cluster import ADDRESS, LOCAL

    if LOCAL.fullmatch(value) is None and ADDRESS.fullmatch(value) is None:
        raise click.BadParameter(
            f"{value!r} is no address of a scheduler: write it like tcp://host:8786, or local:4"
        )
    return value


def _keep_memory_limit(context: click.Context, _: click.Parameter, value: int) -> None:
    context.meta[_MEMORY_LIMIT] = value


def keep_python(context: click.Context, path: str) -> None:
    """Let the commands that show a run again name this Python."""
    context.meta[_PYTHON] = ("--python", path)


def python_given(context: click.Context) -> tuple[str, ...]:
    """Return which Python carries the command out, as the words on the command line."""
    words: tuple[str, ...] = context.meta.get(_PYTHON, ())
    return words


def limits_given(context: click.Context) -> tuple[str, ...]:
    """Return the limits of a run that stand on the command line, as the words they are."""
    words: list[str] = []
    for name, flag in _LIMITS.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params.get(name, context.meta.get(_MEMORY_LIMIT))
            words += [flag, f"{value:g}s" if isinstance(value, float) else str(value)]
    return tuple(words)


def memory_limit_bytes() -> int:
    """Return what a run of this command may take; commands without the option have its default."""
    context = click.get_current_context(silent=True)
    given = None if context is None else context.meta.get(_MEMORY_LIMIT)
    return (given or _MEMORY_LIMIT_MIB) << 20


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
                hint="`faultclock list models MODEL` shows the switches and their options",
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
            "no subject: name the code whose error handling is tested",
            hint="--subject openai-async, or --subject path/to/my_adapter.py:subject "
            "(`faultclock list subjects` shows the shipped ones)",
        )
    return spec


def parse_seconds(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Return a text such as `30s` as seconds, for the real clock."""
    if value is None:
        return None
    from faultclock.model.duration import SECOND_NS, parse_duration

    try:
        duration_ns = parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if duration_ns == 0:
        raise click.BadParameter("it has to be longer than nothing")
    return duration_ns / SECOND_NS
