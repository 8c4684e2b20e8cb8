"""OpenAI's conversations: made, changed and deleted, and their items.

Paths and shapes are those of the openai SDK 3.52 (resources/conversations/*.py,
types/conversations/*.py, read 2026-11-24). On the shelf a conversation has two records, as its
items change with each response: the object by its id, and the items by `items_key`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from faultclock.fakes.kept.items import as_kept, page
from faultclock.fakes.wire.dialect import Asked, Exchange, Refusal, Shelf, Shown
from faultclock.fakes.wire.event_stream import object_in, objects_in, printable, text_in
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import token

_PATH = re.compile(r".*/conversations(?:/(?P<id>[^/]+)(?P<items>/items(?:/(?P<item>[^/]+))?)?)?")


def conversation_of(body: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation that a request names, as a text or as an object."""
    given = body.get("conversation")
    return text_in(given) or text_in(object_in(given).get("id"))


def items_key(conversation: str) -> str:
    """Return under what the items of a conversation are kept."""
    return f"{conversation}/items"


def said(words: str) -> dict[str, str]:
    """Return what takes the place of an error's own words."""
    return {"message": words}


def no_such_path(request: HttpRequest, *, known: bool) -> Refusal:
    """Return the refusal of a path that is not there, or `known` and without that method."""
    if known:
        return Refusal(payload="method_not_supported", values={})
    words = f"Invalid URL ({request.method} {request.target.partition('?')[0]})"
    return Refusal(payload="unknown_url", values=said(words))


def conversation_asked(
    asked: Asked, request: HttpRequest, shelf: Shelf, exchange: Exchange
) -> Asked:
    """Return a request about a conversation with what is shown of it."""
    path, _, query = request.target.partition("?")
    found = _PATH.fullmatch(path)
    body, asked = asked.body, replace(asked, body={})
    if found is None:
        return replace(asked, refusal=no_such_path(request, known=False))
    id_ = found["id"]
    if id_ is None:
        shown = _made(body, exchange) if request.method == "POST" else None
    else:
        items = shelf.get(items_key(id_))
        if items is None:
            words = said(f"Conversation with id '{printable(id_)}' not found.")
            return replace(asked, refusal=Refusal(payload="conversation_not_found", values=words))
        if found["items"] is None:
            shown = _whole(request.method, body, shelf[id_])
        elif found["item"] is None:
            shown = _listed(request.method, body, id_, items["items"], query, exchange)
        else:
            return _item(asked, request.method, shelf, id_, found["item"])
    if shown is None:
        return replace(asked, refusal=no_such_path(request, known=True))
    return replace(asked, shown=shown)


def _made(body: Mapping[str, Any], exchange: Exchange) -> Shown:
    id_ = f"conv_{token(exchange, 'conversation', 48)}"
    conversation = {
        "id": id_,
        "object": "conversation",
        "created_at": exchange.unix_s,
        "metadata": object_in(body.get("metadata")),
    }
    items = as_kept(objects_in(body.get("items")), exchange)
    keeps = {id_: conversation, items_key(id_): {"items": items}}
    return Shown(body=conversation, keeps=keeps)


def _whole(method: str, body: Mapping[str, Any], conversation: dict[str, Any]) -> Shown | None:
    id_ = conversation["id"]
    match method:
        case "GET":
            return Shown(body=conversation)
        case "POST":
            changed = {**conversation, "metadata": object_in(body.get("metadata"))}
            return Shown(body=changed, keeps={id_: changed})
        case "DELETE":
            gone = {"id": id_, "object": "conversation.deleted", "deleted": True}
            return Shown(body=gone, keeps={id_: None, items_key(id_): None})
    return None


def _listed(
    method: str,
    body: Mapping[str, Any],
    id_: str,
    items: list[dict[str, Any]],
    query: str,
    exchange: Exchange,
) -> Shown | None:
    if method == "GET":
        return Shown(body=page(items, query))
    if method != "POST":
        return None
    added = as_kept(objects_in(body.get("items")), exchange)
    return Shown(
        body=page(added, "order=asc&limit=100"),
        keeps={items_key(id_): {"items": [*items, *added]}},
    )


def _item(asked: Asked, method: str, shelf: Shelf, id_: str, item_id: str) -> Asked:
    items: list[dict[str, Any]] = shelf[items_key(id_)]["items"]
    item = next((item for item in items if item["id"] == item_id), None)
    if item is None:
        words = said(f"Item with id '{printable(item_id)}' not found.")
        return replace(asked, refusal=Refusal(payload="item_not_found", values=words))
    if method == "GET":
        return replace(asked, shown=Shown(body=item))
    # The answer is the conversation (resources/conversations/items.py, `delete`).
    left = {"items": [one for one in items if one is not item]}
    return replace(asked, shown=Shown(body=shelf[id_], keeps={items_key(id_): left}))
