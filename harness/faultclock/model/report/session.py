"""Session: one `run` or one `explore`, by all that its runs and their verdicts follow from.

Two sessions with equal settings make the same runs, in any process, with any number of workers.
So what a session took, when it was and where it ran is no part of its settings.
"""

from __future__ import annotations

from typing import Literal

from faultclock.model._base import Value
from faultclock.model.canonical import digest_of
from faultclock.model.trace.trace import SubjectInfo

SessionCommand = Literal["explore", "run"]


class SessionScenario(Value):
    """One scenario of a session."""

    scenario: str
    """Its id."""
    variant: str | None = None
    digest: str
    """Of the scenario that is written (`scenario_digest`)."""


class SessionSettings(Value):
    """What the runs of a session and their verdicts follow from."""

    command: SessionCommand
    subject: SubjectInfo
    versions: dict[str, str] = {}
    """Of Faultclock, Python and the libraries that shape a trace, as a trace header has them."""
    build: str = ""
    """Digest of Faultclock's own source: of a checkout, the version says too little."""
    model: str
    model_revision: str
    model_digest: str = ""
    """Of the whole error model, so that an edited one of the same revision is noticed."""
    readings: dict[str, str] = {}
    seed: int | None = None
    """None: each scenario's own."""
    runs: int | None = None
    """How many are asked for of each scenario; None: as many as each says itself."""
    options: dict[str, str] = {}
    """What else decides which runs are made, such as `{"schedules": "random, pct"}`."""
    scenarios: tuple[SessionScenario, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all of it."""
        return digest_of(self.model_dump(mode="json"))

    @property
    def world(self) -> str:
        """Digest of what a trace follows from, beside its scenario, seed and tape."""
        return self._digest_of_part("subject", "versions", "build")

    @property
    def judge(self) -> str:
        """Digest of what a verdict follows from, beside the trace."""
        return self._digest_of_part(
            "model", "model_revision", "model_digest", "readings", "versions", "build"
        )

    @property
    def drawn(self) -> str:
        """Digest of what run n of an exploration follows from, beside its scenario."""
        return self._digest_of_part("seed", "options")

    def _digest_of_part(self, *names: str) -> str:
        return digest_of(self.model_dump(mode="json", include=set(names)))
