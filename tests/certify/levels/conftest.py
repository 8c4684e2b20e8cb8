"""What tests of levels share: a small requirement set, and evidence of subjects by it.

The small set is frozen as the shipped ones are, of three scenarios, so that a whole level takes
a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from faultclock.certify.levels.appraisal import appraise
from faultclock.certify.levels.evidence import Gathered, gather
from faultclock.load.error_model import load_error_model
from faultclock.load.requirement_set import model_digest
from faultclock.load.scenario import find_scenarios
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.conformance import Appraisal, LevelName, RequirementSet
from faultclock.model.scenario.scenario import Role
from faultclock.model.trace.trace import Trace
from faultclock.run.prepare import prepare
from faultclock.sim.patches import installed
from tests.certify.levels.freeze import role_set_of

#: A limit that is heeded, one whose waits spread over 16 seeds, and one that is never retried.
SCENARIOS = (
    "provider-transient/callers-mistakes",
    "rate-limits/jitter-over-seeds",
    "rate-limits/retry-after-integer",
)
#: Swept by these tests although it does not say so: it has few events.
STORE_SCENARIOS = ("session-store-contract/never-written",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What was gathered for a level, with the traces by their names."""

    model: ErrorModel
    set_: RequirementSet
    gathered: Gathered
    traces: dict[str, Trace]

    def appraised(self, level: LevelName | None = None) -> Appraisal:
        """Return what it comes to."""
        made = self.gathered
        return appraise(self.set_, self.model, made.evidence, made.judged, level)


@pytest.fixture(scope="session", autouse=True)
def _patched() -> Iterator[None]:
    """Have the patches installed for this folder's tests, and taken back after them."""
    with installed():
        yield


@pytest.fixture(scope="session")
def model() -> ErrorModel:
    """The stud-cli error model at its default readings."""
    return load_error_model("stud-cli")


@pytest.fixture(scope="session")
def small(model: ErrorModel) -> RequirementSet:
    """A requirement set of three scenarios for adapters and one for stores."""
    return _small(model, {"provider_adapter": SCENARIOS, "session_store": STORE_SCENARIOS})


def _small(model: ErrorModel, ids: dict[Role, tuple[str, ...]]) -> RequirementSet:
    references: dict[Role, str] = {
        "provider_adapter": "reference",
        "session_store": "reference-store",
    }
    roles = {
        role: role_set_of(
            model, references[role], find_scenarios(names), jitter_seeds=17, exploration_runs=6
        )
        for role, names in ids.items()
    }
    store = roles["session_store"]
    swept = store.hardening.model_copy(update={"crash_sweep": STORE_SCENARIOS})
    roles["session_store"] = store.model_copy(update={"hardening": swept})
    return RequirementSet(
        model=model.id,
        model_revision=model.revision,
        revision=1,
        model_digest=model_digest(model),
        roles=roles,
    )


@pytest.fixture(scope="session")
def level_of(model: ErrorModel, small: RequirementSet) -> Callable[[str, LevelName], Level]:
    """Return what a shipped subject comes to at a level of the small set, made once."""

    @cache
    def made(subject: str, level: LevelName) -> Level:
        traces: dict[str, Trace] = {}
        gathered = gather(
            prepare(subject), subject, model, small, level, on_trace=traces.__setitem__
        )
        return Level(model=model, set_=small, gathered=gathered, traces=traces)

    return made


@pytest.fixture(scope="session")
def hardened(level_of: Callable[[str, LevelName], Level]) -> Level:
    """The reference adapter at the level `hardened`."""
    return level_of("reference", "hardened")
