"""What a call returns: the whole answer of a good attempt, or something that says it is not whole.

Only what the caller gets is looked at: a text that is the provider's, whole or in part, or no text
where the provider gave none. An answer that says how it ended (a reply with its finish reason) has
been passed on as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.finish_reasons import is_usual_end
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, Violation, also, broken, check, held, unproven
from faultclock.oracle.facts.history import History
from faultclock.oracle.wire.attempts import Attempt, Call, Request
from faultclock.oracle.wire.chain import is_degraded
from faultclock.oracle.words import short

_NO_TEXT = hashlib.sha256(b"").hexdigest()
#: By so many characters of its beginning a text is known in another one.
_BEGINNING = 20
#: What may stand behind half of an answer, and says nothing of it.
_NO_WORDS = " \t\r\n.…\ufffd"
#: Longest part of an answer that a finding shows, in characters.
_SHOWN = 60
#: The same, where more is said after it, so that a title holds all of it.
_SHOWN_BRIEFLY = 24
#: By its first word a text is known that a program words for all failures.
_WORD = re.compile(r"\w+")
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


class _Reply(Struct, frozen=True, kw_only=True):
    """What a call returned, and the request that it is the answer of."""

    call: Call
    request: Request
    end: TraceEvent

    @property
    def last(self) -> Attempt:
        """The last attempt of the request."""
        return self.request.attempts[-1]

    @property
    def has_a_whole_answer(self) -> bool:
        """Whether any attempt brought one."""
        return any(item.outcome == "ok" and item.ends is None for item in self.request.attempts)

    def says_how_it_ended(self, *, usual: bool = False) -> bool:
        """Return whether the caller can see that the answer is no whole one.

        Args:
            usual: whether the reason of a whole answer will do.
        """
        # None is no answer, and no caller takes it for one.
        if self.end.type == "NoneType":
            return True
        reason = self.end.finish_reason
        if reason is None or self._is_the_error_object:
            return False
        return usual or not is_usual_end(reason)

    @property
    def _is_the_error_object(self) -> bool:
        """Whether the call returned what the provider sent with a good status: an error object."""
        signal = self.last.signal
        return self.end.text is None and signal is not None and signal.kind == "error_body"


def _replies(history: History) -> Iterator[_Reply]:
    """Yield what calls returned as the whole answer to their last request."""
    for call in history.calls:
        if not call.returned or not call.attempts or call.end is None or is_degraded(call.end):
            continue
        # What a turn returns is the last answer; what came before led to it.
        request = call.final
        if request is None or not request.returned:
            continue
        last = request.attempts[-1]
        # What is made of several answers at once is a text of its own.
        if not request.is_one_of_several or last.failed or call.returns(last):
            yield _Reply(call=call, request=request, end=call.end)


def _replies_of_the_model(history: History, *, known: bool = True) -> Iterator[_Reply]:
    """Yield those that say how they ended or do not, or those of which that is not known."""
    # A workflow comes to what its last node gave, which need not be the model.
    if history.world.workflow is None:
        for reply in _replies(history):
            if not _is_a_value(reply) and bool(_what_is_unknown(reply, history)) is not known:
                yield reply


def _what_is_unknown(reply: _Reply, history: History) -> str:
    """Return what may say that an answer is not whole, which it is not; empty where nothing does.

    It is a value of the program's own, or words that it adds to the beginning of an answer.
    """
    if not reply.last.failed and reply.last.ends is None:
        return ""
    if reply.end.problem is not None:
        return f"a {reply.end.type}: {reply.end.problem}"
    text = reply.end.text or ""
    for whole in _wholes(history):
        pairs = zip(text, whole, strict=False)
        begun = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        added = text[begun:].strip(_NO_WORDS)
        if begun >= _BEGINNING and added:
            return f"{short(added, _SHOWN)!r} after the beginning of an answer"
    return ""


def _wholes(history: History) -> Iterator[str]:
    script = history.trace.header.scenario.provider
    yield from (text for text in (script.reply, *(it.text for it in script.replies)) if text)


def _is_a_value(reply: _Reply) -> bool:
    """Return whether an agent has read a value of its own form out of what came of an answer.

    Such a value is whole where its text is: what is cut off in it is no JSON.
    """
    if not reply.last.failed or not reply.last.content:
        return False
    try:
        json.loads(reply.end.text or "")
    except ValueError:
        return False
    return True


# -------------------------------------------------------------------- the whole of a good answer


@check(
    "swallow.silent",
    title="No failure is swallowed",
    says="A call returns the whole answer of a good attempt, or reports a failure.",
    unjudged="no call returned a reply of the provider",
)
def silent(history: History, model: ErrorModel) -> Verdicts:
    """Judge what each call returned by what its attempts brought."""
    requirements = also(model, "swallow.silent")
    for reply in _replies(history):
        attempts = reply.request.attempts
        # A turn may end where the model still wanted tools: at a limit, or with no person to ask.
        unfinished = history.is_runtime and reply.last.outcome == "ok" and reply.last.tool_calls
        if unfinished or _answers_for_another_node(history, reply.call):
            continue
        yield held(*requirements)
        fault = _fault(history, reply)
        # Ignoring an error may be announced; changing an answer that was good may not.
        failed = not any(attempt.outcome == "ok" for attempt in attempts)
        if fault is None or (failed and reply.call.id in history.suppressed):
            continue
        expected, observed, events, hint = fault
        if failed:
            expected += ", or a SuppressedError event with the reason"
        yield broken(
            requirements,
            call=reply.call.id,
            expected=expected,
            observed=observed,
            events=(*events, reply.end.seq),
            hint=hint,
        )


def _answers_for_another_node(history: History, call: Call) -> bool:
    if history.world.workflow is None:
        return False
    acts = history.of("http.request", "node.called", "tool.called", "program.started")
    own = [event.kind for event in acts if event.call == call.id]
    return bool(own) and own[-1] != "http.request"


def _fault(history: History, reply: _Reply) -> tuple[str, str, tuple[int, ...], str] | None:
    """Return what was expected, what was observed, the events that prove it, and a hint."""
    hint = "Often an `except` that returns a default, or a stream that just stops."
    end, last = reply.end, reply.last
    good = [attempt for attempt in reply.request.attempts if attempt.outcome == "ok"]
    if not good:
        how = f"failed ({last.signal})" if last.failed else "had not ended"
        observed = f"attempt {last.number} {how}, and the call returned {_measured(end)}"
        return "an error", observed, last.events, hint
    # An answer that only asks for tools has no text: none and an empty one are the same.
    complete = {attempt.text_sha256 for attempt in good} - {None}
    events = good[-1].events
    if complete and (end.text_sha256 or _NO_TEXT) not in complete:
        return "the provider's whole text", f"the call returned {_measured(end)}", events, hint
    answered = good[-1].answered
    if answered is not None and answered.tool_calls and not history.is_runtime:
        wanted, given = _called(answered), _called(end)
        if _loaded(given) != _loaded(wanted):
            observed = f"the call returned {_listed(given)}"
            hint = "Return `Reply(text, tool_calls)`, with a `ToolCall(name, arguments)` for each."
            return f"the provider's tool calls: {_listed(wanted)}", observed, events, hint
    return None


def _called(event: TraceEvent) -> list[tuple[str, str]]:
    calls = event.tool_calls or ()
    return [(call.get("name", ""), call.get("arguments", "")) for call in calls]


def _measured(end: TraceEvent) -> str:
    if end.text is None:
        return f"no text, but {end.type}" if end.type else "no text"
    return f"{len(end.text)} characters of text: {short(end.text, _SHOWN)!r}"


def _listed(calls: Iterable[tuple[str, str]]) -> str:
    shown = (short(f"{name}({arguments})", _SHOWN) for name, arguments in calls)
    return ", ".join(shown) or "no tool calls"


def _loaded(calls: Iterable[tuple[str, str]]) -> list[tuple[str, object]]:
    """Return calls with their arguments parsed: a client may write equal JSON anew."""
    found: list[tuple[str, object]] = []
    for name, arguments in calls:
        try:
            found.append((name, json.loads(arguments)))
        except ValueError:
            found.append((name, arguments))
    return found


# ------------------------------------------------------------------ an answer that is not whole


@check(
    "answers.whole",
    title="No broken answer passes as a whole one",
    says="An answer that was cut off, paused, filtered or refused is not returned as if it were"
    " whole.",
    unjudged="no call returned",
)
def whole(history: History, model: ErrorModel) -> Verdicts:
    """Judge the last answers that failed, or ended in a way that is never whole."""
    requirements = also(model, "answers.whole")
    for reply in _replies_of_the_model(history, known=False):
        yield unproven(
            "an error, or an answer that says that it is not whole",
            f"the call returned {_what_is_unknown(reply, history)}",
            *(*reply.last.events, reply.end.seq),
            call=reply.call.id,
            hint="Return a value whose member `error` holds the failure, or raise it.",
        )
    for reply in _replies_of_the_model(history):
        last = reply.last
        if reply.has_a_whole_answer:
            yield held(*requirements)
        elif _is_the_providers(reply, history) if last.failed else last.ends in _SEVERE:
            why = f"failed: {last.signal}" if last.failed else _ENDS[str(last.ends)]
            yield held(*requirements)
            if not reply.says_how_it_ended():
                violation = _passed_on(reply, requirements, f"the answer {why}")
                # The same line of a program overlooks an error object, whichever error it holds.
                kind = last.signal.kind if last.signal is not None else last.ends
                # It makes an empty text of whatever holds none that it knows.
                kind = kind if last.signal is None or reply.end.text else "an empty text"
                yield replace(violation, cause=f"an answer that is not whole passes: {kind}")


@check(
    "answers.noticed",
    title="A short answer is noticed",
    says="An answer that was cut at its length limit is not returned as if it were complete.",
    unjudged="no answer was cut at its limit of length",
)
def noticed(history: History, model: ErrorModel) -> Verdicts:
    """Judge the answers that were cut at their limit of length."""
    return _ended(history, also(model, "answers.noticed"), "length")


@check(
    "answers.not-empty",
    title="An empty answer is noticed",
    says="An answer without text and tool calls is not returned as an empty text.",
    unjudged="no answer held no text",
)
def not_empty(history: History, model: ErrorModel) -> Verdicts:
    """Judge the answers that held nothing."""
    return _ended(history, also(model, "answers.not-empty"), "empty")


def _ended(history: History, requirements: tuple[str, ...], ends: str) -> Verdicts:
    for reply in _replies_of_the_model(history):
        if reply.last.failed or reply.last.ends != ends:
            continue
        yield held(*requirements)
        if not reply.says_how_it_ended(usual=ends == "empty"):
            violation = _passed_on(reply, requirements, f"the answer {_ENDS[ends]}")
            if ends == "empty":
                violation = replace(violation, expected="an error, another attempt, or None")
            yield violation
    for call in history.calls:
        if call.raised and call.last is not None and call.last.ends == ends:
            yield held(*requirements)


@check(
    "answers.admitted",
    title="A failed call says that it failed",
    says="A call whose attempts all failed raises, or returns something that says so.",
    unjudged="no call came to its end by a failure",
)
def admitted(history: History, model: ErrorModel) -> Verdicts:
    """Judge the calls whose last attempt failed, with no whole answer beside it."""
    requirements = also(model, "answers.admitted")
    for call in history.calls:
        if call.raised and call.last_failure is not None:
            yield held(*requirements)
    for reply in _replies_of_the_model(history):
        if not reply.last.failed or reply.has_a_whole_answer:
            continue
        yield held(*requirements)
        if (
            not _is_the_providers(reply, history)
            and not reply.says_how_it_ended()
            and reply.call.id not in history.suppressed
        ):
            which = "every attempt" if len(reply.request.attempts) > 1 else "the only attempt"
            violation = _passed_on(reply, requirements, f"{which} failed: {reply.last.signal}")
            # One line of a program returns its own words for every failure, and that in them.
            words = _WORD.search(reply.end.text or "")
            said = f"{words[0]!r} and more" if words else _quoted(reply.end)
            yield replace(violation, cause=f"a failed call returned {said}")


def _is_the_providers(reply: _Reply, history: History) -> bool:
    """Return whether what was returned is a part of the provider's text, or no text at all."""
    text = reply.end.text
    if text is None:
        return reply.end.type != "NoneType"
    return (
        not text
        or reply.end.text_sha256 == _NO_TEXT
        or any(text.rstrip(_NO_WORDS) in whole for whole in _wholes(history))
        # What is made of several answers holds each of them, or what there was of it.
        or (
            reply.request.is_one_of_several
            and any(whole[:_BEGINNING] in text for whole in _wholes(history))
        )
    )


def _passed_on(reply: _Reply, requirements: tuple[str, ...], why: str) -> Violation:
    return broken(
        requirements,
        call=reply.call.id,
        expected="an error, or an answer that says that it is not whole",
        observed=f"{why}, and the call returned {_quoted(reply.end)}",
        events=(*reply.last.events, reply.end.seq),
        hint="Look at the finish reason, and at the end of the stream, before the text is used.",
    )


def _quoted(end: TraceEvent) -> str:
    if end.text is None:
        return f"a {end.type}" if end.type else "no text"
    return (
        f"{short(end.text, _SHOWN_BRIEFLY)!r} as if it were the answer"
        if end.text
        else "an empty text"
    )
