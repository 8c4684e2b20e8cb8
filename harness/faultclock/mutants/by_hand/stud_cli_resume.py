"""Wrong stud-cli runtimes that are code: what a resumed session goes on with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Extension, Slot, TypedError
from faultclock.subjects.reference_runtime.resume import Replay, Resume
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime

wrong = ByHand("stud-cli")


# What is refused.


@wrong("drops-unknown-keys", "Reads over keys that it does not know", fails="resume.decision")
class _DropsUnknownKeys(Resume):
    """What another version wrote is gone with the next snapshot."""

    def check_shape(self, manifest: Mapping[str, Any]) -> None:
        known = ("sessionId", "storeId", "mode", "messages", "createdAt", "updatedAt", "smState")
        super().check_shape({key: manifest[key] for key in known if key in manifest})


@wrong("needs-all-extensions", "Needs all extensions of a session", fails="resume.decision")
class _NeedsAllExtensions(Resume):
    """One that is not installed any more keeps the whole session shut."""

    async def read(self) -> None:
        await super().read()
        if await self.persistence.read_slot("planner") is None:
            return
        if "planner" not in {item.id for item in self.session.world.extensions}:
            raise self.refused("ManifestDrift", "an extension of the session is not installed")


# What is remembered.


@wrong(
    "leaves-orphans",
    "Resumes with unanswered tool calls",
    fails="tools.paired",
    origin="anomalyco/opencode#21326",
)
class _LeavesOrphans(Resume):
    """anomalyco/opencode#21326: a tool call without a result, and every later turn is a 400."""

    def replay(self, entries: list[Mapping[str, Any]]) -> None:
        for turn in Replay.turns(entries):
            _, orphans = turn.whole()
            self.add([*turn.first, *turn.assistants])
            self.note_sealed(orphans)


# What is done again.


class _RunsAgain(ReferenceRuntime):
    """Executes what the journal has begun and not ended."""

    async def open(self) -> None:
        again = await self.cut_off() if self.world.resume else []
        await super().open()
        tools = {tool.contract.name: tool for tool in self.world.tools}
        for entry in again:
            name, id_ = entry["tool"], self.call_id(entry["tool_call"])
            self.host.event("ToolInvocationProposed", tool=name, tool_call=id_)
            self.host.event("ToolInvocationStarted", tool=name, tool_call=id_)
            await tools[name].execute(entry["arguments"], call_id=id_)
            self.host.event("ToolInvocationSucceeded", tool=name, tool_call=id_)

    async def cut_off(self) -> list[Mapping[str, Any]]:
        entries = await self.persistence.read_journal()
        ended = {entry["tool_call"] for entry in entries if entry["kind"] == "tool_ended"}
        started = [entry for entry in entries if entry["kind"] == "tool_started"]
        return [entry for entry in started if entry["tool_call"] not in ended]

    def call_id(self, tool_call: str) -> str:
        return tool_call


@wrong(
    "runs-the-call-again",
    "Executes a cut-off call again on resume",
    fails="ordering.resume-never-executes-again",
    origin="langchain-ai/langgraph#8039",
)
class _RunsTheCallAgain(_RunsAgain):
    """langchain-ai/langgraph#8039: after a crash the node ran again."""


@wrong(
    "repeats-the-effect",
    "Does a cut-off call anew on resume",
    fails="tools.effects",
    origin="langchain-ai/langgraph#6792",
)
class _RepeatsTheEffect(_RunsAgain):
    """langchain-ai/langgraph#6792: what was done is done again, as a call of its own."""

    def call_id(self, tool_call: str) -> str:
        return self.new_id("call")


# Slots.


@wrong("slots-first", "Delivers slots before it has resumed", fails="ordering.slot-after-resumed")
class _SlotsFirst(Resume):
    """An extension has its state, and asks about a session that is not there yet."""

    async def deliver(self) -> None:
        for extension in self.extensions.active:
            await self.decide_slot(extension)
        for extension, slot in self._slots:
            self.deliver_slot(extension, slot)
        self._slots.clear()
        await super().deliver()

    async def decide_slot(self, extension: Extension) -> None:
        # Decided once.
        if self.session.state == "idle" and extension not in self.decided:
            self.decided.append(extension)
            await super().decide_slot(extension)

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.decided: list[Extension] = []


class _DeliversLater(Resume):
    def deliver_slot(self, extension: Extension, slot: Slot) -> None:
        return

    def deliver_now(self) -> None:
        for extension, slot in self._slots:
            super().deliver_slot(extension, slot)


@wrong("slots-last", "Delivers slots when it is active", fails="ordering.slot-before-active")
class _SlotsLast(ReferenceRuntime):
    """A first turn may begin with extensions that have no state."""

    resume_type = _DeliversLater

    async def open(self) -> None:
        await super().open()
        assert isinstance(self.resume, _DeliversLater)
        self.resume.deliver_now()


@wrong(
    "delivers-undecided",
    "Delivers a slot before its owner decides",
    fails="ordering.drift-decided-before-delivery",
)
class _DeliversUndecided(Resume):
    """The old state is in use when the question is asked whether it can be."""

    async def deliver(self) -> None:
        self.session.host.event("SessionResumed", session=self.session.id)
        for extension in self.extensions.active:
            stored = await self.persistence.read_slot(extension.id)
            if stored is not None:
                self.deliver_slot(extension, stored)
            await self.decide_slot(extension)


@wrong(
    "delivers-what-is-rejected",
    "Delivers a slot that its owner rejects",
    fails="ordering.rejected-slot-not-delivered",
)
class _DeliversWhatIsRejected(Resume):
    """The session is refused, and the extension has the state that it did not want."""

    def drifted(self, extension: Extension, stored: Slot, current: int) -> Slot:
        try:
            return super().drifted(extension, stored, current)
        except TypedError:
            self.session.host.event("SessionResumed", session=self.session.id)
            self.deliver_slot(extension, stored)
            raise
