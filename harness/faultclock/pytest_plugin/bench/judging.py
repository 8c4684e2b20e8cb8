"""What a bench does: load, fit, run and judge, exactly as `faultclock run` would.

One configuration, one subject, one error model; what is loaded once stays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from faultclock.cli.finding_text import told_in_full
from faultclock.cli.options import DEFAULT_MODEL
from faultclock.cli.selection import fitting, of_variant, playable, without_root
from faultclock.errors import InputError
from faultclock.history.gate.baseline import gated
from faultclock.load.baseline import known_scenarios, load_baseline
from faultclock.load.config import as_seen_from, load_config
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import LoadedScenario, find_scenarios, shipped_scenarios
from faultclock.model.config import Config
from faultclock.model.duration import SECOND_NS
from faultclock.model.report.finding import PassedOver, Report
from faultclock.model.report.gate import Baseline
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.pytest_plugin.bench.telling import (
    baseline_told,
    entries_of,
    scenario_files_below,
    told,
)
from faultclock.pytest_plugin.bench.values import (
    CheckBaseline,
    Collect,
    Collected,
    Play,
    PlayedRun,
    Ran,
    Run,
    Settings,
)
from faultclock.run.bind_scenario import of_role
from faultclock.run.doctor.fitting import unplayable
from faultclock.run.prepare import hosted
from faultclock.run.report import assemble
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding

_NO_SUBJECT_HINT = (
    'write subject = "path/to/my_adapter.py:subject" into [tool.faultclock] of pyproject.toml, or'
    " give --faultclock-subject"
)
#: Scenarios that are named of those that are too many.
_NAMES_MAX = 3


class Judging:
    """Answers the questions of one process.

    Raises:
        InputError: the configuration, the error model or the subject is wrong.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._config = config = _config(settings)
        self._loaded: dict[str, LoadedScenario] = {}
        self._shipped = {os.path.realpath(path) for path in shipped_scenarios().values()}
        self._model_name = config.model or DEFAULT_MODEL
        self._model = load_error_model(self._model_name, config.readings)
        self._baseline = None if config.baseline is None else load_baseline(config.baseline)
        if config.subject is None:
            raise InputError(
                "no subject: name the code whose error handling is tested", hint=_NO_SUBJECT_HINT
            )
        self._subject = config.subject
        # The subject comes last: it is the slowest, and the files may be wrong.
        self._bindings: dict[str, Binding] = {}

    # ------------------------------------------------------------------ the questions

    def collected(self, question: Collect) -> tuple[Collected, ...]:
        """Return the scenarios that are selected, in the order of their ids."""
        selectors = question.selectors or self._config.scenarios
        found = self._found(selectors)
        if question.alone:
            return tuple(
                self._told(item, scenario, self._unfit(scenario))
                for item in found
                for scenario in item.runnable
            )
        binding = self._bound(self._subject)
        fits = fitting(found, selectors, binding, self._model.id)
        plays, others = playable(fits, selectors, binding)
        unfit: Mapping[str, PassedOver] = {item.scenario: item for item in others}
        return tuple(
            self._told(item, scenario, unfit[item.scenario.id].because if item not in plays else "")
            for item in fits
            for scenario in item.runnable
        )

    def ran(self, question: Run) -> Ran:
        """Make all runs of one scenario, and return what is told of them."""
        item, scenario = self._at(question.source, question.variant)
        report = self._report(item, (scenario,), sweep=True)
        if self._baseline is not None:
            mine = entries_of(self._baseline, scenario)
            report = self._gated(report, mine, (item,))
        return told(report, shared=len(item.runnable) > 1)

    def baseline_checked(self, _: CheckBaseline) -> Ran:
        """Look for entries of the baseline that are out of date, whatever else is run.

        An entry for all variants of a scenario is borne out by any of them, so that those are run
        together here.
        """
        assert self._baseline is not None, "asked for where there is one"
        items = {item.scenario.id: item for item in self._loaded.values()}
        named = {entry.scenario for entry in self._baseline.deviations if entry.variant is None}
        crossed = [
            item for id_, item in sorted(items.items()) if id_ in named and len(item.runnable) > 1
        ]
        scenarios = tuple(scenario for item in crossed for scenario in item.runnable)
        report = self._report(None, scenarios, sweep=False) if scenarios else self._empty()
        listed = {*self._baseline_names(), *items}
        missing = {entry.scenario for entry in self._baseline.deviations} - listed
        folder = self._settings.config_file
        if missing and folder is not None:
            for path in scenario_files_below(folder.parent):
                self._load((path,))
        return baseline_told(self._gated(report, self._baseline, tuple(self._loaded.values())))

    def played(self, question: Play) -> PlayedRun:
        """Make one run of one scenario, and return everything that is known of it."""
        found = self._found((question.scenario,))
        runnable = of_variant(
            [scenario for item in found for scenario in item.runnable], question.variant
        )
        if len(runnable) != 1:
            names = ", ".join(_name(scenario) for scenario in runnable[:_NAMES_MAX])
            raise InputError(
                f"{question.scenario!r} is {len(runnable)} scenarios, and one is played at a time",
                hint=f"they are {names}{', …' if len(runnable) > _NAMES_MAX else ''}",
            )
        item = next(item for item in found if runnable[0] in item.runnable)
        traces: list[Trace] = []
        report = self._report(item, runnable, sweep=False, question=question, traces=traces)
        run = report.runs[0]
        text = "\n".join([*told_in_full(run), f"reproduce: {run.replay}"])
        return PlayedRun(run=run, trace=traces[0], text=text)

    # ------------------------------------------------------------------ how they are answered

    def _found(self, selectors: Sequence[str]) -> tuple[LoadedScenario, ...]:
        if not selectors:
            raise InputError(
                "no scenarios are selected",
                hint='write scenarios = ["rate-limits"] into [tool.faultclock] of pyproject.toml',
            )
        return self._load(tuple(selectors))

    def _load(self, selectors: tuple[str, ...]) -> tuple[LoadedScenario, ...]:
        found = find_scenarios(selectors)
        for item in found:
            self._loaded.setdefault(os.path.realpath(item.path), item)
        return found

    def _at(self, source: str, variant: str | None) -> tuple[LoadedScenario, Scenario]:
        # It is here unless this process is a new one, in place of one that died.
        item = self._loaded.get(os.path.realpath(source)) or self._load((source,))[0]
        return item, of_variant(item.runnable, variant)[0]

    def _bound(self, spec: str) -> Binding:
        if spec not in self._bindings:
            self._bindings[spec] = hosted(spec)
        return self._bindings[spec]

    def _told(self, item: LoadedScenario, scenario: Scenario, unfit: str) -> Collected:
        return Collected(
            id=scenario.id,
            variant=scenario.variant,
            title=scenario.title,
            file=os.path.realpath(item.path),
            source=item.path,
            unfit=unfit,
        )

    def _unfit(self, scenario: Scenario) -> str:
        """Return why a file that stands for itself cannot be run for the subject."""
        binding = self._bound(self._subject)
        if not of_role(scenario, binding):
            return f"it is for role {scenario.role}, and {binding.id} is a {binding.role}"
        if scenario.models and self._model.id not in scenario.models:
            return f"it is written for {' and '.join(scenario.models)}, not for {self._model.id}"
        return unplayable(scenario, binding) or ""

    def _report(
        self,
        item: LoadedScenario | None,
        scenarios: tuple[Scenario, ...],
        *,
        sweep: bool,
        question: Play | None = None,
        traces: list[Trace] | None = None,
    ) -> Report:
        """Run and judge `scenarios` as configured, or as `question` has it."""
        asked = question or Play(scenario="")
        subject = asked.subject or self._subject
        model_name, model, readings = self._model_name, self._model, self._config.readings
        if asked.model is not None or asked.readings is not None:
            model_name = asked.model or self._model_name
            readings = asked.readings or {}
            model = load_error_model(model_name, readings)
        limit_ns = self._config.wall_limit
        own_file = item is not None and os.path.realpath(item.path) not in self._shipped
        request = SuiteRequest(
            scenarios=scenarios,
            binding=self._bound(subject),
            subject_spec=without_root(subject),
            model=model,
            model_spec=without_root(model_name),
            readings=readings,
            seed=asked.seed,
            seeds=1 if question is not None else self._config.seeds,
            wall_limit_s=None if limit_ns is None else limit_ns / SECOND_NS,
            sweep=sweep,
            selectors={item.scenario.id: without_root(item.path)} if item and own_file else {},
        )

        def keep(trace: Trace) -> None:
            if traces is not None:
                traces.append(trace)

        return run_suite(request, on_trace=keep)

    def _empty(self) -> Report:
        return assemble(
            model=self._model,
            readings=self._config.readings,
            subject=self._bound(self._subject).info(),
            runs=(),
            seeds_findings=(),
        )

    def _gated(
        self, report: Report, baseline: Baseline, found: tuple[LoadedScenario, ...]
    ) -> Report:
        return gated(
            report,
            baseline,
            file=without_root(str(self._config.baseline)),
            today=datetime.now(UTC).date(),
            known_scenarios=known_scenarios(baseline, found),
        )

    def _baseline_names(self) -> set[str]:
        return set(shipped_scenarios())


def _name(scenario: Scenario) -> str:
    return scenario.id if scenario.variant is None else f"{scenario.id} ({scenario.variant})"


def _config(settings: Settings) -> Config:
    """Return the configuration as it counts in the working folder."""
    path = settings.config_file
    written = None if path is None else load_config(path)
    config = (
        Config() if written is None or path is None else as_seen_from(Path.cwd(), written, path)
    )
    changes: dict[str, object] = {}
    if settings.subject is not None and settings.subject != config.subject:
        changes["subject"] = settings.subject
        if config.subject is not None:
            # What is known of one subject says nothing of another.
            changes["baseline"] = None
    if settings.model is not None and settings.model != config.model:
        changes |= {"model": settings.model, "readings": {}, "baseline": None}
    if settings.seeds is not None:
        changes["seeds"] = settings.seeds
    return config.model_copy(update=changes)
