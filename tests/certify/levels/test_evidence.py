"""Gathering makes what a level asks for, and each rule has a subject that does not reach it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from faultclock.certify.levels.appraisal import appraise
from faultclock.certify.levels.doubles import doubles_of
from faultclock.certify.levels.evidence import gather
from faultclock.certify.levels.obligations import obligation_objections, obligations_of
from faultclock.certify.levels.selection import select
from faultclock.errors import InputError
from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.conformance import Appraisal, LevelName, RequirementSet, SetRequirement
from faultclock.model.report.evidence import Double
from faultclock.model.report.finding import Verdict
from faultclock.run.doctor.healthy import healthy_scenario
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.certify.levels.conftest import SCENARIOS, Level
from tests.run.unsteady_subjects import binding_of, of_process_state


def appraisal_of(
    binding: Binding, model: ErrorModel, small: RequirementSet, spec: str | None = None
) -> Appraisal:
    """Return what a subject comes to at the level `core` of the small set."""
    made = gather(binding, spec or binding.id, model, small, "core")
    return appraise(small, model, made.evidence, made.judged)


def test_a_level_makes_what_it_asks_for_and_no_more(
    hardened: Level, level_of: Callable[[str, LevelName], Level]
) -> None:
    """The lowest level runs the scenarios; the highest more seeds, everything twice, and explores.

    The seeds that jitter is judged over begin where the scenario's own do.
    """
    core, most = level_of("reference", "core").gathered, hardened.gathered
    assert [entry.name for entry in core.evidence.traces] == [
        f"{SCENARIOS[0]}.seed-0",
        *(f"{SCENARIOS[1]}.seed-{seed}" for seed in range(16)),
        f"{SCENARIOS[2]}.seed-0",
    ]
    assert (core.evidence.doubles, core.evidence.explored) == ((), None)
    added = {entry.name for entry in most.evidence.traces} - {
        entry.name for entry in core.evidence.traces
    }
    assert added == {f"{SCENARIOS[1]}.seed-16"}
    assert [double.name for double in most.evidence.doubles] == [
        entry.name for entry in most.evidence.traces
    ]
    assert most.evidence.explored is not None
    assert most.evidence.explored.exploration.runs == 6


def test_each_run_of_a_certificate_has_a_process_of_its_own(
    model: ErrorModel, small: RequirementSet, tmp_path: Path
) -> None:
    """What an earlier one left in a library would not be seen in one that passes."""
    with (tmp_path / "processes").open("w", encoding="utf-8") as file:
        binding = binding_of(
            "notes", float, before=lambda: os.write(file.fileno(), f"{os.getpid()}\n".encode())
        )
        gather(binding, binding.id, model, small, "core")
    calls = Counter((tmp_path / "processes").read_text("utf-8").split())
    # One scenario asks four times, and the others once.
    assert set(calls.values()) == {1, 4}


def test_every_trace_is_handed_over_once_under_its_name(hardened: Level) -> None:
    """Names are relative and differ, and each is that of the trace that came with it."""
    entries = hardened.gathered.evidence.traces
    assert list(hardened.traces) != []
    assert {entry.name: entry.digest for entry in entries} == {
        name: trace.footer.digest for name, trace in hardened.traces.items()
    }
    files = [run.trace_file for run in hardened.gathered.judged.report.runs]
    assert files == [f"traces/{entry.name}.jsonl" for entry in entries]


def test_the_number_of_workers_changes_nothing(
    model: ErrorModel, small: RequirementSet, level_of: Callable[[str, LevelName], Level]
) -> None:
    """Same inputs, same bytes, however many processes make the runs."""
    made = gather(prepare("reference"), "reference", model, small, "core", jobs=2)
    assert made == level_of("reference", "core").gathered


def test_progress_is_told_step_by_step(model: ErrorModel, small: RequirementSet) -> None:
    """Whoever waits is told which step it is, and how far it is."""
    told: list[tuple[str, int, int]] = []
    gather(
        prepare("reference"),
        "reference",
        model,
        small,
        "core",
        on_progress=lambda *step: told.append(step),
    )
    assert told == [("scenarios", number, 18) for number in range(1, 19)]


@pytest.mark.parametrize(
    ("subject", "says"),
    [
        # Breaks a MUST.
        ("mini-ignores-retry-after", "backoff.retry-after"),
        # Waits the same in all runs: only the verdict over seeds knows.
        ("mini-no-jitter", "backoff.jitter"),
    ],
)
def test_a_miniature_reaches_nothing(
    subject: str, says: str, level_of: Callable[[str, LevelName], Level]
) -> None:
    """A subject that is wrong in one way is refused for that."""
    appraisal = level_of(subject, "core").appraised()
    assert (appraisal.is_reached, appraisal.verdict) == (False, Verdict.FAIL)
    assert says in {item.what for item in appraisal.objections}
    assert "broken" in {item.status for item in appraisal.obligations}


def test_a_policy_of_its_own_reaches_nothing(
    level_of: Callable[[str, LevelName], Level],
) -> None:
    """Whoever declares another schedule than the document's shows nothing of the document's."""
    appraisal = level_of("reference-own-policy", "core").appraised()
    assert (appraisal.is_reached, appraisal.verdict) == (False, Verdict.INCONCLUSIVE)
    unshown = [item for item in appraisal.obligations if item.status == "not shown"]
    assert unshown
    assert all("a retry policy of its own" in item.because for item in unshown)


def test_what_a_binding_does_not_declare_is_undeclared(
    model: ErrorModel, small: RequirementSet
) -> None:
    """The reference without its audit trail does all the same, and reaches nothing."""
    silent = replace(prepare("reference"), declares=("errors",))
    appraisal = appraisal_of(silent, model, small)
    assert appraisal.verdict is Verdict.INCONCLUSIVE
    assert "undeclared" in {item.status for item in appraisal.obligations}
    assert not appraisal.is_reached


def test_a_subject_that_is_not_the_same_twice_reaches_nothing(
    model: ErrorModel, small: RequirementSet
) -> None:
    """State that outlives a run: its failures are nobody's, and a level needs more than that."""
    unsteady = binding_of("unsteady", of_process_state(ends_at=1_000_000), inline=True)
    made = gather(unsteady, "unsteady", model, small, "core")
    assert made.evidence.unsteady
    appraisal = appraise(small, model, made.evidence, made.judged)
    assert not appraisal.is_reached
    assert any("not the same" in item.because for item in appraisal.objections)


_SHOWS_HASHES = """
import http.client, json

def subject(request):
    order = "".join({"north", "east", "south", "west", "up", "down", "left", "right"})
    connection = http.client.HTTPSConnection("api.openai.com")
    body = json.dumps({"model": request.model, "messages": [], "order": order})
    connection.request("POST", "/v1/chat/completions", body)
    return json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]
"""


def test_a_second_process_sees_what_follows_the_hash_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set in another order, in a request that nobody judges: only the second run knows.

    Where that process ends before it says anything, there is no digest, which is no equal one.
    """
    file = tmp_path / "shows_hashes.py"
    file.write_text(_SHOWS_HASHES, "utf-8")
    spec = f"{file}:subject"
    scenario = healthy_scenario()
    first = run_one(scenario, prepare(spec), 0, isolate=True)
    (double,) = doubles_of((("healthy", scenario, 0),), spec)
    assert double.digest not in ("", first.footer.digest)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    (lost,) = doubles_of((("healthy", scenario, 0),), spec)
    assert lost == Double(name="healthy", digest="")


def test_what_cannot_be_said_is_passed_over_and_shows_nothing(
    model: ErrorModel, small: RequirementSet
) -> None:
    """A scenario in another dialect is listed; what it alone shows stands against the level."""
    of = small.roles["provider_adapter"]
    selection = select(small, model, "provider_adapter", ("bedrock-converse",))
    over = {item.scenario for item in selection.passed_over}
    kept = {item.scenario.id for item in selection.playable}
    assert over
    assert kept.isdisjoint(over)
    assert kept | over == {item.id for item in of.scenarios}
    speaks = replace(prepare("reference"), dialects=("bedrock-converse",))
    appraisal = appraisal_of(speaks, model, small)
    assert set(appraisal.passed_over) == over
    assert not over & {item.what for item in appraisal.objections}
    assert not appraisal.is_reached


def test_what_a_subject_need_not_do_stands_against_nothing(hardened: Level) -> None:
    """A sentence about wrapping, and a subject that wraps nothing: listed, with the reason."""
    made = hardened.gathered
    of = hardened.set_.roles["provider_adapter"]
    said = "nothing of the kind was done"
    wrapping = SetRequirement(id="STUD-RULE-02", level="MUST", digest="0" * 64, occasion=said)
    for item, status in ((wrapping, "no occasion"), (_asked(wrapping), "not shown")):
        role = of.model_copy(update={"requirements": (item,)})
        (found,) = obligations_of(
            role, hardened.model, made.judged.report, made.evidence, (), "core"
        )
        assert found.status == status
        objections = list(obligation_objections((found,), "core"))
        assert bool(objections) is (status == "not shown")


def _asked(item: SetRequirement) -> SetRequirement:
    return item.model_copy(update={"occasion": ""})


def test_a_scenario_that_was_changed_is_refused(model: ErrorModel, small: RequirementSet) -> None:
    """A set is of scenarios as they were: another content is another set."""
    of = small.roles["provider_adapter"]
    first, *rest = of.scenarios
    other = of.model_copy(
        update={"scenarios": (first.model_copy(update={"digest": "0" * 64}), *rest)}
    )
    set_ = small.model_copy(update={"roles": {"provider_adapter": other}})
    with pytest.raises(InputError, match="has changed since the requirement set 1"):
        select(set_, model, "provider_adapter", ("openai-chat",))


def test_a_scenario_that_is_gone_is_refused(model: ErrorModel, small: RequirementSet) -> None:
    """What the set asks for has to be there."""
    of = small.roles["provider_adapter"]
    gone = of.scenarios[0].model_copy(update={"id": "rate-limits/never-was"})
    other = of.model_copy(update={"scenarios": (gone,)})
    set_ = small.model_copy(update={"roles": {"provider_adapter": other}})
    with pytest.raises(InputError, match="there is no such scenario"):
        select(set_, model, "provider_adapter", ("openai-chat",))


def test_another_reading_is_refused_before_anything_runs(small: RequirementSet) -> None:
    """A level is of the default readings: nobody waits a minute to be told so."""
    read = load_error_model("stud-cli", {"cut-answers": "unmapped"})
    with pytest.raises(InputError, match="is not the one of its requirement set"):
        gather(prepare("reference"), "reference", read, small, "core")
