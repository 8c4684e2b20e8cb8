"""The sessions of Google's ADK, in the store of a scenario."""

from __future__ import annotations

from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session

from faultclock.subjects.frameworks.life import Life


class StoreSessions(InMemorySessionService):  # type: ignore[misc]  # stands alone
    """ADK's own sessions in memory, kept in the store of the scenario after each event."""

    def __init__(self, life: Life, app: str, user: str) -> None:
        super().__init__()
        self._life, self._app, self._user = life, app, user

    def load(self, saved: str) -> None:
        """Take up what an earlier life has kept."""
        session = Session.model_validate_json(saved)
        self.sessions = {self._app: {self._user: {session.id: session}}}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event."""
        done = await super().append_event(session, event)
        if not event.partial:
            kept = self.sessions[self._app][self._user][session.id]
            await self._life.keep({"session": kept.model_dump_json()})
        return done
