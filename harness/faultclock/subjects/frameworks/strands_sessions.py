"""A repository of Strands in memory, whose content is plain data: for agents without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands.session.session_repository import SessionRepository
from strands.types.session import Session, SessionAgent, SessionMessage


class MemoryRepository(SessionRepository):  # type: ignore[misc]  # stands alone
    """The agents and messages of one session."""

    def __init__(self) -> None:
        self._agents: dict[str, Any] = {}
        self._messages: dict[str, list[Any]] = {}

    def kept(self) -> dict[str, Any]:
        """Return its content."""
        messages = {agent_id: list(found) for agent_id, found in self._messages.items()}
        return {"agents": dict(self._agents), "messages": messages}

    def load(self, kept: Mapping[str, Any]) -> None:
        """Take up what an earlier life has kept."""
        self._agents, self._messages = dict(kept["agents"]), dict(kept["messages"])

    def create_session(self, session: Session, **_: Any) -> Session:
        """Open the session."""
        return session

    def read_session(self, session_id: str, **_: Any) -> Session | None:
        """Return no session: a new one begins, and an agent is restored by its name."""
        return None

    def create_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Add an agent."""
        self.update_agent(session_id, session_agent)

    def read_agent(self, session_id: str, agent_id: str, **_: Any) -> SessionAgent | None:
        """Return what is known of an agent."""
        found = self._agents.get(agent_id)
        return None if found is None else SessionAgent.from_dict(found)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Replace what is known of an agent."""
        self._agents[session_agent.agent_id] = session_agent.to_dict()

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any
    ) -> None:
        """Append a message."""
        self._messages.setdefault(agent_id, []).append(session_message.to_dict())

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **_: Any
    ) -> SessionMessage | None:
        """Return a message."""
        messages = self.list_messages(session_id, agent_id)
        return next((item for item in messages if item.message_id == message_id), None)

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any
    ) -> None:
        """Replace a message by one with the same number."""
        self._messages[agent_id] = [
            session_message.to_dict() if item["message_id"] == session_message.message_id else item
            for item in self._messages[agent_id]
        ]

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **_: Any
    ) -> list[SessionMessage]:
        """Return the messages from `offset` on, `limit` of them at most."""
        found = self._messages.get(agent_id, [])[offset:]
        return [SessionMessage.from_dict(item) for item in found[:limit]]
