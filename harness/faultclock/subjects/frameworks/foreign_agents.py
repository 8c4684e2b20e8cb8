"""Agents of frameworks in another language: the process runs them, and asks here for the world.

The framework's own loop, approvals and sessions are in the process; see the file of its host. What
the process asks for, a tool to be called, a person, the store, is answered by what answers agents
of Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.foreign import Event, Export, Talk, error_of
from faultclock.subjects.foreign_ports import Ports, failed
from faultclock.subjects.frameworks.life import Blocking, Life, ended
from faultclock.subjects.frameworks.own_tools import mapping_in, own_tool
from faultclock.subjects.ports import Reply, Surroundings
from faultclock.subjects.reading import reply_of

__all__ = ["live", "own_session", "tools_of"]


def tools_of(agent: Export) -> tuple[ToolScript, ...]:
    """Return what its tools declare of themselves, as the host says it."""
    assert agent.agent is not None, "it is an agent"
    by_name: dict[str, ToolScript] = {}
    for said in agent.agent["tools"]:
        one = own_tool(
            said["name"],
            said["description"],
            said["schema"],
            gated=said["gated"],
            through=tuple(said["through"]),
        )
        if one is not None:
            by_name.setdefault(one.name, one)
    return tuple(by_name.values())


def own_session(agent: Export, _: Any) -> str:
    """Return the class of what keeps its session, as the host says it."""
    assert agent.agent is not None, "it is an agent"
    return str(agent.agent.get("session", ""))


def live(agent: Export, surroundings: Surroundings) -> Any:
    """Return one life of the agent."""
    return _Cancellable(_Life(agent, surroundings))


class _Life(Life):
    def __init__(self, agent: Export, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._ports = Ports(agent, surroundings)
        agent.world.serve = self._serve

    async def start(self) -> None:
        """Have the process open the session: it reads what it has kept."""
        self._agent.asked([self.session_id, self._surroundings.resume], do="start")

    async def turn(self, text: str) -> Any:
        """Have the process make the turn, and say what the user sees of it meanwhile."""
        said = self._agent.asked([text], do="turn", stream=self.streaming)
        if isinstance(said, Iterator):
            said = self._delivered(said)
        if "message" in said:
            return reply_of(said["message"])
        return Reply(said["text"], (), said["finish_reason"])

    def _delivered(self, pieces: Iterator[str]) -> Any:
        while True:
            try:
                self.deliver(next(pieces))
            except StopIteration as end:
                return end.value

    def cancel(self, scope: str, target: str | None) -> None:  # noqa: ARG002 - of the port
        """Cancel the turn that runs: the process is told, and the person is asked no more."""
        self._agent.world.cancel()
        self.withdraw()

    # ------------------------------------------------------------------ what the process asks for

    def _serve(self, asked: Event, talk: Talk) -> Event:
        match asked["op"]:
            case "tool":
                return self._tool(asked, talk)
            case "ask":
                given = mapping_in(asked["arguments"]) or {}
                why_not = ended(self.approved(asked["tool"], given, asked["tool_call"]))
                return {"why_not": why_not}
            case _:
                return self._ports.use(asked, talk)

    def _tool(self, asked: Event, talk: Talk) -> Event:
        """Have a tool called. An answer without a value and an error: as its function ended."""
        ends: list[object] = []

        def work() -> Any:
            said = talk.say({"work": True})
            if said.get("error") is not None:
                ends.append(error := error_of(said["error"]))
                raise error
            ends.append(said["value"])
            return said["value"]

        name, arguments, call_id = asked["tool"], asked["arguments"], asked["tool_call"]
        try:
            value = self.tools.call_blocking(name, arguments, call_id, work, talk)
        except Exception as error:  # noqa: BLE001 - what a tool raises is data
            return {} if error in ends else failed(error)
        return {} if ends and value is ends[0] else {"value": value}


class _Cancellable(Blocking):
    """A life in a process of its own, which can be told to give up."""

    def __init__(self, life: _Life) -> None:
        super().__init__(life)
        self.cancel = life.cancel
