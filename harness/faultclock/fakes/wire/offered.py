"""What a request offers to the model and demands of its answer, in every API."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from faultclock.fakes.wire.event_stream import json_object
from faultclock.model.json_sample import json_sample, object_sample

#: Where an API has its tools in groups, the members of a group that hold them.
_GROUPS = ("functionDeclarations", "function_declarations")
#: What holds the name and the schema of a tool, where the tool is not that itself.
_HOLDERS = ("function", "toolSpec")
#: Members that hold the schema of a tool's arguments, or of an answer.
_SCHEMAS = (
    "parameters",
    "parametersJsonSchema",
    "parameters_json_schema",
    "input_schema",
    "inputSchema",
    "responseJsonSchema",
    "responseSchema",
    "json_schema",
    "schema",
    "json",
)
#: Members that only a schema has.
_ENDS = frozenset({"properties", "$ref"})
#: Where a body says that the model has to call a tool, as paths.
_CHOICES = (
    ("tool_choice",),
    ("toolConfig", "toolChoice"),
    ("toolConfig", "functionCallingConfig"),
)
#: The words for that: OpenAI's and Cohere's; Anthropic's, Mistral's and Gemini's.
_MUST = ("required", "any")
#: Where a body says what form its answer has to have, as paths.
_FORMATS = (
    ("response_format",),
    ("text", "format"),
    ("output_config", "format"),
    ("output_format",),
    ("generationConfig",),
    ("format",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a request offers, and what it demands of an answer that is a text.

    Attributes:
        offers: the names of its tools, and arguments that fit each.
        arguments: by tool, the names of all its arguments, and of those that it needs; what says
            neither is left out.
        choices: by tool, the arguments that can only be one of some values, and these.
        described: what it says of each tool.
        text: JSON of the form that it asks for, in place of any other text; None: it asks for none.
        tool: name and arguments of a call that it asks for in place of a text, likewise.
        argument: the one that takes the text, where that is all that the tool takes; empty: none.
        is_own: whether that tool is one of the subject's, and a call of it no answer.
    """

    offers: Mapping[str, str] = field(default_factory=dict, compare=False)
    arguments: Mapping[str, tuple[Collection[str], Collection[str]]] = field(
        default_factory=dict, compare=False
    )
    choices: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict, compare=False)
    described: Mapping[str, str] = field(default_factory=dict, compare=False)
    text: str | None = None
    tool: tuple[str, str] | None = None
    argument: str = ""
    is_own: bool = False

    def has(self, name: str, arguments: str) -> bool:
        """Return whether it offers a tool that can be called with these arguments, as JSON."""
        given = set(json_object(arguments) or {})
        known, needed = self.arguments.get(name, (given, ()))
        return name in self.offers and set(needed) <= given <= set(known)

    def takes(self, name: str, arguments: str) -> bool:
        """Return whether a tool that it offers takes the values of these arguments, as JSON."""
        given = json_object(arguments) or {}
        choices = self.choices.get(name, {})
        return all(given[key] in choices[key] for key in given if key in choices)

    def names(self, name: str, arguments: str) -> bool:
        """Return whether what it says of a tool names a value of these arguments, in quotes."""
        said, given = self.described.get(name, ""), json_object(arguments) or {}
        return any(f"'{it}'" in said or f'"{it}"' in said for it in given.values())


def offered_tools(body: Mapping[str, Any]) -> int:
    """Return the number of tools in the body of a request; 0 where there are none.

    Example:
        >>> offered_tools({"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]})
        2
    """
    return sum(1 for _ in _tools(body))


def names_of_tools(body: Mapping[str, Any]) -> str:
    """Return the names of the tools in the body of a request, in one text; empty for none."""
    return ",".join(sorted(_name(_held(tool)) or "" for tool in _tools(body)))


def demand_of(body: Mapping[str, Any], own: Collection[str] = ()) -> Demand:
    """Return what a request demands of an answer that is a text.

    Where a tool has to be called, frameworks offer those that stand for the answer last.

    Args:
        own: names of tools that do something, and stand for no answer while others can.
    """
    tools = {name: tool for tool in _tools(body) if (name := _name(tool))}
    schemas = {name: _schema(tool) or {} for name, tool in tools.items()}
    offered = Demand(
        offers={name: json.dumps(object_sample(schema)) for name, schema in schemas.items()},
        arguments={name: named for name, schema in schemas.items() if (named := _named(schema))},
        choices={name: dict(_choices_of(schema)) for name, schema in schemas.items()},
        described={name: str(_held(tool).get("description", "")) for name, tool in tools.items()},
    )
    must, named_tool = _choice(body)
    if must and offered.offers:
        last = sorted(offered.offers, key=lambda name: name not in own)[-1]
        name = named_tool if named_tool is not None and named_tool in offered.offers else last
        return replace(
            offered,
            tool=(name, offered.offers[name]),
            argument=_only_text(schemas[name]),
            is_own=name in own,
        )
    for path in _FORMATS:
        schema = _schema(_at(body, path))
        if schema is not None:
            return replace(offered, text=json.dumps(json_sample(schema)))
    return offered


def _named(schema: Mapping[str, Any]) -> tuple[Collection[str], Collection[str]] | None:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return None
    needed = required if isinstance(required, list) else ()
    return properties.keys(), [name for name in needed if isinstance(name, str)]


def _choices_of(schema: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    properties = schema.get("properties")
    for key, inner in properties.items() if isinstance(properties, Mapping) else ():
        allowed = inner.get("enum") if isinstance(inner, Mapping) else None
        if isinstance(allowed, list):
            yield key, allowed


def _tools(body: Mapping[str, Any]) -> Iterator[Any]:
    tools = body.get("tools") or _at(body, ("toolConfig", "tools"))
    for item in tools if isinstance(tools, list) else ():
        groups = [item.get(name) for name in _GROUPS] if isinstance(item, Mapping) else []
        group = next((it for it in groups if isinstance(it, list)), None)
        yield from [item] if group is None else group


def _choice(body: Mapping[str, Any]) -> tuple[bool, str | None]:
    """Return whether a tool has to be called, and which one if that is said."""
    for path in _CHOICES:
        choice = _at(body, path)
        if isinstance(choice, str):
            return choice.lower() in _MUST, None
        if isinstance(choice, Mapping):
            held = _held(choice.get("tool", choice))
            allowed = choice.get("allowedFunctionNames")
            named = _name(held) or (allowed[0] if isinstance(allowed, list) and allowed else None)
            said = str(choice.get("type") or choice.get("mode") or "").lower()
            return said in (*_MUST, "tool", "function") or bool(
                {"any", "tool"} & set(choice)
            ), named
    return False, None


def _held(tool: Any) -> Any:
    inner = (tool.get(name) for name in _HOLDERS) if isinstance(tool, Mapping) else ()
    return next((item for item in inner if isinstance(item, Mapping)), tool)


def _name(tool: Any) -> str | None:
    held = _held(tool)
    name = held.get("name") if isinstance(held, Mapping) else None
    return name if isinstance(name, str) else None


def _schema(holder: Any) -> Mapping[str, Any] | None:
    """Return the JSON Schema that a tool or a form of an answer has; None where it has none."""
    inner = _held(holder)
    found = inner if isinstance(inner, Mapping) and _ENDS & set(inner) else None
    while isinstance(inner, Mapping) and not _ENDS & set(inner):
        inner = next((inner[name] for name in _SCHEMAS if name in inner), None)
        found = inner if isinstance(inner, Mapping) else found
    return found


def _only_text(schema: Mapping[str, Any]) -> str:
    """Return the property of an object that has to be there, if it is one text alone."""
    wanted, properties = schema.get("required"), schema.get("properties")
    if not isinstance(wanted, list) or len(wanted) != 1 or not isinstance(properties, Mapping):
        return ""
    (name,) = wanted
    value = properties.get(name) if isinstance(name, str) else None
    if not isinstance(value, Mapping) or {"enum", "format", "const"} & set(value):
        return ""
    return str(name) if str(value.get("type")).lower() == "string" else ""


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        body = body.get(name) if isinstance(body, Mapping) else None
    return body
