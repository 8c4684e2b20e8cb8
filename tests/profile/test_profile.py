"""A profile beside the source of a real SDK, beside an error model, and in each of its forms."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from faultclock.agents.adapter import reference
from faultclock.cli.app import app
from faultclock.load.error_model import load_error_model
from faultclock.load.schema import schema_of
from faultclock.load.trace_file import read_trace
from faultclock.model.report.finding import Verdict
from faultclock.model.report.inferred import RetryProfile
from faultclock.profile.infer.battery import Findings, ask_everything
from faultclock.profile.infer.kinds import kind_of
from faultclock.profile.infer.probes import Asker, Probe
from faultclock.profile.infer.profile import Inferred, infer_profile, profile_of
from faultclock.profile.infer.running import Bench
from faultclock.profile.infer.seen import read_run
from faultclock.render.inferred import profile_page, profile_text
from faultclock.render.json_text import canonical_json
from faultclock.run.prepare import prepare
from faultclock.run.process.judged_runs import Done
from faultclock.subjects.registry import load_subject
from tests.profile.truth import TRUTHS, compare


@cache
def _found() -> Findings:
    with Bench(reference) as bench:
        return ask_everything(Asker(reference.role, reference.dialect), bench.run)


@cache
def _of_the_reference(model: str = "stud-cli") -> Inferred:
    return profile_of(reference, _found(), load_error_model(model))


def test_an_sdk_does_what_its_source_says() -> None:
    """Every number that is inferred is the one in the source, and most are inferred."""
    truth = TRUTHS[0]
    for name, read in truth.versions.items():
        assert version(name) in read, f"read the source of {name} again: it was that of {read}"
    binding = prepare(truth.subject)
    # Its calls leave nothing behind, so that one process is enough for this test.
    with Bench(binding, isolate=False) as bench:
        found = compare(truth, infer_profile(binding, bench.run).profile)
    assert [item for item in found if item.wrong] == []
    assert [item.fact.name for item in found if item.told is None] == ["factor", "cap"]


def test_the_reference_meets_every_demand_of_its_model() -> None:
    """What is inferred of a correct adapter differs in nothing from what the document says."""
    profile = _of_the_reference().profile
    assert [item for item in profile.differences if item.differs] == []
    assert len(profile.differences) > 20


def test_a_demand_that_is_not_met_names_its_sentence_and_its_runs() -> None:
    """A difference says what was demanded, what was seen, by which sentence and in which runs."""
    inferred = _of_the_reference()
    by_name = {item.name for item in inferred.profile.traces}
    other = _of_the_reference("relavium").profile
    unmet = [item for item in other.differences if item.differs]
    assert unmet
    assert all(item.requirement and item.sentence and item.level for item in unmet)
    assert {ref.trace for item in unmet for ref in item.evidence} <= by_name


def test_every_number_has_its_runs() -> None:
    """No value stands in a profile without the events that show it."""
    inferred = _of_the_reference()
    value = inferred.profile.model_dump(mode="json")
    assert _without_evidence(value) == []
    names = {item.name for item in inferred.profile.traces}
    assert names == set(inferred.traces)
    for item in inferred.profile.reactions:
        for ref in item.attempts.evidence:
            assert max(ref.events) <= len(inferred.traces[ref.trace].events)


def _without_evidence(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict):
        if "sure" in value and "evidence" in value and value["sure"] != "unknown":
            return [] if value["evidence"] else [path]
        return [
            found
            for key, item in value.items()
            for found in _without_evidence(item, f"{path}.{key}")
        ]
    if isinstance(value, list):
        return [
            found
            for index, item in enumerate(value)
            for found in _without_evidence(item, f"{path}[{index}]")
        ]
    return []


def test_what_is_unknown_says_why() -> None:
    """An answer without a value has a reason."""
    text = canonical_json(_of_the_reference().profile)
    assert _without_reason(json.loads(text)) == []


def _without_reason(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict):
        if value.get("sure") == "unknown" and not value.get("reason"):
            return [path]
        return [
            found for key, item in value.items() for found in _without_reason(item, f"{path}.{key}")
        ]
    if isinstance(value, list):
        return [found for item in value for found in _without_reason(item, path)]
    return []


def test_the_json_is_what_its_schema_says() -> None:
    """The published schema describes what is written, and it can be read again."""
    text = canonical_json(_of_the_reference().profile)
    Draft202012Validator(json.loads(schema_of("profile"))).validate(json.loads(text))
    assert RetryProfile.model_validate_json(text) == _of_the_reference().profile


def test_the_same_subject_has_the_same_profile(tmp_path: Path) -> None:
    """What the command infers in workers of its own is what was inferred in this process."""
    value = json.loads((_folder(tmp_path) / "profile.json").read_text())
    for item in value["traces"]:
        # Where the traces are stored is all that the command knows more.
        assert item.pop("file") is not None
        item["file"] = None
    plain = json.loads(canonical_json(profile_of(reference, _found()).profile))
    assert value == plain


def test_the_page_and_the_text_show_what_was_inferred() -> None:
    """Both forms for people hold the schedules, the headers and the demands."""
    profile = _of_the_reference().profile
    page, text = profile_page(profile), "\n".join(profile_text(profile))
    for shown in ("5s x 2^n", "±20 %", "retry-after"):
        assert shown in page
        assert shown in text
    assert "not met: 0 demands" in text
    assert "<script src" not in page


def test_the_command_keeps_the_traces_that_a_profile_names(tmp_path: Path) -> None:
    """`-o` writes profile, page and the traces of all runs, each under the name in the profile."""
    folder = _folder(tmp_path)
    profile = RetryProfile.model_validate_json((folder / "profile.json").read_text())
    assert (folder / "profile.html").is_file()
    read = read_trace(folder / str(profile.traces[0].file))
    assert read.footer.digest == profile.traces[0].digest
    assert all((folder / str(item.file)).is_file() for item in profile.traces)


@cache
def _written(folder: Path) -> None:
    result = CliRunner().invoke(app, ["infer", "reference", "-q", "-o", str(folder)])
    assert result.exit_code == 0, result.output


def _folder(tmp_path: Path) -> Path:
    # One folder for all tests of a process: the runs are the same each time.
    folder = tmp_path.parent / "inferred"
    _written(folder)
    return folder


def test_a_tool_has_no_retries_to_infer() -> None:
    """A subject that asks no provider is refused in words."""
    result = CliRunner().invoke(app, ["infer", "reference-tool"])
    assert result.exit_code != 0


def test_a_runtime_is_asked_by_its_turn_and_not_by_its_start() -> None:
    """It is started before, which is a call without any attempt."""
    runtime = load_subject("reference-runtime")
    asker = Asker(runtime.role, runtime.dialect)
    probe = asker.persistent(kind_of("status-429"))
    with Bench(runtime, isolate=False) as bench:
        (trace,) = bench.run([probe])
    assert len(read_run(probe.name, trace).attempts) == 6


@pytest.mark.parametrize(
    ("dialect", "kind", "foreign"),
    [
        ("anthropic-messages", "status-529", False),
        ("bedrock-converse", "status-529", True),
        ("bedrock-converse", "status-425", False),
        ("bedrock-converse", "refused", False),
    ],
)
def test_a_status_is_foreign_that_neither_http_nor_the_api_has(
    dialect: str, kind: str, foreign: bool
) -> None:
    """A proxy may send any status of HTTP; 529 is one provider's own."""
    probe = Asker("provider_adapter", dialect).persistent(kind_of(kind))
    assert probe.has_foreign_status is foreign


def test_a_bench_with_a_model_judges_each_run() -> None:
    """Runs of the battery count in a check like any other."""
    probe = Asker(reference.role, reference.dialect).persistent(kind_of("status-400"))
    judged: list[Done[Probe]] = []
    model = load_error_model("common")
    with Bench(reference, isolate=False, model=model, on_judged=judged.append) as bench:
        traces = bench.run([probe])
    assert [done.trace for done in judged] == traces
    assert [done.case for done in judged] == [probe]
    assert any(finding.verdict is Verdict.PASS for finding in judged[0].judgement.findings)
