"""Wrong adapters by the common demands that are code."""

from __future__ import annotations

import json

from faultclock.agents.chat_exchange import ChatExchange
from faultclock.mutants.by_hand.table import ByHand
from faultclock.mutants.talks import CommonTalk
from faultclock.subjects.stud import AttemptError

wrong = ByHand("common")


@wrong(
    "reads-numbers-only",
    "Crashes where Retry-After is a date",
    fails="handler.crash",
    shown_by="rate-limits/retry-after-http-date",
    origin="interviewstreet/hiring-agent#386",
)
class _ReadsNumbersOnly(CommonTalk):
    def retry_after_s(self, failure: AttemptError) -> float | None:
        return None if failure.retry_after is None else float(failure.retry_after)


@wrong(
    "raw-decoder-error",
    "Lets the error of the JSON decoder through",
    fails="handler.unreadable",
    shown_by="provider-transient/corrupt-body",
)
class _Undecoded(ChatExchange):
    def feed(self, data: bytes) -> None:
        try:
            super().feed(data)
        except AttemptError as failure:
            if failure.kind == "malformed":
                json.loads("\x00")
            raise
