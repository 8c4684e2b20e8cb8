"""`faultclock doctor`: is this installation sound, and is a subject bound right."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata

import click

from harness.cli.exits import NONCONFORMING, OK
from harness.cli.options import inline_option
from harness.errors import HarnessError

__all__ = ["Line", "command", "installation"]

_DISTRIBUTION = "faultclock"
#: For a checkout that is not installed, which has no metadata to read them from.
_NEEDS = (
    *("click", "h11", "jinja2", "junitparser", "pydantic", "pyyaml"),
    *("rich", "simpy", "time-machine"),
)
_PYTHON_MIN = (3, 11)

_EPILOG = """\
\b
Examples:
  faultclock doctor
  faultclock doctor openai-async
  faultclock doctor path/to/my_adapter.py:subject
  faultclock doctor path/to/my_tool.py:weather

With a SUBJECT, whatever its role, one healthy run is made in the simulated world: does it answer,
do its requests arrive, what does it declare and emit. The exit code is 1 when something has to be
mended.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that was looked at."""

    good: bool
    text: str
    hint: str | None = None


@click.command(name="doctor", epilog=_EPILOG)
@click.argument("subject", required=False, metavar="[SUBJECT]")
@click.option(
    "--subject",
    "option",
    metavar="ID|FILE.py:NAME",
    help="The same, as `run` and `replay` take it.",
)
@inline_option
def command(subject: str | None, option: str | None, inline: bool) -> int:
    """Check this installation, or how a subject is bound."""
    if subject is not None and option is not None:
        raise click.UsageError("name one subject: as argument or with --subject")
    subject = subject or option
    lines = installation() if subject is None else _examined(subject, isolate=not inline)
    bad = 0
    for line in lines:
        bad += not line.good
        click.echo(f"{'✓' if line.good else '✗'} {line.text}")
        if line.hint is not None:
            click.echo(f"    {line.hint}")
    click.echo(f"{bad} to mend" if bad else "all is well")
    return NONCONFORMING if bad else OK


def installation() -> Iterator[Line]:
    """Yield what was found about this installation."""
    yield _python()
    yield from _dependencies()
    yield _sole_owner()
    yield Line(
        good=hasattr(os, "fork"),
        text="each run can have a forked process of its own"
        if hasattr(os, "fork")
        else "this system cannot fork: runs cannot be isolated",
        hint=None if hasattr(os, "fork") else "use --inline, or run on Linux",
    )
    yield _hash_seed()
    yield _shipped("scenario", _count_scenarios)
    yield _shipped("error model", _count_models)
    yield from _subjects()


def _python() -> Line:
    version = ".".join(str(part) for part in sys.version_info[:3])
    good = sys.version_info[:2] >= _PYTHON_MIN
    hint = None if good else f"Faultclock needs Python {'.'.join(map(str, _PYTHON_MIN))} or later"
    return Line(good=good, text=f"Python {version} ({sys.implementation.name})", hint=hint)


def _dependencies() -> Iterator[Line]:
    for name in _needed():
        try:
            yield Line(good=True, text=f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield Line(
                good=False, text=f"{name} is not installed", hint=f"pip install {_DISTRIBUTION}"
            )


def _needed() -> tuple[str, ...]:
    try:
        requirements = metadata.requires(_DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        return _NEEDS
    names = (re.match(r"[A-Za-z0-9._-]+", item) for item in requirements if "extra ==" not in item)
    return tuple(sorted(match.group() for match in names if match is not None))


def _sole_owner() -> Line:
    """`harness` is a common name: another distribution may have overwritten parts of ours."""
    owners = set(metadata.packages_distributions().get("harness", ()))
    others = sorted(owners - {_DISTRIBUTION})
    if others:
        return Line(
            good=False,
            text=f"the package `harness` is also installed by {', '.join(others)}",
            hint=f"pip uninstall {' '.join(others)}, then install {_DISTRIBUTION} again",
        )
    where = "only Faultclock" if owners else "this checkout, which is not installed,"
    return Line(good=True, text=f"{where} provides the package `harness`")


def _hash_seed() -> Line:
    seed = os.environ.get("PYTHONHASHSEED", "random")
    if sys.flags.hash_randomization and seed in ("", "random"):
        return Line(
            good=True, text="PYTHONHASHSEED is random: simulating commands start again under 0"
        )
    return Line(good=True, text=f"PYTHONHASHSEED is {seed}")


def _shipped(noun: str, number: Callable[[], int]) -> Line:
    from harness.render.wording import count

    try:
        found = number()
    except HarnessError as error:
        return Line(good=False, text=f"a shipped {noun} does not load: {error.message}")
    hint = None if found else "install Faultclock again"
    return Line(good=found > 0, text=f"{count(found, f'shipped {noun}')}", hint=hint)


def _count_scenarios() -> int:
    from harness.load.scenario import find_scenarios

    return len(find_scenarios())


def _count_models() -> int:
    from harness.load.error_model import check_error_model, model_ids

    return len([check_error_model(id_) for id_ in model_ids()])


def _subjects() -> Iterator[Line]:
    """A missing library is no fault: its subjects are extras."""
    from harness.subjects.registry import catalog

    for entry in catalog():
        if entry.kind == "miniature":
            continue
        if entry.available:
            versions = ", ".join(_with_version(name) for name in entry.needs)
            yield Line(good=True, text=f"subject {entry.id} can run {versions}".rstrip())
        else:
            yield Line(
                good=True,
                text=f"subject {entry.id} cannot run here: it needs {', '.join(entry.needs)}",
                hint=f"pip install '{_DISTRIBUTION}[{entry.extra or 'all'}]'",
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


def _examined(spec: str, *, isolate: bool) -> Iterator[Line]:
    from harness.render.wording import count
    from harness.run.doctor import examine
    from harness.run.prepare import prepare

    binding = prepare(spec)
    found = examine(binding, isolate=isolate)
    subject = found.subject
    declares = ", ".join(subject.declares) or "nothing"
    yield Line(good=True, text=f"{subject.id}: {subject.style} {subject.role}, declares {declares}")
    for name, version in sorted(subject.distributions.items()):
        yield Line(good=True, text=f"uses {name} {version}")
    for text in found.shows:
        yield Line(good=True, text=text)
    if found.requests:
        yield Line(good=True, text=f"{found.asked} saw {count(found.requests, 'request')}")
    for task, answer in found.answers.items():
        if answer == "returned":
            yield Line(good=True, text=f"healthy call {task!r}: returned")
    for kind, number in found.emits.items():
        yield Line(good=True, text=f"emits {kind} ({number})")
    for problem in found.problems:
        yield Line(good=False, text=problem)
