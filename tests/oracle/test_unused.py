"""A declaration that a run contradicts makes that run prove nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultclock.agents.adapter import reference
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict, verdict_of
from faultclock.oracle.judge import judge
from faultclock.run.execute import execute
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply
from faultclock.subjects.registry import load_subject


@provider_adapter(id="streams-later", inline=True, dialect=OPENAI_ALIKE, streams=False)
async def streams_later(request: ProviderRequest) -> Reply:
    """Ask for an answer in one piece, and for a stream once that has failed."""
    try:
        found: Reply = await reference(replace(request, stream=False))
    except Exception:  # any failure is why it streams
        found = await reference(replace(request, stream=True))
    return found


def observed(binding: Binding, scenario: str) -> list[str]:
    """Return what is said of declarations in one run, which must then be inconclusive."""
    (played,) = find_scenarios((scenario,))[0].runnable
    trace = execute(played, binding, played.seed)
    findings = judge(load_error_model("common"), trace).findings
    said = [item.observed for item in findings if "scenarios were left out" in item.observed]
    assert not said or verdict_of(findings) in (Verdict.INCONCLUSIVE, Verdict.FAIL)
    return said


def test_a_stream_after_a_failure_is_noticed() -> None:
    """The healthy run could not show it: there it never asks for one."""
    assert observed(streams_later, "provider-transient/bad-key") == [
        "it asked for a stream, so scenarios were left out wrongly"
    ]
    assert observed(streams_later, "rate-limits/retry-after-integer") == []


@pytest.mark.parametrize(
    ("subject", "lack", "scenario", "expected"),
    [
        ("reference", Abilities(streams="always"), "provider-transient/bad-key", "in one piece"),
        ("reference", Abilities(tools=False), "provider-transient/healthy-tool-call", "a tool"),
        ("reference-runtime", Abilities(tools=False), "tools/within-the-bound", "called one"),
        (
            "reference-runtime",
            Abilities(approvals=False),
            "approvals/two-approvals-in-a-row",
            "asked a person",
        ),
        ("reference-runtime", Abilities(sessions=False), "tools/within-the-bound", "stored"),
    ],
)
def test_each_declaration_is_seen_to_be_false(
    subject: str, lack: Abilities, scenario: str, expected: str
) -> None:
    """By an event of the run, which the finding cites."""
    (said,) = observed(replace(load_subject(subject), abilities=lack), scenario)
    assert expected in said


def test_what_is_declared_is_in_the_trace() -> None:
    """And only that: a subject that declares no lack has the same header as ever."""
    assert streams_later.info().lacks == ("no-streams",)
    assert "lacks" not in reference.info().model_dump(mode="json")
