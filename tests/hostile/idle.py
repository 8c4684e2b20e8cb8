"""The idle sweep: every shipped scenario with every idle subject of its role, by every model.

    python -m tests.hostile.idle                 the whole; two minutes of CPU
    python -m tests.hostile.idle --share 20      every twentieth pair
    python -m tests.hostile.idle --only 'store*' some subjects

A scenario is judged by the models that it is written for, and by all where it names none. The
default model is among both. A PASS is earned only where `idle_earned.yaml` lists it by name, with
the reason why the subject really did what the scenario demands.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from hashlib import sha256
from pathlib import Path

import yaml

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict, verdict_of
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.judge import Judge
from faultclock.run.doctor.fitting import unplayable
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.hostile.idle_subjects import IDLE

#: Which passes are earned, by name.
TABLE = Path(__file__).with_name("idle_earned.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one run of an idle subject came to by one error model."""

    subject: str
    scenario: str
    model: str
    verdict: Verdict

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is called in the table, where all variants of a scenario are one."""
        return (self.subject, self.scenario.partition("#")[0], self.model)


@cache
def _judge(model: str) -> Judge:
    return Judge(load_error_model(model))


@cache
def earned() -> dict[tuple[str, str, str], str]:
    """Return the passes that are earned, each with the reason."""
    found: dict[tuple[str, str, str], str] = {}
    for entry in yaml.safe_load(TABLE.read_text("utf-8")):
        for scenario, models in entry["scenarios"].items():
            for subject in entry["subjects"]:
                for model in models:
                    found[subject, scenario, model] = entry["because"]
    return found


def pairs(share: int = 1, seed: int = 0) -> Iterator[tuple[Binding, Scenario]]:
    """Yield the pairs of an idle subject and a scenario that it can be played.

    Args:
        share: one of so many is drawn, by the seed and the names alone.
    """
    for loaded in find_scenarios(()):
        for scenario in loaded.runnable:
            for binding in IDLE:
                if binding.role != scenario.role or unplayable(scenario, binding) is not None:
                    continue
                name = f"{seed} {binding.id} {scenario.id} {scenario.variant}"
                if int(sha256(name.encode()).hexdigest()[:8], 16) % share == 0:
                    yield binding, scenario


def cells(drawn: Iterable[tuple[Binding, Scenario]]) -> Iterator[Cell]:
    """Yield a cell for each pair and each model that its scenario is for."""
    for binding, scenario in drawn:
        trace = run_one(scenario, binding, scenario.seed, isolate=False)
        name = scenario.id if scenario.variant is None else f"{scenario.id}#{scenario.variant}"
        for model in scenario.models or model_ids():
            verdict = verdict_of(_judge(model).judge(trace).findings)
            yield Cell(subject=binding.id, scenario=name, model=model, verdict=verdict)


def _say(*words: str) -> None:
    sys.stdout.write(f"{' '.join(words)}\n")
    sys.stdout.flush()


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.idle")
    parser.add_argument("--share", type=int, default=1, help="run one pair of so many")
    parser.add_argument("--seed", type=int, default=0, help="which pairs are drawn")
    parser.add_argument("--only", default="*", help="a pattern over the ids of subjects")
    wanted = parser.parse_args()
    drawn = [
        pair for pair in pairs(wanted.share, wanted.seed) if fnmatchcase(pair[0].id, wanted.only)
    ]
    totals: Counter[str] = Counter()
    passes: set[tuple[str, str, str]] = set()
    for cell in cells(drawn):
        totals[cell.verdict.value] += 1
        if cell.verdict is Verdict.PASS:
            passes.add(cell.key)
            if cell.key not in earned():
                _say("unearned PASS:", *cell.key)
    unearned = passes - earned().keys()
    counted = ", ".join(f"{count} {name}" for name, count in sorted(totals.items()))
    _say(f"{len(drawn)} pairs, {totals.total()} cells: {counted}")
    _say(f"{len(passes - unearned)} passes are earned by the table, {len(unearned)} are not")
    if wanted.share == 1 and wanted.only == "*":
        for key in sorted(earned().keys() - passes):
            _say("in the table, and no PASS:", *key)
    _say(f"{time.process_time():.0f} s of CPU")
    return 1 if unearned else 0


if __name__ == "__main__":
    sys.exit(_main())
