"""Warming does once what every child would do again, and leaves nothing else behind."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import pytest
import uuid_utils
from pydantic import BaseModel, ConfigDict

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.run.doctor.healthy import healthy_scenario
from faultclock.run.execute import Happened, execute, simulate
from faultclock.run.prepare import prepare, warm
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import small
from tests.run.small_runtime import small_runtime


def counting(calls: list[bool], **options: bool) -> Binding:
    """Return a subject that notes each call in the process that it runs in."""

    @provider_adapter(id="counting", **options)
    def subject(request: ProviderRequest) -> str:
        calls.append(request.stream)
        return "Hello."

    return subject


def test_what_a_call_imports_is_imported_here() -> None:
    """A child would read it from disk again in every run."""

    @provider_adapter(id="lazy")
    def lazy(request: ProviderRequest) -> str:
        import colorsys

        return colorsys.__name__

    sys.modules.pop("colorsys", None)
    assert "colorsys" in warm(lazy)
    assert "colorsys" in sys.modules


def test_what_a_call_imports_is_imported_at_the_start_of_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the module of the subject itself is."""
    (tmp_path / "lazily.py").write_text("import time\n\nat = time.time()\n")
    monkeypatch.syspath_prepend(tmp_path)

    @provider_adapter(id="lazy")
    def lazy(request: ProviderRequest) -> str:
        return str(importlib.import_module("lazily"))

    assert "lazily" in warm(lazy)
    assert sys.modules.pop("lazily").at == WALL_EPOCH_NS / 1e9


def test_the_sdk_of_an_adopted_client_is_warmed_by_a_client_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person's own client makes no call in the process that all runs are forked from."""
    simulated: list[str] = []

    def note(scenario: Scenario, binding: Binding, seed: int) -> Happened:
        simulated.append(binding.id)
        return simulate(scenario, binding, seed)

    monkeypatch.setattr("faultclock.run.prepare.simulate", note)
    path = tmp_path / "adopted_client.py"
    path.write_text("import openai\nclient = openai.AsyncOpenAI()\n")
    binding = prepare(f"{path}:client")
    assert (binding.id, binding.dialect_known) == ("adopted_client:client", True)
    assert simulated == ["openai-async"]


class Used(BaseModel):
    """A model of a library that is made when it is first used."""

    model_config = ConfigDict(defer_build=True)
    text: str


class Unused(Used):
    """One of the many that no call of this client needs."""


def test_a_model_that_a_call_has_finished_is_finished_here_and_no_other() -> None:
    """Each child would finish it again; to finish all of them takes longer than that."""

    @provider_adapter(id="typed")
    def typed(request: ProviderRequest) -> str:
        return Used.model_validate({"text": "Hello."}).text

    assert not Used.__pydantic_complete__
    warm(typed)
    assert Used.__pydantic_complete__
    assert not Unused.__pydantic_complete__


def test_the_calls_themselves_leave_nothing_behind() -> None:
    """They are made in a child."""
    calls: list[bool] = []
    warm(counting(calls))
    assert calls == []


def test_a_subject_that_allows_it_is_rehearsed_here() -> None:
    """A plain, a streamed and a failing call fill the caches of its libraries."""
    for option in ("inline", "warm_in_place"):
        calls: list[bool] = []
        warm(counting(calls, **{option: True}))
        assert sorted(calls) == [False, False, True]


def test_a_rehearsal_that_ends_the_child_is_not_held_here() -> None:
    """Whatever it does, the harness goes on."""

    @provider_adapter(id="deadly", inline=True)
    def deadly(request: ProviderRequest) -> str:
        import os

        os._exit(7)

    assert warm(deadly) == ()


def test_an_inline_subject_runs_in_this_process(model: ErrorModel) -> None:
    """Its binding says that runs may share one; any other runs in children."""

    def runs_here(**options: bool) -> int:
        calls: list[bool] = []
        request = SuiteRequest(
            scenarios=(small(),),
            binding=counting(calls, **options),
            subject_spec="counting",
            model=model,
        )
        run_suite(request)
        return len(calls)

    assert (runs_here(inline=True), runs_here(warm_in_place=True), runs_here()) == (1, 0, 0)


def test_a_runtime_is_healthy_when_it_can_do_its_turns() -> None:
    """Its rehearsal has such turns, too, and one that fails at first."""
    trace = execute(healthy_scenario("runtime"), small_runtime, 0)
    calls = [event.payload["call"] for event in trace.of_kind("call.returned")]
    assert calls == ["start/1", "plain/1", "streamed/1", "close/1"]
    assert isinstance(warm(small_runtime), tuple)


def test_modules_that_are_patched_by_name_are_patched_once_for_all_runs() -> None:
    """Every child would look through all modules again otherwise."""
    prepare("langchain-openai")
    assert isinstance(uuid_utils.uuid4, types.FunctionType)
