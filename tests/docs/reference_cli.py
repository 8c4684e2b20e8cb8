"""The reference of the command line, from click's own declarations."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import click

from faultclock.cli.app import app
from tests.docs.reference_text import GENERATED, cell, code, prose, table


def cli_page() -> str:
    """Return the page."""
    context = click.Context(app, info_name="faultclock")
    names = app.list_commands(context)
    commands = [(name, app.get_command(context, name)) for name in names]
    lines = [
        "# Command line",
        "",
        GENERATED,
        "",
        *prose(
            "Every command, option and default. `faultclock COMMAND --help` says the same on the "
            "terminal."
        ),
        "",
        *table(
            ("command", "does"),
            (
                (f"[`{name}`](#faultclock-{name})", cell(_first_line(command)))
                for name, command in commands
                if command is not None
            ),
        ),
        "",
        "## Exit codes",
        "",
        *table(("code", "means"), _exit_codes()),
        "",
    ]
    for name, command in commands:
        assert command is not None
        lines += _command(f"faultclock {name}", command, level=2)
    return "\n".join(lines).rstrip() + "\n"


def _command(name: str, command: click.Command, *, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    yield f"{'#' * level} {name}"
    yield ""
    yield "```text"
    yield " ".join([name, *command.collect_usage_pieces(context)])
    yield "```"
    yield ""
    for paragraph in _paragraphs(command.help):
        yield from paragraph
        yield ""
    options = [item for item in command.get_params(context) if isinstance(item, click.Option)]
    if options:
        yield from table(
            ("option", "default", "does"), (_option(item, context) for item in options)
        )
        yield ""
    for paragraph in _paragraphs(command.epilog):
        yield from paragraph
        yield ""
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _command(f"{name} {inner}", found, level=level + 1)


def _option(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join(option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(option.secondary_opts)
    value = "" if option.is_flag or option.count else f" {option.make_metavar(context)}"
    notes = [
        note
        for note, holds in (
            ("required", option.required),
            ("may be given again", option.multiple),
            (_range(option.type), bool(_range(option.type))),
        )
        if holds
    ]
    text = option.help or ""
    return (
        code(names + value),
        _default(option),
        cell(f"{text} ({', '.join(notes)})" if notes else text),
    )


def _default(option: click.Option) -> str:
    value = option.default
    if option.is_flag or option.multiple or value is None or callable(value):
        return ""
    text = str(value)
    return "" if "UNSET" in text.upper() or text == "" else code(text)


def _range(kind: click.ParamType) -> str:
    if isinstance(kind, (click.IntRange, click.FloatRange)) and kind.min is not None:
        return f"{kind.min} to {kind.max}" if kind.max is not None else f"{kind.min} or more"
    return ""


def _exit_codes() -> Iterator[tuple[str, str]]:
    """Yield the codes as the help of the command has them."""
    _, _, told = (app.epilog or "").partition("Exit codes:\n")
    for match in re.finditer(r"^  (\d+)\s+(.*)$", told, re.MULTILINE):
        yield match[1], cell(match[2])


def _first_line(command: click.Command) -> str:
    return " ".join(inspected.split("\n\n")[0].split()) if (inspected := command.help) else ""


def _paragraphs(text: str | None) -> Iterator[list[str]]:
    """Yield the paragraphs of a help text; what click must not wrap is a block of text."""
    for paragraph in textwrap.dedent(text or "").strip().split("\n\n"):
        if paragraph.startswith("\b"):
            text_lines = paragraph.removeprefix("\b").strip("\n").split("\n")
            if text_lines[0].endswith(":"):
                yield [text_lines.pop(0)]
            if text_lines:
                yield ["```text", *textwrap.dedent("\n".join(text_lines)).split("\n"), "```"]
        elif paragraph:
            # What stands in capitals for a value is no emphasis, and `[` begins no link.
            yield prose(re.sub(r"(?<![`\w])\[(?![^\]]*\]\()", r"\\[", paragraph))
