"""`sim` and `fake_provider`: a person's own code on the simulated clock, in this process."""

from __future__ import annotations

import asyncio
import http.client
import os
import random
import subprocess
import threading
import time

import pytest

from faultclock.errors import InputError, UnknownNameError
from faultclock.pytest_plugin.provider import ScriptedProvider
from faultclock.pytest_plugin.simulation import Simulation, StoppedError, UnsimulatedError
from tests.pytest_plugin.sessions import (  # noqa: F401 - a fixture
    forked_benches,
    inner,
    outcomes,
    project,
)

pytest_plugins = ("pytester",)

#: Made before any simulation: a real one, as the locks of a library that is imported early are.
_REAL_LOCK = threading.Lock()
_HEADERS = {"content-type": "application/json", "authorization": "Bearer sk-any"}


def _asked() -> int:
    """Ask the provider once, as a client would, and return the status."""
    connection = http.client.HTTPConnection("api.example.com")
    body = '{"model": "any", "messages": [{"role": "user", "content": "Hi."}]}'
    connection.request("POST", "/v1/chat/completions", body, _HEADERS)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def test_blocking_and_async_code_take_virtual_time() -> None:
    """Sleeps cost nothing, results and arguments arrive, and the clock goes on in the next run."""
    seen = []

    async def waits(seconds: float, *, then: str) -> str:
        await asyncio.sleep(seconds)
        seen.append(then)
        return then

    def blocks() -> float:
        began_s = time.monotonic()
        time.sleep(3_600)
        return time.monotonic() - began_s

    began_s = time.monotonic()
    with Simulation() as sim:
        assert sim.run(blocks) == pytest.approx(3_600)
        assert sim.run(waits, 10, then="a") == "a"
        assert sim.run(lambda: waits(10, then="b")) == "b"
        assert sim.run(lambda: asyncio.run(waits(10, then="c"))) == "c"
    assert seen == ["a", "b", "c"]
    assert sim.elapsed_s == pytest.approx(3_630)
    assert [event.payload["delay_ns"] for event in sim.events("sleep")] == [3_600 * 10**9]
    assert time.monotonic() - began_s < 60


def test_chance_follows_from_the_seed() -> None:
    """Equal seeds draw equally, and the chance of the process itself is left as it was."""

    def drawn(seed: int) -> tuple[float, bytes]:
        with Simulation(seed=seed) as sim:
            return sim.run(lambda: (random.random(), os.urandom(8)))

    state = random.getstate()
    assert drawn(1) == drawn(1) != drawn(2)
    assert random.getstate() == state


def test_what_is_raised_is_raised_with_the_frames_of_the_test_only() -> None:
    """The innermost frames are the person's own, and none of ours stands before them."""

    async def fails() -> None:
        await asyncio.sleep(1)
        raise LookupError("here")

    with Simulation() as sim, pytest.raises(LookupError, match="here") as told:
        sim.run(fails)
    names = [entry.frame.f_globals["__name__"] for entry in told.traceback[-1:]]
    assert names == [__name__]
    assert not any("kernel" in str(entry.path) for entry in told.traceback)


@pytest.mark.parametrize("real", [os.fork, lambda: subprocess.Popen(["/bin/true"])])
def test_something_real_fails_even_where_it_is_hidden(real: object) -> None:
    """Code that catches everything cannot make a green test of a run that left the simulation."""

    def hides() -> None:
        try:
            real()  # type: ignore[operator]
        except BaseException:
            return

    with Simulation() as sim, pytest.raises(UnsimulatedError, match=r"cannot be part|is real"):
        sim.run(hides)


def test_a_run_that_does_not_end_says_where_it_waits() -> None:
    """A wait for what never comes is told with its place; a real lock by its line."""

    def never() -> None:
        threading.Event().wait()

    def takes_it_twice() -> None:
        def other() -> None:
            with _REAL_LOCK:
                time.sleep(5)

        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(1)
        with _REAL_LOCK:
            thread.join()

    with Simulation() as sim, pytest.raises(StoppedError, match=r"(?s)deadlock:.*Event\.wait"):
        sim.run(never)
    with Simulation(wall_limit_s=0.3) as sim, pytest.raises(StoppedError, match="test_simulation"):
        sim.run(takes_it_twice)
    with Simulation() as sim:
        assert sim.run(lambda: 1) == 1


def test_wrong_use_is_told() -> None:
    """A coroutine in place of its function, and a run inside of a run."""

    async def main() -> None:
        pass

    with Simulation() as sim:
        with pytest.raises(TypeError, match=r"sim\.run\(main\)"):
            sim.run(main())  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="inside"):
            sim.run(lambda: sim.run(lambda: 1))


def test_the_environment_is_that_of_every_run_and_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No proxy and no real key is seen, and what the test itself sets stays its own."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    with Simulation():
        assert "HTTPS_PROXY" not in os.environ
        assert os.environ["OPENAI_API_KEY"] != "real"
        os.environ["OPENAI_API_KEY"] = "mine"
    assert os.environ["HTTPS_PROXY"] == "http://proxy"
    assert os.environ["OPENAI_API_KEY"] == "mine"


def test_the_provider_fails_as_it_is_told_to() -> None:
    """The status of an error is its usual one; attempts are counted over all runs."""
    with Simulation() as sim:
        provider = ScriptedProvider()
        sim.serve(provider)
        provider.fault("http_error", error="rate_limit_exceeded", headers={"retry-after": "7"})
        provider.fault("http_error", attempts="3+", error="server_error")
        provider.script(reply="Hi.")
        assert [sim.run(_asked) for _ in range(4)] == [429, 200, 500, 500]
    assert [item.status for item in provider.exchanges] == [429, 200, 500, 500]
    assert provider.exchanges[0].error is not None
    assert provider.exchanges[0].model == "any"
    provider.check_met()


def test_a_fault_that_cannot_be_is_told() -> None:
    """Kinds, errors and dialects have near names; a wrong value is told with its field."""
    provider = ScriptedProvider()
    with pytest.raises(UnknownNameError, match="http_error"):
        provider.fault("http_eror")
    with pytest.raises(UnknownNameError, match="rate_limit_exceeded"):
        provider.fault("http_error", error="rate_limit_exceded")
    with pytest.raises(InputError, match="status"):
        provider.fault("http_error", error="server_error", status=200)
    with pytest.raises(InputError, match="repply"):
        provider.script(repply="Hi.")
    with pytest.raises(UnknownNameError, match="openai-chat"):
        ScriptedProvider(dialect="openai-chatt")


TESTS = """\
import asyncio
import pytest

pytestmark = pytest.mark.faultclock(dialect="anthropic-messages", seed=3)

def test_unmet(sim, fake_provider):
    fake_provider.fault("http_error", error="overloaded_error", attempts=2)

def test_marked(sim, fake_provider):
    assert (sim.seed, fake_provider.dialect) == (3, "anthropic-messages")

def test_skips(sim):
    sim.run(lambda: pytest.skip("not today"))

def test_compares(sim):
    async def main():
        await asyncio.sleep(1)
        parts = ["a", "b"]
        assert parts == ["a", "c"]
    sim.run(main)

@pytest.mark.faultclock(subject="reference", dialect="openai-chat")
def test_asks_another(sim, fake_provider, subject):
    fake_provider.fault("http_error", error="rate_limit_exceeded", headers={"retry-after": "7"})
    assert sim.run(subject.ask).text == "Hello from the simulated provider."
    assert sim.elapsed_s == pytest.approx(7, abs=0.5)

def test_plays(scenario):
    played = scenario("rate-limits/retry-after-integer").play(subject="reference")
    assert played.verdict == "PASS"
    assert played.trace.of_kind("http.request")
    scenario("rate-limits/retry-after-integer").play(seed=1).check()

def test_expects_anything(sim):
    with pytest.raises(Exception):
        sim.run(asyncio.Event().wait)

def test_hides_what_is_real(sim):
    import os
    try:
        sim.run(os.fork)
    except BaseException:
        pass

@pytest.mark.faultclock(sed=1)
def test_mistyped(sim):
    pass
"""


def test_the_fixtures_in_a_session(pytester: pytest.Pytester, forked_benches: None) -> None:  # noqa: F811
    """Marks reach the fixtures, assertions are explained, and what did not happen is no pass."""
    project(pytester, 'subject = "mini-ignores-retry-after"')
    pytester.makepyfile(TESTS)
    result = inner(pytester, "-v", "-rs")
    text = result.stdout.str()
    assert outcomes(result) == {"passed": 2, "skipped": 1, "failed": 5, "errors": 1}
    for line in (
        "nobody met 'http-error-1' (http_error at attempt 2): 0 requests arrived",
        "AssertionError: assert ['a', 'b'] == ['a', 'c']",
        "FAIL  retries.floor, in rate-limits/retry-after-integer, call ask/1",
        "not today",
        "a run of this test was not simulated to its end, so it shows nothing",
        "deadlock:",
        "@pytest.mark.faultclock takes subject, model, readings, seed, dialect by name, and not",
    ):
        assert line in text, line


def test_the_help_teaches(pytester: pytest.Pytester) -> None:
    """--help, --markers and --fixtures tell what there is."""
    said = inner(pytester, "--help").stdout.str()
    assert "--faultclock-subject" in said
    assert "[tool.faultclock]" in said
    assert "@pytest.mark.faultclock" in inner(pytester, "--markers").stdout.str()
    said = inner(pytester, "--fixtures").stdout.str()
    for sentence in ("Run code on a simulated clock", "A model provider in the simulated network"):
        assert sentence in said
