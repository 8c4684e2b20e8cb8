"""What a call ended with, as plain data for the trace.

An exception becomes its chain, outermost first; a reply becomes its text and tool calls. What is
written here must be the same on every machine, so secrets, memory addresses and absolute paths
are taken out of messages. A subject's exception may be hostile (a `__str__` that raises, a cycle
of causes): that is data as well and never an exception of ours.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from faultclock.model.finish_reasons import is_usual_end
from faultclock.model.paths import paths_below, without_paths
from faultclock.model.secrets import SECRET, without_named_secrets, without_secrets
from faultclock.subjects.accidents import is_accident
from faultclock.subjects.ports import Reply, RunResult
from faultclock.subjects.reading import UnclearReply, what_is_unread

#: How a binding names class and code of exceptions that do not carry them.
Classify = (
    Callable[[BaseException], tuple[str, str] | None]
    | Mapping[type[BaseException], tuple[str, str]]
)

#: A chain longer than this is cut: retries that wrap their predecessor grow without end.
CHAIN_MAX = 32
#: Longest message kept, in characters; enough for a provider's error body.
MESSAGE_MAX = 2_000
#: Longest part of a message that is looked at: it gets shorter when it is scrubbed.
_READ_MAX = 4 * MESSAGE_MAX
#: Longest text of a reply kept, in characters; its digest is of the whole.
TEXT_MAX = 100_000

#: Our own types keep the name in traces that they had when trace format 1 was made: the package
#: was called otherwise then, and a trace of today is byte-equal to one of that time.
_OURS, _OURS_IN_TRACES = "faultclock.", "harness."
#: Longest finish reason kept, in characters.
_REASON_MAX = 100
#: Some libraries format `id(x)` without 0x: anyio's cancel scopes do, and on 64-bit Linux such
#: a number has 12 digits. The last group of a UUID has as many, and stays.
_ADDRESS = re.compile(
    r"\b0x[0-9a-fA-F]{5,}\b|(?<=\bcancel scope )[0-9a-f]+\b|(?<![\w-])[0-9a-f]{12}(?![\w-])"
)
#: Where this process lives, in case that is no usual place. Found out once: a run must not ask the
#: real machine for anything.
_folders = {
    *(sys.prefix, sys.base_prefix, tempfile.gettempdir(), str(Path.cwd()), str(Path.home())),
    *sys.path,
}
_own_paths = paths_below(_folders)


def lives_in(*folders: str) -> None:
    """Take these folders for places of this process, too: a subject is imported from them."""
    global _own_paths
    if not _folders.issuperset(folders):
        _folders.update(folders)
        _own_paths = paths_below(_folders)


def describe_exception(
    error: BaseException, classify: Classify | None = None, *, secrets: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Return the chain of `error`, outermost first.

    Each item has `type` (qualified name), `message` (scrubbed, bounded), `class`, `code` (None
    where nothing declares them) and `link`: how the exception before it leads here: `outer` for
    the first, `cause` for `raise … from`, `context` for an exception raised while another was
    handled, `suppressed` for one that `raise … from None` hides. Members of an exception group
    count as its causes. `accident` is there, and true, where no `raise` statement raised it.

    Args:
        error: what the call raised.
        classify: the binding's own mapping. An exception that it raises joins the chain.
        secrets: texts that must not appear, such as the API key.
    """
    chain: list[dict[str, Any]] = []
    for item, link in _walk(error):
        if len(chain) >= CHAIN_MAX:
            break
        pair, failure = _class_and_code(item, classify)
        chain.append(_entry(item, link, pair, secrets))
        if failure is not None:
            broken = _entry(failure, "context", (None, None), secrets)
            broken["message"] = f"classify raised: {broken['message']}"
            chain.append(broken)
    return chain


def describe_reply(value: Any) -> dict[str, Any]:
    """Return `text`, `text_sha256` and `tool_calls` of what an adapter or a runtime returned.

    One without content, or one that did not end as usual, also has `finish_reason`, as its subject
    passed it on. A RunResult also has `result`: state, class, code and whether the session can go
    on.

    A value that is neither `str` nor `Reply` has no text; `type` is its type. One of the subject's
    own making may say anything: `problem` says that it is not known. Tool calls that cannot be read
    count as none, with a `problem` as well.
    """
    kind = type(value)
    if issubclass(kind, str):
        return _reply(value, [])
    if issubclass(kind, Reply):
        try:
            if issubclass(type(value.text), str):
                reply = _reply(value.text, _tool_calls(value.tool_calls))
                odd = {}
                if issubclass(kind, UnclearReply):
                    odd = {"type": _qualified(value.kind), "problem": value.unclear}
                return {**reply, **_unusual_end(reply, value.finish_reason), **odd}
        except BaseException as failure:  # noqa: BLE001 - what is handed over may raise anything
            problem = f"the reply cannot be read: {_qualified(type(failure))}"
            return {**_reply(None, []), "type": _qualified(kind), "problem": problem}
    if issubclass(kind, RunResult) and issubclass(type(value.text), str):
        result = {
            "state": str(value.state),
            "class": None if value.error_class is None else str(value.error_class),
            "code": None if value.code is None else str(value.code),
            "recoverable": bool(value.recoverable),
        }
        reply = _reply(value.text, [])
        return {**reply, **_unusual_end(reply, value.finish_reason), "result": result}
    return {**_reply(None, []), "type": _qualified(kind), **what_is_unread(value)}


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return `text` without secrets, memory addresses and absolute paths.

    Example:
        >>> scrub("<Client object at 0x7f31c0a1b2d0> in /usr/lib/python3.11/client.py")
        '<Client object at 0x…> in …/client.py'
    """
    for secret in sorted((secret for secret in secrets if secret), key=len, reverse=True):
        text = text.replace(secret, SECRET)
    text = without_named_secrets(text)
    return without_paths(without_paths(_ADDRESS.sub("0x…", text), _own_paths))


_CAUSE, _CONTEXT, _IS_SUPPRESSED, _MEMBERS = (
    slot.__get__
    for slot in (
        vars(BaseException)["__cause__"],
        vars(BaseException)["__context__"],
        vars(BaseException)["__suppress_context__"],
        vars(BaseExceptionGroup)["exceptions"],
    )
)


def _walk(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    seen: set[int] = set()
    pending: list[tuple[BaseException, str]] = [(error, "outer")]
    while pending:
        item, link = pending.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item, link
        # The slots themselves: a class may put anything in place of the attributes.
        cause, context = _CAUSE(item), _CONTEXT(item)
        if cause is not None:
            pending.append((cause, "cause"))
        elif context is not None:
            hidden = _IS_SUPPRESSED(item)
            pending.append((context, "suppressed" if hidden else "context"))
        if issubclass(type(item), BaseExceptionGroup):
            pending.extend((member, "cause") for member in _MEMBERS(item))


def _entry(
    error: BaseException,
    link: str,
    pair: tuple[str | None, str | None],
    secrets: tuple[str, ...],
) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": _qualified(type(error)),
        "message": _message(error, secrets),
        "class": pair[0],
        "code": pair[1],
        "link": link,
    }
    if is_accident(error):
        entry["accident"] = True
    return entry


def _class_and_code(
    error: BaseException, classify: Classify | None
) -> tuple[tuple[str | None, str | None], BaseException | None]:
    own = _attribute(error, "error_class"), _attribute(error, "code")
    if own[0] is not None and own[1] is not None:
        return own, None
    if classify is None:
        return (None, None), None
    try:
        pair = _ask(classify, error)
        if pair is None:
            return (None, None), None
        class_name, code = pair
        return (_exact(str(class_name)), _exact(str(code))), None
    except BaseException as failure:  # noqa: BLE001 - the binding's code: what it raises is data
        return (None, None), failure


def _ask(classify: Classify, error: BaseException) -> tuple[str, str] | None:
    if not isinstance(classify, Mapping):
        return classify(error)
    # The most specific type wins, whatever the order of the mapping.
    return next((classify[kind] for kind in type(error).__mro__ if kind in classify), None)


def _attribute(error: BaseException, name: str) -> str | None:
    try:
        value = getattr(error, name, None)
    except BaseException:  # noqa: BLE001 - a property of the subject's may raise anything
        return None
    return _exact(value) if isinstance(value, str) else None


def _exact(text: str) -> str:
    """Return `text` as a plain `str`: a member of an enum, say, belongs to the subject's code."""
    return str.__str__(text)


def _message(error: BaseException, secrets: tuple[str, ...]) -> str:
    try:
        text = _exact(str(error))[:_READ_MAX]
    except BaseException as failure:  # noqa: BLE001 - a hostile __str__ is data
        return f"<the message cannot be read: __str__ raised {_qualified(type(failure))}>"
    text = scrub(text, secrets)
    return text if len(text) <= MESSAGE_MAX else f"{text[: MESSAGE_MAX - 1]}…"


def _qualified(kind: type) -> str:
    try:
        module, name = _exact(str(kind.__module__)), _exact(str(kind.__qualname__))
    except BaseException:  # noqa: BLE001 - a metaclass may raise anything
        return "a type without a name"
    if module.startswith(_OURS):
        module = _OURS_IN_TRACES + module.removeprefix(_OURS)
    return name if module == "builtins" else f"{module}.{name}"


def _reply(text: Any, tool_calls: list[dict[str, str]]) -> dict[str, Any]:
    # A text with lone surrogates is still a text; its digest must not raise.
    raw = None if text is None else str.encode(text, "utf-8", "surrogatepass")
    return {
        "text": None if text is None else _shown(_exact(text)),
        "text_sha256": None if raw is None else hashlib.sha256(raw).hexdigest(),
        "tool_calls": tool_calls,
    }


def _unusual_end(reply: Mapping[str, Any], finish_reason: object) -> dict[str, str]:
    if finish_reason is None:
        return {}
    # Who returns an error beside a text may have any words here.
    text = scrub(str(finish_reason)[:_READ_MAX])[:_REASON_MAX]
    whole = reply["text"] or reply["tool_calls"]
    return {} if whole and is_usual_end(text) else {"finish_reason": _exact(text)}


def _shown(text: str) -> str:
    shown = without_secrets(text[:TEXT_MAX])
    return shown if len(text) <= TEXT_MAX else f"{shown}…"


def _tool_calls(items: Any) -> list[dict[str, str]]:
    # None is what some SDKs have in place of an empty list.
    return [] if items is None else [_tool_call(item) for item in items]


def _tool_call(item: object) -> dict[str, str]:
    # Adapters may hand over mappings, as their SDK gives them.
    if isinstance(item, Mapping):
        return {name: _exact(str(item.get(name))) for name in ("name", "arguments")}
    return {name: _exact(str(getattr(item, name, None))) for name in ("name", "arguments")}
