"""Our own exceptions: misuse of Faultclock, or a bug in it.

A subject's failure is never one of these: it is data (a TraceEvent, then a Finding).

    HarnessError                    has a code, a message and a next step
    ├── InputError                  what a person gave us is wrong: exit code 2
    │   ├── SourceError             ... at a place in a file: path, line, column
    │   ├── EventError                  an event that does not fit the catalogue of event kinds
    │   ├── UnknownNameError            an id that is not registered; carries near names
    │   └── SubjectError            a subject file that cannot be loaded or bound
    └── InternalError               "should never happen": our bug, please report
"""

from __future__ import annotations

from msgspec import Struct

from faultclock.printable import one_line, visible


class HarnessError(Exception):
    """Base of every exception that Faultclock raises on purpose.

    Args:
        message: one sentence that says what is wrong.
        hint: one sentence that says what would be right, or what to do next.
    """

    code = "harness"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return _said(self.message, self.hint)


class InputError(HarnessError):
    """What a person gave us is wrong: a flag, a file, a subject. Exit code 2."""

    code = "input"


class Problem(Struct, frozen=True, kw_only=True):
    """One thing wrong in a text file.

    `line` and `column` are 1-based, as editors count them.
    """

    path: str
    line: int
    column: int
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return _said(f"{self.path}:{self.line}:{self.column}: {self.message}", self.hint)


class SourceError(InputError):
    """One or more problems at places in files, all of them reported at once."""

    code = "source"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems

    def __str__(self) -> str:
        return self.message


class EventError(InputError):
    """An event of a trace that does not fit the catalogue of event kinds.

    Args:
        number: of the event, 1-based.
        field: the path of the field that is wrong, such as `payload.chain.0.type`.
        message: what is wrong with it.
    """

    code = "event"

    def __init__(self, number: int, field: str, message: str) -> None:
        super().__init__(f"event {number}: {message}")
        self.number = number
        self.field = field
        self.problem = message


class UnknownNameError(InputError):
    """An id that is not registered.

    Args:
        kind: what was looked for, as a noun ("scenario").
        name: what was given.
        known: the names that exist; near ones are offered.
        told: those of them that are told if none is near; None: all.
    """

    code = "unknown-name"

    def __init__(
        self, kind: str, name: str, known: tuple[str, ...], told: tuple[str, ...] | None = None
    ) -> None:
        # Imported here: every command imports this file, and few names are wrong.
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=3)
        shown = sorted(known if told is None else told)
        more = f" and {len(known) - len(shown)} more" if len(shown) < len(known) else ""
        hint = (
            f"did you mean {' or '.join(repr(item) for item in near)}?"
            if near
            else f"known: {', '.join(shown) or 'none'}{more}"
        )
        super().__init__(f"unknown {kind} {name!r}", hint=hint)


class SubjectError(InputError):
    """A subject that cannot be loaded or bound."""

    code = "subject"


class InternalError(HarnessError):
    """Our own bug. It should never happen; the message asks for a report."""

    code = "internal"


def _said(message: str, hint: str | None) -> str:
    """Return a message in one line, whatever a file is called that it names, and its hint below."""
    return one_line(message) if hint is None else f"{one_line(message)}\n  {visible(hint)}"
