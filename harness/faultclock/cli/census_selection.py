"""Which scenarios a census is taken in: shipped families, ids and patterns, or a user's own files.

A selector means what it means to `faultclock run`. One word is more: `streams`, every shipped
scenario that asks for a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.load.scenario import LoadedScenario
    from faultclock.model.scenario.scenario import Scenario

_STREAMS = "streams"


def selected(selectors: Sequence[str], model_id: str) -> tuple[Scenario, ...]:
    """Return the scenarios that `selectors` name, each once, sorted by id.

    A family, a pattern or a folder may hold scenarios for other roles and for other error models:
    the census leaves those out. A scenario that is named alone is taken for every error model.

    Raises:
        UnknownNameError: a selector is neither a known name nor a path.
        SourceError: a file is not a scenario.
        InputError: a selector holds nothing for a client, or two files have the same id.
    """
    from faultclock.load.scenario import each_once

    fitting = (item for selector in selectors for item in _fitting(selector, model_id))
    return tuple(scenario for item in each_once(fitting) for scenario in item.runnable)


def _fitting(selector: str, model_id: str) -> tuple[LoadedScenario, ...]:
    from faultclock.load.scenario import find_scenarios
    from faultclock.profile.census_clients import fits, streams

    if selector == _STREAMS:
        return tuple(
            item
            for item in find_scenarios()
            if streams(item.scenario) and fits(item.scenario, model_id)
        )
    found = find_scenarios((selector,))
    # A scenario that is named alone is wanted, even if it is written for another model.
    fitting = tuple(
        item for item in found if fits(item.scenario, None if len(found) == 1 else model_id)
    )
    if fitting:
        return fitting
    roles = sorted({item.scenario.role for item in found})
    if roles != ["provider_adapter"]:
        reason = f"it holds scenarios for {' and '.join(roles)}"
    else:
        models = sorted({name for item in found for name in item.scenario.models})
        reason = f"its scenarios are written for {' and '.join(models)} (choose with --model)"
    raise InputError(
        f"{selector}: a census has nothing to run there, because {reason}",
        hint="a census needs scenarios for provider_adapter: `faultclock list scenarios`",
    )
