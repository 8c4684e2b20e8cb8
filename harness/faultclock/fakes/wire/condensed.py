"""How far a conversation has come whose history the agent has condensed.

A script is a list of replies, and a request shows by its history how many of them there were. An
agent whose history grows may leave messages out, or put a summary in their place. Then the provider
goes by what it remembers: it knows which reply asked for a tool call that is still there, and a
message that quotes what was said, such as a summary, has come as far as the conversation had then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

from faultclock.fakes.wire.in_words import ASIDE, MODEL, calls_in, digest, text_of

#: A text of fewer characters stands in another one by chance; a longer one is quoted in parts.
_CHARS_MIN, _CHARS_MAX = 8, 2_000
#: More texts than a conversation has that does not go round in circles.
_TEXTS_MAX = 200

#: How many replies there were, by the tools that a request offers.
Reached = dict[str, int]


class Condensed(Struct, frozen=True, kw_only=True):
    """What a request has in place of earlier messages.

    Attributes:
        quotes: digests of the texts, said before, that are a part of a message.
        reached: how many replies there were, where its history shows fewer; else 0.
    """

    quotes: tuple[str, ...] = ()
    reached: int = 0


class Remembered(Struct):
    """What was said to a provider and by it. Plain data: it is pickled.

    Attributes:
        after: of each tool call that it asked for, how many replies there were then.
        reached: how many there were.
        texts: what was said, each with `reached` at that time; None: by the user.
        quoting: what each message quotes, by its digest: a retry is read as the first one was.
    """

    after: dict[str, int] = field(default_factory=dict)
    reached: Reached = field(default_factory=dict)
    texts: dict[str, Reached | None] = field(default_factory=dict)
    quoting: dict[str, tuple[tuple[str, ...], Reached]] = field(default_factory=dict)

    def heard(self, chat: Sequence[Mapping[str, Any]], tools: str) -> Condensed:
        """Return what a request has in place of earlier messages, and remember its texts.

        Args:
            tools: those that it offers.
        """
        quotes: dict[str, None] = {}
        reached = 0
        for message in chat:
            role, text = message.get("role"), text_of(message)
            if role in MODEL:
                reached = max([reached, *(self.after.get(it, 0) for it in calls_in(message))])
            elif role != "tool":
                found, then = self._quoted(text)
                quotes |= dict.fromkeys(found)
                reached = max(reached, then.get(tools, 0))
        for message in chat:
            role, text = message.get("role"), text_of(message)
            if text not in self.texts and role not in ASIDE:
                self._keep(text, None if role == "user" else self.reached)
        shown = [it.get("role") in MODEL for it in chat]
        turns = sum(now and not before for before, now in pairwise([False, *shown]))
        return Condensed(quotes=tuple(quotes), reached=reached if reached > turns else 0)

    def answered(self, tools: str, text: str | None, calls: Sequence[str], reached: int) -> None:
        """Remember a good answer.

        Args:
            calls: ids of the tool calls that it asks for.
            reached: how many replies there were with it.
        """
        self.after |= dict.fromkeys(calls, reached)
        if tools:
            self.reached[tools] = max(reached, self.reached.get(tools, 0))
        self._keep(text or "", self.reached)

    def _keep(self, text: str, reached: Reached | None) -> None:
        is_known = text in self.texts or len(self.texts) < _TEXTS_MAX
        if is_known and _CHARS_MIN <= len(text) <= _CHARS_MAX:
            self.texts[text] = None if reached is None else dict(reached)

    def _quoted(self, text: str) -> tuple[tuple[str, ...], Reached]:
        own = digest(text)
        if own not in self.quoting:
            found = [it for it in self.texts if len(it) < len(text) and it in text]
            then: Reached = {}
            for it in found:
                known = self.texts[it]
                if known is None and not text.rstrip().endswith(it):
                    # A task alone is handed to another agent; with more behind it, it is a history.
                    known = self.reached
                for tools, reached in (known or {}).items():
                    then[tools] = max(reached, then.get(tools, 0))
            self.quoting[own] = tuple(map(digest, found)), then
        return self.quoting[own]
