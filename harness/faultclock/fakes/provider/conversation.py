"""What a provider objects to in the conversation that a request repeats.

There is one walk for all dialects, over the messages as `Dialect.chat` has them. It names what it
finds: a role that the API does not know, a tool call that nothing answers, an answer of a tool that
nothing asked for. The words and the status are the payload of that name in the dialect's file, and
a provider whose file has no such payload accepts the conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from faultclock.fakes.wire.dialect import Asked, Dialect, Refusal
from faultclock.fakes.wire.event_stream import objects_in, printable

#: What is objected to.
_ROLE, _UNANSWERED, _UNASKED = "unknown_role", "tool_call_unanswered", "tool_result_unasked"
OBJECTIONS = frozenset({_ROLE, _UNANSWERED, _UNASKED})
#: What stands in the places of an objection that a scenario has the provider make without cause.
EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("id", "ids"), "call_0123456789"),
        "at": "3",
        "number": "4",
        "called_at": "2",
        "part": "0",
        "role": "robot",
        "before": "user",
    }
)


class _Found(Struct, frozen=True, kw_only=True):
    """Which objection holds, and what stands in the places of its words."""

    name: str
    places: Mapping[str, str]


def objection(dialect: Dialect, asked: Asked, names: Iterable[str]) -> Refusal | None:
    """Return why the provider refuses the conversation of a request; None where it does not.

    An answer that is given twice passes: no source says what a provider makes of one.

    Args:
        names: of the payloads that the provider has.
    """
    known = OBJECTIONS.intersection(names)
    if not known or asked.beside:
        return None
    # Places are those in the request, and what the provider kept stands before it.
    messages = [{**it, "at": max(0, it["at"] - asked.kept)} for it in dialect.chat(asked)]
    found = _unknown_role(messages, dialect.roles) or _unpaired(
        messages, anywhere=dialect.answers_anywhere
    )
    if found is None or found.name not in known:
        return None
    return Refusal(payload=found.name, values={}, places=found.places)


def _unknown_role(messages: Sequence[Mapping[str, Any]], roles: frozenset[str]) -> _Found | None:
    for message in messages if roles else ():
        role = message.get("sent_as", message.get("role"))
        if role not in roles:
            shown = role if isinstance(role, str) and role.isprintable() else ""
            at = int(message["at"])
            places = {"role": shown, "at": str(at), "number": str(at + 1)}
            return _Found(name=_ROLE, places=places)
    return None


def _unpaired(messages: Sequence[Mapping[str, Any]], *, anywhere: bool) -> _Found | None:
    """Return the first call or answer that has no other half.

    Args:
        anywhere: whether an answer may stand anywhere behind its call, and not just at once.
    """
    asked: set[str] = set()
    open_: dict[str, int] = {}
    before = ""
    for message in messages:
        at = int(message["at"])
        if message.get("role") == "tool":
            id_ = printable(message.get("pair", message.get("tool_call_id")))
            if id_ not in asked:
                places = {"id": id_, "at": str(at), "part": str(message.get("part", 0))}
                return _Found(name=_UNASKED, places={**places, "before": before})
            open_.pop(id_, None)
        elif open_ and not anywhere:
            return _unanswered(open_, at)
        else:
            called = objects_in(message.get("tool_calls"))
            calls = [printable(call.get("pair", call.get("id"))) for call in called]
            asked = {*(asked if anywhere else ()), *calls}
            open_ |= dict.fromkeys(calls, at)
        before = printable(message.get("role"))
    end = int(messages[-1]["at"]) + 1 if messages else 0
    return _unanswered(open_, end) if open_ else None


def _unanswered(open_: Mapping[str, int], at: int) -> _Found:
    """Return the objection to calls without an answer, which should stand `at` that place."""
    ids, called = list(open_), next(iter(open_.values()))
    places = {"ids": ", ".join(ids), "id": ids[0], "at": str(at), "called_at": str(called)}
    return _Found(name=_UNANSWERED, places=places)
