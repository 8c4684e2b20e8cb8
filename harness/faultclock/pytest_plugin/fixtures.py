"""The fixtures: what a test of one's own gets, each made when a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from faultclock.pytest_plugin.items import MARKER
from faultclock.pytest_plugin.settings import SETUP
from faultclock.pytest_plugin.unfinished import at_end

if TYPE_CHECKING:
    from faultclock.pytest_plugin.playing import BoundSubject, Scenarios
    from faultclock.pytest_plugin.provider import ScriptedProvider
    from faultclock.pytest_plugin.simulation import Simulation

_KNOWN = ("subject", "model", "readings", "seed", "dialect")


@pytest.fixture
def sim(request: pytest.FixtureRequest) -> Iterator[Simulation]:
    """Run code on a simulated clock: `sim.run(main)`, then `sim.elapsed_s` and `sim.trace`.

    Inside of `run`, sleeps and timeouts take no real time, nothing reaches the network or the
    real disk, and the same seed gives the same run. What cannot be simulated fails the test.
    """
    # Imported here: a session without such a test pays for no simulation.
    from faultclock.pytest_plugin.simulation import Simulation

    with Simulation(seed=_marked(request).get("seed", 0)) as simulation:
        at_end(request.node, simulation.check_simulated)
        yield simulation


@pytest.fixture
def fake_provider(request: pytest.FixtureRequest, sim: Simulation) -> ScriptedProvider:
    """A model provider in the simulated network that fails as it is told to.

    `fake_provider.fault("http_error", error="rate_limit_exceeded")` plans a fault; any client
    finds it at `fake_provider.base_url`. A planned fault that nobody met fails the test.
    """
    from faultclock.pytest_plugin.provider import ScriptedProvider

    provider = ScriptedProvider(dialect=_marked(request).get("dialect"), seed=sim.seed)
    sim.serve(provider)
    at_end(request.node, provider.check_met)
    return provider


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> BoundSubject:
    """The code under test, as `@pytest.mark.faultclock(subject=...)` or the project names it.

    `subject.ask("Say hello.")` calls an adapter inside of `sim.run`.
    """
    from faultclock.pytest_plugin.playing import bound_subject

    setup = request.config.stash[SETUP]
    return bound_subject(
        _marked(request).get("subject") or setup.subject, setup.config_file(request.path.parent)
    )


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Scenarios:
    """Load a scenario by its id or file, and play it: `scenario("rate-limits/...").play()`.

    What comes back has `verdict`, `findings`, `trace` and `text`.
    """
    from faultclock.pytest_plugin.playing import Scenarios

    setup = request.config.stash[SETUP]
    marked = _marked(request)
    bench = setup.bench(setup.config_file(request.path.parent), marked.get("subject"))
    return Scenarios(bench, {name: marked.get(name) for name in ("model", "readings", "seed")})


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return what the marks of a test say; the nearest counts."""
    said: dict[str, Any] = {}
    for mark in request.node.iter_markers(MARKER):
        unknown = sorted(mark.kwargs.keys() - set(_KNOWN))
        if mark.args or unknown:
            wrong = ", ".join(unknown) or "what has no name"
            pytest.fail(
                f"@pytest.mark.{MARKER} takes {', '.join(_KNOWN)} by name, and not {wrong}",
                pytrace=False,
            )
        said = {**mark.kwargs, **said}
    return said
