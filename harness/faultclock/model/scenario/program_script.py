"""ProgramScript: a fake program on the PATH, such as the command line of an agent or a test run.

It writes lines, on the virtual clock, and ends with an exit status, by a signal, or never.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from faultclock.model._base import Value
from faultclock.model.duration import MILLISECOND_NS, DurationNs
from faultclock.model.scenario.rule import EVERY, CountedRule, RangeField


class ProgramLine(Value):
    """Something that the program writes."""

    text: str
    """Without its newline."""
    stream: Literal["stdout", "stderr"] = "stdout"
    after: DurationNs = 20 * MILLISECOND_NS
    """Time since the line before it, or since the start."""
    newline: bool = True


class ProgramOutcome(Value):
    """What one execution of the program does."""

    lines: tuple[ProgramLine, ...] = ()
    status: int = Field(default=0, ge=0, le=255)
    """Exit status; 0 is success."""
    signal: Literal["", "SIGKILL", "SIGTERM", "SIGSEGV"] = ""
    """The signal that ends it from elsewhere, in place of an exit."""
    ends_after: DurationNs = 10 * MILLISECOND_NS
    """Time between the last line and its end."""
    hangs: bool = False
    """It writes its lines and never ends by itself."""
    ignores_sigterm: bool = False
    """Only SIGKILL ends it."""
    missing: bool = False
    """There is no such program: ENOENT."""
    means: Literal[
        "", "cut", "auth", "network", "quota", "denial_loop", "schema_invalid", "runtime_error"
    ] = ""
    """What the lines stand for, which only the judge reads; empty: it is good."""

    @model_validator(mode="after")
    def _one_end(self) -> ProgramOutcome:
        if self.signal and self.status:
            raise ValueError("a program ends by its status or by a signal, not by both")
        return self


class ProgramRule(CountedRule):
    """What some executions do; the first rule that matches decides."""

    executions: RangeField = EVERY
    """1-based, over its executions with such arguments: `2`, `1-3`, `3+` or `every`."""
    arguments: tuple[str, ...] = ()
    """Words that its arguments contain."""
    then: ProgramOutcome
    fault: bool = True
    """Whether it is a planned fault, which a run has to meet."""

    def holds(self, *, words: frozenset[str]) -> bool:
        """Return whether the arguments of an execution contain these words."""
        return words.issuperset(self.arguments)


class ProgramScript(Value):
    """A fake program."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    good: ProgramOutcome = ProgramOutcome.model_construct(
        lines=(ProgramLine.model_construct(text='{"ok": true}'),)
    )
    """What it does where no rule says otherwise."""
    rules: tuple[ProgramRule, ...] = ()

    @model_validator(mode="after")
    def _unique(self) -> ProgramScript:
        ids = [rule.id for rule in self.rules]
        if len(set(ids)) != len(ids):
            raise ValueError(f"{self.name}: two rules have the same id")
        return self
