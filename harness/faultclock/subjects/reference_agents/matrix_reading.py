"""Reading what a run of an agent's program was: from its end and its output to class and code.

    ProgramRun --trouble_of--> Trouble with class and code, or None where it is good
               --answer_of--> the JSON that it answered, or why there is none

What a program complains of stands on its error output, or in an event of its NDJSON that says so
itself. What the assistant writes proves nothing: it may talk about tokens and networks all day.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from faultclock.subjects.reference_agents.turn import Pair
from faultclock.subjects.reference_runtime.tool_call import misfit

NOT_FOUND = ("provider", "provider_not_found")
TIMEOUT = ("provider", "provider_timeout")
DENIED = ("provider", "provider_permission_denied")
AUTH = ("provider", "provider_auth_error")
NETWORK = ("provider", "provider_network_error")
RUNTIME = ("provider", "provider_runtime_error")
REVIEW_SCHEMA = ("stage", "review_schema_invalid")
TESTER_SCHEMA = ("stage", "tester_schema_invalid")
TEST_FAILED = ("stage", "test_failed")

_DENIAL = re.compile(r"requested permissions? to .*haven't granted", re.IGNORECASE)
_QUOTA = re.compile(r"rate limit|quota|\b429\b|usage limit", re.IGNORECASE)
_AUTH = re.compile(
    r"\b40[13]\b|\binvalid[ _](?:api[ _]key|token)\b|\bunauthorized\b|\bauthentication failed\b",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"stream disconnected before completion|\bECONN[A-Z]+\b|\bENOTFOUND\b|\bETIMEDOUT\b"
    r"|socket hang up|connection reset",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a run; `pair` is None where the document has no row for it."""

    pair: Pair | None


@dataclass(slots=True, kw_only=True)
class ProgramRun:
    """One run of a program, as its parent sees it.

    Attributes:
        status: exit status; negative for the signal that ended it; None if it never started.
        timed_out: it was stopped because its time was up.
        denials: lines about a permission that was denied.
        denied: it was stopped because there were too many of them.
    """

    argv: tuple[str, ...]
    status: int | None = None
    stdout: list[str] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    timed_out: bool = False
    denials: int = 0
    denied: bool = False

    @property
    def raw(self) -> str:
        """Everything that it wrote."""
        return "\n".join([*self.stdout, *self.stderr])

    @property
    def said(self) -> str:
        """The last line of its error output, else its last complaint."""
        lines = [line for line in self.stderr if line.strip()] or list(complaints(self))
        return lines[-1] if lines else ""


def trouble_of(run: ProgramRun) -> Trouble | None:
    """Return what is wrong with a run, None where it is good.

    A run that ended by a signal is never good, whatever it had written by then. A rate limit or a
    quota is told by its words, so that it is not taken for anything that has a row.
    """
    if run.status is None:
        return Trouble(NOT_FOUND)
    if run.denied:
        return Trouble(DENIED)
    if run.timed_out:
        return Trouble(TIMEOUT)
    if run.status == 0 and not _ends_with_complaint(run):
        return None
    complained = "\n".join(complaints(run))
    if _QUOTA.search(complained):
        return Trouble(None)
    for pattern, pair in ((_AUTH, AUTH), (_NETWORK, NETWORK)):
        if pattern.search(complained):
            return Trouble(pair)
    return Trouble(RUNTIME)


def complaints(run: ProgramRun) -> Iterator[str]:
    """Yield what the program complains of, in no particular order."""
    yield from run.stderr
    for line in run.stdout:
        event = _event(line)
        if event is not None and _is_complaint(event):
            yield _message(event)


def is_denial(stream: str, line: str) -> bool:
    """Return whether `line` says that a tool was denied a permission."""
    event = _event(line)
    if event is not None:
        return bool(event.get("is_error")) and bool(_DENIAL.search(_message(event)))
    return stream == "stderr" and bool(_DENIAL.search(line))


def answer_of(run: ProgramRun, schema: Mapping[str, Any] | None) -> tuple[Any, str | None]:
    """Return what the program answered, and why it does not fit `schema` (None if it does)."""
    text = "\n".join(run.stdout)
    if schema is None:
        return text, None
    lines = [line for line in run.stdout if line.strip()]
    for candidate in (text, lines[-1] if lines else ""):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        return value, misfit(value, schema)
    return text, "the answer is no JSON"


def _ends_with_complaint(run: ProgramRun) -> bool:
    lines = [line for line in run.stdout if line.strip()]
    event = _event(lines[-1]) if lines else None
    return event is not None and _is_complaint(event)


def _event(line: str) -> dict[str, Any] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_complaint(event: Mapping[str, Any]) -> bool:
    return event.get("type") in ("error", "turn.failed") or bool(event.get("is_error"))


def _message(event: Mapping[str, Any]) -> str:
    said = event.get("error", event.get("message", event.get("content", event.get("result"))))
    if isinstance(said, Mapping):
        said = said.get("message")
    return str(said)
