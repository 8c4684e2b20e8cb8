"""Which tools a request offers to the model, in every API, and whether it has to call one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Where an API has its tools in groups, the members of a group that hold them.
_GROUPS = ("functionDeclarations", "function_declarations")
#: Where a tool has its schema: OpenAI, Anthropic, Gemini (twice).
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
#: How an API says that the model has to call a tool: OpenAI (tool_choice), Anthropic and Mistral
#: (likewise), Gemini (functionCallingConfig.mode).
_DEMANDS = ("required", "any", "ANY")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTool:
    """A tool by which an agent has the model answer, such as `final_answer`.

    Attributes:
        argument: the one that takes the answer.
    """

    name: str
    argument: str


def answer_tool(body: Mapping[str, Any], own: Collection[str]) -> AnswerTool | None:
    """Return the tool by which the model has to answer, where it may not just say it.

    It is one that takes a text and that the agent's owner does not know of: the framework adds it.

    Args:
        own: names of the tools that do something.

    Example:
        >>> said = {"type": "object", "properties": {"answer": {"type": "string"}}}
        >>> tool = {"name": "final_answer", "parameters": {**said, "required": ["answer"]}}
        >>> answer_tool({"tool_choice": "required", "tools": [tool]}, ["write_note"])
        AnswerTool(name='final_answer', argument='answer')
    """
    if not _demands_a_call(body):
        return None
    for tool in _tools(body):
        name = tool.get("name")
        given = (tool[key] for key in _SCHEMAS if isinstance(tool.get(key), Mapping))
        schema: Mapping[str, Any] = next(given, {})
        wanted = schema.get("required")
        if isinstance(name, str) and name not in own and isinstance(wanted, list):
            texts = [
                key
                for key, value in dict(schema.get("properties") or {}).items()
                if isinstance(value, Mapping) and value.get("type") in ("string", "STRING")
            ]
            if wanted == texts[:1]:
                return AnswerTool(name=name, argument=texts[0])
    return None


def _demands_a_call(body: Mapping[str, Any]) -> bool:
    choice = body.get("tool_choice")
    config = body.get("toolConfig")
    calling = config.get("functionCallingConfig") if isinstance(config, Mapping) else None
    said = [
        choice,
        choice.get("type") if isinstance(choice, Mapping) else None,
        calling.get("mode") if isinstance(calling, Mapping) else None,
    ]
    return any(it in _DEMANDS for it in said if isinstance(it, str))


def _tools(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what declares each tool."""
    tools = body.get("tools")
    for item in tools if isinstance(tools, list) else ():
        if isinstance(item, Mapping):
            groups = (item[name] for name in _GROUPS if isinstance(item.get(name), list))
            for tool in next(groups, [item.get("function", item)]):
                if isinstance(tool, Mapping):
                    yield tool


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
