"""The `faultclock` command: its sub-commands, its help, and what each failure exits with."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

import faultclock
from faultclock.cli.configured import CONFIGURED, configured
from faultclock.cli.exits import INTERNAL, INTERRUPTED, OK, OUTPUT_CLOSED, USAGE
from faultclock.cli.say import say, say_lines, screens
from faultclock.errors import HarnessError, InternalError, UnknownNameError

#: Characters that are shown of a name that is too long for a file.
_NAME_SHOWN = 60
#: How options call the name of a file or a folder.
_PLACES = ("FILE", "DIR", "PATH", "FILE|FOLDER")
#: What a person meets first; the other commands stand below them.
_START_HERE = ("check", "init", "doctor", "run")
#: Name to module and to the line in the list, which has 66 characters at most: then it fits into
#: 80 columns. The modules are imported when called.
_COMMANDS = {
    "check": ("check", "Check how your code handles errors, and what to mend first."),
    "init": ("init", "Set up a project: bind your code, gate every push."),
    "doctor": ("doctor", "Check this installation, or how a subject is bound."),
    "run": ("run", "Run scenarios against a subject and judge what it did."),
    "explore": ("explore", "Find failures that come and go, and the smallest run of each."),
    "replay": ("replay", "Run a stored trace again and compare every event."),
    "mutate": ("mutate", "Search for rules of an error model that nothing can break."),
    "infer": ("infer", "Find out how a client really retries, with the runs that show it."),
    "census": ("census", "Compare what real clients do about the same failures."),
    "drift": ("drift", "Show what clients do otherwise in another version."),
    "conform": ("conform", "Put the retry tables of other people to a subject."),
    "import": ("import_", "Turn recordings (cassettes, HAR files) into scenarios."),
    "record": ("record", "Record a Python program and its providers as a scenario."),
    "serve": ("serve", "Serve a scenario's provider to any program, in real time."),
    "baseline": ("baseline", "Keep the known deviations of a subject, and gate on others."),
    "diff": ("diff", "Compare two reports: what got better, what got worse."),
    "merge": ("merge", "Join the reports of the parts of a run (`run --shard`)."),
    "history": ("history", "Show earlier runs: verdicts that flip, flaky subjects."),
    "judge": ("judge", "Judge stored traces, or the event logs of other systems."),
    "certify": ("certify", "Certify that a subject conforms to an error model, if it does."),
    "verify": ("verify", "Verify a certificate, offline."),
    "keygen": ("keygen", "Make a pair of keys, to sign and verify certificates."),
    "list": ("listing", "List what is shipped: scenarios, models, subjects and others."),
    "validate": ("validate", "Check scenario, error model, map and trace files."),
    "schema": ("schema", "Print the JSON Schema of a file format, for editors."),
}

_EPILOG = """\
\b
First steps:
  faultclock check path/to/client.py:function
  faultclock init
  faultclock run rate-limits --subject openai-async --html report.html
  faultclock run --subject path/to/my_adapter.py:subject

\b
Completion of commands and options with TAB, in bash (zsh and fish likewise):
  eval "$(_FAULTCLOCK_COMPLETE=bash_source faultclock)"

\b
Exit codes:
  0    what was asked for is done, and nothing is wrong
  1    the subject does not conform, a trace differs, or doctor found a fault
  2    the command line, a file or a subject is wrong
  3    nothing failed, but at least one run proves nothing (inconclusive)
  70   a bug in Faultclock; FAULTCLOCK_DEBUG=1 shows where
  130  interrupted
  141  the reader of the output went away (`| head`)
"""


class _Place(click.ParamType[str]):
    """A file or a folder: an empty name, as of a variable that is not set, would be this folder."""

    name = "place"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is."""
        if not value:
            self.fail("the name is empty: write the name of a file or a folder", param, ctx)
        return value


class _Group(click.Group):
    """A group whose commands are imported when called, and whose failures are sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order in which a person meets them."""
        return list(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"faultclock.cli.{_COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        for parameter in command.params:
            if parameter.metavar in _PLACES and parameter.type is click.STRING:
                parameter.type = _Place()
        return configured(command) if cmd_name in CONFIGURED else command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Offer near names for an unknown command."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            error = UnknownNameError("command", args[0], tuple(_COMMANDS))
            ctx.fail(f"{error.message}: {error.hint}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands without importing them."""
        rest = tuple(name for name in _COMMANDS if name not in _START_HERE)
        for title, names in (("Start here", _START_HERE), ("More", rest)):
            with formatter.section(title):
                # As wide in both lists, so that they stand below each other.
                formatter.write_dl(
                    [(name.ljust(max(map(len, _COMMANDS))), _COMMANDS[name][1]) for name in names]
                )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe is met here, because click exits with 1 for it."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return _output_closed()

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run a command line, and exit: never with a traceback for bad input."""
        extra.update(prog_name="faultclock", standalone_mode=False)
        with screens():
            try:
                if args is None:
                    _prepare_output()
                code = super().main(args, **extra)
                # Here, and not when the interpreter ends: so a closed pipe is not taken for a bug.
                sys.stdout.flush()
            except Exception as error:  # noqa: BLE001 - the last place that can say it in words
                code = _told(error)
            except KeyboardInterrupt:
                code = _interrupted()
        sys.exit(code if isinstance(code, int) else OK)


@click.group(
    cls=_Group,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(faultclock.__version__, prog_name="faultclock")
def app() -> None:
    """Test how LLM-agent code handles errors, on a simulated clock.

    Faultclock runs your adapter unmodified against a fake provider that fails on purpose, in
    virtual time, and judges every wait, retry and error against a written error model. Hours
    of backoff take milliseconds, and the same seed gives the same trace, byte for byte.
    """


def _prepare_output() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It was closed, and the next file that is opened would get its number: this one.
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - it stays open
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a symbol shows `?`; it does not stop the program.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _told(error: Exception) -> int:
    if isinstance(error, click.exceptions.Abort) or _wraps_an_interrupt(error):
        return _interrupted()
    if isinstance(error, click.ClickException):
        error.show()
        return USAGE
    if isinstance(error, HarnessError) and not isinstance(error, InternalError):
        _say_problem(str(error))
        return USAGE
    if isinstance(error, BrokenPipeError):
        return _output_closed()
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # Any look at whether a file is there may meet it, so it has its words here, once.
        name = str(error.filename)[:_NAME_SHOWN]
        say(f"faultclock: {name}…: this is too long for the name of a file", err=True)
        return USAGE
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        # Standard output may be a file on it; every other file says so itself.
        say("faultclock: the disk is full", err=True)
        return USAGE
    if os.environ.get("FAULTCLOCK_DEBUG") == "1":
        say_lines("".join(traceback.format_exception(error)).rstrip(), err=True)
        return INTERNAL
    say(f"faultclock: internal error: {type(error).__name__}: {error}", err=True)
    say(
        "  This is a bug in Faultclock. Please report it with the command line;"
        " FAULTCLOCK_DEBUG=1 shows where it happened.",
        err=True,
    )
    return INTERNAL


def _say_problem(text: str) -> None:
    """Write a message to standard error: no wider than a terminal, and as it is anywhere else."""
    from faultclock.cli.tables import lines_within, terminal_width

    width = terminal_width(sys.stderr)
    for line in f"faultclock: {text}".split("\n"):
        for part in lines_within(line, width):
            say(part, err=True)


def _wraps_an_interrupt(error: Exception) -> bool:
    """Return whether a person's interrupt came while pydantic wrote a value, which wraps it."""
    is_pydantic = type(error).__module__.startswith("pydantic_core")
    return is_pydantic and KeyboardInterrupt.__name__ in str(error)


def _output_closed() -> int:
    """Send what is still buffered nowhere: the reader (`head`, a pager) has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OUTPUT_CLOSED


def _interrupted() -> int:
    say("faultclock: interrupted; files that were not finished were not written", err=True)
    return INTERRUPTED
