"""The settings of a session, from what a command is about to run; for the history.

Here and not in a room below, because it takes all of them: subject, model, scenarios, and the
source of Faultclock itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from faultclock.load.requirement_set import model_digest
from faultclock.model.report.session import (
    SessionCommand,
    SessionScenario,
    SessionSettings,
)
from faultclock.model.scenario.scenario import Scenario, scenario_digest

if TYPE_CHECKING:
    from faultclock.model.error_model.error_model import ErrorModel
    from faultclock.subjects.binding import Binding

_SOURCE = "*.py"
_PAYLOADS = "payloads/*.yaml"


def session_settings(
    command: SessionCommand,
    *,
    scenarios: Iterable[Scenario],
    binding: Binding,
    model: ErrorModel,
    readings: Mapping[str, str],
    seed: int | None,
    runs: int | None,
    options: Mapping[str, str] | None = None,
) -> SessionSettings:
    """Return all that the runs of a session and their verdicts follow from.

    Args:
        seed: the first, or of the exploration; None: each scenario's own.
        runs: of each scenario; None: as many as each says, or until the time is over.
        options: what else decides which runs are made; the number of workers, for one, does not.
    """
    from faultclock.run.execute import trace_header

    asked = tuple(scenarios)
    # A trace of any scenario and seed says the same of the versions.
    versions = trace_header(asked[0], binding, 0).versions
    return SessionSettings(
        command=command,
        subject=binding.info(),
        versions=versions,
        build=_build(),
        model=model.id,
        model_revision=model.revision,
        model_digest=model_digest(model),
        readings=dict(sorted(readings.items())),
        seed=seed,
        runs=runs,
        options=dict(sorted((options or {}).items())),
        scenarios=tuple(
            SessionScenario(
                scenario=scenario.id, variant=scenario.variant, digest=scenario_digest(scenario)
            )
            for scenario in asked
        ),
    )


@cache
def _build() -> str:
    """Return the digest of our modules and of what the fake provider says.

    A checkout keeps its version from one edit to the next. Without this, every edit that changes
    a trace would look like a determinism bug.
    """
    import faultclock
    from faultclock.load.resources import fixtures_root

    package = Path(faultclock.__file__).parent
    digest = hashlib.sha256()
    for root, pattern in ((package, _SOURCE), (fixtures_root(), _PAYLOADS)):
        for path in sorted(root.rglob(pattern), key=lambda path: path.relative_to(root).as_posix()):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
