"""Serving a scenario from the first connection to the sealed trace.

What ends it is a person (Ctrl-C, or SIGTERM), the program that was started for it, or the first
good answer. At any end, what happened until then is sealed and returned.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any, BinaryIO

from msgspec import Struct, field

from faultclock.errors import InputError
from faultclock.live.command import record_end, run_command
from faultclock.live.environment import environment
from faultclock.live.kernel import LiveKernel
from faultclock.live.sealing import sealed_live
from faultclock.live.server import HOST, LiveServer
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.sim.kernel.recorder import Fact
from faultclock.subjects.binding import Binding


class Where(Struct, frozen=True, kw_only=True):
    """Where the provider is to be found.

    Attributes:
        base_url: for a program that has one base URL.
        by_call: the base URL of each call.
        variables: an environment in which the clients of its API find it.
    """

    base_url: str
    by_call: dict[str, str]
    variables: dict[str, str]


class Serving(Struct, frozen=True, kw_only=True):
    """What to serve, and until when.

    Attributes:
        scenario: with its dialect filled in.
        binding: whose trace it becomes.
        seed: of the run.
        port: of the loopback interface; 0 for any that is free.
        command: a program to run; when it ends, so does the serving.
        output: where the program's standard output goes; None: to ours.
        replies: whether what the program prints is its reply.
        once: whether to end with the first good answer.
        on_ready: called with the provider's address, as soon as it is there.
        on_fact: called with each fact.
    """

    scenario: Scenario
    binding: Binding
    seed: int
    port: int = 0
    command: tuple[str, ...] = ()
    output: BinaryIO | None = None
    replies: bool = False
    once: bool = False
    on_ready: Callable[[Where], None] = field(default=lambda _: None)
    on_fact: Callable[[Fact], None] = field(default=lambda _: None)


def serve(serving: Serving) -> Trace:
    """Serve until the end, and return the sealed trace.

    Raises:
        InputError: the scenario cannot be served, the port is taken, or the program cannot start.
    """
    return asyncio.run(_serve(serving))


async def _serve(serving: Serving) -> Trace:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    broken: list[BaseException] = []

    def watch(fact: Fact) -> None:
        serving.on_fact(fact)
        if serving.once and _is_good_end(fact):
            # The end of the answer is still on its way to the client, and its close to us.
            loop.call_later(scenario.provider.latency / SECOND_NS + _GOODBYE_S, stop.set)

    def fail(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        broken.append(error if error is not None else RuntimeError(str(context.get("message"))))
        stop.set()

    scenario = serving.scenario
    loop.set_exception_handler(fail)
    kernel = LiveKernel(loop, watch=watch)
    server = LiveServer(scenario, kernel, seed=serving.seed)
    try:
        await server.start(serving.port)
    except OSError as error:
        raise InputError(
            f"{HOST}:{serving.port} cannot be listened at: {error.strerror or error}",
            hint="leave out --port to use any free port",
        ) from None
    where = _where(server)
    serving.on_ready(where)
    with _interrupts(loop, stop):
        try:
            await _until_the_end(serving, server, where, stop)
        finally:
            await server.stop()
    if broken:
        raise broken[0]
    return sealed_live(scenario, serving.binding, serving.seed, kernel)


#: How long a client may take to close, in seconds, before the provider goes.
_GOODBYE_S = 0.2


async def _until_the_end(
    serving: Serving, server: LiveServer, where: Where, stop: asyncio.Event
) -> None:
    if not serving.command:
        await stop.wait()
        for call in server.begun:
            server.kernel.record("harness", "call.left", call=call, exit_code=None, signal=None)
        return
    server.begin_calls()
    ended = await run_command(
        serving.command,
        where.variables,
        stop=stop,
        output=serving.output,
        listen=serving.replies,
    )
    # What it closed by ending has to be seen before the end is reported.
    await asyncio.sleep(_SETTLE_S)
    record_end(server, ended)


#: How long after the end of a program its last acts on the network may be on their way to us.
_SETTLE_S = 0.05


def _where(server: LiveServer) -> Where:
    by_call = {call: server.base_url(call) for call in server.routes.calls}
    base_url = server.base_url()
    dialect = server.scenario.provider.dialect
    return Where(
        base_url=base_url, by_call=by_call, variables=environment(dialect, base_url, by_call)
    )


@contextlib.contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Any:
    """Let a person's Ctrl-C, or SIGTERM, end the serving properly while inside."""
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _is_good_end(fact: Fact) -> bool:
    _, _, _, kind, payload = fact
    return kind == "http.exchange_ended" and payload.get("finish_reason") is not None
