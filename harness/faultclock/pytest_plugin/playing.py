"""`scenario` and `subject`: the scenarios and the code under test, for tests of one's own.

A scenario is played where all scenarios are: in the process beside pytest, so that a trace is the
one of the command line. The subject is called in this process, inside of `sim.run`.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.load.config import as_seen_from, load_config
from faultclock.load.payloads import load_dialect
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.model.trace.trace import Trace
from faultclock.pytest_plugin.bench.client import Bench, BenchRefusedError
from faultclock.pytest_plugin.bench.values import Play, PlayedRun
from faultclock.run.host import RecordingHost
from faultclock.sim.kernel.actors import current
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import MODEL, ProviderRequest
from faultclock.subjects.registry import load_subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One run of a scenario, judged.

    Attributes:
        verdict: only `PASS` is green.
        findings: of every check that judged it.
        trace: everything that happened.
        replay: the command that makes exactly this run again.
        text: the findings that are not green in full, and that command.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    trace: Trace
    replay: str
    text: str

    def check(self) -> None:
        """Fail the test unless the run passes, with its findings as the message.

        Raises:
            pytest.fail.Exception: it is no pass and no warning.
        """
        __tracebackhide__ = True
        if self.verdict not in (Verdict.PASS, Verdict.WARN):
            pytest.fail(f"{self.verdict}\n{self.text}", pytrace=False)


class Scenarios:
    """Loads scenarios by what selects them.

    Args:
        bench: where they are played.
        defaults: `model`, `readings` and `seed` of the test's mark.
    """

    def __init__(self, bench: Bench, defaults: Mapping[str, Any]) -> None:
        self._bench = bench
        self._defaults = defaults

    def __call__(self, selector: str, *, variant: str | None = None) -> PlayableScenario:
        """Return the scenario that `selector` names: an id, or a file."""
        return PlayableScenario(self._bench, selector, variant, self._defaults)


class PlayableScenario:
    """A scenario that can be played."""

    def __init__(
        self, bench: Bench, selector: str, variant: str | None, defaults: Mapping[str, Any]
    ) -> None:
        self._bench = bench
        self._asked = {"scenario": selector, "variant": variant, **defaults}

    def play(
        self,
        *,
        subject: str | None = None,
        model: str | None = None,
        readings: Mapping[str, str] | None = None,
        seed: int | None = None,
    ) -> Played:
        """Run it once and judge it; what is not given is as the mark or the project has it.

        Raises:
            InputError: there is no such scenario, subject, model or reading, or they do not fit.
        """
        __tracebackhide__ = True
        given = {
            "subject": subject,
            "model": model,
            "readings": None if readings is None else dict(readings),
            "seed": seed,
        }
        given = {name: value for name, value in given.items() if value is not None}
        try:
            played = self._bench.ask(Play(**{**self._asked, **given}))
        except BenchRefusedError as error:
            raise InputError(str(error)) from None
        assert isinstance(played, PlayedRun)
        run = played.run
        return Played(
            verdict=run.verdict,
            findings=run.findings,
            trace=played.trace,
            replay=run.replay,
            text=played.text,
        )


class BoundSubject:
    """The code under test, in this process.

    Args:
        spec: how it was named.
        binding: what it is.

    Attributes:
        spec, binding: as given.
    """

    def __init__(self, spec: str, binding: Binding) -> None:
        self.spec = spec
        self.binding = binding

    @property
    def id(self) -> str:
        """Its short name in reports."""
        return self.binding.id

    def ask(
        self,
        prompt: str = "Say hello.",
        *,
        stream: bool = False,
        timeout_s: float = 30.0,
        tools: Sequence[Any] = (),
        **more: Any,
    ) -> Any | Coroutine[Any, Any, Any]:
        """Call a provider adapter inside of `sim.run`; an async one has to be awaited.

        Args:
            more: other fields of the `ProviderRequest`, such as `base_url`.

        Raises:
            InputError: the subject is for another role, or this is outside of `sim.run`.
        """
        if self.binding.role != "provider_adapter":
            raise InputError(
                f"{self.id} is a {self.binding.role}, and only an adapter can be asked",
                hint="play a scenario with it: scenario(...).play()",
            )
        here = current()
        if here is None:
            raise InputError(
                "subject.ask is called outside of the simulation", hint="sim.run(subject.ask)"
            )
        request = ProviderRequest(
            host=RecordingHost(here[0]),
            messages=[{"role": "user", "content": prompt}],
            stream=stream,
            timeout_s=timeout_s,
            tools=list(tools),
            **{**_where(self.binding), **more},
        )
        return self.binding.invoke(request)


def bound_subject(spec: str | None, config_file: Path | None) -> BoundSubject:
    """Return the subject that `spec` names, or else the configuration.

    Raises:
        InputError: nobody names one, or it cannot be loaded.
    """
    if spec is None and config_file is not None:
        config = load_config(config_file)
        if config is not None:
            spec = as_seen_from(Path.cwd(), config, config_file).subject
    if spec is None:
        raise InputError(
            "no subject: say whose error handling to test",
            hint="[tool.faultclock] subject, or @pytest.mark.faultclock(subject=...)",
        )
    return BoundSubject(spec, _loaded(spec, Path.cwd()))


@cache
def _loaded(spec: str, folder: Path) -> Binding:  # noqa: ARG001 - a path depends on it
    return load_subject(spec)


def _where(binding: Binding) -> dict[str, str]:
    if binding.dialect == DEFAULT_DIALECT:
        return {"model": MODEL}
    known = load_dialect(binding.dialect)
    return {"base_url": known.base_url, "model": known.model}
