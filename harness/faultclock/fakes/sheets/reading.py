"""Reads requests by a dialect's file: what is asked for, and what the provider refuses itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from faultclock.fakes.sheets.paths import values_at
from faultclock.fakes.sheets.sheet import PromptTokens, RefuseRule, Requests
from faultclock.fakes.sheets.template import Filler, Members, Scope, expression, template
from faultclock.fakes.wire.dialect import Asked, Refusal
from faultclock.fakes.wire.event_stream import json_object, objects_in, text_in
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import tokens_of

_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "int": (int,),
    "list": (list,),
    "text list": (str, list),
}


class Reader:
    """Reads the requests of one dialect.

    Args:
        parts: of its file.
    """

    def __init__(self, how: Requests, parts: Mapping[str, Filler]) -> None:
        self._parts = parts
        self._runs = how.runs
        self._path = re.compile(how.path)
        self._beside = re.compile(how.beside) if how.beside else None
        self._model, self._stream = expression(how.model), expression(how.stream)
        self._messages, self._mine = expression(how.messages), expression(how.mine)
        self._refused = [_refusing(rule) for rule in how.refused]

    def asked(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what the provider would refuse is a refusal."""
        body = json_object(request.body)
        path, _, query = request.target.partition("?")
        known = self._path.fullmatch(path)
        others = None if known or self._beside is None else self._beside.fullmatch(path)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        scope = Scope(
            self._parts,
            method=request.method,
            path=path,
            query=Members(parse_qs(query)),
            known=known is not None,
            beside=others is not None,
            found=Members(known.groupdict() if known else {}),
            headers=Members((name.replace("-", "_"), it) for name, it in request.headers.items()),
            bearer=key.strip() if scheme.lower() == "bearer" else "",
            raw=request.body,
            is_json=body is not None,
            body=Members(body or {}),
        )
        scope["model"] = self._model(scope)
        return Asked(
            model=scope["model"],
            stream=self._stream(scope),
            refusal=next(filter(None, (refusal(scope) for refusal in self._refused)), None),
            body=body or {},
            beside=others is not None,
        )

    def messages(self, body: Mapping[str, Any]) -> Any:
        """Return the messages of a request; a list, unless it is one that is refused."""
        return self._messages(Scope(self._parts, body=Members(body)))

    def turns(self, messages: Any) -> int:
        """Return how often the model spoke: the 0-based place in the script's replies."""
        turns, before = 0, False
        for item in messages if isinstance(messages, list) else ():
            mine = isinstance(item, dict) and self._mine(Scope(self._parts, item=Members(item)))
            turns += mine and not (before and self._runs)
            before = mine
        return turns


def prompt_tokens(how: PromptTokens, messages: Any) -> int:
    """Return how many tokens `messages` make, roughly."""
    tokens = 0
    for message in objects_in(messages):
        values = (value for path in how.texts for value in values_at(message, path))
        found = [value for value in values if isinstance(value, (str, dict))]
        texts = [it if isinstance(it, str) else text_in(it.get("text")) or "" for it in found]
        if how.per == "message":
            texts = ["".join(texts)]
        tokens += sum(how.each + tokens_of(text) for text in texts)
    return tokens


def _refusing(rule: RefuseRule) -> Callable[[Scope], Refusal | None]:
    """Return what gives the refusal of a request by one rule."""
    holds = expression(rule.when or "True")
    values = template(rule.values)

    def refusal(scope: Scope) -> Refusal | None:
        flaws = ((name, _flaw(scope["body"], name, kind)) for name, kind in rule.needs.items())
        for scope["field"], scope["flaw"] in flaws if rule.needs else (("", "any"),):
            if scope["flaw"] and holds(scope):
                return Refusal(payload=rule.payload, values=values(scope))
        return None

    return refusal


def _flaw(body: Mapping[str, Any], name: str, kind: str) -> str | None:
    value = body.get(name)
    if name not in body:
        return "absent"
    if not isinstance(value, _KINDS[kind]) or isinstance(value, bool):
        return "kind"
    if not value:
        return "empty"
    # A lone surrogate is legal in JSON and cannot be sent back: it is not printable.
    return "odd" if isinstance(value, str) and not value.isprintable() else None
