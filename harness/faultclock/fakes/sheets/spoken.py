"""A dialect that its file describes: requests are read, and answers made, by what stands there.

What is no template is a function in the module of the same name, at most three for a dialect:

    chat(body, messages)                    the messages of a request as OpenAI's chat has them
    error_body(body, values, exchange)      the body of an error, with what the provider knows
    error_facts(body)                       what an error body says, None where it is none
    error_event(payload)                    the bytes of an error inside a stream, and its facts

An API that keeps something from one request to the next has two more, which do not count:

    recalled(asked, request, shelf, exchange, count)    a request with what is kept
    kept(asked, answer, exchange)                       an answer with what is kept of it
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from faultclock.errors import InputError, InternalError
from faultclock.fakes.sheets.hearing import Hearer
from faultclock.fakes.sheets.reading import Reader, prompt_tokens
from faultclock.fakes.sheets.sheet import Sheet
from faultclock.fakes.sheets.steps import Steps, json_text
from faultclock.fakes.sheets.template import Filler, Members, Scope, expression, template
from faultclock.fakes.wire.answer import Answer, ErrorFacts, Headers
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Shelf, Shown
from faultclock.fakes.wire.event_stream import closed_object, json_object
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.offered import demand_of
from faultclock.fakes.wire.said import Said, SaidToolCall, is_next, led, said, token
from faultclock.model.scenario.fault import HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript

#: What a module of a dialect may have a function for.
HOOKS = ("chat", "error_body", "error_facts", "error_event", "recalled", "kept")
#: The instant at which a header is sent.
_NOW = HttpDate.model_construct(http_date=0)


class SpokenDialect:
    """The dialect `name`. It has no state.

    Args:
        hooks: functions of its module that take the place of what the file says.
    """

    def __init__(self, name: str, sheet: Sheet, hooks: Mapping[str, Callable[..., Any]]) -> None:
        self.name = name
        self.ends = frozenset(sheet.ends)
        self.arguments_are_objects = sheet.good.tool_input == "object"
        self.roles = frozenset(sheet.roles)
        self.labels = frozenset(sheet.labels)
        self.answers_anywhere = sheet.answers_anywhere
        self.own_payloads = tuple(sorted({rule.payload for rule in sheet.requests.refused}))
        self._sheet = sheet
        self._hooks = hooks
        self._parts = {part: template(value) for part, value in sheet.parts.items()}
        self._reader = Reader(sheet.requests, self._parts)
        self._fillers: dict[str, Filler] = {}

    def _filled(self, name: str, scope: Scope) -> Any:
        """Return a template of the file, such as `limits.retry`, filled."""
        if name not in self._fillers:
            self._fillers[name] = template(attrgetter(name)(self._sheet))
        return self._fillers[name](scope)

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what the provider itself would refuse is a refusal."""
        return self._reader.asked(request)

    def recalled(
        self, asked: Asked, request: HttpRequest, shelf: Shelf, exchange: Exchange
    ) -> Asked:
        """Return what `request` asks for with what the provider has kept."""
        if asked.refusal is not None or "recalled" not in self._hooks:
            return asked
        found: Asked = self._hooks["recalled"](asked, request, shelf, exchange, self._prompt)
        return found

    def _prompt(self, asked: Asked) -> int:
        """Return how many tokens the messages of a request make, roughly."""
        how = self._sheet.requests.prompt_tokens
        is_plain = how.of == "messages"
        messages = self._reader.messages(asked.body) if is_plain else self.chat(asked)
        return prompt_tokens(how, messages)

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request as OpenAI's chat has them, each with its place."""
        messages = self._reader.messages(asked.body)
        if "chat" in self._hooks:
            return list(self._hooks["chat"](asked.body, messages))
        given = enumerate(messages) if isinstance(messages, list) else ()
        return [{**item, "at": at} for at, item in given if isinstance(item, dict)]

    # ------------------------------------------------------------------ good answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return the answer of a provider to which nothing goes wrong, whole or as a stream."""
        if asked.shown is not None:
            return self._shown_answer(asked.shown, exchange)
        messages = self._reader.messages(asked.body)
        demand = demand_of(asked.body, asked.own)
        place = self._reader.turns(messages) - led(script, demand, self.chat(asked), asked.in_words)
        place += sum(it.left_out for it in asked.in_words)
        place = max(place, asked.condensed.reached)
        says = said(script, exchange, messages, place, demand, toolless=asked.toolless)
        prompt = self._prompt(asked)
        scope = self._scope(asked, exchange, says, prompt)
        if self._filled("good.silent", scope):
            scope = self._scope(asked, exchange, replace(says, text=None), prompt)
        before, end = 0, b""
        if asked.stream:
            chunks, before = self._steps.chunks(scope)
            end = self._steps.end(scope)
        else:
            whole = self._sheet.whole
            text = json_text(self._filled("whole.body", scope), whole.json_style)
            chunks = (f"{whole.before}{text}{whole.after}".encode(),)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": scope["completion"],
            "total_tokens": scope["total"],
        }
        is_told = not asked.stream or self._filled("stream.usage_told", scope)
        section = self._sheet.stream if asked.stream else self._sheet.whole
        # What a trace has of such a call is the answer that it stands for: no tool is to be called.
        by_call = says.in_place_of_text
        answer = Answer(
            status=200,
            headers=_as_headers(self._headers(scope, section.content_type)),
            chunks=chunks,
            end_marker=end,
            stream=asked.stream,
            chunks_before_finish=before,
            finish_reason="stop" if by_call and says.ends is None else scope["reason"],
            text=says.text if by_call else scope["text"],
            by_tool=says.tool_calls[0].name if by_call else "",
            tool_calls=tuple(
                {"id": call.id, "name": call.name, "arguments": call.told}
                for call in scope["calls"]
                if not by_call
            ),
            reached=place + (not by_call and is_next(script, says)),
            usage=usage if is_told else None,
            can_end=True if by_call else None,
        )
        if "kept" in self._hooks:
            answer = self._hooks["kept"](asked, answer, exchange)
        return answer

    def _shown_answer(self, shown: Shown, exchange: Exchange) -> Answer:
        """Return the answer to a request about something that the provider keeps."""
        section = self._sheet.stream if shown.chunks else self._sheet.whole
        scope = self._around(exchange, stream=bool(shown.chunks), prompt=0, completion=0, total=0)
        text = json_text(shown.body, self._sheet.whole.json_style)
        return replace(
            shown.answer or Answer(status=200, headers=(), chunks=()),
            headers=_as_headers(self._headers(scope, section.content_type)),
            chunks=shown.chunks or (f"{text}{self._sheet.whole.after}".encode(),),
            stream=bool(shown.chunks),
            chunks_before_finish=max(0, len(shown.chunks) - 1),
            keeps=shown.keeps,
        )

    def _scope(self, asked: Asked, exchange: Exchange, says: Said, prompt: int) -> Scope:
        """Return what the names of a good answer stand for."""
        good = self._sheet.good
        reason = says.finish_reason
        if says.ends is not None:
            reason = good.ends_with.get(says.ends, reason)
        finish = good.finish.get(reason, reason)
        scope = self._around(
            exchange,
            model=asked.model,
            body=Members(asked.body),
            sent_body=Members(asked.body),
            stream=asked.stream,
            text=None if says.in_place_of_text else says.text,
            refusal=says.refusal,
            ends=says.ends,
            reason=reason,
            finish=finish,
            # A whole answer says at once why it ended, and a stream in the step of its end.
            ending=None if asked.stream else finish,
            finishing=not asked.stream,
            prompt=prompt,
            completion=says.tokens,
            total=prompt + says.tokens,
        )
        scope["calls"] = [
            self._call(scope, index, call, stream=asked.stream)
            for index, call in enumerate(says.tool_calls)
        ]
        return scope

    def _around(self, exchange: Exchange, **names: Any) -> Scope:
        """Return what the names of any answer stand for, and `names`."""

        def hex_(purpose: str, length: int) -> str:
            return token(exchange, purpose, length)

        def uuid(purpose: str) -> str:
            digits = token(exchange, purpose, 32)
            bounds = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
            return "-".join(digits[start:end] for start, end in bounds)

        return Scope(
            self._parts,
            hex=hex_,
            uuid=uuid,
            now=_NOW,
            exchange=exchange,
            number=exchange.number,
            unix_s=exchange.unix_s,
            think_ms=exchange.think_ms,
            chunks_before=None,
            **names,
        )

    def _call(self, scope: Scope, index: int, call: SaidToolCall, *, stream: bool) -> Members:
        """Return a tool call: `input` is the value of its arguments, `told` what a trace has."""
        value: Any = call.arguments
        told = call.arguments
        match self._sheet.good.tool_input:
            case "object":
                value = _object_of(call, self.name)
            case "wrapped":
                # What is no object cannot be said; Anthropic's documents on tools wrap it so.
                value = json_object(call.arguments)
                value = {"INVALID_JSON": call.arguments} if value is None else value
                told = told if stream else json_text(value, "compact")
            case "loose":
                value = _json_or_text(call.arguments)
                told = told if stream else json_text(value, "compact")
        given = Members(
            index=index,
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            input=value,
            told=told,
        )
        scope["call"] = given
        given["id"] = self._filled("good.tool_id", scope)
        return given

    @cached_property
    def _steps(self) -> Steps:
        return Steps(self._sheet.stream)

    # ------------------------------------------------------------------ headers

    def _headers(self, scope: Scope, content_type: str) -> dict[str, Any]:
        """Return the headers of an answer."""
        scope["content_type"] = content_type
        scope["limits"] = self._filled("limits.never", scope) | self._limits(scope)
        headers: dict[str, Any] = self._filled("headers", scope)
        return headers

    def _limits(self, scope: Scope) -> dict[str, Any]:
        """Return the headers of limits that the provider really has."""
        standing = scope["exchange"].standing
        if standing is None:
            return {}
        meters = [meter for meter in (standing.requests, standing.tokens) if meter is not None]
        fullest = min(meters, key=lambda meter: meter.remaining / meter.limit, default=None)
        wait_ns = standing.retry_after_ns
        if wait_ns is None and fullest is not None:
            wait_ns = fullest.reset_ns
        told: dict[str, Any] = {}
        for of, name, value in (
            ("requests", "meter", standing.requests),
            ("tokens", "meter", standing.tokens),
            ("fullest", "meter", fullest),
            ("retry", "retry_after_ns", standing.retry_after_ns),
            ("wait", "wait_ns", wait_ns),
        ):
            if value is not None:
                scope[name] = value
                told |= self._filled(f"limits.{of}", scope)
        return told

    # ------------------------------------------------------------------ errors

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return an answer of `status` whose body is `payload`."""
        how = self._sheet.errors
        scope = self._around(exchange, stream=False, status=status, prompt=0, completion=0, total=0)
        is_json = payload.content_type == "application/json"
        headers = self._headers(scope, how.content_type if is_json else payload.content_type)
        headers |= self._filled("errors.headers", scope)
        headers |= {name.lower(): value for name, value in payload.headers.items()}
        scope["headers"] = headers
        headers |= self._filled("errors.headers_after", scope) | self._limits(scope)
        chunk, error = (payload.text or "").encode(), None
        if payload.body is not None:
            scope["shown"] = Members(self._error_body(payload.body, values, exchange))
            shown = self._filled("errors.body", scope)
            chunk = f"{json_text(shown, how.json_style)}{how.after}".encode()
            error = self.error_facts(shown)
            if error is not None and how.type_header is not None:
                error = {
                    **error,
                    "type": headers.get(how.type_header, "").partition(":")[0] or None,
                }
        return Answer(status=status, headers=_as_headers(headers), chunks=(chunk,), error=error)

    def _error_body(
        self, body: dict[str, Any], values: Mapping[str, str], exchange: Exchange
    ) -> dict[str, Any]:
        """Return an error body in which `values` replace what they are of."""
        if "error_body" in self._hooks:
            return dict(self._hooks["error_body"](body, values, exchange))
        where, error = self._sheet.errors.values, body.get("error")
        if where == "body":
            return {**body, **values}
        if not isinstance(error, dict):
            return body
        known = {name: it for name, it in values.items() if where == "error" or name in error}
        return {**body, "error": {**error, **known}}

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return what an error body says, None where it is not one of this API."""
        facts: ErrorFacts | None = None
        if "error_facts" in self._hooks:
            facts = self._hooks["error_facts"](body)
        else:
            scope = Scope(self._parts, body=Members(body))
            scope["error"] = self._error_object(scope)
            if scope["error"] is not None:
                facts = self._filled("errors.facts", scope)
        return facts

    @cached_property
    def _error_object(self) -> Filler:
        return expression(self._sheet.errors.object)

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the bytes of an error inside a stream, and its facts.

        Raises:
            InternalError: there can be none: the payload is no JSON, or is no error.
        """
        body, how = payload.body, self._sheet.errors
        facts = None if body is None else self.error_facts(body)
        if body is None or facts is None:
            raise InternalError("an error event needs a payload with an error object")
        if "error_event" in self._hooks:
            event: tuple[bytes, ErrorFacts] = self._hooks["error_event"](payload)
            return event
        if how.event_is_body:
            text = f"{json_text(body, how.json_style)}{how.after}"
            return text.replace("\n", self._sheet.stream.line_end).encode(), facts
        scope = self._around(exchange, model=asked.model, stream=True, finishing=False)
        scope.update(
            sent_body=Members(asked.body),
            body=Members(body),
            ending=how.event_ending,
            facts=Members(facts),
        )
        scope.update(sequence=0, chunks_before=chunks_before)
        scope["error"] = self._error_object(scope)
        return self._steps.event(how.event, scope), self._filled("errors.event_facts", scope)

    # ------------------------------------------------------------------ reading answers back

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says; no body raises anything."""
        return self._hearer.heard(body, content_type)

    @cached_property
    def _hearer(self) -> Hearer:
        sheet = self._sheet
        return Hearer(sheet.heard, sheet.good.finish, sheet.stream.frame, self.error_facts)


def _as_headers(headers: Mapping[str, Any]) -> Headers:
    return tuple(
        (name, value if isinstance(value, HttpDate) else str(value))
        for name, value in headers.items()
    )


def _object_of(call: SaidToolCall, dialect: str) -> dict[str, Any]:
    """Return the arguments of a call for an API in which they are an object."""
    value = closed_object(call.arguments)
    if value is None:
        raise InputError(
            f"the arguments of the tool {call.name!r} are no JSON object: {call.arguments!r}",
            hint=f"the dialect {dialect} sends arguments as an object; only a dialect that sends "
            "them as a text, such as openai-chat, can send these",
        )
    return value


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
