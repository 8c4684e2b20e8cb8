"""Several providers in one world: each fallback has a host of its own, the first one the rest.

They share the numbers of their exchanges and nothing else: each has its own faults, and counts
its own attempts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from faultclock.fakes.provider.provider import FakeProvider, ProviderState
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import FallbackProvider
from faultclock.model.scenario.scenario import Scenario
from faultclock.sim.net.fates import ConnectFate, ResolveFate

if TYPE_CHECKING:
    from faultclock.sim.kernel.streams import Streams
    from faultclock.sim.world import World


class ProvidersState(Struct):
    """What all providers remember over the lives of the subject. Plain data: it is pickled.

    Attributes:
        fallbacks: by id.
    """

    first: ProviderState = field(default_factory=ProviderState)
    fallbacks: dict[str, ProviderState] = field(default_factory=dict)

    @classmethod
    def initial(cls, fallbacks: Iterable[FallbackProvider]) -> ProvidersState:
        """Return the state before the first request."""
        first = ProviderState()
        return cls(
            first=first,
            fallbacks={script.id: ProviderState(numbers=first.numbers) for script in fallbacks},
        )


class FakeProviders:
    """The providers of one life of the subject.

    Args:
        payloads: error bodies by name, of the dialect that all of them speak.
        seed: of the run.
        state: of the run; it is changed in place.
        streams: what is left to chance is drawn from; None: from the seed.
        offers: whether the subject offers the model each tool that it may call.

    Raises:
        UnknownNameError, InputError: a script cannot be played; see FakeProvider.
    """

    def __init__(
        self,
        scenario: Scenario,
        payloads: Mapping[str, ErrorPayload],
        seed: int,
        state: ProvidersState,
        streams: Streams | None = None,
        *,
        offers: bool = False,
    ) -> None:
        tools = {tool.name for tool in scenario.world.tools}
        # A way to a tool stands for no answer either.
        tools |= {way.partition(" ")[0] for tool in scenario.world.tools for way in tool.through}
        make = partial(
            FakeProvider,
            payloads=payloads,
            seed=seed,
            observant=True,
            tools=tools,
            offers=offers,
            streams=streams,
        )
        self._first = make(scenario.provider, state=state.first)
        self._fallbacks = {
            script.host_name: make(script, state=state.fallbacks[script.id], id=script.id)
            for script in scenario.world.fallbacks
        }

    def mount(self, world: World) -> None:
        """Serve every host of `world`, and its lookups."""
        for host, provider in self._fallbacks.items():
            provider.mount(world, host)
        self._first.mount(world)
        if self._fallbacks:
            world.network.policy = self

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        for provider in (self._first, *self._fallbacks.values()):
            provider.seal()

    # ------------------------------------------------------------------ for the network

    def on_resolve(
        self, host: str, port: int | None, call_id: str | None, now_ns: int
    ) -> ResolveFate:
        """Return the answer to one lookup (see ConnectPolicy)."""
        return self._behind(host).on_resolve(host, port, call_id, now_ns)

    def on_connect(self, host: str, port: int, call_id: str | None, now_ns: int) -> ConnectFate:
        """Return the answer to one attempt to connect (see ConnectPolicy)."""
        return self._behind(host).on_connect(host, port, call_id, now_ns)

    def _behind(self, host: str) -> FakeProvider:
        # Names are the same in any case, and with a dot at their end.
        return self._fallbacks.get(host.lower().rstrip("."), self._first)
