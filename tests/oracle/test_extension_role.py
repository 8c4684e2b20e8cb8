"""What the checks of extensions make of walks that were written by hand."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import Trace
from faultclock.oracle.check import checks_in
from faultclock.oracle.checks.roles import extension_role
from faultclock.oracle.checks.rules import rows
from tests.oracle.tool_traces import ExtensionTrace, outcome

CODE = (*rows.EXTENSION_CHECKS, *checks_in(extension_role))
LOST = "ExtensionHost/LifecycleFailure"
WRONG = "Validation/ConfigSchemaViolation"


def violated(model: ErrorModel, trace: Trace) -> set[str]:
    """Return the checks that a trace violates."""
    return {c.id for c in CODE if outcome(model, CODE, c.id, trace).violations}


def judged(model: ErrorModel, check: str, trace: Trace) -> int:
    """Return how many things a check looked at."""
    return sum(outcome(model, CODE, check, trace).judged.values())


def life(*phases: str) -> ExtensionTrace:
    """Return a walk in which every phase works."""
    trace = ExtensionTrace()
    for phase in phases:
        trace.phase(phase)
    return trace


def test_the_right_order_is_right(model: ErrorModel) -> None:
    """Four phases, each of them judged."""
    trace = life("init", "activate", "deactivate", "dispose").build()
    assert violated(model, trace) == set()
    assert judged(model, "extension.order-accepted", trace) == 4


def test_a_phase_that_fails_in_its_order_is_a_violation_once(model: ErrorModel) -> None:
    """What follows from it is no further fault."""
    trace = ExtensionTrace().phase("init").phase("activate", LOST).phase("deactivate", "ok")
    assert violated(model, trace.build()) == {"extension.order-accepted"}


@pytest.mark.parametrize(
    "before", [("activate",), ("deactivate",), ("init", "init"), ("init", "activate", "activate")]
)
def test_a_phase_out_of_order_has_to_be_refused(model: ErrorModel, before: tuple[str, ...]) -> None:
    """With the host's class: one that works, or fails as something else, is wrong."""
    *first, last = before
    assert violated(model, life(*first).phase(last).build()) == {"extension.order-refused"}
    assert violated(model, life(*first).phase(last, LOST).build()) == set()
    assert violated(model, life(*first).phase(last, WRONG).build()) == {"extension.order-refused"}


@pytest.mark.parametrize(
    "phases", [("dispose",), ("init", "activate", "dispose"), ("init", "activate", "deactivate")]
)
def test_what_the_document_leaves_open_is_not_judged(
    model: ErrorModel, phases: tuple[str, ...]
) -> None:
    """To dispose of what was never begun or is still active, and to activate once more."""
    last = "activate" if phases[-1] == "deactivate" else phases[-1]
    first = phases if phases[-1] == "deactivate" else phases[:-1]
    for end in ("ok", LOST):
        assert violated(model, life(*first).phase(last, end).build()) == set()


def test_a_phase_that_the_world_makes_fail_may_fail_and_works_again(model: ErrorModel) -> None:
    """As the host's error; the state is the one before."""

    def failing(pair: str, again: str) -> Trace:
        trace = life("init")
        call = "activate-1/1"
        trace.event(
            *("harness", "call.started"),
            call=call,
            task="activate-1",
            copy=1,
            stream=False,
            prompt="",
            do="activate",
        )
        trace.refused(call=call)
        trace.raises(pair, call=call)
        return trace.phase("activate", again).build()

    assert violated(model, failing(LOST, "ok")) == set()
    assert violated(model, failing(WRONG, "ok")) == {"extension.failed-phase"}
    assert violated(model, failing(LOST, LOST)) == {"extension.failed-phase"}


def test_a_wrong_configuration_ends_at_init(model: ErrorModel) -> None:
    """As such, and before anything is done."""

    def configured(pair: str | None, *, act: bool = False) -> set[str]:
        trace = ExtensionTrace().phase("init", pair, config="size is too big", act=act)
        return violated(model, trace.build())

    assert configured(WRONG) == set()
    assert configured("ok") == {"extension.config"}
    assert configured(LOST) == {"extension.config"}
    assert configured(WRONG, act=True) == {"extension.config"}
    assert configured(None) == {"extension.typed-errors"}


def test_dispose_again_does_nothing(model: ErrorModel) -> None:
    """Neither an error nor a request."""
    for options, expected in (
        ({}, set()),
        ({"pair": LOST}, {"extension.dispose-twice"}),
        ({"act": True}, {"extension.dispose-twice"}),
    ):
        trace = life("init", "dispose").phase("dispose", **options)  # type: ignore[arg-type]
        assert violated(model, trace.build()) == expected


def test_nothing_acts_after_dispose(model: ErrorModel) -> None:
    """A request, a declaration, or a task that is left."""
    noisy = life("init", "activate", "deactivate", "dispose").wait("1s")
    noisy.connect("activate-1/1")
    assert violated(model, noisy.build()) == {"extension.quiet"}
    talking = life("init", "dispose")
    talking.event("subject", "declared.event", call="init-1/1", name="still here", fields={})
    assert violated(model, talking.build()) == {"extension.quiet"}
    leaving = life("init", "dispose")
    leaving.event("extension", "extension.residue", call=None, tasks=1, threads=0)
    assert violated(model, leaving.build()) == {"extension.quiet"}


def test_what_an_active_extension_does_is_its_own_business(model: ErrorModel) -> None:
    """Requests between its phases belong to it."""
    trace = life("init", "activate").wait("1s")
    trace.connect("activate-1/1")
    ended = trace.phase("deactivate").phase("dispose").build()  # type: ignore[attr-defined]
    assert violated(model, ended) == set()


@pytest.mark.parametrize(
    ("decision", "to", "good"),
    [("migrate", 2, True), ("migrate", 1, False), ("warn", None, True), ("ignore", None, False)],
)
def test_a_slot_gets_one_of_three_decisions(
    model: ErrorModel, decision: str, to: int | None, good: bool
) -> None:
    """What is migrated has the current version."""
    trace = life("init")
    trace.event(
        "extension",
        "extension.slot_decided",
        call="slot/1",
        stored=1,
        current=2,
        decision=decision,
        migrated_to=to,
    )
    assert (violated(model, trace.build()) == set()) is good


def test_declared_capabilities_are_offered_once_active(model: ErrorModel) -> None:
    """All of them."""
    for names, good in ((["a", "b"], True), (["a"], False)):
        trace = ExtensionTrace(capabilities=("a", "b")).phase("init").phase("activate")
        trace.event(
            "extension",
            "extension.capabilities",
            call="activate-1/1",
            phase="activate",
            names=names,
        )
        assert (violated(model, trace.build()) == set()) is good


@pytest.mark.parametrize(
    ("pair", "wait", "good"),
    [
        ("Cancellation/SessionCancelled", "500ms", True),
        ("Cancellation/SessionCancelled", "2s", False),
        (LOST, "0s", False),
    ],
)
def test_a_cancelled_phase_ends_at_once_as_cancelled(
    model: ErrorModel, pair: str, wait: str, good: bool
) -> None:
    """And is judged by nothing else."""
    trace = life("init")
    call = "activate-1/1"
    trace.event(
        *("harness", "call.started"),
        call=call,
        task="activate-1",
        copy=1,
        stream=False,
        prompt="",
        do="activate",
    )
    trace.event("harness", "cancel.requested", call=None, calls=[call], cancel="c")
    trace.wait(wait)
    trace.raises(pair, call=call)
    assert violated(model, trace.build()) == (set() if good else {"extension.cancel"})
