"""What a turn has used up, an attempt that failed, what is done about it, and how a turn ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.subjects.ports import ProviderTarget
from faultclock.subjects.ports import RunState as RunState
from faultclock.subjects.stud import AttemptError

#: Class and code of a failure.
Pair = tuple[str, str]
Message = dict[str, Any]


class Ended(Exception):  # noqa: N818 - a turn that ends is no error of the program
    """Ends a turn before the model's last word.

    Attributes:
        pair: class and code that the turn ends with; None where the model has none.
        text: what there is to show.
    """

    def __init__(self, state: RunState, pair: Pair | None, message: str, *, text: str = "") -> None:
        super().__init__(message)
        self.state: RunState = state
        self.pair = pair
        self.text = text


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What to do about a failure.

    Attributes:
        act: `again` (after `wait_s`), `advance` to the next provider, `end` the turn, or, for a
            tool call, `tell` the model.
        state: with `end`: how the turn ends.
    """

    act: Literal["again", "advance", "end", "tell"]
    wait_s: float = 0.0
    state: RunState = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """One attempt at a provider that failed, and what the model calls it.

    Attributes:
        number: 1-based; the first request to this provider is attempt 1.
        pair: class and code; None where the model has none.
        is_last: whether no provider of the chain is left behind this one.
    """

    target: ProviderTarget
    number: int
    error: AttemptError
    pair: Pair | None
    is_last: bool


@dataclass(slots=True, kw_only=True)
class Turn:
    """What a turn has used up so far.

    Attributes:
        number: 1-based, within this process; 0 where turns have ids.
        steps: answers of the model; `executions`: of tools; `tokens`: as the provider counts.
        denials: denials of permission in a row.
        begun: whether its work has begun; `cancelled`: whether it was cancelled before that.
    """

    number: int = 0
    text: str
    messages: list[Message] = field(default_factory=list)
    steps: int = 0
    executions: int = 0
    tokens: int = 0
    denials: int = 0
    degraded: bool = False
    begun: bool = False
    cancelled: bool = False
