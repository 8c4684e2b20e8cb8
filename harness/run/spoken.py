"""In which dialect a scenario is played: the one that it names, or the one that its subject speaks.

A scenario about rate limits is about any provider that has them. What it leaves open is filled in
here, before anything runs, so that a trace says what was spoken and where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.errors import InputError
from harness.load.payloads import load_dialect, load_payloads
from harness.model.fault import HttpError, OkWithErrorBody, StreamError
from harness.model.payload import ErrorPayload
from harness.model.scenario import DEFAULT_DIALECT, Endpoint, ProviderScript, Scenario
from harness.subjects.binding import Binding

__all__ = ["cannot_be_said", "payloads_of", "spoken"]


def spoken(scenario: Scenario, binding: Binding) -> Scenario:
    """Return `scenario` in the dialect that `binding` speaks, where it names none itself.

    Raises:
        InputError: it cannot be played for this subject; see `cannot_be_said`.
    """
    reason = cannot_be_said(scenario, binding)
    if reason is not None:
        raise InputError(
            f"{scenario.id} is no scenario for {binding.id}: {reason}",
            hint="choose another subject, or take the dialect out of the scenario",
        )
    provider = _filled(scenario.provider, binding, is_first=True)
    fallbacks = tuple(_filled(item, binding, is_first=False) for item in scenario.fallbacks)
    if provider is scenario.provider and fallbacks == scenario.fallbacks:
        return scenario
    return scenario.model_copy(update={"provider": provider, "fallbacks": fallbacks})


def cannot_be_said(scenario: Scenario, binding: Binding) -> str | None:
    """Return why `scenario` cannot be played for this subject; None where it can."""
    asks_a_model = binding.role in ("provider_adapter", "runtime")
    for script in (scenario.provider, *scenario.fallbacks):
        if script.dialect not in (None, binding.dialect) and asks_a_model:
            return (
                f"it is in the dialect {script.dialect}, and the subject speaks {binding.dialect}"
            )
        known = load_payloads(script.dialect or binding.dialect).keys() | script.payloads.keys()
        missing = next((name for name in _errors_of(script) if name not in known), None)
        if missing is not None:
            return f"{script.dialect or binding.dialect} has no error {missing!r}"
    return None


def payloads_of(script: ProviderScript) -> Mapping[str, ErrorPayload]:
    """Return the error answers of the dialect that `script` is played in, by name."""
    return load_payloads(script.dialect or DEFAULT_DIALECT)


def _filled(script: ProviderScript, binding: Binding, *, is_first: bool) -> ProviderScript:
    changes: dict[str, object] = {}
    dialect = script.dialect or binding.dialect
    if script.dialect is None:
        changes["dialect"] = dialect
    if is_first and script.endpoint is None and dialect != DEFAULT_DIALECT:
        known = load_dialect(dialect)
        changes["endpoint"] = Endpoint(base_url=known.base_url, model=known.model)
    return script.model_copy(update=changes) if changes else script


def _errors_of(script: ProviderScript) -> Iterator[str]:
    for rule in script.faults:
        if isinstance(rule.then, (HttpError, OkWithErrorBody, StreamError)):
            yield rule.then.error
    yield from (rule.error for rule in script.refusals)
