"""Bedrock's model of itself, as botocore carries it: what it objects to in a body or a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from botocore.eventstream import EventStreamBuffer
from botocore.loaders import Loader
from botocore.model import ServiceModel

_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "boolean": bool,
    "list": list,
    "map": dict,
    "structure": dict,
}


@cache
def service_model() -> ServiceModel:
    """Return the model of bedrock-runtime that comes with botocore."""
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))


def stream_of(body: bytes) -> Iterator[Any]:
    """Yield the messages that botocore finds in a stream."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    yield from buffer


def output_problems(operation: str, body: bytes) -> list[str]:
    """Return what the model objects to in the whole answer of `operation`."""
    shape = service_model().operation_model(operation).output_shape
    return list(_problems(shape, json.loads(body), "body"))


def message_problems(message: Any) -> list[str]:
    """Return what the model objects to in one message of ConverseStream."""
    stream = service_model().operation_model("ConverseStream").output_shape.members["stream"]
    headers = message.headers
    name = headers.get(":event-type") or headers.get(":exception-type")
    if name not in stream.members:
        return [f"the stream has no {name!r}"]
    return list(_problems(stream.members[name], json.loads(message.payload), str(name)))


def _problems(shape: Any, value: Any, where: str) -> Iterator[str]:
    if shape.type_name == "structure" and getattr(shape, "is_document_type", False):
        return
    kind: Any = _KINDS[shape.type_name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield f"{where} is {value!r}, not a {shape.type_name}"
    elif shape.type_name == "list":
        for number, item in enumerate(value):
            yield from _problems(shape.member, item, f"{where}[{number}]")
    elif shape.type_name == "string" and shape.enum and value not in shape.enum:
        yield f"{where} is {value!r}, not one of {shape.enum}"
    elif shape.type_name == "structure":
        yield from (
            f"{where} has no {name}" for name in shape.required_members if name not in value
        )
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            yield f"{where} is a union of {len(value)} members"
        for name, item in value.items():
            if name in shape.members:
                yield from _problems(shape.members[name], item, f"{where}.{name}")
            else:
                yield f"unknown member {where}.{name}"
