"""Problem: one cause of bad error handling, as `check` and every report show it."""

from __future__ import annotations

from pydantic import Field

from faultclock.model._base import Value
from faultclock.model.error_model.error_model import Level
from faultclock.model.error_model.harm import Harm
from faultclock.model.report.finding import SourcePlace
from faultclock.model.trace.notes import Frame, OutputLine


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
