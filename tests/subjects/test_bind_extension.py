"""An extension is bound with its contract, and a contract that cannot hold is refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.errors import SubjectError
from faultclock.subjects.bind_extension import extension
from faultclock.subjects.binding import Binding

SIZE = {
    "type": "object",
    "properties": {"size": {"type": "integer"}},
    "required": ["size"],
    "additionalProperties": False,
}


class Plain:
    """Does nothing in four phases."""

    def __init__(self, host: Any) -> None:
        self.host = host

    def init(self) -> None:
        """Phase 1."""

    def activate(self) -> None:
        """Phase 2."""

    def deactivate(self) -> None:
        """Phase 3."""

    def dispose(self) -> None:
        """Phase 4."""


def bound(made: Any = Plain, /, **options: Any) -> Binding:
    """Bind a class or factory."""
    return extension(**{"kind": "Logger", "contract_version": "1.0.0", **options})(made)


def test_the_ten_fields_have_values() -> None:
    """Nothing normative is left open, whatever was given."""
    contract = bound().contract
    for name in (
        *("kind", "contract_version", "required_core_version", "lifecycle", "config_schema"),
        *("loaded_cardinality", "active_cardinality", "discovery_rules", "reload_behavior"),
    ):
        assert getattr(contract, name) is not None, name
    assert contract.state_slot is None


def test_a_class_says_its_style_and_a_factory_is_async() -> None:
    """Plain phases in a class are blocking code."""
    assert bound().style == "sync"
    assert bound(lambda host: Plain(host)).style == "async"
    assert bound(lambda host: Plain(host), style="sync").style == "sync"

    class Async(Plain):
        async def activate(self) -> None:  # type: ignore[override]
            """Phase 2, awaited."""

    assert bound(Async).style == "async"


def test_fixtures_are_completed() -> None:
    """`worst` is `valid` unless given, and `invalid` is made from the schema."""
    fixtures = bound(config_schema=SIZE, fixtures={"valid": {"size": 1}}).contract.fixtures
    assert fixtures["worst"] == {"size": 1}
    assert fixtures["invalid"] not in ({"size": 1}, {})
    assert bound().contract.fixtures == {"valid": {}, "worst": {}, "invalid": {"unexpected": True}}


def test_a_store_is_active_once() -> None:
    """It is the one field that a kind decides."""
    assert bound(kind="SessionStore").contract.active_cardinality == "one"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "Gadget"}, "no kind of extension"),
        ({"contract_version": "1"}, "contract_version is '1'"),
        ({"contract_version": 1}, "contract_version is 1"),
        ({"config_schema": {"type": "object"}}, "accepts keys that it does not name"),
        ({"config_schema": 3}, "not a JSON Schema"),
        ({"loaded_cardinality": "two"}, "loaded_cardinality is 'two'"),
        ({"reload_behavior": "always"}, "reload_behavior is 'always'"),
        ({"lifecycle": ("init",)}, "lifecycle is not that of every extension"),
        ({"state_slot": -1}, "state_slot is -1"),
        ({"capabilities": "clock"}, "capabilities is not a tuple"),
        ({"kind": "SessionStore", "active_cardinality": "many"}, "SessionStore"),
        ({"config_schema": SIZE}, "fixture 'valid' does not fit"),
        ({"fixtures": {"worst": {"x": 1}}}, "fixture 'worst' does not fit"),
        ({"fixtures": {"invalid": {}}}, "fixture 'invalid' fits"),
        ({"fixtures": {"batch": {}}}, "unknown 'batch'"),
        ({"version": "2"}, "no option 'version'"),
    ],
)
def test_a_contract_that_cannot_hold_is_refused(options: dict[str, Any], said: str) -> None:
    """In one clear message, when the file is imported."""
    with pytest.raises(SubjectError, match=said):
        bound(**options)


def test_a_class_without_a_phase_is_refused() -> None:
    """By the name of the phase that is missing."""

    class Lame:
        def __init__(self, host: Any) -> None: ...
        def init(self) -> None: ...
        def activate(self) -> None: ...
        def dispose(self) -> None: ...

    with pytest.raises(SubjectError, match="has no phase deactivate"):
        bound(Lame)


def test_a_bare_decorator_says_what_is_missing() -> None:
    """Its kind and version cannot be guessed."""
    with pytest.raises(SubjectError, match="kind and version"):
        extension(kind=Plain, contract_version="1.0.0")  # type: ignore[arg-type]
