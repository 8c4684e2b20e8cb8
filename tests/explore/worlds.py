"""What tests of explorations share: a scenario that varies, and a subject that may die."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

from faultclock.model.scenario.scenario import Scenario
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import limited, small


def varying(**changes: Any) -> Scenario:
    """Return a scenario of two calls that meet a limit, or do not, after some time."""
    provider: Mapping[str, Any] = limited(retry_after="2")
    values: dict[str, Any] = {
        "id": "tests/varying",
        "tasks": [{"id": "one"}, {"id": "two"}],
        "provider": provider,
        "vary": {
            "values": {
                "provider.think_time": {"from": "0s", "to": "3s"},
                "provider.faults.limited.then.headers.retry-after": {"any_of": ["1", "3"]},
                "tasks.two.copies": {"from": 1, "to": 3},
            },
            "may_lack": ["limited"],
        },
    }
    return small(**(values | changes))


@provider_adapter(id="careless", inline=True)
def careless(request: ProviderRequest) -> str:
    """Answers by itself, and raises KeyError where the person asks for it."""
    if "raise" in str(request.messages):
        raise KeyError("region")
    return "a cached answer"


@provider_adapter(id="deadly", inline=True)
def deadly(request: ProviderRequest) -> str:
    """Kills the process that it is in where the person asks for it."""
    if "die" in str(request.messages):
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"
