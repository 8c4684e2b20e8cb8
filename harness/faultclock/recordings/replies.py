"""The good answers of a recorded session as a scenario's provider gives them.

A provider adapter is asked for one answer a task; a runtime holds the conversation, so it gets all
answers in their order, and the tools that they ask for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from faultclock.recordings.outcome import Outcome, Understood
from faultclock.recordings.providers import assistants_in
from faultclock.recordings.scrub import Scrubber, neutral_text
from faultclock.recordings.sessions import Call

_TEXT_CHARS_MAX = 4_000
_REPLIES_MAX = 30
_TURN_REPLIES_MAX = 200
_TOOLS_MAX = 20
_NAME_MAX = 200
_SHORT_REPLY = 24
#: What a runtime is told where the recording has no answer: a text, so that its turn ends.
_MISSING = {"text": "No good answer was recorded at this place of the conversation."}


class Replies(Struct, kw_only=True):
    """Writes answers.

    Attributes:
        outcomes: what came back, by `id()` of the exchange.
        texts_kept: whether texts are written, scrubbed, instead of their digests.
        long: whether a text has to be long enough to be cut in the middle.
    """

    outcomes: dict[int, Outcome]
    scrubber: Scrubber
    texts_kept: bool
    long: bool = False

    def by_place(self, calls: Sequence[Call]) -> dict[str, Any]:
        """Return the answers by their place in the conversation."""
        said: dict[int, dict[str, Any]] = {}
        # An answer that ends before it is whole is a text: it stands before tools at its place.
        for call in sorted(calls, key=lambda call: self._last(call).ends is None):
            outcome = self._last(call)
            if outcome.said is not None and (outcome.ends or _says(outcome.said)):
                place = min(assistants_in(call.first), _REPLIES_MAX)
                said.setdefault(place, self._reply(outcome.said))
        if not said:
            return {}
        if len(said) == 1:
            reply = next(iter(said.values()))
            return {"reply": reply["text"]} if "text" in reply else reply
        return {"replies": [said.get(place, _MISSING) for place in range(max(said) + 1)]}

    def in_turns(self, turns: Sequence[Sequence[Call]]) -> tuple[dict[str, Any], list[str]]:
        """Return the answers in the order in which a runtime gets them, and the tools it needs."""
        replies: list[dict[str, Any]] = []
        for calls in turns:
            answers = [
                self._reply(outcome.said, for_runtime=True)
                for outcome in map(self._last, calls)
                if outcome.said is not None and (outcome.ends or _says(outcome.said))
            ]
            if answers and "tool_calls" in answers[-1] and not self._last(calls[-1]).failed:
                # Whatever the model asked for last, its turn has to end.
                answers.append(_MISSING)
            replies += answers
        replies = replies[:_TURN_REPLIES_MAX]
        if replies and "tool_calls" in replies[-1]:
            replies.append(_MISSING)
        named = [call["name"] for reply in replies for call in reply.get("tool_calls", ())]
        return ({"replies": replies} if replies else {}), list(dict.fromkeys(named))

    def kept(self, text: str) -> str:
        """Return what may be written of a text: nothing, unless a person asked for it."""
        if not self.texts_kept:
            return ""
        return self.scrubber.text(text[:_TEXT_CHARS_MAX]).strip()

    def _last(self, call: Call) -> Outcome:
        return self.outcomes[id(call.attempts[-1].exchange)]

    def _reply(self, said: Understood, *, for_runtime: bool = False) -> dict[str, Any]:
        calls = [call for call in said.tool_calls if call.name]
        if calls:
            return {
                "tool_calls": [
                    {
                        "name": self._name(call.name, for_runtime=for_runtime),
                        "arguments": self.scrubber.text(call.arguments[:_TEXT_CHARS_MAX])
                        if self.texts_kept
                        else "{}",
                    }
                    for call in calls[:_TOOLS_MAX]
                ]
            }
        text = said.text or "(nothing)"
        shown = self.kept(text)
        if not shown or (self.long and len(shown) < _SHORT_REPLY):
            shown = neutral_text(text, "answer")
        return {"text": shown}

    def _name(self, name: str, *, for_runtime: bool) -> str:
        shown = self.scrubber.text(name[:_NAME_MAX])
        if not for_runtime:
            return shown
        # The fake tools of a scenario are named with lower-case letters, digits and underscores.
        word = re.sub(r"[^a-z0-9]+", "_", shown.lower()).strip("_")
        return word if word[:1].isalpha() else f"tool_{word}".rstrip("_")


def _says(said: Understood) -> bool:
    return bool(said.text or said.tool_calls)
