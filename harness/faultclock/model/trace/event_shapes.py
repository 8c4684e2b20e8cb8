"""The types of what events hold: numbers and texts, and the objects inside of payloads.

Each object has these fields and no other. They are data for pydantic, and nothing imports them but
the catalogue of event kinds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, Union

from pydantic import ConfigDict, Field, InstanceOf
from typing_extensions import TypeAliasType, TypedDict

from faultclock.model._base import Sha256

#: Exact JSON readers keep no larger integers, and no clock of a run shows a later time.
INT_END = 1 << 63

#: Text may hold half of a surrogate pair: a subject's text can, and JSON can say it.
Text = InstanceOf[str]
Int = Annotated[int, Field(ge=-INT_END, lt=INT_END)]
Count = Annotated[int, Field(ge=0, lt=INT_END)]
#: 1-based.
Number = Annotated[int, Field(ge=1, lt=INT_END)]
#: Not `float`, which takes any integer, too.
Fraction = Annotated[InstanceOf[float], Field(gt=-math.inf, lt=math.inf)]
Flag = bool
Said = TypeAliasType(
    "Said",
    Annotated[
        Union[
            Text,
            bool,
            Int,
            Fraction,
            "Annotated[list[Said], Field(fail_fast=True)]",
            "dict[Text, Said]",
            None,
        ],
        Field(union_mode="left_to_right"),
    ],
)
Object = dict[Text, Said]
MaybeText = Text | None
MaybeSha = Sha256 | None
#: Of the call that the fact belongs to, such as `ask/1`; None: to no call.
Call = MaybeText


def shape(
    name: str, fields: Mapping[str, Any], extra: Literal["allow", "forbid"] = "forbid"
) -> Any:
    """Return the type of an object with these fields."""
    make: Any = TypedDict
    made = make(name, dict(fields))
    made.__pydantic_config__ = ConfigDict(extra=extra, strict=True)
    return made


def list_of(item: Any, at_least: int = 0) -> Any:
    """Return the type of a list of such items."""
    of: Any = list
    return Annotated[of[item], Field(min_length=at_least, fail_fast=True)]


def maybe(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields as such that an event may lack."""
    return {name: NotRequired[type_] for name, type_ in fields.items()}


Pair = {"class": MaybeText, "code": MaybeText}
Link = shape(
    "Link",
    {
        "type": Text,
        "message": Text,
        **Pair,
        "link": Literal["outer", "cause", "context", "suppressed"],
        "accident": NotRequired[Flag],
    },
)
#: An exception and those that it came from, outermost first.
Chain = list_of(Link, at_least=1)
AskedTool = shape("AskedTool", {"id": MaybeText, "name": MaybeText})
Message = shape(
    "Message",
    {
        "role": MaybeText,
        "content_sha256": Sha256,
        "content": NotRequired[Text],
        "tool_call_id": NotRequired[MaybeText],
        "tool_calls": NotRequired[list_of(AskedTool)],
    },
)
#: What a request says in words about tool calls; `left_out`: it has nothing of their answer.
InWords = shape("InWords", {"tool_call_ids": list_of(Text), "content": Text, "left_out": Flag})
#: What a provider's error object says. Error payloads are data, so its members are, too.
ErrorFacts = shape(
    "ErrorFacts",
    {
        "code": Said,
        "type": Said,
        "message": Said,
        "means": NotRequired[Text],
        "retry_delay": NotRequired[Said],
    },
)
Record = shape("Record", {**Pair, "context": Said, "attempt": Said, "message": NotRequired[Said]})
RunResult = shape("RunResult", {"state": MaybeText, **Pair, "recoverable": NotRequired[Flag]})
ToolProblem = shape(
    "ToolProblem", {"item": Said, "class": Said, "code": Said, "message": NotRequired[Said]}
)
ToolCall = shape("ToolCall", {"name": Text, "arguments": Text, "id": NotRequired[Text]})
#: How a use of a service or a node of a workflow failed.
UseError = shape(
    "UseError",
    {
        "message": Text,
        "type": NotRequired[Text],
        "kind": NotRequired[Text],
        "cause": NotRequired[MaybeText],
    },
)
#: What a tool declares of itself. The other members are for its reader.
ToolContract = shape(
    "ToolContract",
    {
        "name": Text,
        "gated": Flag,
        "retry": shape(
            "ToolRetry",
            {
                "attempts_max": Number,
                "backoff": Literal["fixed", "linear", "exponential"],
                "base_ns": Count,
                "factor": Count,
                "cap_ns": Count | None,
                "jitter_percent": Annotated[int, Field(ge=0, le=100)],
                "retryable": list[Text],
            },
        )
        | None,
    },
    "allow",
)
ExtensionContract = shape("ExtensionContract", {"capabilities": list[Said]}, "allow")
Differing = shape("Differing", {"file": Text, "how": Text})
