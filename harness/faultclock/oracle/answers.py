"""Answers: what is not a whole answer does not reach the caller as one.

Only what the caller gets is looked at: a text that is the provider's, whole or in part, or no text
where the provider gave none. An answer that says how it ended (a reply with its finish reason) has
been passed on as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.model.finish_reasons import is_usual_end
from faultclock.oracle.attempts import Attempt, Call, Request
from faultclock.oracle.chain import is_degraded
from faultclock.oracle.check import Check, Verdicts, Violation, also, held, otherwise
from faultclock.oracle.history import History

__all__ = ["CHECKS"]

_NO_TEXT = hashlib.sha256(b"").hexdigest()
_SHORT = 60
#: How an answer can end that is well-formed and not whole, in words.
_ENDS = {
    "length": "was cut at its limit of length",
    "filtered": "was stopped by a content filter",
    "refused": "was a refusal",
    "empty": "held no text",
    "paused": "was paused by the provider",
}
#: What is not the whole answer to the question, and what some programs want to accept.
_SEVERE = ("filtered", "paused", "refused")


def _whole(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "answers.whole")
    yield otherwise("no call returned")
    for call, request in _returned(history):
        last = request.attempts[-1]
        ends = last.ends
        if _has_a_whole_answer(request):
            yield held(*requirements)
            continue
        if not last.failed and ends not in _SEVERE:
            if last.outcome == "ok" and ends is None:
                yield held(*requirements)
            continue
        if last.failed and not _is_the_providers(call, history):
            continue
        yield held(*requirements)
        if _says_how_it_ended(call):
            continue
        why = f"failed: {last.signal}" if last.failed else _ENDS[str(ends)]
        yield _passed_on(call, last, requirements, f"the answer {why}")


def _noticed(history: History, model: ErrorModel) -> Verdicts:
    return _ended(history, model, "answers.noticed", "length")


def _not_empty(history: History, model: ErrorModel) -> Verdicts:
    return _ended(history, model, "answers.not-empty", "empty")


def _ended(history: History, model: ErrorModel, check: str, ends: str) -> Verdicts:
    requirements = also(model, check)
    yield otherwise(f"no answer {_ENDS[ends]}")
    for call, request in _returned(history):
        last = request.attempts[-1]
        if last.failed or last.ends != ends:
            continue
        yield held(*requirements)
        if not _says_how_it_ended(call, usual=ends == "empty"):
            yield _passed_on(call, last, requirements, f"the answer {_ENDS[ends]}")
    for call in history.calls:
        last_attempt = call.attempts[-1] if call.attempts else None
        if call.raised and last_attempt is not None and last_attempt.ends == ends:
            yield held(*requirements)


def _admitted(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "answers.admitted")
    yield otherwise("no call came to its end by a failure")
    for call in history.calls:
        if call.raised and call.last_failure is not None:
            yield held(*requirements)
    for call, request in _returned(history):
        last = request.attempts[-1]
        if not last.failed or _has_a_whole_answer(request):
            continue
        yield held(*requirements)
        if (
            _is_the_providers(call, history)
            or _says_how_it_ended(call)
            or call.id in history.suppressed
        ):
            continue
        yield _passed_on(call, last, requirements, f"every attempt failed: {last.signal}")


def _has_a_whole_answer(request: Request) -> bool:
    """Return whether any attempt brought one: a client may make several at once."""
    return any(item.outcome == "ok" and item.ends is None for item in request.attempts)


def _returned(history: History) -> Iterator[tuple[Call, Request]]:
    """Yield the calls that returned what one request gave them."""
    if history.trace.header.scenario.workflow is not None:
        # A workflow comes to what its last node gave, which need not be the model.
        return
    for call in history.calls:
        if not call.returned or not call.attempts or call.end is None or is_degraded(call.end):
            continue
        request = call.requests[-1]
        if request.returned and request.attempts:
            yield call, request


def _says_how_it_ended(call: Call, *, usual: bool = False) -> bool:
    """Return whether the caller can see that the answer is no whole one.

    Args:
        usual: whether the reason of a whole answer will do.
    """
    payload = {} if call.end is None else call.end.payload
    reason = payload.get("finish_reason")
    if reason is not None:
        return usual or not is_usual_end(str(reason))
    # None is no answer, and no caller takes it for one.
    return payload.get("type") == "NoneType"


def _is_the_providers(call: Call, history: History) -> bool:
    """Return whether what was returned is a part of the provider's text, or no text at all."""
    payload = {} if call.end is None else call.end.payload
    text = payload.get("text")
    if not isinstance(text, str):
        return payload.get("type") != "NoneType"
    return not text or payload.get("text_sha256") == _NO_TEXT or _is_part(text, history)


def _is_part(text: str, history: History) -> bool:
    script = history.trace.header.scenario.provider
    wholes = (script.reply, *(reply.text for reply in script.replies))
    return any(text in whole for whole in wholes if whole)


def _passed_on(call: Call, last: Attempt, requirements: tuple[str, ...], why: str) -> Violation:
    end = () if call.end is None else (call.end.seq,)
    return Violation(
        requirement=next(iter(requirements), None),
        call=call.id,
        expected="an error, or an answer that says that it is not whole",
        observed=f"{why}, and the call returned {_excerpt(call)}",
        events=(*last.events, *end),
        hint="Look at the finish reason, and at the end of the stream, before the text is used.",
    )


def _excerpt(call: Call) -> str:
    payload = {} if call.end is None else call.end.payload
    text = payload.get("text")
    if not isinstance(text, str):
        return f"a {payload.get('type')}" if payload.get("type") else "no text"
    if not text:
        return "an empty text"
    shown = text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"
    return f"{shown!r} as if it were the answer"


CHECKS = (
    Check(
        id="answers.whole",
        title="No broken answer passes as a whole one",
        says="An answer that was cut off, paused, filtered or refused is not returned as if it were"
        " whole.",
        run=_whole,
    ),
    Check(
        id="answers.noticed",
        title="A short answer is noticed",
        says="An answer that was cut at its length limit is not returned as if it were complete.",
        run=_noticed,
    ),
    Check(
        id="answers.not-empty",
        title="An empty answer is noticed",
        says="An answer without text and tool calls is not returned as an empty text.",
        run=_not_empty,
    ),
    Check(
        id="answers.admitted",
        title="A failed call says that it failed",
        says="A call whose attempts all failed raises, or returns something that says so.",
        run=_admitted,
    ),
)
