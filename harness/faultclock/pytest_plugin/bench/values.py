"""What goes between a bench and who asks it, in both directions: plain values, cheap to import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from faultclock.model.report.finding import RunReport
    from faultclock.model.trace.trace import Trace

#: What a scenario file of a person's own is called, wherever it lies.
SCENARIO_SUFFIXES = (".scenario.yaml", ".scenario.yml")
#: What becomes of an item.
Standing = Literal["passed", "failed", "known", "skipped"]


class Settings(Struct, frozen=True, kw_only=True):
    """What a bench is opened with.

    Attributes:
        config_file: the pyproject.toml whose table counts; None for none.
        subject: in place of what that says, as it is written in the working folder.
        model: likewise.
        seeds: likewise.
        path: where modules are imported from.
    """

    config_file: Path | None = None
    subject: str | None = None
    model: str | None = None
    seeds: int | None = None
    path: tuple[str, ...] = ()


class Collect(Struct, frozen=True, kw_only=True):
    """Ask which scenarios there are.

    Attributes:
        selectors: as the command line has them; empty: those of the configuration.
        alone: they name one file, which is an item even if it does not fit the subject.
    """

    selectors: tuple[str, ...] = ()
    alone: bool = False


class Collected(Struct, frozen=True, kw_only=True):
    """One scenario.

    Attributes:
        file: its own, with links followed.
        source: the file as it has to be asked for.
        unfit: why it cannot be run for this subject; empty where it can.
    """

    id: str
    variant: str | None
    title: str
    file: str
    source: str
    unfit: str = ""

    @property
    def name(self) -> str:
        """What its item is called."""
        return self.id if self.variant is None else f"{self.id}[{self.variant}]"


class Run(Struct, frozen=True, kw_only=True):
    """Ask for all runs of one scenario, as `faultclock run` makes them."""

    source: str
    variant: str | None


class CheckBaseline(Struct, frozen=True, kw_only=True):
    """Ask which entries of the baseline are out of date, whatever is run."""


class Ran(Struct, frozen=True, kw_only=True):
    """What came of a scenario, or of a look at the baseline.

    Attributes:
        verdict: in the words of the report; empty where nothing was run.
        headline: the whole in one line.
        lines: what the command line would tell of it.
        properties: for whoever reads reports of tests.
    """

    standing: Standing
    verdict: str = ""
    headline: str
    lines: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


class Play(Struct, frozen=True, kw_only=True):
    """Ask for one run with everything that is known of it; None: as configured.

    Attributes:
        scenario: what selects it.
    """

    scenario: str
    subject: str | None = None
    model: str | None = None
    readings: dict[str, str] | None = None
    variant: str | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRun:
    """One run with everything that is known of it.

    Attributes:
        run: it, judged.
        trace: all that happened.
        text: its findings in full, as the command line tells them.
    """

    run: RunReport
    trace: Trace
    text: str


class Refused(Struct, frozen=True, kw_only=True):
    """An answer: what was asked for cannot be.

    Attributes:
        ours: the fault is one of Faultclock.
    """

    text: str
    ours: bool = False


#: What can be asked of a bench.
Ask = Collect | Run | CheckBaseline | Play
