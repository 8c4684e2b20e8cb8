"""The reference of the scenario format, from the JSON Schema that editors use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from faultclock.load.schema import schema_of
from tests.docs.reference_text import GENERATED, anchor, cell, code, prose, table

Schema = dict[str, Any]

#: What keys mean that say the same wherever they stand, and have no docstring there.
_EVERYWHERE = {
    "id": "Its name, by which rules, findings and traces call it. Unique in the scenario.",
    "name": "Its name, by which the subject and the trace call it. Unique in the scenario.",
    "kind": "Which of its kinds this is.",
    "on": "The event or place that it waits for.",
    "at": "The virtual time at which it happens.",
    "when": "When it applies: all that is given must hold.",
    "then": "What happens when it applies.",
    "rules": "What goes wrong. The first rule that applies decides.",
    "message": "The words that it fails with.",
    "error": "Name of the error answer, as the dialect or `provider.payloads` has it.",
    "optional": "Whether a run that never meets it still proves something.",
    "prompt": "What is asked.",
    "takes": "The virtual time that it takes.",
    "tool_calls": "The tools that the answer asks for.",
    "value": "The value itself.",
    "because": "Why it is left out: told with the result.",
    "retry": "Whether and how it may be done again.",
    "backoff": "The waits between attempts.",
    "jitter": "How far a wait may be from its nominal one.",
    "before_life": "The process before whose start it is done, from 2.",
    "per_minute": "What is granted each minute; it fills evenly.",
    "after_body_bytes": "Bytes of the body that arrive before it.",
    "stream": "Whether it is about a stream.",
    "model": "The name of the model that is asked for.",
    "reply": "The text of the good answer.",
    "edits": "What is changed in it from outside, while no process runs.",
    "operation": "The operation that it is about.",
    "first": "The first of the range.",
    "last": "The last of the range; without it there is no end.",
    "how": "In which way.",
    "error_class": "The class of the error, in the words of the subject.",
    "code": "The code of the error, in the words of the subject.",
    "data": "The content itself.",
    "scope": "How much of the work it is about.",
    "choices": "The choices, stream by stream; `faultclock explore` writes them.",
    "any_of": "One of these values.",
}
#: What keys mean in one place.
_HERE = {
    "Scenario.title": "One line that a person reads in tables.",
    "Scenario.role": "What the subject has to be.",
    "Scenario.seed": "The seed of the first run.",
    "RuntimeScenario.tools": "The tools that a runtime is given.",
    "RuntimeScenario.interactors": "The user interfaces that ask a question, each with a person.",
    "RuntimeScenario.hooks": "Code of others that a runtime calls on the way.",
    "Scenario.tasks": "What the subject is asked for.",
    "Limits.virtual_time": "Virtual time after which a run ends.",
    "Limits.events": "Events of the trace after which a run ends.",
    "Limits.events_per_instant": "Events at one instant after which a run is a livelock.",
    "Task.stream": "Whether a stream is asked for.",
    "Task.copies": "How many clients do it at once.",
    "HookScript.slot": "Where the runtime calls it.",
    "WorkflowScript.nodes": "What is done, in this order unless the nodes say otherwise.",
    "NodeScript.tool": "The tool that the node calls.",
    "SandboxFault.cause": "Why the sandbox ends it.",
    "Backoff.base": "The first wait, or the wait of each retry, by its kind.",
    "ProgramOutcome.lines": "What it writes, in this order.",
    "ProgramLine.stream": "Where the line goes.",
    "ProgramLine.newline": "Whether the line has an end.",
    "FallbackProvider.faults": "What goes wrong with it. The first rule that applies decides.",
    "ProviderScript.faults": "What goes wrong. The first rule that applies decides.",
    "StreamError.after_chunks": "Data chunks of the stream that arrive before it.",
    "SlowDrip.bytes_per_step": "Bytes that arrive at a time.",
    "SlowDrip.every": "The virtual time between them.",
    "CorruptBody.bytes_count": "How many bytes of the body are wrong.",
    "HttpError.status": "The HTTP status.",
    "HttpError.headers": "Headers of the answer, beside its own.",
    "ProviderLimits.requests": "How many requests it grants.",
    "ProviderLimits.tokens": "How many tokens it grants.",
    "ProviderLimits.quota": "What is granted in all, and does not come back.",
    "Pareto.minimum": "The shortest.",
    "LogNormal.median": "Half of them are shorter.",
    "Uniform.low": "The shortest.",
    "Uniform.high": "The longest.",
    "ProviderReply.text": "The text of the answer.",
    "ErrorPayload.content_type": "The Content-Type of the answer.",
    "DiskScript.store_id": "Name of the store, as its sessions carry it.",
    "DiskScript.file_system": "What the file system promises after a crash.",
    "Deny.reason": "What the person says about it.",
    "InteractionTrigger.kind": "The kind of question.",
    "ToolScript.description": "What the model is told about it.",
    "ToolOutcome.fault": "How it fails; without it, it works.",
    "Partial.errors": "What failed, item by item.",
    "ItemError.class": "The class of the error, in the words of the subject.",
    "Span.from": "The least, or the earliest.",
    "Span.to": "The most, or the latest.",
    "ItemError.item": "The item that failed.",
    "SessionScript.budgets": "What a turn may use up.",
    "SessionScript.entry_stage": "The stage that a turn begins with.",
    "SessionScript.extensions": "The extensions that are loaded with it.",
    "ExtensionScript.depends_on": "Extensions that must be loaded before it.",
    "ExtensionScript.conflicts_with": "Extensions that must not be loaded beside it.",
    "ExtensionScript.migration_fails": "Whether it cannot read an old state.",
    "Budgets.wall_time": "The time that a turn may take.",
    "Matrix.omit": "Combinations that are left out.",
}


def scenario_page() -> str:
    """Return the page."""
    definitions = _definitions()
    lines = [
        "# Scenario format",
        "",
        GENERATED,
        "",
        *prose(
            "Every key of a scenario file. How to write one, with examples that run, stands in "
            "[Writing scenarios](../scenarios.md); `faultclock schema scenario` prints the schema "
            "for editors, and `faultclock validate FILE` names each mistake with its line."
        ),
        "",
        *prose(
            "A *duration* is a text with its unit, such as `250ms`, `1.5s` or `1m30s`; units are "
            "`ns`, `us`, `ms`, `s`, `m`, `h` and `d`. All times are virtual."
        ),
        "",
    ]
    for name in _in_reading_order(definitions):
        lines += _section(name, definitions[name], definitions)
    return "\n".join(lines).rstrip() + "\n"


def meanings() -> Iterator[tuple[str, str]]:
    """Yield each key of the format as `Object.key`, with what the page says of it."""
    definitions = _definitions()
    for name, item in definitions.items():
        for key, value in item.get("properties", {}).items():
            yield f"{name}.{key}", _meaning(name, key, value, definitions)


def _definitions() -> Schema:
    """Return each object by its name: `Scenario`, what each role has beside it, and all below."""
    schema: Schema = json.loads(schema_of("scenario"))
    found: Schema = schema["$defs"]
    by_role = {name: found[name] for name in _references(schema["oneOf"])}
    roles = list(by_role.values())
    common = {
        key: value
        for key, value in roles[0]["properties"].items()
        if all(key in role["properties"] for role in roles)
    }
    names = [role["properties"]["role"]["const"] for role in roles]
    whole = {**roles[0], "properties": {**common, "role": {"enum": names, "default": names[0]}}}
    whole["description"] = "What a scenario of every role has. Each role adds keys of its own."
    for role in roles:
        role["properties"] = {
            key: value for key, value in role["properties"].items() if key not in common
        }
    return {"Scenario": whole, **by_role, **found}


def _section(name: str, schema: Schema, definitions: Schema) -> list[str]:
    lines = [f"## {name}", ""]
    if "description" in schema:
        lines += [*prose(_safe(schema["description"])), ""]
    properties: dict[str, Schema] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    if properties:
        lines += table(
            ("key", "type", "default", "meaning"),
            (
                (
                    code(key),
                    _type(value),
                    "required" if key in required else _default(value),
                    cell(_meaning(name, key, value, definitions)),
                )
                for key, value in properties.items()
            ),
        )
        lines.append("")
    elif "pattern" in schema or "enum" in schema:
        lines += [_type(schema), ""]
    return lines


def _meaning(name: str, key: str, value: Schema, definitions: Schema) -> str:
    said = value.get("description") or _HERE.get(f"{name}.{key}")
    if said:
        return str(said)
    if "const" in value:
        return "Says that it is this one."
    if key in _EVERYWHERE:
        return _EVERYWHERE[key]
    described = [
        definitions[ref]["description"].split("\n\n")[0]
        for ref in _references(value)
        if "description" in definitions[ref]
    ]
    return described[0] if described else ""


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    if "const" in schema:
        return code(json.dumps(schema["const"]).strip('"'))
    if "enum" in schema:
        return ", ".join(code(str(item)) for item in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            kinds = [item for item in schema[union] if item.get("type") != "null"]
            return " or ".join(dict.fromkeys(_type(item) for item in kinds))
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"list of {len(schema['prefixItems'])}"
        items = schema.get("items")
        return f"list of {_type(items)}" if items else "list"
    if kind == "object":
        values = schema.get("additionalProperties") or next(
            iter(schema.get("patternProperties", {}).values()), None
        )
        return f"object of {_type(values)}" if isinstance(values, dict) else "object"
    if kind == "string":
        pattern = schema.get("pattern", "")
        if "ns|us|ms" in pattern:
            return "duration"
        return f"text like {code(pattern)}" if pattern else "text"
    if kind in ("integer", "number"):
        return _number(kind, schema)
    return {"boolean": "`true` or `false`", "null": "nothing"}.get(str(kind), "any value")


def _number(kind: str, schema: Schema) -> str:
    word = "whole number" if kind == "integer" else "number"
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is not None and high is not None:
        below = " (exclusive)" if "exclusiveMaximum" in schema else ""
        return f"{word}, {low} to {high}{below}"
    if low is not None:
        return f"{word}, {'above' if 'exclusiveMinimum' in schema else 'from'} {low}"
    return word


def _default(schema: Schema) -> str:
    value = schema.get("default")
    if value in (None, [], {}) or isinstance(value, (list, dict)):
        return ""
    return code(value if isinstance(value, str) else json.dumps(value))


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].rpartition("/")[2]] if "$ref" in schema else []
        return own + [name for item in schema.values() for name in _references(item)]
    return (
        [name for item in schema for name in _references(item)] if isinstance(schema, list) else []
    )


def _in_reading_order(definitions: Schema) -> list[str]:
    """Return the objects in the order in which the keys of the file lead to them."""
    found: list[str] = []
    waiting = ["Scenario", *(name for name in definitions if name.endswith("Scenario"))]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting = _references(definitions[name]["properties"]) + waiting
    return found


def _safe(text: str) -> str:
    return re.sub(r"\n\nAttributes:\n.*", "", text, flags=re.DOTALL).replace("|", "\\|")
