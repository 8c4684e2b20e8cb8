"""What verdicts come to: how much was judged, what was violated, and what a finding says of it."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.retry_policy import RetryPolicy
from faultclock.model.trace.trace import SubjectInfo
from faultclock.oracle.check import (
    Check,
    Violation,
    broken,
    class_requirement,
    exercising,
    held,
    only_of,
    otherwise,
    outcome_of,
    requirement_of,
    unproven,
)
from faultclock.oracle.judge import CHECKS, Judge, judge, judge_seeds
from faultclock.oracle.verdicts import findings_of, placed, spoilt
from tests.oracle.small_model import small_model
from tests.oracle.trace_builder import TraceBuilder

WAIT, CLASS = "SMALL-WAIT", "SMALL-CLASS"


def fault(*requirements: str | None, **said: Any) -> Violation:
    """Return a violation of something that exercised these requirements."""
    return broken(requirements, expected="this", observed="that", **said)


def test_each_thing_that_was_judged_counts_once_for_each_of_its_requirements() -> None:
    """Also where it names one twice."""
    outcome = outcome_of([held(WAIT, CLASS), held(WAIT, WAIT), held(None)])
    assert outcome.judged == {WAIT: 2, CLASS: 1, None: 1}
    assert (outcome.violations, outcome.violated) == ([], set())


def test_a_violation_is_one_of_all_that_it_exercises() -> None:
    """It cites the first one; what is added is not shown to hold either."""
    violation = exercising(fault(WAIT, CLASS), "SMALL-JITTER")
    outcome = outcome_of([violation])
    assert violation.requirement == WAIT
    assert outcome.violated == {WAIT, CLASS, "SMALL-JITTER"}
    assert fault().requirement is None
    assert outcome_of([fault()]).violated == {None}


def test_the_last_reason_counts_where_nothing_was_judged() -> None:
    """Without one it is the reason of the check."""
    assert outcome_of([], "it is silent").reason == "it is silent"
    assert outcome_of([otherwise("one"), otherwise("other")], "it is silent").reason == "other"


def test_findings_are_the_violations_and_what_holds_beside_them() -> None:
    """A requirement that a violation touches is shown by nothing."""
    model = small_model()
    both = outcome_of([held(WAIT), held(CLASS), held(CLASS), fault(WAIT, events=(3, 2, 3))])
    failed, passed = findings_of(model, "backoff.wait", both)
    assert (failed.verdict, failed.requirement, failed.judged) == (Verdict.FAIL, WAIT, 1)
    assert failed.events == (3, 2)
    assert (failed.level, failed.place, failed.sentence) == ("MUST", "p", "The rule of WAIT.")
    assert (failed.document, failed.paraphrased) == (None, False)
    assert (passed.verdict, passed.requirement, passed.judged) == (Verdict.PASS, CLASS, 2)
    (nothing,) = findings_of(model, "backoff.wait", outcome_of([], "it is silent"))
    assert (nothing.verdict, nothing.reason) == (Verdict.NOT_APPLICABLE, "it is silent")


def test_a_violation_that_cites_nothing_fails_and_one_of_the_evidence_proves_nothing() -> None:
    """The latter is no failure, has judged nothing, and says why."""
    model = small_model()
    (failed,) = findings_of(model, "backoff.wait", outcome_of([fault()]))
    assert (failed.verdict, failed.requirement, failed.reason) == (Verdict.FAIL, None, "")
    (unclear,) = findings_of(model, "x", outcome_of([unproven("this", "that", 4, hint="why")]))
    assert (unclear.verdict, unclear.judged, unclear.reason) == (Verdict.INCONCLUSIVE, 0, "that")
    assert (unclear.events, unclear.hint) == ((4,), "why")


def test_what_is_spoilt_has_judged_nothing_and_what_judged_nothing_cannot_be_spoilt() -> None:
    """The reason is that of the spoiling."""
    model = small_model()
    passed, *_ = findings_of(model, "x", outcome_of([held(WAIT)]))
    bad = spoilt(passed, "it leaked")
    assert (bad.verdict, bad.judged, bad.reason) == (Verdict.INCONCLUSIVE, 0, "it leaked")
    (nothing,) = findings_of(model, "x", outcome_of([], "it is silent"))
    assert spoilt(nothing, "it leaked") == nothing


def test_a_finding_on_a_group_says_which_it_is_about() -> None:
    """In what was observed, or in the reason why nothing was."""
    model = small_model()
    passed, *_ = findings_of(model, "x", outcome_of([held(WAIT)]))
    assert placed(passed, "here").observed == "nothing is wrong; here"
    (failed,) = findings_of(model, "x", outcome_of([fault(WAIT)]))
    assert placed(failed, "here").observed == "that; here"
    (nothing,) = findings_of(model, "x", outcome_of([], "it is silent"))
    assert placed(nothing, "here").reason == "it is silent; here"


def subject(role: str = "provider_adapter", *declares: str) -> SubjectInfo:
    """Return a subject of a role."""
    return SubjectInfo.model_validate(
        {"id": "by-hand", "role": role, "style": "async", "declares": declares}
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, ""),
        ({"role": "provider_adapter"}, ""),
        ({"role": "extension"}, "the subject is not an extension"),
        ({"role": "session_store"}, "the subject is not a session store"),
        ({"declares": ("audit",)}, ""),
        (
            {"declares": ("audit", "events")},
            "the subject's binding does not declare 'events'",
        ),
        ({"section": "tools"}, "the error model says nothing of tools"),
        ({"why_not": lambda _: "it is shy"}, "it is shy"),
        ({"why_not": lambda _: ""}, ""),
        (
            {"role": "extension", "why_not": lambda _: "it is shy"},
            "the subject is not an extension",
        ),
    ],
)
def test_a_check_says_for_whom_it_is_not(options: dict[str, Any], reason: str) -> None:
    """The first reason counts; without one its verdicts do."""
    model = small_model()
    check = Check(id="x", title="t", says="s", run=lambda *_: iter([held(WAIT)]), **options)
    assert check.inapplicable(subject("provider_adapter", "audit"), model) == reason


def test_a_requirement_is_found_by_its_rule_or_its_class(model: ErrorModel) -> None:
    """Where the model has none, there is none."""
    assert requirement_of(model, "no.such.rule") is None
    assert class_requirement(model, "NoSuchClass") is None
    first = model.classes[0]
    assert class_requirement(model, first.id) == first.requirement


# ------------------------------------------------------------------------------ whole judgements


def test_what_is_moot_is_left_out_where_something_has_failed(model: ErrorModel) -> None:
    """That an answer was thrown away says nothing more of a run that fails."""
    built = TraceBuilder().start().good().raises("ProviderTransient/RateLimited")
    findings = judge(model, built.build()).findings
    assert Verdict.FAIL in {item.verdict for item in findings}
    own = [item.verdict for item in findings if item.check == "evidence.exercised"]
    assert Verdict.INCONCLUSIVE not in own


def test_a_judge_may_judge_subjects_of_any_kind_in_turn(model: ErrorModel) -> None:
    """What one subject declares says nothing of the next."""
    many = Judge(model)
    for declares in ((), ("events", "audit"), ()):
        built = TraceBuilder(declares=declares).start().good().returns().build()
        assert many.judge(built) == judge(model, built)
    tool = TraceBuilder(role="tool").start().good().returns().build()
    assert many.judge(tool) == judge(model, tool)
    reasons = {item.check: item.reason for item in many.judge(tool).findings}
    assert reasons["backoff.wait"] == "the subject is a tool: it asks no model"


def test_a_group_in_real_time_is_not_judged_over_seeds(model: ErrorModel) -> None:
    """What the machine makes of a wait is no distribution of the subject's."""

    def runs(*bases: str) -> Any:
        return tuple(
            TraceBuilder(seed=seed, time_base=base).start().good().returns().build()
            for seed, base in enumerate(bases)
        )

    assert judge_seeds(model, runs("virtual", "virtual")) != ()
    assert judge_seeds(model, runs("wall", "virtual")) == ()
    assert judge_seeds(model, runs("virtual", "wall")) == ()
    assert judge_seeds(model, ()) == ()


def test_a_check_says_which_sentences_are_about_another_role() -> None:
    """A sentence that it judges for any role as well is about all of them."""
    names = {"a.b.tool": WAIT, "a.b.person": CLASS, "a.b": CLASS, "c.d": WAIT}
    model = small_model().model_copy(update={"rules": names})
    about = {name: only_of("runtime") for name in ("a.b.tool", "a.b.person")}
    check = Check(id="a.b", title="t", says="s", run=lambda *_: iter(()), about=about)
    adapter = SubjectInfo(id="x", role="provider_adapter", style="sync")
    assert check.not_about(adapter, model) == {WAIT: "the subject is not a runtime"}
    runtime = adapter.model_copy(update={"role": "runtime"})
    assert check.not_about(runtime, model) == {}


def test_a_sentence_about_declared_policies_is_for_those_who_declare_one() -> None:
    """Every other subject has the policies of the model."""
    model = small_model().model_copy(update={"rules": {"backoff.declared": WAIT}})
    check = next(item for item in CHECKS if item.id == "backoff.wait")
    silent = SubjectInfo(id="x", role="provider_adapter", style="sync")
    reason = "the subject declares no retry policy of its own"
    assert check.not_about(silent, model) == {WAIT: reason}
    own = RetryPolicy.model_validate(
        {
            "id": "own",
            "applies_to": ["A/b"],
            "owner": "the client",
            "attempts_max": 2,
            "backoff": {"kind": "fixed", "base": "1s"},
        }
    )
    assert check.not_about(silent.model_copy(update={"retry_policies": (own,)}), model) == {}
