"""The reference extension: it keeps a service informed that the session is alive.

`activate` asks the service once whether it is there, then a beat goes out at each interval until
`deactivate`. It offers the capability `heartbeat` while it is active, and keeps how often it beat
in a state slot, which has had another shape in version 1. Each rule of its life is a method of
`Life`, so that a miniature can get exactly one wrong.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from faultclock.agents.json_exchange import ServiceError, ask, ask_blocking, stopping
from faultclock.subjects.bind_extension import extension
from faultclock.subjects.ports import ExtensionHost, Slot, SlotDecision, TypedError

#: How long a single request may take, in seconds.
_ASK_S = 5.0
CONTRACT: dict[str, Any] = {
    "kind": "ContextProvider",
    "contract_version": "1.0.0",
    "config_schema": {
        "type": "object",
        "properties": {
            "interval_s": {"type": "integer", "minimum": 1, "maximum": 3600},
            "topic": {"type": "string", "minLength": 1, "maxLength": 200},
        },
        "required": ["interval_s"],
        "additionalProperties": False,
    },
    "state_slot": 2,
    "capabilities": ("heartbeat",),
    "fixtures": {
        "valid": {"interval_s": 30},
        "invalid": {"interval_s": 0},
        "worst": {"interval_s": 3600, "topic": "ü" * 200},
    },
}


class Life:
    """What an extension of either style may do when: no input and no output."""

    #: Phase to the states from which it goes on, and the state that it leads to.
    STEPS: ClassVar[Mapping[str, tuple[tuple[str, ...], str]]] = {
        "init": (("loaded",), "ready"),
        "activate": (("ready", "inactive"), "active"),
        "deactivate": (("active",), "inactive"),
        "dispose": (("loaded", "ready", "active", "inactive", "disposed"), "disposed"),
    }

    def __init__(self, host: ExtensionHost) -> None:
        self.host = host
        self.state = "loaded"
        self.beats = 0

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What is offered now, by name."""
        return {"heartbeat": self.beats} if self.state == "active" else {}

    def check_order(self, phase: str) -> None:
        """Refuse a phase that may not come now.

        Raises:
            TypedError: ExtensionHost/LifecycleFailure.
        """
        if self.state not in self.STEPS[phase][0]:
            raise TypedError(
                "ExtensionHost", "LifecycleFailure", f"{phase} cannot follow while {self.state}"
            )

    def check_config(self) -> None:
        """Refuse a configuration that the schema refuses, before anything is done with it.

        Raises:
            TypedError: Validation/ConfigSchemaViolation.
        """
        config = self.host.config
        interval, topic = config.get("interval_s"), config.get("topic", "session")
        good = type(interval) is int and 1 <= interval <= 3600
        good = good and isinstance(topic, str) and 1 <= len(topic) <= 200
        if good and not set(config) - {"interval_s", "topic"}:
            return
        raise TypedError(
            "Validation", "ConfigSchemaViolation", "interval_s is 1 to 3600, topic a short text"
        )

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Carry out a phase; what the service fails in becomes the error of the phase."""
        self.check_order(name)
        try:
            yield
        except ServiceError as failure:
            if failure.kind == "stopped":
                raise self.stopped() from None
            raise self.failed(failure) from failure
        self.done(name)

    def done(self, phase: str) -> None:
        """Take note that a phase worked; one that fails leaves the state as it was."""
        self.state = self.STEPS[phase][1]

    def failed(self, failure: ServiceError) -> TypedError:
        """Return the error of a phase that cannot do its work."""
        return TypedError(
            "ExtensionHost", "LifecycleFailure", f"the service is not there: {failure.kind}"
        )

    def stopped(self) -> TypedError:
        """Return the error of a phase that was told to stop."""
        return TypedError("Cancellation", "SessionCancelled", "the phase was cancelled")

    def decide(self, stored: Slot) -> SlotDecision:
        """Decide about a slot of another version: migrate an older one, never guess a newer."""
        if stored.version == 1:
            count = stored.data.get("count", 0)
            return SlotDecision(decision="migrate", slot=Slot(version=2, data={"beats": count}))
        if stored.version is None:
            return SlotDecision(decision="warn")
        return SlotDecision(decision="reject")

    def take(self, slot: Slot) -> None:
        """Go on from a stored state."""
        beats = slot.data.get("beats", 0)
        self.beats = beats if isinstance(beats, int) else 0


class _Kept:
    """What both styles of the extension say without waiting."""

    life_type = Life

    def __init__(self, host: ExtensionHost) -> None:
        self.host = host
        self.life = self.life_type(host)

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What is offered now, by name."""
        return self.life.capabilities

    def on_slot_drift(self, stored: Slot) -> SlotDecision:
        """Decide about a stored slot of another version."""
        return self.life.decide(stored)

    def deliver_slot(self, slot: Slot) -> None:
        """Go on from a stored state."""
        self.life.take(slot)

    def lost(self, failure: ServiceError) -> None:
        """Say that a beat was lost, which is no reason to stop."""
        self.host.host.event("SuppressedError", reason=f"a beat was lost: {failure.kind}")


class Heartbeat(_Kept):
    """The extension, async."""

    def __init__(self, host: ExtensionHost) -> None:
        super().__init__(host)
        self.beating: asyncio.Task[None] | None = None

    async def init(self) -> None:
        """Check the configuration; nothing is done with it yet."""
        with self.life.phase("init"):
            self.life.check_config()

    async def activate(self) -> None:
        """Ask whether the service is there, and begin to beat."""
        with self.life.phase("activate"), stopping(self.host.signal, self.life.stopped()):
            await ask(f"{self.host.base_url}/health", None, _ASK_S)
            self.beating = asyncio.create_task(self._beat())

    async def deactivate(self) -> None:
        """Stop beating."""
        with self.life.phase("deactivate"):
            await self.stop()

    async def dispose(self) -> None:
        """Let everything go; to do it twice is to do it once."""
        with self.life.phase("dispose"):
            await self.stop()

    async def stop(self) -> None:
        """End the beat, and wait until it has ended."""
        beating, self.beating = self.beating, None
        if beating is not None:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.host.config["interval_s"])
            try:
                await ask(f"{self.host.base_url}/beat", None, _ASK_S)
            except ServiceError as failure:
                self.lost(failure)
                continue
            self.life.beats += 1


class HeartbeatSync(_Kept):
    """The extension, blocking: it beats on a thread of its own."""

    def __init__(self, host: ExtensionHost) -> None:
        super().__init__(host)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def init(self) -> None:
        """Check the configuration; nothing is done with it yet."""
        with self.life.phase("init"):
            self.life.check_config()

    def activate(self) -> None:
        """Ask whether the service is there, and begin to beat."""
        signal = self.host.signal
        with self.life.phase("activate"):
            ask_blocking(f"{self.host.base_url}/health", None, _ASK_S, lambda: signal.cancelled)
            self._stop.clear()
            self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
            self._thread.start()

    def deactivate(self) -> None:
        """Stop beating."""
        with self.life.phase("deactivate"):
            self._end()

    def dispose(self) -> None:
        """Let everything go; to do it twice is to do it once."""
        with self.life.phase("dispose"):
            self._end()

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        self._stop.set()
        if thread is not None:
            thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(self.host.config["interval_s"]):
            try:
                ask_blocking(f"{self.host.base_url}/beat", None, _ASK_S, self._stop.is_set)
            except ServiceError as failure:
                self.lost(failure)
                continue
            self.life.beats += 1


reference_extension = extension(
    id="reference-extension",
    title="Correct extension with a background beat, async",
    declares=("errors", "events"),
    inline=True,
    **CONTRACT,
)(Heartbeat)

reference_extension_sync = extension(
    id="reference-extension-sync",
    title="Correct extension with a background beat, blocking",
    declares=("errors", "events"),
    inline=True,
    **CONTRACT,
)(HeartbeatSync)
