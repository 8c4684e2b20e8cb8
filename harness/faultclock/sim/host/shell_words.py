"""Splits the simplest of shell commands: words, quoted or not, and nothing that a shell does.

There is no shell in the world. A command that needs one is told from one that does not, so that
it can be refused by name instead of being carried out wrongly.
"""

from __future__ import annotations

import shlex

#: What a shell acts on outside of quotes; in double quotes it acts on those below.
_ACTIVE = frozenset("|&;<>()$`\n*?[]{}~#!")
_ACTIVE_QUOTED = frozenset("$`!")

#: Words that are the shell's own where a program's name would be.
_BUILTINS = frozenset(
    {
        ".",
        ":",
        "alias",
        "bg",
        "case",
        "cd",
        "eval",
        "exec",
        "exit",
        "export",
        "fg",
        "for",
        "if",
        "jobs",
        "read",
        "set",
        "shift",
        "source",
        "time",
        "trap",
        "ulimit",
        "umask",
        "unset",
        "until",
        "wait",
        "while",
    }
)


class ShellNeededError(ValueError):
    """Only a shell can carry this command out; its text says why."""


def shell_words(command: str) -> tuple[str, ...]:
    """Return the words of a command that needs no shell.

    Raises:
        ShellNeededError: it needs one.

    Example:
        >>> shell_words("claude -p 'say hello'")
        ('claude', '-p', 'say hello')
    """
    active = _active(command)
    if active:
        raise ShellNeededError(f"{active!r} in it")
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ShellNeededError(str(error).lower()) from None
    if not words:
        raise ShellNeededError("no words in it")
    if words[0] in _BUILTINS or "=" in words[0]:
        raise ShellNeededError(f"{words[0].partition('=')[0]!r} at its beginning")
    return words


def _active(command: str) -> str:
    """Return the first character that a shell would act on; quoting and escaping aside."""
    quote = ""
    escaped = False
    for character in command:
        if escaped:
            # A backslash before a newline joins two lines.
            if character == "\n":
                return character
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            if character == quote:
                quote = ""
            elif quote == '"' and character in _ACTIVE_QUOTED:
                return character
        elif character in "'\"":
            quote = character
        elif character in _ACTIVE:
            return character
    return ""
