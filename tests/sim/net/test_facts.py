"""The facts that the network records: what the subject did and what it could know, and when."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.net.endpoint import Endpoint
from faultclock.sim.net.fates import Refuse, Resolve
from faultclock.sim.net.network import Network
from faultclock.sim.world import World
from tests.sim.net.scripted import FIN, RESET, THINK, Send, Wait, chat_completion, json_reply
from tests.sim.net.simulation import SECOND, FixedPolicy, simulate

MESSAGES: Any = [{"role": "user", "content": "hi"}]
URL = "https://api.example.com/v1"


def test_one_call_records_each_act_at_its_instant() -> None:
    """Lookup, connect, writes, bytes, close: each with its call, connection and virtual time."""

    def subject() -> None:
        CALL_ID.set("call-1")
        with httpx.Client() as client:
            client.get(URL)

    run = simulate(subject, policy=FixedPolicy(resolve=Resolve(delay_ns=SECOND)))
    events = [
        (at_ns / 1e6, kind, payload)
        for _, at_ns, actor, kind, payload in run.world.recorder.events
        if actor == "network"
    ]
    of_call = {"call": "call-1"}
    on = {"connection": "c1", "call": "call-1"}
    sent, delivered = events[4][2]["bytes_count"], events[5][2]["bytes_count"]
    assert sent > 50
    assert delivered > 200
    assert events == [
        (0, "net.resolving", {"host": "api.example.com", **of_call}),
        (
            1000,
            "net.resolve",
            {"host": "api.example.com", "address": "10.0.0.1", "error": None, **of_call},
        ),
        (1000, "net.connect", {"host": "api.example.com", "port": 443, **on}),
        (1010, "net.connected", on),
        (1010, "net.sent", {"bytes_count": sent, **on}),
        (1040, "net.delivered", {"bytes_count": delivered, **on}),
        (1040, "net.closed", {"how": "close", **on}),
    ]


def test_failed_connect_is_known_when_the_refusal_arrives() -> None:
    """A refusal is recorded with the call that asked, one round trip after the act."""

    def subject() -> None:
        CALL_ID.set("call-1")
        with pytest.raises(httpx.ConnectError):
            httpx.get(URL)

    run = simulate(subject, policy=FixedPolicy(connect=Refuse()))
    assert run.facts("net.connect_failed") == [
        {"at": 0.01, "connection": "c1", "call": "call-1", "error": "refused"}
    ]


@pytest.mark.parametrize(("ending", "kind"), [(FIN, "net.eof"), (RESET, "net.reset")])
def test_end_of_a_connection_is_recorded_when_the_subject_could_know(
    ending: Any, kind: str
) -> None:
    """End of stream and reset are recorded once, one way after the server's act."""

    async def subject() -> None:
        with pytest.raises(httpx.HTTPError):
            async with httpx.AsyncClient() as client:
                await client.get(URL)

    run = simulate(subject, (Wait(SECOND), ending))
    assert [fact["at"] for fact in run.facts(kind)] == pytest.approx([1.02])


def test_every_call_of_a_shared_connection_keeps_its_own_name() -> None:
    """On a pooled connection each write carries the call that wrote, not the one that connected."""

    async def subject() -> None:
        client = openai.AsyncOpenAI()

        async def call(name: str) -> None:
            CALL_ID.set(name)
            await client.chat.completions.create(model="m", messages=MESSAGES)

        await asyncio.create_task(call("first"))
        await asyncio.create_task(call("second"))

    run = simulate(subject)
    assert {fact["connection"] for fact in run.facts("net.sent")} == {"c1"}
    assert list(dict.fromkeys(fact["call"] for fact in run.facts("net.sent"))) == [
        "first",
        "second",
    ]
    assert [fact["call"] for fact in run.facts("net.delivered")] == ["first", "second"]
    [endpoint] = run.service.endpoints
    assert (endpoint.call_id, endpoint.last_call_id) == ("first", "second")


def test_calls_in_threads_keep_their_names() -> None:
    """A thread that a call starts acts in that call's name."""

    def subject() -> None:
        CALL_ID.set("outer")
        thread = threading.Thread(target=lambda: httpx.get(URL))
        thread.start()
        thread.join()

    assert {fact["call"] for fact in simulate(subject).facts("net.sent")} == {"outer"}


def test_sending_a_request_is_few_events() -> None:
    """A call over a kept connection records a handful of facts, so long runs stay small."""

    def subject() -> None:
        client = openai.OpenAI()
        for _ in range(10):
            client.chat.completions.create(model="m", messages=MESSAGES)

    assert len(simulate(subject).kinds) <= 4 * 10 + 4


def test_connections_are_numbered_by_kernel() -> None:
    """Two worlds number their connections, ports and addresses alike."""

    def subject() -> list[Any]:
        sock = socket.create_connection(("api.example.com", 80))
        return [sock.getsockname(), sock.getpeername()]

    first, second = simulate(subject), simulate(subject)
    assert first.value == second.value
    assert first.world.recorder.events == second.world.recorder.events


def test_subject_writes_reach_the_service_with_their_call() -> None:
    """A service sees the host that was asked for and both sides' addresses."""

    def subject() -> None:
        socket.create_connection(("api.example.com", 80)).close()
        time.sleep(1)

    [endpoint] = simulate(subject).service.endpoints
    assert endpoint.hostname == "api.example.com"
    assert endpoint.remote_address == ("10.255.0.1", 40001)
    assert endpoint.local_address == ("10.0.0.1", 80)
    assert not endpoint.is_subject
    assert endpoint.peer.is_subject
    assert endpoint.eof


def test_a_connection_of_a_world_that_is_over_is_dead() -> None:
    """Endpoints kept from an earlier run raise when used, and close quietly."""

    async def first() -> None:
        loop = asyncio.get_running_loop()
        await loop.create_connection(asyncio.Protocol, "api.example.com", 80)

    run = simulate(first)
    [endpoint] = run.service.endpoints
    before = len(run.world.recorder.events)
    assert simulate(lambda: endpoint.send(b"late")).reason == "escape"
    assert simulate(lambda: endpoint.peer.send(b"late")).reason == "escape"
    endpoint.close()
    endpoint.reset()
    assert len(run.world.recorder.events) == before


@given(
    parts=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=12),
    gaps_ns=st.lists(st.integers(0, 30_000_000), min_size=12, max_size=12),
    jitter_ns=st.integers(0, 200_000_000),
    ending=st.sampled_from([FIN, RESET]),
)
def test_bytes_keep_their_order_under_jitter(
    parts: list[bytes], gaps_ns: list[int], jitter_ns: int, ending: Any
) -> None:
    """Whatever the jitter, bytes arrive whole and in order, and the end comes after them."""
    received = bytearray()

    def subject() -> str:
        with socket.create_connection(("api.example.com", 80)) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            try:
                while data := sock.recv(7):
                    received.extend(data)
            except ConnectionResetError:
                return "reset"
            return "fin"

    def prepare(world: World) -> None:
        world.network.jitter_ns = jitter_ns

    steps = [
        item for part, gap in zip(parts, gaps_ns, strict=False) for item in (Wait(gap), Send(part))
    ]
    run = simulate(subject, (THINK, *steps, ending), prepare=prepare)
    assert run.value == ending.name
    assert bytes(received) == b"".join(parts)
    times = [fact["at"] for fact in run.facts("net.delivered")]
    assert times == sorted(times)


def test_a_service_can_be_named_by_host_and_port() -> None:
    """The most exact listener wins: host and port, host, port, any."""
    met: list[str] = []

    def note(name: str) -> Any:
        def service(endpoint: Endpoint) -> None:
            met.append(name)
            endpoint.close()

        return service

    def prepare(world: World) -> None:
        network: Network = world.network
        network.unlisten(None, None)
        network.listen("a.example.com", 80, note("host and port"))
        network.listen("A.example.com", None, note("host"))
        network.listen(None, 8080, note("port"))
        network.listen(None, None, note("any"))

    def subject() -> None:
        for host, port in (("a.example.com", 80), ("a.example.com", 8080), ("b", 8080), ("b", 1)):
            assert socket.create_connection((host, port)).recv(1) == b""

    assert simulate(subject, prepare=prepare).error is None
    assert met == ["host and port", "host", "port", "any"]


def test_a_retry_on_a_fresh_connection_is_a_connect() -> None:
    """After a reset the next act toward the host is a new connection with its own id."""

    def subject() -> None:
        openai.OpenAI(max_retries=1).chat.completions.create(model="m", messages=MESSAGES)

    run = simulate(subject, (THINK, RESET), json_reply(200, chat_completion()))
    first, second = run.facts("net.connect")
    assert (first["connection"], second["connection"]) == ("c1", "c2")
    assert 0.3 < second["at"] - run.facts("net.reset")[0]["at"] < 2
