"""A tool is bound with its contract, and a contract that cannot hold is refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.errors import SubjectError
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import ToolRetryRule

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


async def weather(call: Any) -> Any:
    """Say how warm it is."""
    return call


def bound(**options: Any) -> Binding:
    """Bind the function above."""
    binding = tool(**options)(weather)
    assert isinstance(binding, Binding)
    return binding


def test_a_bare_decorator_reads_name_and_description_off_the_function() -> None:
    """The shortest binding that there is."""
    binding = tool(weather)
    assert (binding.role, binding.style) == ("tool", "async")
    assert binding.contract.name == "weather"
    assert binding.contract.description == "Say how warm it is."
    assert binding.contract.fixtures == {"valid": {}}


def test_a_blocking_function_is_bound_as_such() -> None:
    """Both styles are tools."""

    @tool(name="clock")
    def now(call: Any) -> str:
        return "noon"

    assert (now.style, now.contract.name) == ("sync", "clock")


def test_an_invalid_fixture_is_made_from_the_schema() -> None:
    """So that nobody has to think one up."""
    fixtures = bound(input_schema=CITY, fixtures={"valid": {"city": "Ulm"}}).contract.fixtures
    assert isinstance(fixtures["invalid"]["city"], dict)


def test_what_a_contract_holds_is_kept() -> None:
    """Retries and deadlines are what the tool is judged by."""
    rule = ToolRetryRule(attempts_max=2, backoff="fixed", base_s=3.0)
    contract = bound(retry=rule, timeout_s=5.0, gated=True, destructive=True).contract
    assert (contract.retry, contract.timeout_s) == (rule, 5.0)
    assert contract.gated
    assert contract.destructive


RETRY = ToolRetryRule(attempts_max=0, backoff="fixed", base_s=1.0)
HALVES = ToolRetryRule(attempts_max=2, backoff="exponential", base_s=1.0, factor=1.5)  # type: ignore[arg-type]
BACKOFF = ToolRetryRule(attempts_max=2, backoff="random", base_s=1.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "The Weather"}, "no name of a tool"),
        ({"input_schema": {"type": "objekt"}}, "input_schema at type is no JSON Schema"),
        ({"output_schema": "object"}, "not a JSON Schema"),
        ({"retry": 3}, "retry is a int"),
        ({"retry": RETRY}, "retry cannot be kept"),
        ({"retry": HALVES}, "factor of 1 or more"),
        ({"retry": BACKOFF}, "unknown backoff 'random'"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"service": {"a": object()}}, "service is no JSON"),
        ({"destructive": True}, "destructive goes with gated"),
        ({"input_schema": CITY}, "fixture 'valid' does not fit input_schema"),
        ({"fixtures": {"invalid": {}}}, "fixture 'invalid' fits input_schema"),
        ({"fixtures": {"worst": {}}}, "unknown 'worst'"),
        ({"fixtures": [1]}, "not a mapping of arguments"),
        ({"open": dict}, "takes no open"),
        ({"schema": {}}, "no option 'schema'"),
    ],
)
def test_a_contract_that_cannot_hold_is_refused(options: dict[str, Any], said: str) -> None:
    """In one clear message, when the file is imported."""
    with pytest.raises(SubjectError, match=said):
        bound(**options)


def test_what_is_no_tool_function_is_refused() -> None:
    """A class, a generator and a wrong signature, each by name."""
    with pytest.raises(SubjectError, match="is a class"):
        tool(type("Weather", (), {}))
    with pytest.raises(SubjectError, match="cannot be called as"):
        tool(name="two")(lambda call, more: None)
    with pytest.raises(SubjectError, match="bound already"):
        tool(tool(weather))  # type: ignore[arg-type]
