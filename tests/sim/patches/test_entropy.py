"""Entropy of the operating system is simulated, recorded, and apart from `random`."""

from __future__ import annotations

import os
import random
import secrets
import ssl
import sys
import types
import uuid
from collections.abc import Callable
from os import urandom as aliased_urandom
from typing import Any

import pytest

from faultclock.sim.patches import install, uninstall
from tests.sim.running import facts, run, value_of

_SOURCES: dict[str, Callable[[], Any]] = {
    "os.urandom": lambda: os.urandom(16),
    "alias": lambda: aliased_urandom(16),
    "os.getrandom": lambda: os.getrandom(16),
    "ssl.RAND_bytes": lambda: ssl.RAND_bytes(16),
    "secrets": lambda: secrets.token_bytes(16),
    "SystemRandom": lambda: random.SystemRandom().random(),
    "uuid4": lambda: uuid.uuid4(),
    "uuid1": lambda: uuid.uuid1(),
    "Random()": lambda: random.Random().random(),
    "seed()": lambda: (random.seed(), random.random()),
    "subclass": lambda: type("Mine", (random.Random,), {})().random(),
}


@pytest.mark.parametrize("name", _SOURCES)
def test_equal_seeds_draw_equally_and_others_do_not(name: str) -> None:
    """Whatever the source."""
    draw = _SOURCES[name]
    one, two, other = (value_of(draw, seed=seed) for seed in (7, 7, 8))
    assert one == two != other


def test_a_draw_is_a_fact() -> None:
    """With its source, its size and its call."""
    world, _ = run(lambda: os.urandom(12))
    assert facts(world, "entropy") == [
        (0, {"source": "os.urandom", "bytes_count": 12, "call": None})
    ]


def test_a_uuid_more_does_not_shift_a_jitter() -> None:
    """The two streams are apart."""

    def jitter(draws: int) -> float:
        def subject() -> float:
            for _ in range(draws):
                uuid.uuid4()
            return random.random()

        return float(value_of(subject))

    assert jitter(0) == jitter(5)


def test_time_based_uuids_never_repeat_and_name_no_machine() -> None:
    """They carry the virtual time and a fixed node."""

    def subject() -> list[uuid.UUID]:
        return [uuid.uuid1() for _ in range(3)]

    made = value_of(subject)
    assert len(set(made)) == 3
    assert {one.node for one in made} == {0x0200_0000_0001}
    assert made[0].version == 1
    assert value_of(lambda: uuid.getnode()) == 0x0200_0000_0001


def test_a_negative_size_is_an_error() -> None:
    """As ever."""
    _, ending = run(lambda: os.urandom(-1))
    assert isinstance(ending.error, ValueError)


def test_outside_a_run_entropy_is_real() -> None:
    """Two draws differ, and so do two unseeded generators."""
    assert os.urandom(16) != os.urandom(16)
    assert random.Random().random() != random.Random().random()
    assert uuid.uuid1() != uuid.uuid1()
    state = random.getstate()
    random.seed()
    random.setstate(state)


def test_extension_modules_are_replaced_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their functions draw from the world, and again for real after it."""
    module = types.ModuleType("fastuuid")
    module.UUID = uuid.UUID  # type: ignore[attr-defined]
    for name in ("uuid1", "uuid4", "uuid7"):
        setattr(module, name, lambda *_: "real")
    monkeypatch.setitem(sys.modules, "fastuuid", module)

    def subject() -> tuple[Any, ...]:
        return module.uuid1(), module.uuid4(), module.uuid7()

    first, again = value_of(subject, seed=1), value_of(subject, seed=1)
    assert first == again
    assert [one.version for one in first] == [1, 4, 7]
    assert first[2].int >> 80 == 1_767_225_600_000
    assert module.uuid4() == "real"
    replaced = module.uuid4
    uninstall()
    try:
        assert module.uuid4 is not replaced
    finally:
        install()


def test_numpys_global_generator_is_seeded_and_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If somebody imported it."""
    module = types.ModuleType("numpy.random")
    calls: list[tuple[str, Any]] = []
    module.get_state = lambda: "state"  # type: ignore[attr-defined]
    module.seed = lambda seed: calls.append(("seed", seed))  # type: ignore[attr-defined]
    module.set_state = lambda state: calls.append(("set", state))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numpy.random", module)
    run(lambda: None, seed=9)
    assert calls == [("seed", 9), ("set", "state")]
