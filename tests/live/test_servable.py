"""What a socket cannot play is told by name, before anybody waits."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.live.servable import base_path, check_servable, program_binding
from faultclock.model.scenario.mishap import CancelRule
from faultclock.model.scenario.provider_script import Endpoint
from tests.live.wires import Bench, scenario


@pytest.mark.parametrize("kind", ["dns_failure", "connect_timeout", "connect_refused"])
def test_faults_before_the_connection_cannot_be_served(kind: str) -> None:
    """The message names the scenario, the fault and the reason."""
    served = scenario({"then": {"kind": kind}})
    with pytest.raises(InputError, match=rf"tests/served: the fault 'f1' \({kind}\)") as caught:
        check_servable(served)
    assert "simulation" in str(caught.value.hint)
    with pytest.raises(InputError):
        Bench(served)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "http_error", "status": 500, "error": "server_error"},
        {"kind": "reset_before_response", "how": "eof"},
        {"kind": "answer_ends", "how": "length"},
        {"kind": "stall"},
        {"kind": "slow_drip", "bytes_per_step": 5, "every": "1ms"},
    ],
)
def test_faults_on_a_connection_can_be_served(fault: dict[str, Any]) -> None:
    """All that is done with bytes and their ends."""
    check_servable(scenario({"then": fault}))


def test_only_a_provider_can_be_served() -> None:
    """A runtime's tools and people are nowhere in the real world."""
    with pytest.raises(InputError, match="is for role runtime"):
        check_servable(scenario(role="runtime"))


def test_a_cancel_cannot_be_served() -> None:
    """The call is made in a program that is none of ours."""
    rule = CancelRule.model_validate({"id": "stop", "scope": "call", "when": {"at": "1s"}})
    with pytest.raises(InputError, match="a cancel cannot be served"):
        check_servable(scenario().model_copy(update={"cancels": (rule,)}))


def test_a_jitter_cannot_be_served() -> None:
    """What is judged by it would not be what the client saw."""
    even = scenario()
    provider = even.provider.model_copy(update={"jitter": 1})
    with pytest.raises(InputError, match="the jitter cannot be served"):
        check_servable(even.model_copy(update={"provider": provider}))


def test_a_base_url_has_the_path_of_the_real_one() -> None:
    """That of the scenario's own endpoint, or of the API."""
    served = scenario()
    assert base_path(served) == "/v1"
    endpoint = Endpoint(base_url="https://example.com/api/v7", model="m")
    provider = served.provider.model_copy(update={"endpoint": endpoint})
    assert base_path(served.model_copy(update={"provider": provider})) == "/api/v7"


def test_a_program_that_is_served_is_never_called() -> None:
    """Its binding is a name: whoever would call it has mixed up two worlds."""
    binding = program_binding("agent", "openai-chat")
    assert (binding.info().id, binding.info().role) == ("agent", "provider_adapter")
    with pytest.raises(InputError):
        binding.invoke_sync(None)  # type: ignore[arg-type]
