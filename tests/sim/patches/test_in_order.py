"""Sets of libraries that are gone through have one order in the world."""

from __future__ import annotations

import asyncio

import anyio
from botocore.useragent import UserAgentString

from faultclock.sim.patches.in_order import SetInOrder
from tests.sim.running import value_of


def test_a_cancel_reaches_nested_scopes_in_the_order_in_which_they_were_entered() -> None:
    """Forty tasks, each in a scope of its own; by address they would come in any order."""

    async def subject() -> list[int]:
        cancelled: list[int] = []

        async def work(number: int) -> None:
            # Scopes of different sizes of garbage apart: neighbours would come in order anyway.
            garbage.append(bytearray(number * 37 % 11 * 16 + 1))
            with anyio.CancelScope():
                try:
                    await anyio.sleep(60)
                except asyncio.CancelledError:
                    cancelled.append(number)
                    raise

        garbage: list[bytearray] = []
        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(work, number)
            await anyio.sleep(1)
            group.cancel_scope.cancel()
        return cancelled

    assert value_of(subject) == list(range(40))


def test_features_of_botocore_are_told_in_one_order() -> None:
    """They are a set of texts, so a request would be another one for every hash seed."""

    def subject() -> list[str]:
        agent = UserAgentString("linux", "6", "x86_64", "3", "CPython", None, None)
        agent.set_client_features({"Z", "N", "b", "E", "e"})
        return [part.name for part in agent._build_feature_metadata()]

    assert value_of(subject) == ["E,N,Z,b,e"]


def test_it_is_as_much_of_a_set_as_is_used() -> None:
    """What is put in twice is there once, and keeps its place."""
    kept = SetInOrder()
    for item in ("c", "a", "b", "c"):
        kept.add(item)
    kept.remove("a")
    kept.discard("z")
    assert list(kept) == ["c", "b"]
    assert "b" in kept
    assert len(kept) == 2
