"""`faultclock run --last-failed`: what was not green the last time, from a file of the project.

The file is `.faultclock_cache/last-failed.json` beside the pyproject.toml that has
`[tool.faultclock]`, or in the working folder where there is none. Every `faultclock run` brings it
up to date. It is written only once something has failed, and no verdict rests on it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from faultclock.cli.say import say
from faultclock.errors import InputError
from faultclock.load.config import find_config
from faultclock.load.files import write_text_atomically
from faultclock.load.json_file import as_written, read_json
from faultclock.load.scenario import LoadedScenario, shipped_scenarios
from faultclock.model.cells import cell_of
from faultclock.model.report.finding import PassedOver, Report
from faultclock.model.report.last_failed import FailedScenario, LastFailed
from faultclock.model.scenario.scenario import Scenario
from faultclock.render.wording import count

_FOLDER, _NAME = ".faultclock_cache", "last-failed.json"
#: As other tools do, so that the folder is in no repository and in no backup.
_BESIDE = {
    ".gitignore": "# Made by Faultclock.\n*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# Made by Faultclock.\n",
}
_BYTES_MAX = 50_000_000
_GREEN = "--last-failed: no failure of it is recorded"


class Narrowed(Struct, frozen=True, kw_only=True):
    """What is left of a selection.

    Attributes:
        scenarios: those to run.
        only_seeds: scenario id and variant to the seeds that were not green.
        passed_over: what is not run, or not with all its seeds.
        said: one sentence about it.
    """

    scenarios: tuple[Scenario, ...]
    only_seeds: Mapping[tuple[str, str | None], tuple[int, ...]]
    passed_over: tuple[PassedOver, ...]
    said: str


class FailureRecord:
    """The record of the project that the working folder belongs to.

    Args:
        subject: as it is named on the command line.
        model: id of the error model.
        readings: what was chosen of it, option by switch.
    """

    def __init__(self, subject: str, model: str, readings: Mapping[str, str]) -> None:
        found = find_config(".")
        self._root = Path.cwd() if found is None else found[1].parent
        self._subject = self._from_root(subject)
        self._model = model
        self._readings = readings
        self._path = self._root / _FOLDER / _NAME

    @property
    def _shown(self) -> str:
        return os.path.relpath(self._path)

    def failed(self) -> dict[tuple[str, str | None], FailedScenario]:
        """Return what is recorded of the subject, by scenario id and variant.

        Raises:
            InputError: the file is damaged.
        """
        return self._read().of(self._subject, self._model, self._readings)

    def selectors(self) -> tuple[str, ...]:
        """Return what selects the recorded scenarios, without those that are gone."""
        shipped = shipped_scenarios()
        found: dict[str, None] = {}
        for item in self.failed().values():
            if item.file is None:
                if item.scenario in shipped:
                    found[item.scenario] = None
            elif (path := self._root / item.file).is_file():
                found[os.path.relpath(path)] = None
        return tuple(found)

    def narrowed(
        self, scenarios: Sequence[Scenario], *, first_seed: int | None, seeds: int | None
    ) -> Narrowed:
        """Return those of `scenarios` that were not green, or all of them where none is recorded.

        Args:
            first_seed: of all scenarios; None: each has its own.
            seeds: how many of each scenario; None: each has its own.
        """
        failed = self.failed()
        keys = [(scenario.id, cell_of(scenario.variant)) for scenario in scenarios]
        chosen = tuple(
            scenario for scenario, key in zip(scenarios, keys, strict=True) if key in failed
        )
        if not chosen:
            said = f"no failure is recorded for {self._subject}"
            if failed:
                said = f"{count(len(failed), 'failure')} recorded, and none is in what is selected"
            return Narrowed(
                scenarios=tuple(scenarios),
                only_seeds={},
                passed_over=(),
                said=f"{said}: running everything that is selected",
            )
        only = {
            (scenario.id, scenario.variant): failed[scenario.id, cell_of(scenario.variant)].seeds
            for scenario in chosen
        }
        names = {scenario.id for scenario in chosen}
        rest = dict.fromkeys(item.id for item in scenarios if item.id not in names)
        partly = _partly(scenarios, only, first_seed=first_seed, seeds=seeds)
        runs = count(sum(map(len, only.values())), "run")
        gone = dict.fromkeys(item.scenario for item in failed.values() if self._is_gone(item))
        lost = f"; recorded, but gone: {', '.join(gone)}" if gone else ""
        what = f"{runs} of {count(len(names), 'scenario')}"
        return Narrowed(
            scenarios=chosen,
            only_seeds=only,
            passed_over=(
                *(PassedOver(scenario=id_, because=_GREEN) for id_ in rest),
                *(PassedOver(scenario=id_, because=because) for id_, because in partly.items()),
            ),
            said=f"{what} failed or proved nothing: only these{lost}",
        )

    def update(
        self,
        report: Report,
        found: Sequence[LoadedScenario],
        *,
        forgets: bool,
    ) -> None:
        """Bring the record up to date; a folder that cannot be written has none.

        Args:
            found: the scenarios that were selected, with their files.
            forgets: whether what passed is taken out of it.
        """
        shipped = set(shipped_scenarios().values())
        files = {
            item.scenario.id: self._from_root(item.path)
            for item in found
            if item.path not in shipped
        }
        if self._path.exists() and not self._path.is_file():
            return  # a pipe or a device in its place would never end
        try:
            before = self._read()
        except InputError:
            before = LastFailed()
        gate = report.gate
        known = frozenset(gate.known_ids) if gate is not None else frozenset[str]()
        after = before.after(
            report, subject=self._subject, files=files, known=known, forgets=forgets
        )
        if after == before and (after.failed or not self._path.exists()):
            return
        with suppress(OSError, InputError):
            self._path.parent.mkdir(exist_ok=True)
            for name, text in _BESIDE.items():
                if not (beside := self._path.parent / name).exists():
                    beside.write_text(text, encoding="utf-8")
            write_text_atomically(self._path, f"{after.model_dump_json(indent=1)}\n")

    def tell(self, narrowed: Narrowed) -> None:
        """Say what is run, before it is."""
        say(f"faultclock: --last-failed: {narrowed.said}", err=True)

    def _read(self) -> LastFailed:
        if not self._path.is_file():
            return LastFailed()
        try:
            value = read_json(self._shown, bytes_max=_BYTES_MAX)
            return as_written(value, LastFailed, "record of failures", self._shown)
        except InputError as error:
            hint = "delete it, and run once without --last-failed"
            raise InputError(error.message, hint=hint) from None

    def _is_gone(self, item: FailedScenario) -> bool:
        if item.file is None:
            return item.scenario not in shipped_scenarios()
        return not (self._root / item.file).is_file()

    def _from_root(self, text: str) -> str:
        """Return a path, or FILE:NAME, as it is written from the folder of the record."""
        file, colon, name = text.rpartition(":") if ":" in text else (text, "", "")
        if not file or not Path(file).exists():
            return text
        return f"{Path(os.path.relpath(file, self._root)).as_posix()}{colon}{name}"


def _partly(
    scenarios: Sequence[Scenario],
    only: Mapping[tuple[str, str | None], Sequence[int]],
    *,
    first_seed: int | None,
    seeds: int | None,
) -> dict[str, str]:
    """Return the scenarios of which not all runs are made, with how many of them."""
    planned: dict[str, int] = {}
    left: dict[str, int] = {}
    for scenario in scenarios:
        first = scenario.seed if first_seed is None else first_seed
        every = set(range(first, first + (scenario.seeds if seeds is None else seeds)))
        planned[scenario.id] = planned.get(scenario.id, 0) + len(every)
        without = len(every - set(only.get((scenario.id, scenario.variant), ())))
        left[scenario.id] = left.get(scenario.id, 0) + without
    names = dict.fromkeys(id_ for id_, _ in only)
    return {
        id_: f"{left[id_]} of its {planned[id_]} runs have no recorded failure"
        for id_ in names
        if left[id_]
    }
