"""Items of a conversation as OpenAI keeps them, and the pages in which it lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from faultclock.fakes.wire.dialect import Exchange
from faultclock.fakes.wire.event_stream import objects_in, text_in
from faultclock.fakes.wire.said import token

#: openai 3.52, types/conversations/item_list_params.py; types/responses/input_item_list_params.py.
_LIMIT, _LIMIT_MAX = 20, 100
#: How the ids of items begin (openai 3.52, tests of the SDK, and the recordings that crewAI keeps).
_BEGINNINGS = {"function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}
_REFERENCE = "item_reference"


def items_of(value: object) -> list[dict[str, Any]]:
    """Return the `input` of a request as items: a text is a message of the user."""
    text = text_in(value)
    return objects_in(value) if text is None else [{"role": "user", "content": text}]


def as_kept(items: Sequence[Mapping[str, Any]], exchange: Exchange) -> list[dict[str, Any]]:
    """Return items as they are kept and listed: each with an id, a type and a status."""
    return [_as_kept(item, exchange, place) for place, item in enumerate(items)]


def _as_kept(item: Mapping[str, Any], exchange: Exchange, place: int) -> dict[str, Any]:
    kind = text_in(item.get("type")) or "message"
    beginning = _BEGINNINGS.get(kind, "msg")
    id_ = text_in(item.get("id")) or f"{beginning}_{token(exchange, f'input/{place}', 48)}"
    kept = {"id": id_, "type": kind, "status": "completed", **item}
    text = text_in(item.get("content"))
    if kind == "message" and text is not None:
        spoken = item.get("role") == "assistant"
        part: dict[str, Any] = {"type": "output_text" if spoken else "input_text", "text": text}
        if spoken:
            part["annotations"] = []
        kept["content"] = [part]
    return {**kept, "id": id_, "type": kind}


def with_references(
    items: Sequence[dict[str, Any]], kept: Mapping[str, dict[str, Any]]
) -> tuple[list[dict[str, Any]], str | None]:
    """Return items in which a reference is what it refers to, and the first id that is not kept.

    Args:
        kept: items by id.
    """
    found = []
    for item in items:
        if item.get("type") == _REFERENCE:
            id_ = text_in(item.get("id")) or ""
            if id_ not in kept:
                return [], id_
            item = kept[id_]
        found.append(item)
    return found, None


def by_id(records: Sequence[object]) -> dict[str, dict[str, Any]]:
    """Return all items that stand in the records of a shelf, by id."""
    return {
        str(item["id"]): item
        for record in records
        for item in _items_in(record)
        if isinstance(item.get("id"), str)
    }


def _items_in(record: object) -> Iterator[dict[str, Any]]:
    if isinstance(record, dict):
        yield from objects_in(record.get("input"))
        yield from objects_in(record.get("items"))
        response = record.get("response")
        if isinstance(response, dict):
            yield from objects_in(response.get("output"))


def page(items: Sequence[dict[str, Any]], query: str) -> dict[str, Any]:
    """Return a page of items in the order of their conversation, as `query` asks for it."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    ordered = list(items) if given.get("order") == "asc" else list(reversed(items))
    ids = [item["id"] for item in ordered]
    after = given.get("after")
    start = ids.index(after) + 1 if after in ids else 0
    asked = given.get("limit", "")
    limit = min(max(int(asked), 1), _LIMIT_MAX) if asked.isdecimal() else _LIMIT
    shown = ordered[start : start + limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else "",
        "last_id": shown[-1]["id"] if shown else "",
        "has_more": start + limit < len(ordered),
    }
