"""A process of another language as an actor of the world, in lock step with its clock.

The process does nothing between two turns. A turn is one line each way: what time it is and what
has happened, then what it did about it and when its next timer rings. Its connections are endpoints
of the simulated network, so it meets what every other subject meets. The page is
`docs/reference/lockstep.md`. What the lines travel through is no business of this file.
"""

from __future__ import annotations

import base64
import binascii
import errno
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from typing import Any

from faultclock.errors import InternalError
from faultclock.model.duration import MILLISECOND_NS
from faultclock.sim.kernel.actors import Wake
from faultclock.sim.kernel.context import CALL_ID, WORKING, current_call
from faultclock.sim.kernel.kernel import Call, Kernel
from faultclock.sim.net.endpoint import Endpoint
from faultclock.sim.net.network import Attempt, Network

Event = dict[str, Any]
#: Gives the process a line, and returns the one that it answers.
Exchange = Callable[[Event], Event]

_READ_MAX = 1 << 16
#: What the process asks for, and is answered by an event of the same name and number.
_ASKS = ("tool", "ask", "use")
#: The last event of a call.
_ENDS = ("returned", "raised")
_SEED_MASK = (1 << 32) - 1


class Lockstep:
    """The process in one life of its subject.

    Args:
        exchange: takes a turn of it.
        noted: is shown what helps a person to find a line, and is no fact: `waited`, `wrote`.
        resume: whether an earlier process of this run was killed.
        folder: the real path of the folder of the run; None: it has none.

    Attributes:
        lane: the order of its turns, by its name; see `kernel.lanes`.
        serve: answers what the process asks for, on a simulated thread; None: nobody does.
        told: takes what the process says and wants no answer to; it must not block.
    """

    lane = "program"
    serve: Callable[[Event, Any], Event] | None = None
    told: Callable[[Event], None] | None = None

    def __init__(
        self,
        network: Network,
        exchange: Exchange,
        *,
        noted: Callable[[Event], None],
        resume: bool = False,
        folder: str | None = None,
    ) -> None:
        self.network = network
        self.kernel: Kernel = network.kernel
        self._exchange = exchange
        self._noted = noted
        self._inbox: list[Event] = []
        self._turn: Call | None = None
        self._timer: Call | None = None
        self._connections: dict[int, _Connection] = {}
        self._calls: dict[int, _Inbox] = {}
        self._calls_made = 0
        self._done: deque[Event] = deque()
        self._is_acting = False
        self._talks: dict[int, Talk] = {}
        self._ended: Event | None = None
        self.post(
            {
                "op": "start",
                "seed": self.kernel.seed & _SEED_MASK,
                "epoch_ms": self.kernel.epoch_ns // MILLISECOND_NS,
                "resume": resume,
                "folder": folder,
            }
        )

    def call(self, what: Mapping[str, Any]) -> Iterator[Event]:
        """Ask the process for something, and yield what it says of it: the last event ends it.

        Args:
            what: `export` and `arguments`, and what else a call may say.
        """
        self._calls_made += 1
        number = self._calls_made
        asked = self._calls[number] = _Inbox(self.kernel)
        if self._ended is not None:
            asked.take(self._ended)
        else:
            self.post({**what, "op": "call", "number": number, "call": current_call()})
        try:
            while True:
                event = asked.next_event()
                yield event
                if event["op"] in _ENDS:
                    return
        finally:
            self._calls.pop(number, None)

    def cancel(self) -> None:
        """Ask the process to give up every call that is open."""
        for number in self._calls:
            self.post({"op": "cancel", "number": number})

    def post(self, event: Event) -> None:
        """Let something happen to the process at this instant."""
        if self._ended is None:
            self._inbox.append(event)
            if self._turn is None and not self._is_acting:
                self._turn = self.kernel.call_after(0, self._take_turn)

    # ------------------------------------------------------------------ a turn

    def _take_turn(self) -> None:
        for due in (self._turn, self._timer):
            if due is not None:
                due.cancel()
        self._turn = self._timer = None
        if self._ended is not None:
            return
        events, self._inbox = self._inbox, []
        answer = self._exchange({"now_ns": self.kernel.now_ns, "events": events})
        self._done.extend(answer["events"])
        self._is_acting = True
        self._go_on(answer["next_ns"])

    def _go_on(self, next_ns: int | None) -> None:
        """Carry out what the process has done, then let it wait for its timer or an event.

        Where something goes on on a thread, such as what it asks for, that comes first, and then
        what the process has done after it.
        """
        while self._done:
            goes_on = self._carry_out(self._done.popleft())
            if goes_on and self._done:
                self.kernel.call_after(0, self._go_on, next_ns)
                return
        self._is_acting = False
        if self._ended is not None:
            return
        if self._inbox:
            self._turn = self.kernel.call_after(0, self._take_turn)
        if next_ns is not None:
            self._timer = self.kernel.call_at(max(next_ns, self.kernel.now_ns), self._take_turn)

    def _carry_out(self, event: Event) -> bool:
        """Do what the process has done, as the call that did it.

        Returns:
            Whether a thread goes on with it.
        """

        def act() -> bool:
            CALL_ID.set(event.get("call"))
            WORKING.set(event.get("tool") if event["op"] == "connect" else None)
            match event["op"]:
                case "connect":
                    self._connections[event["id"]] = _Connection(self, event)
                case "write" | "end" | "close" as op:
                    if (connection := self._connections.get(event["id"])) is not None:
                        getattr(connection, op)(event)
                case "returned" | "raised" | "yielded":
                    if (asked := self._calls.get(event["number"])) is not None:
                        asked.take(event)
                        return True
                case "tell":
                    if self.told is None:
                        raise InternalError("a process tells what nothing here takes")
                    self.told(event)
                case op if op in _ASKS:
                    return self._take(event)
                case "refused":
                    self.kernel.escaped(event["what"], _site(event["stack"]))
                case "ended":
                    self._end(event)
                case _:
                    self._noted(event)
            return False

        return copy_context().run(act)

    def _take(self, event: Event) -> bool:
        """Have what the process asks for answered, or go on with that; return whether it was so."""
        number = event["number"]
        if (talk := self._talks.get(number)) is not None:
            talk.take(event)
            return True
        if event.get("stopped"):
            # The answer is on its way.
            return False
        if self.serve is None:
            raise InternalError(f"a process asks for {event['op']} where nothing answers that")
        talk = self._talks[number] = Talk(self, event)
        context = copy_context()
        threading.Thread(
            target=lambda: context.run(self._answer, event, talk),
            name=f"{event['op']} {number} of the program",
            daemon=True,
        ).start()
        return True

    def _answer(self, event: Event, talk: Talk) -> None:
        assert self.serve is not None, "it was asked for"
        answer = self.serve(event, talk)
        del self._talks[event["number"]]
        talk.post(answer)

    def _end(self, event: Event) -> None:
        """Let every call fail by the end of the process, and what it has open be closed."""
        error = {"type": "ProcessEnded", "message": event["what"], "is_made": True}
        error |= {"stack": event.get("stack") or [], "cause": event.get("error")}
        self._ended = {"op": "raised", "error": error}
        for asked in list(self._calls.values()):
            asked.take(self._ended)
        for connection in self._connections.values():
            connection.close({"reset": False})


class _Inbox:
    """The events of one call, on the thread that waits for them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._events: deque[Event] = deque()
        self._wake: Wake | None = None

    def take(self, event: Event) -> None:
        self._events.append(event)
        if self._wake is not None:
            self._kernel.fire(self._wake)

    def next_event(self) -> Event:
        while not self._events:
            self._wake = self._kernel.waiter("the program of another language")
            self._kernel.park(self._wake)
        return self._events.popleft()


class Talk(_Inbox):
    """Something that the process asks for, until it is answered."""

    def __init__(self, program: Lockstep, event: Event) -> None:
        super().__init__(program.kernel)
        self._program = program
        self._named = {"op": event["op"], "number": event["number"]}
        self._stops: list[Callable[[], None]] = []

    def post(self, answer: Event) -> None:
        """Say something to the process."""
        self._program.post({**answer, **self._named})

    def say(self, answer: Event) -> Event:
        """Say something to the process, and return what it says to that."""
        self.post(answer)
        return self.next_event()

    def take(self, event: Event) -> None:
        """Hear what the process says: more of what it asks for, or that it gives up."""
        if not event.get("stopped"):
            super().take(event)
            return
        for callback in self._stops:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the process gives up."""
        self._stops.append(callback)


class _Connection:
    """One connection of the process, from the lookup of its host on."""

    def __init__(self, program: Lockstep, event: Event) -> None:
        self._program = program
        self._network = program.network
        self._id: int = event["id"]
        self._host, self._port = str(event["host"]), int(event["port"])
        self._call = current_call()
        self._attempt: Attempt | None = None
        self._endpoint: Endpoint | None = None
        self._is_closed = False
        fate = self._network.begin_resolve(self._host, self._port)
        if fate.delay_ns:
            self._network.kernel.call_after(fate.delay_ns, self._as_call, self._resolved, fate)
        else:
            self._resolved(fate)

    @property
    def lane(self) -> str:
        """The order of its lookups, by its name."""
        return f"program/{self._id}"

    def _as_call(self, act: Callable[..., None], *args: Any) -> None:
        def within() -> None:
            CALL_ID.set(self._call)
            act(*args)

        copy_context().run(within)

    def _resolved(self, fate: Any) -> None:
        if self._is_closed:
            return
        try:
            address = self._network.end_resolve(self._host, fate)
        except socket.gaierror as error:
            code = "EAI_AGAIN" if error.errno == socket.EAI_AGAIN else "ENOTFOUND"
            self._fail(code, "getaddrinfo", self._host)
            return
        self._attempt = self._network.connect((address, self._port), self._outcome)

    def _outcome(self, outcome: Endpoint | OSError) -> None:
        if isinstance(outcome, OSError):
            self._fail(_code(outcome), "connect", f"{self._host}:{self._port}")
            return
        self._endpoint = outcome
        outcome.sink = self
        self._post("up")
        self.on_readable()

    def on_readable(self) -> None:
        """Hand what has arrived to the process."""
        endpoint = self._endpoint
        while endpoint is not None and not self._is_closed:
            try:
                data = endpoint.read(_READ_MAX)
            except OSError as error:
                self._fail(_code(error), "read")
                return
            if data is None:
                return
            if not data:
                self._post("eof")
                return
            self._post("data", data=base64.b64encode(data).decode("ascii"))

    # ------------------------------------------------------------------ what the process does

    def write(self, event: Event) -> None:
        """Send bytes."""
        if self._endpoint is None or self._is_closed:
            return
        try:
            self._endpoint.send(base64.b64decode(event["data"], validate=True))
        except binascii.Error as error:
            raise InternalError(f"a host of the protocol wrote no base64: {error}") from error
        except OSError as error:
            self._fail(_code(error), "write")

    def end(self, _event: Event) -> None:
        """Send nothing more."""
        if self._endpoint is not None:
            self._endpoint.send_eof()

    def close(self, event: Event) -> None:
        """Close, or give up an attempt."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._endpoint is None:
            if self._attempt is not None:
                self._attempt.abandon()
        elif event["reset"]:
            self._endpoint.reset()
        else:
            self._endpoint.close()

    def _fail(self, code: str, syscall: str, where: str = "") -> None:
        message = " ".join(filter(None, (syscall, code, where)))
        self._post("error", code=code, syscall=syscall, message=message)
        if self._endpoint is not None:
            self._endpoint.close()
        self._is_closed = True

    def _post(self, op: str, **facts: Any) -> None:
        self._program.post({"op": op, "id": self._id, **facts})


def _code(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "EIO")


def _site(stack: list[Any]) -> str:
    """Return where a refusal stands, as every other one is told: file and line."""
    own = next((frame for frame in stack if "/node_modules/" not in frame[0]), None)
    return "unknown:0" if own is None else f"{str(own[0]).rpartition('/')[2]}:{own[1]}"
