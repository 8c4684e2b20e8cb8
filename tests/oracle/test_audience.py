"""The user, the model and the audit trail each see what is theirs of a failure."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import AudienceRule, ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.checks.agent.audience import leaks
from faultclock.oracle.judge import judge
from tests.oracle.trace_builder import TraceBuilder, link

ALL = AudienceRule(
    id="user", never=("stack", "secret", "path", "class_name"), requirement="STUD-RULE-05"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The provider is busy. Please try again in a few minutes.", ()),
        ("Error: the service answered 503 (RateLimited).", ()),
        ("POST https://api.openai.com/v1/chat/completions failed at 10:30", ()),
        ("See /v1/chat/completions and 3/4 of a/b.", ()),
        ("key sk-simulated-4f9d2c7ab1e85036d7c9 refused", ("a secret",)),
        ("Authorization: Bearer abcdef123456", ("a secret",)),
        ("<secret> was refused", ("a secret",)),
        ("ghp_abcdefghijklmnopqrstuvwxyz", ("a secret",)),
        ("Traceback (most recent call last):", ("a stack trace",)),
        ('  File "adapter.py", line 12, in ask', ("a stack trace",)),
        ("  at ask (adapter.js:12:5)", ("a stack trace",)),
        ("cannot read /home/me/.config/key", ("an absolute path",)),
        ("cannot read C:\\Users\\me\\key", ("an absolute path",)),
        ("cannot read …/key.txt", ("an absolute path",)),
        ("HOME=…/, as a recorder leaves it", ("an absolute path",)),
        ("go to /home/ please, or to 3/4", ()),
        ("openai.RateLimitError: 429", ("the name of an exception class",)),
        ("a ValueError was raised", ("the name of an exception class",)),
    ],
)
def test_what_leaks_is_known_by_its_shape(text: str, expected: tuple[str, ...]) -> None:
    """And what a person may read is not taken for a leak."""
    assert leaks(ALL, text) == expected


def found(model: ErrorModel, check: str, built: TraceBuilder) -> list[Finding]:
    """Return the findings of one check."""
    return [item for item in judge(model, built.build()).findings if item.check == check]


@pytest.mark.parametrize("audience", ["user", "model", "audit"])
def test_what_a_binding_does_not_declare_is_not_judged(model: ErrorModel, audience: str) -> None:
    """Not applicable, with the reason."""
    built = TraceBuilder().start().fails(401).raises(link(None))
    (finding,) = found(model, f"audience.{audience}", built)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "does not declare" in finding.reason


@pytest.mark.parametrize(
    ("audience", "verdict"),
    [("user", Verdict.FAIL), ("audit", Verdict.FAIL), ("model", Verdict.NOT_APPLICABLE)],
)
def test_who_must_be_told_of_a_failure_and_was_not(
    model: ErrorModel, audience: str, verdict: Verdict
) -> None:
    """User and audit trail must; the document asks for a model message of tools only."""
    built = TraceBuilder(declares=(audience,)).start().fails(401).raises(link(None))
    assert [item.verdict for item in found(model, f"audience.{audience}", built)] == [verdict]


def test_an_unmapped_failure_has_no_class_to_audit(model: ErrorModel) -> None:
    """The context is still due; half a class is none."""
    for record, verdict in (
        ({"class": None, "code": None, "context": {"status": 401}}, Verdict.PASS),
        ({"class": None, "code": None, "context": {}}, Verdict.FAIL),
        ({"class": "Whatever", "code": None, "context": {"status": 401}}, Verdict.FAIL),
    ):
        built = TraceBuilder(declares=("audit",)).start().fails(401)
        built.event("subject", "declared.audit", call="ask/1", record=record)
        (finding,) = found(model, "audience.audit", built.raises(link(None)))
        assert finding.verdict is verdict


def test_a_leak_is_not_repeated_in_the_report(model: ErrorModel) -> None:
    """The finding shows where the secret stood, and not the secret."""
    built = TraceBuilder(declares=("user",)).start().fails(401)
    key = "sk-simulated-4f9d2c7ab1e85036d7c9"
    built.event("subject", "declared.user_message", call="ask/1", message=f"{key} is wrong")
    (finding,) = found(model, "audience.user", built.raises(link(None)))
    assert key not in finding.observed
    assert "<secret> is wrong" in finding.observed
