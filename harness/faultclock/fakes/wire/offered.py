"""How many tools a request offers to the model, in every API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Where an API has its tools in groups, the members of a group that hold them.
_GROUPS = ("functionDeclarations", "function_declarations")


def offered_tools(body: Mapping[str, Any]) -> int:
    """Return the number of tools in the body of a request; 0 where there are none.

    Example:
        >>> offered_tools({"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]})
        2
    """
    config = body.get("toolConfig")
    tools = body.get("tools") or (config.get("tools") if isinstance(config, Mapping) else None)
    return sum(map(_tools_in, tools)) if isinstance(tools, list) else 0


def _tools_in(item: Any) -> int:
    if isinstance(item, Mapping):
        for name in _GROUPS:
            group = item.get(name)
            if isinstance(group, list):
                return len(group)
    return 1
