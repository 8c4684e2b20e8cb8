"""Wrong stud-cli runtimes that only exploration finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.agents.calls import Call
from faultclock.agents.stud_cli.persistence import Replay
from faultclock.agents.stud_cli.person import Approvals, Verdict
from faultclock.agents.stud_cli.provider import ProviderCall
from faultclock.agents.stud_cli.runtime import ReferenceRuntime
from faultclock.agents.stud_cli.session import StudTurn
from faultclock.agents.turn import Message
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Surroundings
from faultclock.subjects.stud import AttemptError

wrong = ByHand("stud-cli")


# An approval that counts twice.


@wrong.race(
    "approval-outlives-its-question",
    "Takes a question that was cut off for an approval of the same call",
    fails="approvals.respected",
    origin="microsoft/agent-framework#8079",
)
class _ApprovalOutlivesItsQuestion(Approvals):
    """The approval is noted before the question, so that the same call is not asked about twice.

    Whatever ends the question but a yes takes the note back; a cancel is no `Exception`, though.
    """

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.noted: set[tuple[str, str]] = set()

    async def ask_user(self, call: Call) -> Verdict:
        key = self.key(call)
        if key in self.noted:
            return Verdict(approved=True, source="cache")
        self.noted.add(key)
        try:
            verdict = await super().ask_user(call)
        except Exception:
            self.noted.discard(key)
            raise
        if not verdict.approved:
            self.noted.discard(key)
        return verdict


# A result that is lost in a backoff.


class _TakesBack(ProviderCall):
    """Takes back what the provider did not take, for as long as it waits."""

    turn: StudTurn
    away: list[Message]

    async def wait_after(self, failure: AttemptError) -> None:
        turn, away = self.turn, self.away
        while turn.messages and turn.messages[-1]["role"] == "tool":
            away.insert(0, turn.messages.pop())
        try:
            await super().wait_after(failure)
        except Exception:
            self.put_back()
            raise
        self.put_back()

    def put_back(self) -> None:
        self.turn.messages += self.away
        self.away.clear()


@wrong.race(
    "cancel-in-a-backoff-loses-results",
    "Loses the results of tools when it is cancelled in a backoff",
    fails="tools.paired",
    origin="earendil-works/pi#1465",
)
class _CancelInABackoffLosesResults(ReferenceRuntime):
    """Results that were not sent are taken back for a wait, and a cancel is no `Exception`.

    They are not put back then, and whoever seals the turn leaves out what is known to be done.
    """

    provider_type = _TakesBack

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.away: list[Message] = []

    def compose(self, turn: StudTurn, messages: Sequence[Message]) -> ProviderCall:
        call = super().compose(turn, messages)
        assert isinstance(call, _TakesBack)
        call.turn, call.away = turn, self.away
        return call

    def seal(self, turn: StudTurn) -> None:
        super().seal(turn)
        done = {message["tool_call_id"] for message in self.away}
        self.history = [item for item in self.history if item.get("tool_call_id") not in done]
        self.away.clear()


# A resume that acts again.


class RunsAgain(ReferenceRuntime):
    """Executes what the journal has begun and not ended."""

    async def open(self) -> None:
        """Resume, and execute it."""
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
        """Return the entries of the journal that are executed."""
        entries = await self.persistence.read_journal()
        ended = {entry["tool_call"] for entry in entries if entry["kind"] == "tool_ended"}
        started = [entry for entry in entries if entry["kind"] == "tool_started"]
        return [entry for entry in started if entry["tool_call"] not in ended]

    def call_id(self, tool_call: str) -> str:
        """Return the id under which one is executed."""
        return tool_call


@wrong.race(
    "resume-finishes-the-batch",
    "Executes what is left of a batch when it is resumed",
    fails="ordering.resume-never-executes-again",
    origin="GEMISIS/leviath#187",
)
class _ResumeFinishesTheBatch(RunsAgain):
    """Where some calls of an answer have their result, those without are taken for not begun.

    One call alone is sealed as it should be, and so are several of which none has ended.
    """

    async def cut_off(self) -> list[Mapping[str, Any]]:
        turns = Replay.turns(await self.persistence.read_journal())
        if not turns or not turns[-1].results:
            return []
        return [entry for id_, entry in turns[-1].started.items() if id_ not in turns[-1].results]
