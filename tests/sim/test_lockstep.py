"""A process of another language takes turns with the world, and meets its network."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.ending import Ending
from faultclock.sim.lockstep import Lockstep, Talk
from faultclock.sim.net.endpoint import Endpoint
from faultclock.sim.net.fates import ConnectFate, Refuse, Resolve, ResolveFails, ResolveFate
from faultclock.sim.world import World

Turn = dict[str, Any]
MS = 1_000_000


class Scripted:
    """A process that answers each turn as a function says, and remembers the turns."""

    def __init__(self, answer: Callable[[Turn], list[Turn]]) -> None:
        self.turns: list[Turn] = []
        self.next_ns: int | None = None
        self._answer = answer

    def exchange(self, turn: Turn) -> Turn:
        """Take a turn."""
        self.turns.append(turn)
        self.next_ns = None
        events = self._answer(turn)
        return {"next_ns": self.next_ns, "events": events}

    def met(self) -> list[tuple[int, str]]:
        """Return what has happened to it, and when in ms."""
        return [
            (turn["now_ns"] // MS, event["op"]) for turn in self.turns for event in turn["events"]
        ]


def lived(
    process: Scripted,
    world: World,
    *,
    resume: bool = False,
    serve: Callable[[Turn, Talk], Turn] | None = None,
    made: Callable[[Lockstep], None] = lambda _: None,
) -> tuple[list[Turn], Ending]:
    """Let one call of it be made, and return the events of the call."""
    program = Lockstep(world.network, process.exchange, noted=lambda _: None, resume=resume)
    program.serve = serve
    made(program)
    events: list[Turn] = []

    def main() -> None:
        CALL_ID.set("ask/1")
        events.extend(program.call({"export": "ask", "arguments": ["Hello"]}))

    ending = world.run(main)
    return events, ending


def echo(server: Endpoint) -> None:
    """Answer what comes, and end."""

    class Sink:
        def on_readable(self) -> None:
            data = server.read(100)
            if data:
                server.send(data.upper())
                server.close()

    server.sink = Sink()


def asking(turn: Turn) -> list[Turn]:
    """Connect, write, and return what comes."""
    done: list[Turn] = []
    for event in turn["events"]:
        if event["op"] == "call":
            assert (event["export"], event["arguments"]) == ("ask", ["Hello"])
            place = {"host": "api.example.com", "port": 443, "tls": True}
            done.append({"op": "connect", "id": 1, "call": event["call"], **place})
        elif event["op"] == "up":
            data = base64.b64encode(b"hello").decode()
            done.append({"op": "write", "id": 1, "call": "ask/1", "data": data})
        elif event["op"] == "data":
            done.append(
                {
                    "op": "returned",
                    "number": 1,
                    "call": "ask/1",
                    "value": base64.b64decode(event["data"]).decode(),
                }
            )
        elif event["op"] == "error":
            done.append({"op": "returned", "number": 1, "call": "ask/1", "value": event["message"]})
    return done


def test_a_connection_of_the_process_is_one_of_the_network() -> None:
    """What it sends arrives one latency later, and each fact belongs to its call."""
    world, process = World(), Scripted(asking)
    world.network.listen("api.example.com", 443, echo)
    events, _ = lived(process, world)
    assert [(event["op"], event["value"]) for event in events] == [("returned", "HELLO")]
    assert process.met() == [(0, "start"), (0, "call"), (10, "up"), (20, "data"), (20, "eof")]
    facts = [(kind, payload.get("call")) for _, _, _, kind, payload in world.recorder.events]
    assert [fact for fact in facts if fact[0].startswith("net.")] == [
        (f"net.{kind}", "ask/1")
        for kind in ("resolve", "connect", "connected", "sent", "delivered", "eof")
    ]


class Policy:
    """Lets each lookup and each attempt have one fate."""

    def __init__(self, resolve: ResolveFate, connect: ConnectFate) -> None:
        self._resolve, self._connect = resolve, connect

    def on_resolve(self, *_: object) -> ResolveFate:
        """Return the fate of a lookup."""
        return self._resolve

    def on_connect(self, *_: object) -> ConnectFate:
        """Return the fate of an attempt."""
        return self._connect


def test_what_fails_in_the_network_has_the_words_of_node() -> None:
    """A lookup that fails takes its time, and a refused connection says where."""
    for policy, message, at_ms in (
        (
            Policy(ResolveFails(delay_ns=7 * MS), Refuse()),
            "getaddrinfo ENOTFOUND api.example.com",
            7,
        ),
        (Policy(Resolve(), Refuse()), "connect ECONNREFUSED api.example.com:443", 10),
    ):
        world, process = World(), Scripted(asking)
        world.network.policy = policy
        events, _ = lived(process, world)
        assert events[-1]["value"] == message
        assert process.met()[-1] == (at_ms, "error")


def test_the_process_is_woken_by_its_next_timer() -> None:
    """A turn without events says only that it is the time that was asked for."""

    def answer(turn: Turn) -> list[Turn]:
        if turn["now_ns"] < 30 * MS:
            process.next_ns = 30 * MS
            return []
        return [{"op": "returned", "number": 1, "call": "ask/1", "value": None}]

    process = Scripted(answer)
    lived(process, World())
    assert [(turn["now_ns"] // MS, len(turn["events"])) for turn in process.turns] == [
        (0, 2),
        (30, 0),
    ]


def test_a_start_says_seed_time_and_whether_a_process_was_killed_before() -> None:
    """It comes before all else, and is all that a process knows of the run."""
    process = Scripted(lambda _: [{"op": "returned", "number": 1, "call": "ask/1", "value": None}])
    world = World(seed=7, life=2, start_ns=5 * MS)
    lived(process, world, resume=True)
    start = process.turns[0]["events"][0]
    assert start["op"] == "start"
    assert (start["seed"], start["resume"]) == (7, True)
    assert process.turns[0]["now_ns"] == 5 * MS


def test_what_the_process_asks_for_is_answered_by_its_number() -> None:
    """An answer may take time and turns, and belongs to the call that asked."""

    def answer(turn: Turn) -> list[Turn]:
        done: list[Turn] = []
        for event in turn["events"]:
            if event["op"] == "call":
                done += [
                    {"op": "tool", "number": n, "call": "ask/1", "tool": f"t{n}"} for n in (1, 2)
                ]
            elif event.get("work"):
                done.append({"op": "tool", "number": event["number"], "value": "done"})
            elif event["op"] == "tool" and event["number"] == 1:
                done.append(
                    {"op": "returned", "number": 1, "call": "ask/1", "value": event["value"]}
                )
        return done

    calls: list[str | None] = []

    def serve(asked: Turn, talk: Talk) -> Turn:
        calls.append(CALL_ID.get())
        if asked["tool"] == "t2":
            return {"value": "at once"}
        world.kernel.pause(40 * MS)
        said = talk.say({"work": True})
        return {"value": f"{asked['tool']} is {said['value']}"}

    world, process = World(), Scripted(answer)
    events, _ = lived(process, world, serve=serve)
    assert events[-1]["value"] == "t1 is done"
    assert calls == ["ask/1", "ask/1"]
    tools = [
        (turn["now_ns"] // MS, event["number"])
        for turn in process.turns
        for event in turn["events"]
        if event["op"] == "tool"
    ]
    assert tools == [(0, 2), (40, 1), (40, 1)]


def test_what_the_process_gives_up_is_told_to_what_serves_it() -> None:
    """A cancel reaches each open call, and what the call waits for hears of it."""

    def answer(turn: Turn) -> list[Turn]:
        done: list[Turn] = []
        for event in turn["events"]:
            if event["op"] == "call":
                done.append({"op": "tool", "number": 1, "call": event["call"], "tool": "slow"})
            elif event["op"] == "cancel":
                done.append({"op": "tool", "number": 1, "stopped": True})
                done.append({"op": "returned", "number": event["number"], "value": "given up"})
        return done

    stopped: list[int] = []

    def serve(_: Turn, talk: Talk) -> Turn:
        talk.on_cancel(lambda: stopped.append(world.kernel.now_ns // MS))
        world.kernel.call_after(30 * MS, lambda: program().cancel())
        world.kernel.pause(90 * MS)
        return {}

    programs: list[Lockstep] = []
    program = lambda: programs[0]  # noqa: E731 - it is made below
    world, process = World(), Scripted(answer)
    events, _ = lived(process, world, serve=serve, made=programs.append)
    assert (events[-1]["value"], stopped) == ("given up", [30])


def test_what_the_process_cannot_simulate_ends_the_run_as_an_escape() -> None:
    """It says what, and at which line."""
    refused = {"op": "refused", "what": "fs.writeFile", "stack": [["/home/me/app.mjs", 3, "ask"]]}
    process = Scripted(
        lambda _: [refused, {"op": "returned", "number": 1, "call": "ask/1", "value": "x"}]
    )
    _, ending = lived(process, World())
    assert ending.reason == "escape"
    assert ending.detail == ("fs.writeFile at app.mjs:3",)


def test_a_process_that_ends_fails_its_calls_and_takes_no_turn_any_more() -> None:
    """What is open is closed, as by the kernel of a machine."""
    process = Scripted(lambda turn: [{"op": "ended", "what": "process.exit(1)", "stack": []}])
    events, ending = lived(process, World())
    assert [event["op"] for event in events] == ["raised"]
    assert events[0]["error"]["message"] == "process.exit(1)"
    assert (ending.reason, len(process.turns)) == ("completed", 1)


def test_what_the_process_does_is_carried_out_in_its_order() -> None:
    """What it asks for has begun before what it does next, also where it waits for nothing."""

    def answer(turn: Turn) -> list[Turn]:
        done: list[Turn] = []
        for event in turn["events"]:
            if event["op"] == "call":
                done.append({"op": "tell", "what": "before"})
                done.append({"op": "use", "number": 1, "call": event["call"]})
                done.append({"op": "tell", "what": "after"})
            elif event["op"] == "use":
                done.append({"op": "returned", "number": 1, "value": event["value"]})
        return done

    order: list[str] = []

    def serve(_: Turn, __: Talk) -> Turn:
        order.append("begun")
        world.kernel.pause(10 * MS)
        order.append("over")
        return {"value": 1}

    def made(program: Lockstep) -> None:
        program.told = lambda event: order.append(event["what"])

    world, process = World(), Scripted(answer)
    events, _ = lived(process, world, serve=serve, made=made)
    assert order == ["before", "begun", "after", "over"]
    assert events[-1]["value"] == 1


def test_two_calls_may_be_made_for_one_call_of_the_run() -> None:
    """Such as the answer of a person while the turn goes on: each has a number of its own."""

    def answer(turn: Turn) -> list[Turn]:
        done: list[Turn] = []
        for event in turn["events"]:
            if event["op"] == "call" and event["export"] == "ask":
                done.append({"op": "use", "number": 1, "call": event["call"]})
            elif event["op"] == "call":
                done.append({"op": "returned", "number": event["number"], "value": "inner"})
                done.append({"op": "returned", "number": 1, "value": event["call"]})
        return done

    inner: list[Turn] = []

    def serve(_: Turn, __: Talk) -> Turn:
        inner.extend(programs[0].call({"export": "back", "arguments": []}))
        return {"value": None}

    programs: list[Lockstep] = []
    events, _ = lived(Scripted(answer), World(), serve=serve, made=programs.append)
    assert [event["value"] for event in inner] == ["inner"]
    assert [event["value"] for event in events] == ["ask/1"]


def test_giving_up_what_is_answered_already_asks_for_nothing() -> None:
    """The answer and the word that it is not wanted have passed each other."""

    def answer(turn: Turn) -> list[Turn]:
        done: list[Turn] = []
        for event in turn["events"]:
            if event["op"] == "call":
                done.append({"op": "use", "number": 7, "call": event["call"]})
            elif event["op"] == "use":
                done.append({"op": "use", "number": 7, "stopped": True})
                done.append({"op": "returned", "number": 1, "value": "over"})
        return done

    served: list[int] = []

    def serve(asked: Turn, _: Talk) -> Turn:
        served.append(asked["number"])
        return {"value": None}

    events, ending = lived(Scripted(answer), World(), serve=serve)
    assert (served, events[-1]["value"], ending.reason) == ([7], "over", "completed")
