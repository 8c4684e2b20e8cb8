"""A small error model made by hand, for the checks of what stud-cli says nothing of."""

from __future__ import annotations

from typing import Any

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import CHECKS, judge
from tests.oracle.trace_builder import TraceBuilder

#: A chain that goes on after what may be another provider's luck, and parks who limits it.
CHAIN: dict[str, Any] = {
    "advances_on": ["Llm/Overload", "Llm/Rate", "Run/Open"],
    "stops_on": ["Llm/Auth"],
    "park": {"Llm/Rate": "30s"},
    "requirements": {
        "advances": "SMALL-ADVANCES",
        "stops": "SMALL-STOPS",
        "after_content": "SMALL-CONTENT",
        "park": "SMALL-PARK",
    },
}
_IDS = (
    "CLASS",
    "WAIT",
    "ATTEMPTS",
    "JITTER",
    "ADVANCES",
    "STOPS",
    "CONTENT",
    "PARK",
    "OPENS",
    "REFUSES",
    "HALF",
    "CLOSES",
    "JOIN",
    "LIMIT",
    "PRODUCT",
    "ADAPTER",
)


#: A check that no sentence names is not asked for; here any may be.
_CHECKS = [check.id for check in CHECKS]


def small_model(**sections: Any) -> ErrorModel:
    """Return the model, with these sections beside its classes, signals and one policy."""
    policy = {
        "id": "again",
        "applies_to": ["Llm/Overload", "Llm/Rate"],
        "attempts_from": "entry",
        "attempts_max": 1,
        "backoff": {"kind": "fixed", "base": "1s"},
        "requirements": {
            "attempts": "SMALL-ATTEMPTS",
            "wait": "SMALL-WAIT",
            "jitter": "SMALL-JITTER",
        },
    }
    return ErrorModel.model_validate(
        {
            "id": "small",
            "title": "A small model",
            "revision": "1",
            "source": {"title": "t", "system": "s", "document": "d", "read_on": "2026-01-01"},
            "classes": [_class("Llm", ("Overload", "Rate", "Auth")), _class("Run", ("Open",))],
            "signals": [
                _signal("overload", "Overload", "retry", statuses=["500-599"]),
                _signal("rate", "Rate", "retry", statuses=["429"]),
                _signal("auth", "Auth", "terminal", statuses=["401"]),
                _signal("cut", "Overload", "retry", kinds=["stream_cut", "stream_error"]),
                _signal("refused", "Overload", "retry", kinds=["connect_refused"]),
            ],
            "policies": [{**policy, **sections.pop("policy", {})}],
            "requirements": [
                {
                    "id": f"SMALL-{name}",
                    "level": "MUST",
                    "place": "p",
                    "sentence": f"The rule of {name}.",
                    "checks": _CHECKS,
                }
                for name in _IDS
            ],
            **sections,
        }
    )


def found(model: ErrorModel, built: TraceBuilder, check: str) -> list[str]:
    """Return what a check finds wrong."""
    findings = _of(model, built, check)
    assert Verdict.INCONCLUSIVE not in {item.verdict for item in findings}
    return [item.observed for item in findings if item.verdict is Verdict.FAIL]


def judged(model: ErrorModel, built: TraceBuilder, check: str) -> int:
    """Return how much a check has looked at, where it found nothing wrong."""
    findings = _of(model, built, check)
    assert Verdict.FAIL not in {item.verdict for item in findings}
    return sum(item.judged for item in findings if item.verdict is Verdict.PASS)


def _of(model: ErrorModel, built: TraceBuilder, check: str) -> list[Finding]:
    return [item for item in judge(model, built.build()).findings if item.check == check]


def _class(name: str, codes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": name,
        "recoverable": "it depends",
        "handler": "somebody",
        "disposition": "terminal",
        "codes": codes,
        "requirement": "SMALL-CLASS",
    }


def _signal(id_: str, code: str, disposition: str, **when: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "when": when,
        "class": "Llm",
        "code": code,
        "disposition": disposition,
        "requirement": "SMALL-CLASS",
    }
