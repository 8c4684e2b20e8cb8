"""What a target does in a healthy world."""

from __future__ import annotations

import httpx2
import pytest

from faultclock.run.doctor.abilities import abilities_of
from faultclock.run.doctor.probe import probe
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.registry import load_subject


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("reference", Abilities()),
        ("reference-sync", Abilities(cancels=False)),
        ("reference-tool", Abilities()),
        ("reference-runtime", Abilities(streams="always")),
    ],
)
def test_a_target_shows_what_it_does(subject: str, expected: Abilities) -> None:
    """What is not shown here is left out of the check by name."""
    assert abilities_of(probe(load_subject(subject))) == expected


def test_what_hangs_in_its_trial_is_not_said_to_lack_anything() -> None:
    """What it would have done next is not known, so no situation is left out for it."""

    @provider_adapter(id="hangs-on-tools")
    def hangs(request: ProviderRequest) -> str:
        body = {"model": request.model, "messages": request.messages}
        headers = {"authorization": f"Bearer {request.api_key}"}
        answer = httpx2.post(f"{request.base_url}/chat/completions", json=body, headers=headers)
        message = answer.json()["choices"][0]["message"]
        while message.get("tool_calls"):
            pass
        return str(message["content"])

    probed = probe(hangs)
    assert probed.healthy, probed.why_not
    assert abilities_of(probed, 0.5).tools
