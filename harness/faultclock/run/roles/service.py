"""What an adapter, a tool or an extension under test asks over the network."""

from __future__ import annotations

import json

from faultclock.fakes.provider.provider import FakeProvider
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.run.bind_scenario import payloads_of
from faultclock.run.program import Setting
from faultclock.subjects.binding import Binding

_REPLY_DEFAULT = ProviderScript.model_fields["reply"].default


class Service(FakeProvider):
    """A provider that answers as the contract says, mounted in the world of a life."""

    def __init__(self, setting: Setting) -> None:
        script = service_script(setting.scenario.provider, setting.binding)
        world = setting.world
        super().__init__(
            script, payloads_of(script), seed=setting.seed, streams=world.choices.streams
        )
        self.mount(world)


def service_script(script: ProviderScript, binding: Binding) -> ProviderScript:
    """Return `script` with the answer that the contract gives its service, where it gives one.

    A reply that the scenario writes itself stays.
    """
    service = getattr(binding.contract, "service", None)
    if service is None or script.reply != _REPLY_DEFAULT:
        return script
    reply = service if isinstance(service, str) else json.dumps(service, sort_keys=True)
    return script.model_copy(update={"reply": reply})
