"""What the model can learn of a tool call, in any shape of results.

tools.failure-told   the result of a call that failed, or never ran, does not look like a success
tools.result-kept    the result of a call that went well holds what the tool returned
tools.secrets        no result of a call that failed holds a secret

No shape is asked for: a text is as good as JSON. A result is a finding only where it
cannot be read as a failure: it is empty, or it is what a success says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from faultclock.model.error_model import AudienceRule, ErrorModel
from faultclock.model.secrets import SECRET
from faultclock.model.tool_script import ToolScript
from faultclock.model.trace import TraceEvent
from faultclock.oracle.audience import leaks
from faultclock.oracle.check import Check, Verdicts, Violation, also, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.tool_fates import Fate, digest, fate_of
from faultclock.oracle.tool_messages import loaded, next_request, told_of
from faultclock.oracle.turn_facts import Execution, ToolCall

__all__ = ["CHECKS"]

#: Fates of a call that failed, or that was not executed.
_FAILED = frozenset(
    ("failed", "raised", "timed_out", "cancelled", "unknown", "unfit", "denied", "unanswered")
)
#: Members under which runtimes put the value of a result.
_VALUES = frozenset(("value", "result", "output", "content", "data"))
#: What says nothing, and what says that all is well; in lower case, without quotes.
_NOTHING = frozenset(("", "null", "none", "undefined", "{}", "[]", "()"))
_GOOD_WORDS = frozenset(("ok", "done", "success", "successful", "true", "completed"))
#: Traces keep no more characters of a result; one that was cut cannot be read.
_CONTENT_MAX = 2_000
_SHORT = 160


def _results(
    history: History, model: ErrorModel
) -> Iterator[tuple[ToolCall, Fate, TraceEvent, str]]:
    """Yield each tool call whose result the model got, with its fate, the request and the text."""
    for answer in history.answers:
        request = next_request(history, answer)
        for call in answer.tool_calls if request is not None else ():
            content = told_of(request, call.id) if request is not None else None
            if request is None or content is None or len(content) >= _CONTENT_MAX:
                continue
            # What was executed once more after that, it could not know.
            known = tuple(item for item in call.executions if item.called.seq < request.seq)
            yield call, fate_of(history, model, replace(call, executions=known)), request, content


def _failure_told(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "tools.failure-told")
    yield otherwise("no result of a failed tool call reached the model")
    for call, fate, request, content in _results(history, model):
        if fate.kind not in _FAILED:
            continue
        yield held(*requirements)
        fault = _reads_as_good(history, call, content)
        if fault:
            what = fate.kind.replace("_", " ")
            expected = f"the model can see that {call} did not work ({what})"
            hint = "Give the model the error as the result of the call, in words."
            yield _violation(requirements, call, fate, request, (expected, fault, content), hint)


def _reads_as_good(history: History, call: ToolCall, content: str) -> str:
    """Return in words why a result can only be read as a success; empty where it need not be."""
    words = content.strip().strip("\"'").strip().casefold()
    value = loaded(content)
    if words in _NOTHING or _is_empty(value):
        return "the result says nothing"
    script = history.tool_scripts.get(call.name)
    held = [content, value]
    if isinstance(value, Mapping):
        held += [value[name] for name in _VALUES & value.keys()]
    if script is not None and any(digest(item) == digest(script.value) for item in held):
        return "the result is the one of a success"
    return "the result says that all is well" if words in _GOOD_WORDS else ""


def _is_empty(value: object) -> bool:
    """Return whether a result is an object that holds an empty value and nothing else."""
    if not isinstance(value, Mapping) or value.keys() - _VALUES:
        return False
    return all(item in (None, "", {}, []) for item in value.values())


def _result_kept(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "tools.result-kept")
    yield otherwise("no result of a successful tool call reached the model")
    for call, fate, request, content in _results(history, model):
        cut = history.call(call.call)
        script = history.tool_scripts.get(call.name)
        if fate.kind not in ("good", "partial") or script is None:
            continue
        if SECRET in content or (cut is not None and cut.crashed is not None):
            continue
        if fate.execution is None or _is_a_draw(fate.execution, script):
            continue
        said = tuple(_texts(_value_of(history, fate, script.value)))
        if not said:
            continue
        yield held(*requirements)
        if not any(text in content for text in said):
            expected = f"the model gets what {call.name} returned for {call.id}"
            fault = "nothing of it is in the result"
            hint = "Is the result of one call lost, or given to another one?"
            yield _violation(requirements, call, fate, request, (expected, fault, content), hint)


def _is_a_draw(execution: Execution, script: ToolScript) -> bool:
    """Return whether the reply came at the very instant at which its time was up."""
    end = execution.end
    return end is not None and end.at_ns >= execution.called.at_ns + script.timeout


def _value_of(history: History, fate: Fate, usual: object) -> object:
    """Return the value that the tool returned: its usual one, or that of the fault that it met."""
    end = None if fate.execution is None else fate.execution.end
    wanted = None if end is None else end.value_sha256
    if wanted is None or digest(usual) == wanted:
        return usual
    script = None if fate.execution is None else history.tool_scripts.get(fate.execution.tool)
    values = (getattr(rule.then.fault, "value", None) for rule in (script.rules if script else ()))
    return next((value for value in values if digest(value) == wanted), None)


def _texts(value: Any) -> Iterator[str]:
    """Yield the names and the values in a JSON value, as each stands in any rendering of it."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        # Line ends and quotes are written differently in JSON.
        yield from (part for part in value.replace('"', "\n").splitlines()[:1] if part.strip())
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def _secrets(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "tools.secrets")
    yield otherwise("no result of a failed tool call reached the model")
    rule = AudienceRule(id="model", never=("secret",), requirement="")
    for call, fate, request, content in _results(history, model):
        if fate.kind not in _FAILED:
            continue
        yield held(*requirements)
        if leaks(rule, content):
            said = ("an error for the model without a secret in it", "it holds a secret", "")
            hint = "Word the error yourself: the text of an exception is for your log."
            yield _violation(requirements, call, fate, request, said, hint)


def _violation(
    requirements: tuple[str, ...],
    call: ToolCall,
    fate: Fate,
    request: TraceEvent,
    said: tuple[str, str, str],
    hint: str,
) -> Violation:
    expected, observed, content = said
    shown = () if fate.execution is None else fate.execution.events
    excerpt = content if len(content) <= _SHORT else f"{content[: _SHORT - 1]}…"
    return Violation(
        requirement=next(iter(requirements), None),
        call=call.call,
        expected=expected,
        observed=f"{observed}: {excerpt!r}" if content else observed,
        events=(*shown, request.seq),
        hint=hint,
    )


def _check(
    id_: str, title: str, says: str, run: Callable[[History, ErrorModel], Verdicts]
) -> Check:
    return Check(id=id_, title=title, says=says, run=run)


CHECKS = (
    _check(
        "tools.failure-told",
        "A failure does not look like a success",
        "The result of a tool call that failed says something, and not what a success says.",
        _failure_told,
    ),
    _check(
        "tools.result-kept",
        "A result reaches the model",
        "The result of a tool call that went well holds something of what the tool returned.",
        _result_kept,
    ),
    _check(
        "tools.secrets",
        "No secret in what the model reads",
        "The result of a tool call that failed holds no secret.",
        _secrets,
    ),
)
