"""ForeignMap: how the event log of another system is read, in the words of an error model.

Such a log was recorded elsewhere, by another language or in production. It says what a system said
of itself and nothing that the world observed, so what can be judged is the order of its events,
what each audience saw, and the waits and errors that it names. What the reader makes of a log is in
`faultclock.load.foreign.log`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from faultclock.model._base import Value

Fact = str | int | bool | None
#: Dotted path into a line of the log; a number picks from a list. What stands after a `=` is no
#: path but the text itself.
Path = Annotated[str, StringConstraints(pattern=r"^(=.*|[^.=][^.]*(\.[^.]+)*)$")]
#: A path that leads somewhere: a text that is always the same would say nothing here.
Place = Annotated[str, StringConstraints(pattern=r"^[^.=][^.]*(\.[^.]+)*$")]
Audience = Literal["user", "model", "operator"]
Unit = Literal["s", "ms", "us", "ns"]


class ForeignLog(Value):
    """Where a trace comes from that no run of ours made."""

    map: str
    """Id of the map that it was read with."""
    model: str = ""
    """Id of the error model whose words the map speaks; empty where that is a file of its own."""
    log_sha256: str
    lines: int = Field(ge=0)
    """Lines of the log that hold an event."""
    kinds: tuple[str, ...]
    """The canonical kinds that the map can show, sorted; of any other, nothing is known."""
    names: tuple[str, ...] = ()
    """The names of events that the map speaks of, or that the log has, sorted."""
    records: tuple[str, ...] = ()
    """Likewise of the records of an audit trail."""
    signs: tuple[str, ...] = ()
    """Kinds that are not in the log, but that something in it is a sign of, sorted."""
    timed: bool
    """Whether its events have times of their own."""
    complete: bool = False
    """Whether a person vouches that the log holds its runs from the first event to the last."""


class TimeField(Value):
    """Where a line says when it happened."""

    field: Place
    unit: Literal["s", "ms", "us", "ns", "iso8601"]
    """Of a number (of a text that is one, too), or `iso8601`: date, time and zone in a text."""
    restarts: bool = False
    """Whether the clock begins anew with each process that writes to the log; between the last
    event of one and the first of the next no time passes then. Else time never goes back."""


class ForeignError(Value):
    """Where a line names an error; each is a path, or a text after `=`."""

    error_class: Path | None = Field(default=None, alias="class")
    code: Path | None = None
    attempt: Path | None = None
    """1-based, of the attempt that failed; the first try included."""
    message: Path | None = None
    context: Place | None = None
    """The object with what else is known of it."""
    audited: bool = False
    """Whether the line is a record of the audit trail, beside the event that it is."""


class ForeignResult(Value):
    """Where the event that ends a run says what the run came to."""

    state: Path | None = None
    error_class: Path | None = Field(default=None, alias="class")
    code: Path | None = None


class ForeignRetry(Value):
    """Where a line says that something will be tried again, and after what wait."""

    error_class: Path = Field(alias="class")
    code: Path
    retry_number: Path
    """1-based, of the retry that is to come."""
    delay: Path
    unit: Unit = "ms"


class ForeignEvent(Value):
    """What one event of the log is."""

    name: str | None = Field(default=None, min_length=1)
    """Its name in the model's words; None: the same."""
    where: dict[Place, Fact | tuple[Fact, ...]] = {}
    """Fields of the line that must have these values for this entry to be the one."""
    fields: dict[str, Path] = {}
    """Field of ours to where the line has it; all fields of the line are there under their own
    names as well."""
    call: Literal["", "begins", "returned", "raised"] = ""
    """Whether the run begins with it, or ends by it."""
    result: ForeignResult | None = None
    """What a run that ends by it came to; goes with `call: returned`."""
    error: ForeignError | None = None
    retry: ForeignRetry | None = None
    tells: dict[Audience, Path] = {}
    """Audience to where the line has what it sees."""
    audited: bool = False
    """Whether it is a record of the audit trail, and no event."""
    signs: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z]+\.[a-z_]+$")], ...] = ()
    """Kinds of facts that a log does not hold and that this is a sign of, such as
    `cancel.requested`. They excuse what a rule is not for (`unless`), or end what it prohibits
    (`before`; there the sign must not come later than the fact), and prove nothing."""

    @model_validator(mode="after")
    def _result_of_an_end(self) -> ForeignEvent:
        if self.result is not None and self.call != "returned":
            raise ValueError("`result` goes with `call: returned`: a run that raised has an error")
        return self


class ForeignMap(Value):
    """The map of one log format."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    model: str = Field(min_length=1)
    """Id of the error model that it is written for, or a path beside the map."""
    source: str
    """The document that describes the log."""
    name: Place
    """Where a line has the name of its event."""
    body: Place | None = None
    """Where a line has the fields of its event, beside those of the line itself."""
    time: TimeField | None = None
    run: Place | tuple[Place, ...] | None = None
    """Where a line says which run it belongs to; of several, the first that is there. None: there
    is only one. A line without any belongs to no run."""
    repeats: bool = False
    """Whether what has ended may begin again under the same id, as the turns of a session do."""
    skip: tuple[str, ...] = ()
    """Names of events that say nothing."""
    events: dict[str, ForeignEvent | tuple[ForeignEvent, ...]] = Field(
        default={}, json_schema_extra=lambda schema: _or_nothing(schema)
    )
    """Name in the log to what it is; of several entries the first whose `where` holds. A name that
    is missing here passes as it is. Name each event that the log may have: of one that is neither
    named nor there, it is unknown whether it is missing."""

    @model_validator(mode="after")
    def _makes_sense(self) -> ForeignMap:
        if not self.ends:
            raise ValueError("no event ends a run: say `call: returned` or `call: raised` of one")
        for name in self.skip:
            if name in self.events:
                raise ValueError(f"{name} is in `skip` and in `events`: it can only be in one")
        for name, of_name in self.events.items():
            entries = of_name if isinstance(of_name, tuple) else (of_name,)
            if not entries:
                raise ValueError(f"{name} has no entry: write `{name}:` alone to take it as it is")
            if any(not entry.where for entry in entries[:-1]):
                raise ValueError(f"{name}: an entry without `where` takes all: put it last")
        if self.repeats and not self.begins:
            raise ValueError("`repeats` needs an event that begins a run: say `call: begins` of it")
        return self

    def entries(self) -> tuple[tuple[str, ForeignEvent], ...]:
        """Return each entry with its name in the log."""
        return tuple(
            (name, entry)
            for name, of_name in self.events.items()
            for entry in (of_name if isinstance(of_name, tuple) else (of_name,))
        )

    @property
    def run_fields(self) -> tuple[str, ...]:
        """The paths to a run's id, in the order in which they are tried; empty: one run."""
        if self.run is None:
            return ()
        return (self.run,) if isinstance(self.run, str) else self.run

    @property
    def begins(self) -> tuple[str, ...]:
        """Names of the events that begin a run."""
        return self._named(("begins",))

    @property
    def ends(self) -> tuple[str, ...]:
        """Names of the events that end a run."""
        return self._named(("returned", "raised"))

    def _named(self, calls: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, entry in self.entries() if entry.call in calls))


def _or_nothing(schema: dict[str, Any]) -> None:
    """Let an editor know that `name:` alone is an entry, too: the loader makes it an empty one."""
    schema["additionalProperties"]["anyOf"].append({"type": "null"})
