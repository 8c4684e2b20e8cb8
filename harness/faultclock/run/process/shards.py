"""Shards: one run dealt out over several machines, without any of them knowing of the others.

All runs of a scenario stay together, since some verdicts are about all of its seeds, and since its
matrix is counted as one. Each shard works out the same deal from the same selection, and carries a
digest of that selection, which differs for parts of different wholes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.scenario import Scenario, scenario_digest

#: Runs that a sweep makes of one: their number is not known before.
_SWEPT = 40


def dealt(costs: Mapping[str, int], number: int, count: int) -> frozenset[str]:
    """Return which of the keys of `costs` shard `number` (1-based) of `count` gets.

    The dearest first, each to the shard that has least so far. The order of `costs` does not
    matter; each key goes to exactly one shard.
    """
    loads = [0] * count
    mine: set[str] = set()
    for key in sorted(costs, key=lambda key: (-costs[key], key)):
        shard = min(range(count), key=lambda index: (loads[index], index))
        loads[shard] += costs[key]
        if shard == number - 1:
            mine.add(key)
    return frozenset(mine)


def run_count(scenario: Scenario, *, seeds: int | None, sweep: bool) -> int:
    """Return about how many runs a scenario is, with what a `SuiteRequest` says of them."""
    runs = scenario.seeds if seeds is None else seeds
    return runs * _SWEPT if sweep and scenario.is_swept else runs


def selection_digest(
    scenarios: Sequence[Scenario],
    model: ErrorModel,
    *,
    seed: int | None,
    seeds: int | None,
    sweep: bool,
) -> str:
    """Return the digest of all that is dealt out: scenarios, model, and how each is run."""
    facts = {
        "scenarios": [[item.id, item.variant, scenario_digest(item)] for item in scenarios],
        "model": model.model_dump(mode="json"),
        "seed": seed,
        "seeds": seeds,
        "sweep": sweep,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
