"""The KODE SDK model carries its whole guide: its tables are written out here once more."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel, SignalRule
from faultclock.model.error_model.event_sets import EventPattern, resolved
from faultclock.model.error_model.ordering import OrderingRule

MODEL = load_error_model("kode-sdk")

#: Error Types: type to identifier and retryability.
TYPES = {
    "validation": ("_validationError", False),
    "runtime": ("_thrownError", True),
    "logical": (None, True),
    "aborted": (None, False),
    "exception": (None, True),
}
#: Typical scenarios of each type, as the world shows them.
SEEN_AS = {
    "validation": {"tool_input_invalid"},
    "runtime": {"tool_exception", "subagent_failed"},
    "logical": {"tool_failed", "tool_unavailable", "subagent_failed"},
    "aborted": {"tool_timeout", "subagent_timeout", "tool_cancelled"},
    "exception": {"tool_unknown"},
}
#: Error Flow, Return to Model.
SHAPE = {"ok", "error", "errorType", "retryable", "recommendations"}
SEVERITIES = ("warn", "error")
PHASES = ("model", "tool", "sandbox", "system")
#: The states and channels that the system's event types have.
STATES = {"FAILED", "COMPLETED", "DENIED", "SEALED"}
CHANNELS = {
    "progress": {"tool:start", "tool:error", "tool:end", "done", "text_chunk"},
    "control": {"permission_required", "permission_decided"},
    "monitor": {"error", "state_changed", "step_complete", "tool_executed", "agent_resumed"},
}


def _rule(id_: str, model: ErrorModel = MODEL) -> OrderingRule:
    return next(rule for rule in model.ordering if rule.id == id_)


def _one(ref: Any) -> EventPattern:
    ((_, pattern),) = resolved(ref, MODEL.events)
    return pattern


def _signal(id_: str, model: ErrorModel) -> SignalRule:
    return next(rule for rule in model.signals if rule.id == id_)


def test_the_five_types_are_the_codes_of_a_tool() -> None:
    """No type is missing, and none is made up."""
    tool = next(item for item in MODEL.classes if item.id == "tool")
    assert set(tool.codes) == set(TYPES)
    assert tool.disposition == "surface_to_model"
    assert tool.dispositions == {}


@pytest.mark.parametrize("code", TYPES)
def test_a_type_is_told_with_the_flag_of_the_table(code: str) -> None:
    """To the model and to the monitor alike."""
    _, retryable = TYPES[code]
    told = next(rule for rule in MODEL.telling if rule.id == "told-retryable")
    assert told.retryable[code] is retryable
    id_ = "retryable-is-monitored" if retryable else "not-retryable-is-monitored"
    assert code in _one(_rule(id_).among).where["fields.detail.errorType"]  # type: ignore[operator]
    assert _one(_rule(id_).event).where["fields.detail.retryable"] is retryable


@pytest.mark.parametrize("code", SEEN_AS)
def test_a_type_is_seen_as_its_typical_scenarios(code: str) -> None:
    """What the table names is what the signals lead from."""
    kinds = {kind for rule in MODEL.signals if rule.code == code for kind in rule.when.kinds}
    assert kinds == SEEN_AS[code]


@pytest.mark.parametrize("code", [code for code, (flag, _) in TYPES.items() if flag])
def test_a_layer_leaves_its_flag(code: str) -> None:
    """The identifiers of the table are fields of the record."""
    id_ = "validation-is-flagged" if code == "validation" else "thrown-is-flagged"
    assert _one(_rule(id_).among).where["record.code"] == code
    assert _one(_rule(id_).event).where[f"record.context.{TYPES[code][0]}"] is True


@pytest.mark.parametrize("code", TYPES)
def test_each_type_is_monitored_under_its_name(code: str) -> None:
    """`event.detail.errorType` is what statistics count by."""
    rule = _rule(f"{code}-is-monitored")
    assert _one(rule.event).where["code"] == code
    assert _one(rule.other).where["fields.detail.errorType"] == code


def test_the_model_is_told_the_five_fields() -> None:
    """ok, error, errorType, retryable, recommendations, of every tool error."""
    rules = [item for item in MODEL.telling if item.audience == "model"]
    assert {name for rule in rules for name in rule.fields} == SHAPE
    whole = {name for rule in rules if rule.applies_to == ("tool/*",) for name in rule.fields}
    assert whole == SHAPE


def test_the_message_of_each_type_is_asked_to_be_specific() -> None:
    """A tool's own words are handed on; where it has none, the runtime's tell the types apart."""
    handed_on, own = set(), set()
    for rule in MODEL.telling:
        said = rule.fields.get("error") if rule.audience == "model" else None
        if said is not None and said.holds == "message":
            handed_on |= set(rule.applies_to)
        elif said is not None and said.differs_by == ("code",):
            own |= set(rule.applies_to)
    assert handed_on == {"tool/runtime", "tool/logical"}
    assert handed_on | own == {f"tool/{code}" for code in TYPES}


def test_an_interrupted_turn_ends_as_one_and_says_so() -> None:
    """To the caller as its state, and to whoever listens as the reason of `done`."""
    ends = next(item for item in MODEL.consequences if item.id == "interrupt-ends-the-turn")
    assert set(ends.states) == {"interrupted", "cancelled"}
    rule = _rule("done-says-interrupted")
    assert set(_one(rule.event).where["result.state"]) == set(ends.states)  # type: ignore[arg-type]
    assert _one(rule.other).where["fields.reason"] == "interrupted"


@pytest.mark.parametrize(
    ("id_", "fields"),
    [
        ("done-has-a-reason", {"fields.reason"}),
        ("decision-has-its-decider", {"fields.callId", "fields.decidedBy"}),
    ],
)
def test_what_another_rule_reads_has_to_be_there(id_: str, fields: set[str]) -> None:
    """Or that rule would find nothing to judge in whoever leaves the field out."""
    rule = _rule(id_)
    assert rule.pattern == "universality"
    assert set(_one(rule.event).has) == fields


def test_the_monitors_error_has_the_sets_of_the_guide_and_of_the_code_by_a_switch() -> None:
    """They differ, and both can be judged by."""
    severity = _one(_rule("monitor-error-severity").event).where["fields.severity"]
    assert severity == SEVERITIES
    assert _one(_rule("monitor-error-phase").event).where["fields.phase"] == PHASES
    code = load_error_model("kode-sdk", {"monitor-sets": "code"})
    assert "info" in _one(_rule("monitor-error-severity", code).event).where["fields.severity"]  # type: ignore[operator]
    assert "lifecycle" in _one(_rule("monitor-error-phase", code).event).where["fields.phase"]  # type: ignore[operator]


def test_every_event_of_the_system_has_its_name() -> None:
    """A rule reads as the system's own documents do."""
    names = {name for names in CHANNELS.values() for name in names}
    assert names <= MODEL.events.keys()


def test_every_state_at_the_end_of_a_call_is_spoken_of() -> None:
    """COMPLETED, FAILED, DENIED and SEALED."""
    found: set[object] = set()
    for rule in MODEL.ordering:
        for ref in (rule.event, rule.other):
            for _, pattern in resolved(ref, MODEL.events):
                state = pattern.where.get("fields.call.state")
                found |= set(state) if isinstance(state, tuple) else {state}
    assert found >= STATES


def test_a_tool_error_is_no_crash_and_a_hook_is_not_felt() -> None:
    """Error isolation, and the fourth layer."""
    goes_on = {
        pair for item in MODEL.consequences if item.run == "goes_on" for pair in item.applies_to
    }
    assert goes_on == {"tool/runtime", "tool/exception", "tool/*", "system/hook"}


def test_nothing_is_tried_again_by_the_runtime() -> None:
    """The model decides, and the application above the agent."""
    assert MODEL.policies == ()
    assert _signal("model", MODEL).disposition is None


@pytest.mark.parametrize(
    ("switch", "option", "signal", "pair"),
    [
        ("thrown-exception", "exception", "thrown", ("tool", "exception")),
        ("unknown-tool", "validation", "unknown-tool", ("tool", "validation")),
        ("unknown-tool", "unmapped", "unknown-tool", (None, None)),
        ("denial", "runtime", "denied", ("tool", "runtime")),
    ],
)
def test_a_reading_makes_a_failure_another_one(
    switch: str, option: str, signal: str, pair: tuple[str | None, str | None]
) -> None:
    """Where the guide contradicts itself or its code, either can be chosen."""
    rule = _signal(signal, load_error_model("kode-sdk", {switch: option}))
    assert (rule.error_class, rule.code) == pair


def test_the_flow_text_makes_an_abort_retryable() -> None:
    """ "validation not retryable, others retryable"."""
    flow = load_error_model("kode-sdk", {"aborted-retryable": "flow"})
    told = next(rule for rule in flow.telling if rule.id == "told-retryable")
    assert told.retryable == {**{code: flag for code, (_, flag) in TYPES.items()}, "aborted": True}


def test_the_sentences_of_the_guide_are_quoted_and_those_of_the_system_say_so() -> None:
    """What is not quoted stands on another page."""
    for requirement in MODEL.requirements:
        assert (requirement.wording == "paraphrased") == (requirement.document is not None)
