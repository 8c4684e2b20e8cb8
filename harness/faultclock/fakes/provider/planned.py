"""What a provider is going to do about one request."""

from __future__ import annotations

from msgspec import Struct

from faultclock.fakes.provider.accounts import Ruling
from faultclock.fakes.wire.delivery import Step
from faultclock.model.scenario.fault import FaultRule


class PlannedExchange(Struct, frozen=True, kw_only=True):
    """What the provider decided to do about one request.

    Attributes:
        id: "x1", "x2"... in the order in which requests arrived ("s1"... at another service).
        call: the call that sent it.
        attempt: its 1-based number within the call.
        rule: the rule that shapes it, if one does.
        ruling: of the provider's limits; None where it has none, or was asked nonsense.
        close: whether the connection ends after the answer.
        steps: how the answer goes out.
        unanswered: the script has answers, and none is for this request.
    """

    id: str
    call: str | None
    attempt: int
    rule: FaultRule | None
    ruling: Ruling | None
    close: bool
    steps: tuple[Step, ...]
    unanswered: bool = False
