"""The reference adapters and the reference tool, each with the whole of it as one step more."""

from __future__ import annotations

import asyncio

from faultclock.agents.adapter import ask_once
from faultclock.agents.adapter_common import CommonCall
from faultclock.agents.chat_exchange import ChatExchange
from faultclock.agents.tool import Lookup, look_up
from faultclock.subjects.ports import ProviderRequest, Reply, ToolResult
from faultclock.subjects.stud import AttemptError, StudCall


class StudTalk(StudCall):
    """A call of the reference of stud-cli.

    Attributes:
        exchange: that of the last attempt.
        rounds: how often the whole of the call was begun.
        begun: the part of an answer that the last attempt had received when it failed.
    """

    exchange_type: type[ChatExchange] = ChatExchange

    def __init__(self, request: ProviderRequest) -> None:
        super().__init__(request)
        self.rounds = 0
        self.begun = ""

    async def talk(self) -> Reply:
        """Attempt until there is an answer, or an error that ends the call."""
        self.rounds += 1
        while True:
            try:
                return await self.ask()
            except AttemptError as error:
                self.begun = self.exchange.received_text
                failure, wait_s = error, self.next_wait_s(error)
            await self.wait(wait_s, failure)

    async def wait(self, wait_s: float, failure: AttemptError) -> None:
        """Wait before the next attempt."""
        del failure
        await asyncio.sleep(wait_s)

    async def ask(self) -> Reply:
        """Make one attempt.

        Raises:
            AttemptError: it failed.
        """
        self.exchange = self.exchange_type(self.request)
        return await ask_once(self.exchange, self.deadline_s)


class CommonTalk(CommonCall, StudTalk):
    """A call of the reference of the common demands."""


class WholeLookup(Lookup):
    """An execution of the reference tool."""

    async def execute(self) -> ToolResult:
        """Look the items up."""
        return await look_up(self.call, self)
