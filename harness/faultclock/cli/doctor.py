"""`faultclock doctor`: is this installation sound, and is a subject bound right."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Literal

import click
from msgspec import Struct

from faultclock.cli.elsewhere import python_option
from faultclock.cli.exits import NONCONFORMING, OK
from faultclock.cli.options import inline_option, python_given
from faultclock.cli.say import say, say_lines
from faultclock.cli.target_options import as_option, dialect_option, speaking, world_flags
from faultclock.errors import HarnessError
from faultclock.model.duration import format_duration
from faultclock.render.wording import count

if TYPE_CHECKING:
    from faultclock.run.doctor.doctor import Examination
    from faultclock.subjects.adopt import Adopted

_DISTRIBUTION = "faultclock"
#: For a checkout that is not installed, which has no metadata to read them from.
_NEEDS = (
    *("click", "h11", "jinja2", "junitparser", "pydantic", "pyyaml"),
    *("rich", "simpy", "time-machine"),
)
_PYTHON_MIN = (3, 11)
#: Real seconds that a process gets to find out what the kernel lets it do.
_CONFINED_LIMIT_S = 10.0

_EPILOG = """\
\b
Examples:
  faultclock doctor
  faultclock doctor openai-async
  faultclock doctor my_client.py:ask
  faultclock doctor my_client.py:ask --dialect anthropic-messages
  faultclock doctor my_agent.py:agent

TARGET is what `faultclock check` takes. It is tried in the simulated world. A client is asked for
an answer, for a stream, and under a refusal. A runtime is given a tool, a tool that fails, a tool
that needs a yes, a no, and a restart. Of what was not tried, the line says why. The exit code is 1
when something has to be mended.
"""

Mark = Literal["✓", "✗", "!", "-"]
_MARKS: dict[str, Mark] = {"works": "✓", "broken": "✗", "look": "!", "not tried": "-"}


class Line(Struct, frozen=True, kw_only=True):
    """One thing that was looked at, or was not.

    Attributes:
        mark: ✓ it is well, ✗ it has to be mended, ! a person has to look, - it was not tried.
    """

    mark: Mark
    text: str
    hint: str | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """All that is shown.

    Attributes:
        tried: what the closing sentence names.
        not_tried: what it says that nothing is known of.
    """

    lines: tuple[Line, ...]
    tried: tuple[str, ...]
    not_tried: tuple[str, ...] = ()


@click.command(name="doctor", epilog=_EPILOG)
@click.argument("subject", required=False, metavar="[TARGET]")
@click.option(
    "--subject",
    "option",
    metavar="ID|FILE.py:NAME",
    help="The same, as `run` and `replay` take it.",
)
@as_option
@dialect_option
@world_flags
@python_option
@inline_option
def command(
    subject: str | None,
    option: str | None,
    as_: str | None,
    dialect: str | None,
    services: str | None,
    reads: tuple[str, ...],
    inline: bool,
) -> int:
    """Check this installation, or how a target is bound."""
    if subject is not None and option is not None:
        raise click.UsageError("name one target: as argument or with --subject")
    subject = subject or option
    if subject is None and (as_ or dialect or services or reads):
        raise click.UsageError("--as, --dialect, --services and --reads are about a target")
    if subject is not None:
        subject = speaking(subject, None, services=services, reads=reads)
    found = (
        _installed()
        if subject is None
        else _examined(subject, as_=as_, dialect=dialect, isolate=not inline)
    )
    for line in found.lines:
        say(f"{line.mark} {line.text}")
        if line.hint is not None:
            say(f"    {line.hint}")
    bad = sum(line.mark == "✗" for line in found.lines)
    doubts = sum(line.mark == "!" for line in found.lines)
    say_lines(_closing(bad, doubts, found))
    if subject is not None and not bad:
        there = python_given(click.get_current_context())
        again = shlex.join(["faultclock", "check", speaking(subject, dialect, as_), *there])
        say(f"Whether its error handling is any good: {again}")
    return NONCONFORMING if bad else OK


def _closing(bad: int, doubts: int, found: Answer) -> str:
    """Return a sentence that claims nothing of what was not tried, nor of what was noted."""
    counts = [f"{number} to {do}" for number, do in ((bad, "mend"), (doubts, "look at")) if number]
    head = f"{', '.join(counts)}. Tried" if counts else "Nothing to mend in what was tried"
    tried = f"{head}: {', '.join(found.tried)}."
    if not found.not_tried:
        return tried
    return f"{tried}\nNot tried: {', '.join(found.not_tried)}."


def _installed() -> Answer:
    tried = ("Python", "the libraries", "the shipped files")
    return Answer(
        lines=tuple(installation()), tried=tried, not_tried=("any target: name one to try it",)
    )


def installation() -> Iterator[Line]:
    """Yield what was found about this installation."""
    yield _python()
    yield from _dependencies()
    yield Line(
        mark="✓" if hasattr(os, "fork") else "✗",
        text="each run can have a forked process of its own"
        if hasattr(os, "fork")
        else "this system cannot fork: runs cannot be isolated",
        hint=None if hasattr(os, "fork") else "use --inline, or run on Linux",
    )
    yield from _confinement()
    yield _hash_seed()
    yield _shipped("scenario", _count_scenarios)
    yield _shipped("error model", _count_models)
    yield from _subjects()


def _python() -> Line:
    version = ".".join(str(part) for part in sys.version_info[:3])
    good = sys.version_info[:2] >= _PYTHON_MIN
    mark: Mark = "✓" if good else "✗"
    hint = None if good else f"Faultclock needs Python {'.'.join(map(str, _PYTHON_MIN))} or later"
    return Line(mark=mark, text=f"Python {version} ({sys.implementation.name})", hint=hint)


def _dependencies() -> Iterator[Line]:
    for name in _needed():
        try:
            yield Line(mark="✓", text=f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield Line(
                mark="✗", text=f"{name} is not installed", hint=f"pip install {_DISTRIBUTION}"
            )


def _needed() -> tuple[str, ...]:
    try:
        requirements = metadata.requires(_DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        return _NEEDS
    names = (re.match(r"[A-Za-z0-9._-]+", item) for item in requirements if "extra ==" not in item)
    return tuple(sorted(match.group() for match in names if match is not None))


#: What is said of a run, by what its process finds out.
_BELOW_PYTHON = {
    "reported": Line(
        mark="✓",
        text="below Python a run opens no socket and starts no process: the kernel holds the call"
        " back and names it (seccomp)",
        hint="this does not hold with --inline, nor for a target that is bound with inline=True",
    ),
    "ended": Line(
        mark="✓",
        text="below Python a run opens no socket and starts no process: the kernel ends the run"
        " (seccomp), and cannot name the call",
        hint="another supervisor watches this process, or the kernel is older than Linux 5.0",
    ),
    "nothing": Line(
        mark="!",
        text="below Python a run is not confined: the kernel has no filter for it",
        hint="run on Linux (x86-64 or ARM64) where a process may install a seccomp filter",
    ),
}


def _confinement() -> Iterator[Line]:
    """Yield what keeps a subject in the simulation on this machine."""
    yield Line(
        mark="✓",
        text="in Python a run opens no real socket and starts no process: names are replaced, and"
        " an audit hook stands behind them",
    )
    if hasattr(os, "fork"):
        from faultclock.run.process.confinement import held
        from faultclock.run.process.isolate import Died, Hung, run_isolated

        holds = run_isolated(held, wall_limit_s=_CONFINED_LIMIT_S)
        yield _BELOW_PYTHON["nothing" if isinstance(holds, Hung | Died) else holds]


def _hash_seed() -> Line:
    seed = os.environ.get("PYTHONHASHSEED", "random")
    if sys.flags.hash_randomization and seed in ("", "random"):
        return Line(
            mark="✓", text="PYTHONHASHSEED is random: simulating commands start again under 0"
        )
    return Line(mark="✓", text=f"PYTHONHASHSEED is {seed}")


def _shipped(noun: str, number: Callable[[], int]) -> Line:
    try:
        found = number()
    except HarnessError as error:
        return Line(mark="✗", text=f"a shipped {noun} does not load: {error.message}")
    hint = None if found else "install Faultclock again"
    return Line(mark="✓" if found else "✗", text=f"{count(found, f'shipped {noun}')}", hint=hint)


def _count_scenarios() -> int:
    from faultclock.load.scenario import find_scenarios

    return len(find_scenarios())


def _count_models() -> int:
    from faultclock.load.error_model import check_error_model, model_ids

    return len([check_error_model(id_) for id_ in model_ids()])


def _subjects() -> Iterator[Line]:
    """Yield two lines: a missing library is no fault, for its subjects are extras."""
    from faultclock.subjects.registry import catalog

    shipped = [entry for entry in catalog() if entry.kind != "miniature"]
    here = [entry for entry in shipped if entry.available]
    libraries = dict.fromkeys(_with_version(name) for entry in here for name in entry.needs)
    yield Line(
        mark="✓",
        text=f"{count(len(here), 'shipped subject')} can run here: `faultclock list subjects`",
        hint=f"with {', '.join(libraries)}" if libraries else None,
    )
    others = [entry for entry in shipped if not entry.available]
    if others:
        extras = sorted({entry.extra or "all" for entry in others})
        yield Line(
            mark="-",
            text=f"{count(len(others), 'shipped subject')} cannot run here, for lack of a library:"
            f" {', '.join(entry.id for entry in others)}",
            hint=f"pip install '{_DISTRIBUTION}[{','.join(extras)}]'",
        )


@cache
def _with_version(module: str) -> str:
    """Return the distribution that brings `module`, with its version; its name may be another."""
    by_module = module.replace(".", "-").replace("_", "-")
    with suppress(metadata.PackageNotFoundError):
        return f"{by_module} {metadata.version(by_module)}"
    # Asks every distribution for all of its files, so it is the last resort.
    names = metadata.packages_distributions().get(module.partition(".")[0], [])
    return f"{names[0]} {metadata.version(names[0])}" if names else module


def _examined(spec: str, *, as_: str | None, dialect: str | None, isolate: bool) -> Answer:
    from faultclock.cli.preparing import prepared
    from faultclock.run.doctor.doctor import examine

    adopted = prepared(spec, as_=as_, dialect=dialect, inline=not isolate)
    found = examine(adopted.binding, isolate=isolate, given_requests=adopted.given_requests)
    trials = found.trials
    return Answer(
        lines=tuple(_lines(adopted, found)),
        tried=tuple(item.what for item in trials if item.state != "not tried"),
        not_tried=tuple(item.what for item in trials if item.state == "not tried"),
    )


def _lines(adopted: Adopted, found: Examination) -> Iterator[Line]:
    subject, binding = found.subject, adopted.binding
    declares = ", ".join(subject.declares) or "nothing"
    asks = binding.role in ("provider_adapter", "runtime")
    speaks = f" that speaks {binding.dialect}" if asks else ""
    yield Line(mark="✓", text=f"{subject.id}: {adopted.taken_for.kind}{speaks}")
    if binding.own_tools is None:
        yield Line(mark="✓", text=f"declares {declares}")
    else:
        yield Line(mark="✓", text=adopted.taken_for.because)
    if step_ns := subject.timer_granularity_ns:
        yield Line(mark="✓", text=f"has timers in steps of {format_duration(step_ns)}")
    for name, version in sorted(subject.distributions.items()):
        yield Line(mark="✓", text=f"uses {name} {version}")
    for text in found.shows:
        yield Line(mark="✓", text=text)
    if found.requests:
        yield Line(mark="✓", text=f"{found.asked} saw {count(found.requests, 'request')}")
    for kind, number in found.emits.items():
        yield Line(mark="✓", text=f"emits {kind} ({number})")
    for item in found.trials:
        is_tried = "tried" if item.state != "not tried" else "not tried"
        yield Line(
            mark=_MARKS[item.state],
            text=f"{is_tried}: {item.what}: {item.found}",
            hint=item.hint,
        )
    for problem in found.problems:
        yield Line(mark="✗", text=problem)
