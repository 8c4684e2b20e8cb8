"""One run gives one sealed trace, the same each time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from faultclock.model.trace.trace import trace_lines
from faultclock.run.execute import execute
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import limited, small


def test_a_retry_after_is_seen_at_its_true_virtual_instant(bound: Callable[[str], Binding]) -> None:
    """Seven seconds to the nanosecond, from the last byte of the 429 to the next connect."""
    scenario = small(provider=limited(retry_after="7"))
    trace = execute(scenario, bound("reference"), 0)
    delivered = next(trace.of_kind("net.delivered")).at_ns
    connects = [event.at_ns for event in trace.of_kind("net.connect")]
    assert connects[1] - delivered == 7_000_000_000


def test_the_same_run_gives_the_same_bytes(bound: Callable[[str], Binding]) -> None:
    """Also in one process, one after the other."""
    scenario = small(provider=limited())
    traces = ["".join(trace_lines(execute(scenario, bound("reference"), 5))) for _ in range(3)]
    assert len(set(traces)) == 1


def test_another_seed_gives_another_wait(bound: Callable[[str], Binding]) -> None:
    """The jitter of the subject is seeded, not removed."""
    scenario = small(provider=limited())
    digests = {execute(scenario, bound("reference"), s).footer.digest for s in (1, 2)}
    assert len(digests) == 2


def test_what_a_subject_raises_is_data() -> None:
    """Even what is no Exception."""

    @provider_adapter(inline=True)
    async def exits(request: ProviderRequest) -> str:
        raise SystemExit(3)

    trace = execute(small(), exits, 0)
    (raised,) = trace.of_kind("call.raised")
    assert trace.footer.ending == "completed"
    assert raised.payload["chain"][0]["type"].endswith("SystemExit")


@pytest.mark.parametrize("way", ["exit", "cancel", "stop", "generator"])
def test_a_subject_that_ends_the_run_from_inside_is_named(way: str) -> None:
    """It is no fault of ours, and no verdict on the subject either."""

    @provider_adapter(inline=True)
    async def ends(request: ProviderRequest) -> str:
        async def exits() -> None:
            raise SystemExit(3)

        if way == "exit":
            asyncio.get_running_loop().create_task(exits())
            await asyncio.sleep(1)
        elif way == "cancel":
            for task in asyncio.all_tasks():
                task.cancel()
        elif way == "stop":
            asyncio.get_running_loop().stop()
        else:
            raise GeneratorExit
        return "done"

    footer = execute(small(), ends, 0).footer
    assert footer.ending == "escape"
    assert footer.detail[0].startswith("the subject ended the run from inside: ")


def test_a_call_that_waits_for_ever_ends_the_run_as_a_deadlock() -> None:
    """And the footer says what it waits for."""

    @provider_adapter(inline=True)
    async def hangs(request: ProviderRequest) -> str:
        await asyncio.Event().wait()
        return "never"

    trace = execute(small(), hangs, 0)
    assert trace.footer.ending == "deadlock"
    assert any("hangs" in line for line in trace.footer.detail)
    assert not list(trace.of_kind("call.returned", "call.raised"))


def test_a_sync_subject_runs_on_the_same_clock() -> None:
    """A blocking sleep takes virtual time, and is recorded."""

    @provider_adapter(inline=True)
    def sleeper(request: ProviderRequest) -> str:
        time.sleep(90)
        return "slept"

    trace = execute(small(), sleeper, 0)
    (slept,) = trace.of_kind("sleep")
    (returned,) = trace.of_kind("call.returned")
    assert (slept.payload["delay_ns"], returned.at_ns) == (90_000_000_000, 90_000_000_000)


def test_copies_of_a_task_are_calls_of_their_own() -> None:
    """Sync copies run on threads, each with its own call id."""

    @provider_adapter(inline=True)
    def sleeper(request: ProviderRequest) -> str:
        time.sleep(1)
        return "slept"

    trace = execute(small(tasks=[{"id": "t", "copies": 3, "at": "2s"}]), sleeper, 0)
    returned = [(event.at_ns, event.payload["call"]) for event in trace.of_kind("call.returned")]
    assert returned == [(3_000_000_000, f"t/{copy}") for copy in (1, 2, 3)]


@pytest.mark.parametrize("after_s", [100, 900, 3_000])
def test_a_background_retry_is_still_seen_after_the_call(after_s: int) -> None:
    """The world goes on for a while after the last call, and until each timer has rung."""
    kept: list[asyncio.Task[None]] = []

    @provider_adapter(inline=True)
    async def forgetful(request: ProviderRequest) -> str:
        async def later() -> None:
            await asyncio.sleep(after_s)
            _, writer = await asyncio.open_connection("api.openai.com", 80)
            writer.close()

        kept.append(asyncio.create_task(later()))
        return "done"

    trace = execute(small(), forgetful, 0)
    (connect,) = trace.of_kind("net.connect")
    assert connect.at_ns == after_s * 1_000_000_000
    assert connect.payload["call"] == "ask/1"
