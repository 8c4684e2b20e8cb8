"""CheckUp: what `faultclock check` says about one target, as data that every renderer reads.

Findings are many and belong to runs. A Problem is what a person mends: one cause in one place,
however many runs show it.
"""

from __future__ import annotations

from pydantic import Field

from faultclock.model._base import Value
from faultclock.model.error_model.error_model import Level
from faultclock.model.error_model.harm import Harm
from faultclock.model.report.finding import Report, SourcePlace
from faultclock.model.report.inferred import RetryProfile
from faultclock.model.trace.notes import Frame, OutputLine

#: Version of the JSON. It grows when a reader of the old shape would misread the new.
CHECKUP_FORMAT = 1


class TakenFor(Value):
    """What the target was taken for, and how to say otherwise."""

    target: str
    """As it was named on the command line."""
    kind: str
    """In plain words, such as `an async function of a prompt`."""
    because: str
    """What shows it, such as `its first parameter is called prompt`."""
    otherwise: str
    """What to write where that is wrong."""
    dialect: str = ""
    """The provider API that it speaks, such as `openai-chat`; empty where it asks no model."""


class LeftOut(Value):
    """Something that was not checked, by name."""

    what: str
    """Such as `streams`."""
    why: str
    """Such as `the target never asks for a stream`."""
    scenarios: int = 0
    """How many scenarios that leaves out."""


class Trait(Value):
    """One thing that the target does and that reasonable people do differently: not judged."""

    name: str
    """Such as `attempts`."""
    text: str
    """Such as `3 for 429, 500, 503; 1 for a reset connection`."""


class Problem(Value):
    """One cause of bad error handling, over all runs that show it."""

    id: str
    """Equal for the same cause in the same place in all runs: for baselines and links."""
    harm: Harm | None = None
    """None: the error model does not say what breaking its sentence does to people."""
    serious: bool
    """Whether it breaks a MUST."""
    level: Level
    title: str
    """What happens, in one line."""
    does: str
    """What that does to the person who runs the software, in one sentence."""
    change: str = ""
    """What to change."""
    source: SourcePlace | None = None
    """The line to look at."""
    code: str = ""
    """That line."""
    tool: Frame | None = None
    """Where the user's function of the tool begins that it is about; None where no tool is one."""
    library: str = ""
    """Name and version of what it is in, where no line of the user's own was seen in it."""
    package: str = ""
    """The package of that library in which its exception was raised; empty for any other."""
    error: str = ""
    """Type and message of the exception; empty where there is none."""
    frames: tuple[Frame, ...] = ()
    output: tuple[OutputLine, ...] = ()
    """What the subject logged in the run that is shown."""
    runs: int = Field(ge=1)
    """How many runs show it."""
    only_in_streams: bool = False
    """Whether they asked for streams alone, and others did not."""
    situations: tuple[str, ...]
    """Titles of the scenarios that show it, the plainest first."""
    expected: str = ""
    observed: str = ""
    """Of the finding that is shown."""
    reproduce: str
    """The command that shows it again."""
    requirement: str
    sentence: str
    sources: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """Ids of its findings in `report`."""
    known: bool = False
    """Whether a baseline knows all of its findings."""

    @property
    def kind(self) -> str:
        """Its harm in words, or without one what it breaks."""
        return f"breaks a {self.level}" if self.harm is None else self.harm.value

    @property
    def seen_in(self) -> str:
        """How many runs show it, in words."""
        runs = f"{self.runs:,} run{'s' * (self.runs != 1)}"
        return f"{runs}, only in a stream" if self.only_in_streams else runs

    @property
    def beyond(self) -> str:
        """Where it is, where that is no line of the user's own; empty where it is one."""
        if not self.library:
            return ""
        places = f"{self.library}, in what that uses, or in how you set it up"
        if self.package:
            places = f"the package {self.package}"
        return f"no line of yours was seen: it is in {places}"


class CheckUp(Value):
    """The answer to `faultclock check`."""

    format: int = CHECKUP_FORMAT
    faultclock: str
    """Version of Faultclock."""
    taken_for: TakenFor
    does: tuple[Trait, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Those that break a MUST first, of each the most harmful first."""
    left_out: tuple[LeftOut, ...] = ()
    inconclusive: tuple[str, ...] = ()
    """What proves nothing, and why, in one line each."""
    report: Report
    """Every run behind it."""
    profile: RetryProfile | None = None
    """What was inferred; None where the target asks no model."""
