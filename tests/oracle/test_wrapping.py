"""An error that wraps another keeps its class and code, and leaves it reachable."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import judge
from tests.oracle.trace_builder import TraceBuilder, link

WINDOW = "ProviderCapability/ContextWindowTooSmall"
OTHER = "ExtensionHost/LifecycleFailure"


def found(model: ErrorModel, check: str, *chain: dict[str, Any]) -> Finding:
    """Return the one finding of a check on a call that raised `chain`."""
    built = TraceBuilder().start().fails(400, "context_length_exceeded").raises(*chain)
    (finding,) = (item for item in judge(model, built.build()).findings if item.check == check)
    return finding


@pytest.mark.parametrize(
    ("chain", "verdict"),
    [
        ((link(WINDOW),), Verdict.NOT_APPLICABLE),
        ((link(WINDOW), link(None, how="cause")), Verdict.NOT_APPLICABLE),
        ((link(None), link(None, how="cause")), Verdict.NOT_APPLICABLE),
        ((link(WINDOW), link(WINDOW, how="cause")), Verdict.PASS),
        ((link(WINDOW), link(None, how="cause"), link(WINDOW, how="cause")), Verdict.PASS),
        ((link(None), link(WINDOW, how="cause")), Verdict.FAIL),
        ((link(None), link(WINDOW, how="context")), Verdict.FAIL),
        ((link(OTHER), link(WINDOW, how="cause")), Verdict.FAIL),
        ((link(WINDOW), link(OTHER, how="cause"), link(WINDOW, how="cause")), Verdict.FAIL),
        ((link(WINDOW), link(OTHER, how="context")), Verdict.NOT_APPLICABLE),
    ],
)
def test_identity_of_each_chain(
    model: ErrorModel, chain: tuple[dict[str, Any], ...], verdict: Verdict
) -> None:
    """The outermost must be the same; one in between may be silent, but not differ."""
    assert found(model, "wrapping.identity", *chain).verdict is verdict


def test_the_right_origin_under_a_wrong_wrapper_is_blamed_on_the_wrapper(
    model: ErrorModel,
) -> None:
    """Classifying was right; wrapping lost it."""
    chain = (link(OTHER), link(WINDOW, how="cause"))
    assert found(model, "wrapping.identity", *chain).observed.endswith(f"declares {OTHER}")
    built = TraceBuilder().start().fails(400, "context_length_exceeded").raises(*chain)
    failed = {
        item.check for item in judge(model, built.build()).findings if item.verdict is Verdict.FAIL
    }
    assert failed == {"wrapping.identity"}


@pytest.mark.parametrize(
    ("outer", "how", "verdict"),
    [
        (WINDOW, "cause", Verdict.PASS),
        (WINDOW, "suppressed", Verdict.FAIL),
        # An earlier failure that was being handled is nothing that this error wraps.
        (WINDOW, "context", Verdict.NOT_APPLICABLE),
        # What a library does inside its own, untyped errors is not the subject's wrapping.
        (None, "cause", Verdict.NOT_APPLICABLE),
        (None, "suppressed", Verdict.NOT_APPLICABLE),
    ],
)
def test_a_typed_error_leaves_its_cause_reachable(
    model: ErrorModel, outer: str | None, how: str, verdict: Verdict
) -> None:
    """`raise … from None` hides it."""
    chain = (link(outer), link(None, how=how, kind="httpx.ReadTimeout"))
    assert found(model, "wrapping.cause", *chain).verdict is verdict


def test_a_cause_that_a_library_hid_deeper_down_is_not_blamed(model: ErrorModel) -> None:
    """The subject kept its cause; that its SDK hides one of its own is the SDK's affair."""
    chain = (
        link(WINDOW),
        link(None, how="cause", kind="openai.BadRequestError"),
        link(None, how="suppressed", kind="httpx.HTTPStatusError"),
    )
    assert found(model, "wrapping.cause", *chain).verdict is Verdict.PASS
