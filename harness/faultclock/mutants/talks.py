"""The reference adapters, each with the whole of a call as one step more: `talk`."""

from __future__ import annotations

from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import Reply
from faultclock.subjects.reference import converse
from faultclock.subjects.reference_common import CommonCall
from faultclock.subjects.stud import StudCall


class StudTalk(StudCall):
    """A call of the reference of stud-cli."""

    exchange_type: type[ChatExchange] = ChatExchange

    async def talk(self) -> Reply:
        """Attempt until there is an answer, or an error that ends the call."""
        return await converse(self.request, self, self.exchange_type)


class CommonTalk(CommonCall, StudTalk):
    """A call of the reference of the common demands."""
