"""What a document asks of tools and extensions is checked when it is loaded."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.role_rules import ExtensionRules, PhaseRule, ToolRules

LIFE: dict[str, Any] = {
    "initial": "off",
    "active": "on",
    "disposed": "gone",
    "phases": [
        {"phase": "activate", "accepted": ["off"], "to": "on"},
        {"phase": "dispose", "accepted": ["on"], "to": "gone"},
    ],
    "invalid_config": "Validation/ConfigSchemaViolation",
    "refusal_class": "ExtensionHost",
    "failure_class": "ExtensionHost",
    "cancelled_class": "Cancellation",
}


def test_a_phase_is_found_by_its_name() -> None:
    """And one that the document does not have is none."""
    rules = ExtensionRules.model_validate(LIFE)
    found = rules.phase("activate")
    assert found is not None
    assert found.to == "on"
    assert rules.phase("init") is None


def test_a_state_that_no_phase_leads_to_is_a_mistake() -> None:
    """It would never be judged."""
    with pytest.raises(ValidationError, match="no phase leads to the state 'asleep'"):
        ExtensionRules.model_validate({**LIFE, "active": "asleep"})


def test_no_state_is_both_accepted_and_refused() -> None:
    """A phase has to work there, or not."""
    with pytest.raises(ValidationError, match="'off' is both"):
        PhaseRule.model_validate(
            {"phase": "init", "accepted": ["off"], "refused": ["off"], "to": "on"}
        )


def test_pairs_are_written_as_class_and_code() -> None:
    """A code alone says nothing."""
    values = {
        "classes": ["ToolTerminal"],
        "invalid_input": "InputInvalid",
        "malformed_output": "ToolTerminal/OutputMalformed",
        "deadline": "ToolTransient/ExecutionTimeout",
        "cancelled": "Cancellation/ToolCancelled",
    }
    with pytest.raises(ValidationError, match="invalid_input"):
        ToolRules.model_validate(values)


def test_the_shipped_model_knows_every_pair_that_it_names() -> None:
    """Each class and code is in its own table of classes."""
    model = load_error_model("stud-cli")
    assert model.tools is not None
    assert model.extensions is not None
    codes = {item.id: item.codes for item in model.classes}
    for pair in (
        *(model.tools.invalid_input, model.tools.malformed_output, model.tools.deadline),
        *(model.tools.cancelled, model.extensions.invalid_config),
    ):
        class_name, code = pair.split("/")
        assert code in codes[class_name]
    named = {*model.tools.classes, model.extensions.refusal_class, model.extensions.failure_class}
    assert named <= codes.keys()


def test_what_a_service_does_to_a_tool_is_classified_before_the_general_rule() -> None:
    """Rules are tried in order: none stands behind one that takes all it could match."""
    order = [rule.id for rule in load_error_model("stud-cli").tool_signals]
    for special in ("tool-forbidden", "tool-not-found", "tool-busy", "tool-gateway-timeout"):
        assert order.index(special) < order.index("tool-request-refused")
        assert order.index(special) < order.index("tool-service-failed")
