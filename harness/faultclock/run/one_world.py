"""One run of a tool or an extension: a world, a service on its network, and one life of a subject.

What is asked of the subject is its driver's business; see `drive_tool` and `drive_extension`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from faultclock.fakes.provider import FakeProvider
from faultclock.model.scenario import ProviderScript, Scenario
from faultclock.model.tape import Chance
from faultclock.run.cancels import Cancels
from faultclock.run.happened import Happened, reason_of
from faultclock.run.notes import noting
from faultclock.run.spoken import payloads_of
from faultclock.run.worlds import choices_of, limits_of
from faultclock.sim.kernel import Kernel
from faultclock.sim.world import World
from faultclock.subjects.binding import Binding

__all__ = ["in_one_world", "service_script"]

_REPLY_DEFAULT = ProviderScript.model_fields["reply"].default


def in_one_world(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    chance: Chance,
    make_main: Callable[[Kernel, Cancels], Callable[[], Any]],
) -> Happened:
    """Run what `make_main` makes, and return what happened."""
    cancels = Cancels(scenario)
    world = World(
        seed=seed,
        limits=limits_of(scenario),
        latency_ns=scenario.provider.latency,
        jitter_ns=scenario.provider.jitter,
        recorder=cancels.recorder(),
        choices=choices_of(scenario, seed, chance),
    )
    cancels.arm(world.kernel)
    script = service_script(scenario.provider, binding)
    service = FakeProvider(script, payloads_of(script), seed=seed, streams=world.choices.streams)
    service.mount(world)
    world.kernel.record("harness", "run.started")
    with noting(world.kernel) as notes:
        ending = world.run(make_main(world.kernel, cancels))
    service.seal()
    cancels.seal()
    reason, detail = reason_of(ending)
    return Happened(
        facts=world.recorder.events,
        ending=reason,
        detail=detail,
        ended_at_ns=world.kernel.now_ns,
        tape=world.choices.noted(),
        notes=notes.taken(),
    )


def service_script(script: ProviderScript, binding: Binding) -> ProviderScript:
    """Return `script` with the answer that the contract gives its service, where it gives one.

    A reply that the scenario writes itself stays.
    """
    service = getattr(binding.contract, "service", None)
    if service is None or script.reply != _REPLY_DEFAULT:
        return script
    reply = service if isinstance(service, str) else json.dumps(service, sort_keys=True)
    return script.model_copy(update={"reply": reply})
