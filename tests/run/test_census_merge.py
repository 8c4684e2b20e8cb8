"""Two censuses become one when they are of the same thing."""

from __future__ import annotations

import pytest

from faultclock.errors import InputError
from faultclock.model.report.census import Absent
from faultclock.profile.census_merge import merged
from tests.render.sample_census import LIMITED, call, census, client, run


def missing(id_: str) -> Absent:
    """Return a client that is not installed."""
    return Absent(id=id_, title=id_, reason="not installed")


def test_clients_stand_in_the_order_in_which_they_are_shipped() -> None:
    """A person's own come last."""
    mine = census(client("own.py:mine"), client("aiohttp"))
    both = merged(mine, census(client("openai-sync"), client("openai-async")))
    assert [item.id for item in both.clients] == [
        "openai-async",
        "openai-sync",
        "aiohttp",
        "own.py:mine",
    ]


def test_whoever_was_run_in_one_is_not_absent() -> None:
    """Absent is who was run in neither."""
    mine = census(client("aiohttp"), absent=(missing("openai-sync"), missing("stamina")))
    other = census(client("openai-sync"), absent=(missing("aiohttp"), missing("stamina")))
    assert [item.id for item in merged(mine, other).absent] == ["stamina"]


def test_a_client_of_both_is_the_first_ones() -> None:
    """It was run last."""
    mine = census(client("aiohttp", run(LIMITED, call("ok"))))
    assert merged(mine, census(client("aiohttp"))).clients == mine.clients


@pytest.mark.parametrize("name", ["faultclock", "model", "model_revision"])
def test_censuses_of_different_things_are_refused(name: str) -> None:
    """By the name of the difference."""
    with pytest.raises(InputError, match=name.replace("_", " ")):
        merged(census(), census(**{name: "another"}))
    with pytest.raises(InputError, match="scenarios"):
        merged(census(), census(scenarios=()))
