"""ForeignMap: how the event log of another system is read, in the words of an error model.

Such a log was recorded elsewhere, by another language or in production. It says what a system said
of itself and nothing that the world observed, so what can be judged is the order of its events,
what it told whom, and the waits and errors that it names.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from harness.model._base import Value

__all__ = ["ForeignError", "ForeignEvent", "ForeignLog", "ForeignMap", "ForeignRetry", "TimeField"]

Fact = str | int | bool | None
#: Dotted path into a line of the log; a number picks from a list.
Path = str


class ForeignLog(Value):
    """Where a trace comes from that no run of ours made."""

    map: str
    """Id of the map that it was read with."""
    log_sha256: str
    lines: int = Field(ge=0)
    """Lines of the log that hold an event."""
    kinds: tuple[str, ...]
    """The canonical kinds that the map can show, sorted; of any other, nothing is known."""
    timed: bool
    """Whether its events have times of their own."""


class TimeField(Value):
    """Where a line says when it happened."""

    field: Path
    unit: Literal["s", "ms", "us", "ns", "iso8601"]


class ForeignError(Value):
    """Where a line names an error; each is a path, or a text after `=`."""

    error_class: Path | None = Field(default=None, alias="class")
    code: Path | None = None
    attempt: Path | None = None
    message: Path | None = None


class ForeignRetry(Value):
    """Where a line says that something will be tried again, and after what wait."""

    error_class: Path = Field(alias="class")
    code: Path
    retry_number: Path
    """1-based, of the retry that is to come."""
    delay: Path
    unit: Literal["s", "ms", "us", "ns"] = "ms"


class ForeignEvent(Value):
    """What one event of the log is."""

    name: str | None = None
    """Its name in the model's words; None: the same."""
    where: dict[Path, Fact | tuple[Fact, ...]] = {}
    """Fields of the line that must have these values for this entry to be the one."""
    fields: dict[str, Path] = {}
    """Field of ours to where the line has it; all fields of the line are there under their own
    names as well. A text after `=` is taken as it stands."""
    call: Literal["", "begins", "returned", "raised"] = ""
    """Whether the run begins with it, or ends by it."""
    error: ForeignError | None = None
    retry: ForeignRetry | None = None
    tells: dict[Literal["user", "model", "operator"], Path] = {}
    """Audience to where the line has what it is told."""
    audited: bool = False
    """Whether it is a record of the audit trail, and not an event."""


class ForeignMap(Value):
    """The map of one log format."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    model: str
    """Id of the error model that it is written for."""
    source: str
    """The document that describes the log."""
    name: Path
    """Where a line has the name of its event."""
    time: TimeField | None = None
    run: Path | None = None
    """Where a line says which run it belongs to; None: there is only one."""
    skip: tuple[str, ...] = ()
    """Names of events that say nothing."""
    events: dict[str, ForeignEvent | tuple[ForeignEvent, ...]] = {}
    """Name in the log to what it is; of several entries the first whose `where` holds. A name that
    is missing here passes as it is."""

    @field_validator("events", mode="before")
    @classmethod
    def _plain_entries(cls, events: object) -> object:
        # A name alone (`run_started:`) is an entry without anything special.
        if isinstance(events, dict):
            return {name: {} if entry is None else entry for name, entry in events.items()}
        return events

    @model_validator(mode="after")
    def _has_ends(self) -> ForeignMap:
        if not any(entry.call in ("returned", "raised") for _, entry in self.entries()):
            raise ValueError("no event ends a run: say `call: returned` or `call: raised` of one")
        return self

    def entries(self) -> tuple[tuple[str, ForeignEvent], ...]:
        """Return each entry with its name in the log."""
        return tuple(
            (name, entry)
            for name, of_name in self.events.items()
            for entry in (of_name if isinstance(of_name, tuple) else (of_name,))
        )

    @property
    def ends(self) -> tuple[str, ...]:
        """Names of the events that end a run."""
        return tuple(dict.fromkeys(name for name, entry in self.entries() if entry.call in _ENDS))


_ENDS = ("returned", "raised")
