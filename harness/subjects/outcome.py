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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.subjects.ports import Reply, ToolCall

__all__ = ["Classify", "describe_exception", "describe_reply", "scrub"]

#: How a binding names class and code of exceptions that do not carry them.
Classify = (
    Callable[[BaseException], tuple[str, str] | None]
    | Mapping[type[BaseException], tuple[str, str]]
)

#: A chain longer than this is cut: retries that wrap their predecessor grow without end.
CHAIN_MAX = 32
#: Longest message kept, in characters; enough for a provider's error body.
MESSAGE_MAX = 2_000

_KEY = re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}")
#: Some libraries format `id(x)` without 0x: anyio's cancel scopes do, and on 64-bit Linux such
#: a number has 12 digits. The last group of a UUID has as many, and stays.
_ADDRESS = re.compile(
    r"\b0x[0-9a-fA-F]{5,}\b|(?<=\bcancel scope )[0-9a-f]+\b|(?<![\w-])[0-9a-f]{12}(?![\w-])"
)
#: Roots below which files lie on POSIX machines. A URL path such as /v1/chat is none of them.
_ROOTS = (
    "Applications|Library|System|Users|Volumes|bin|boot|dev|etc|home|lib|lib64|media|mnt|nix|opt"
    "|private|proc|root|run|sbin|snap|srv|sys|tmp|usr|var|workspace"
)
_END = r"[^\s'\"`:;,()\[\]{}<>|]*"


def _places() -> re.Pattern[str] | None:
    places = {sys.prefix, sys.base_prefix, str(Path.cwd()), str(Path.home())}
    # A place directly below the root, such as /v1, could be part of a URL.
    names = sorted((place for place in places if len(Path(place).parts) > 2), key=len, reverse=True)
    if not names:
        return None
    return re.compile(rf"(?<![\w/.:])(?:{'|'.join(map(re.escape, names))})[/\\]{_END}")


#: Where this process lives, in case that is below none of the roots. Found out once: a run must
#: not ask the real machine for anything.
_PLACES = _places()
_PATH = re.compile(rf"(?<![\w/.:])/(?:{_ROOTS})/{_END}|\b[A-Za-z]:\\{_END}")


def describe_exception(
    error: BaseException, classify: Classify | None = None, *, secrets: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Return the chain of `error`, outermost first.

    Each item has `type` (qualified name), `message` (scrubbed, bounded), `class`, `code` (None
    where nothing declares them) and `link`: how the exception before it leads here: `outer` for
    the first, `cause` for `raise … from`, `context` for an exception raised while another was
    handled, `suppressed` for one that `raise … from None` hides. Members of an exception group
    count as its causes.

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


def describe_reply(value: object) -> dict[str, Any]:
    """Return `text`, `text_sha256` and `tool_calls` of what an adapter returned.

    A value that is neither `str` nor `Reply` has no text; its type is told as `type`.
    """
    if isinstance(value, str):
        return _reply(value, ())
    if isinstance(value, Reply) and isinstance(value.text, str):
        return _reply(value.text, value.tool_calls)
    return {**_reply(None, ()), "type": _qualified(type(value))}


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return `text` without secrets, memory addresses and absolute paths.

    Example:
        >>> scrub("<Client object at 0x7f31c0a1b2d0> in /usr/lib/python3.11/client.py")
        '<Client object at 0x…> in …/client.py'
    """
    for secret in sorted((secret for secret in secrets if secret), key=len, reverse=True):
        text = text.replace(secret, "<secret>")
    text = _KEY.sub("<secret>", text)
    text = _ADDRESS.sub("0x…", text)
    if _PLACES is not None:
        text = _PLACES.sub(_base_name, text)
    return _PATH.sub(_base_name, text)


def _walk(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    seen: set[int] = set()
    pending: list[tuple[BaseException, str]] = [(error, "outer")]
    while pending:
        item, link = pending.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item, link
        if item.__cause__ is not None:
            pending.append((item.__cause__, "cause"))
        elif item.__context__ is not None:
            hidden = item.__suppress_context__
            pending.append((item.__context__, "suppressed" if hidden else "context"))
        if isinstance(item, BaseExceptionGroup):
            pending.extend((member, "cause") for member in item.exceptions)


def _entry(
    error: BaseException,
    link: str,
    pair: tuple[str | None, str | None],
    secrets: tuple[str, ...],
) -> dict[str, Any]:
    return {
        "type": _qualified(type(error)),
        "message": _message(error, secrets),
        "class": pair[0],
        "code": pair[1],
        "link": link,
    }


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
        return (str(class_name), str(code)), None
    except Exception as failure:  # noqa: BLE001 - the binding's code; whatever it raises is data
        return (None, None), failure


def _ask(classify: Classify, error: BaseException) -> tuple[str, str] | None:
    if not isinstance(classify, Mapping):
        return classify(error)
    # The most specific type wins, whatever the order of the mapping.
    return next((classify[kind] for kind in type(error).__mro__ if kind in classify), None)


def _attribute(error: BaseException, name: str) -> str | None:
    try:
        value = getattr(error, name, None)
    except Exception:  # noqa: BLE001 - a property of the subject's may raise anything
        return None
    return value if isinstance(value, str) else None


def _message(error: BaseException, secrets: tuple[str, ...]) -> str:
    try:
        text = str(error)
    except Exception as failure:  # noqa: BLE001 - a hostile __str__ is data
        return f"<the message cannot be read: __str__ raised {_qualified(type(failure))}>"
    text = scrub(text, secrets)
    return text if len(text) <= MESSAGE_MAX else f"{text[: MESSAGE_MAX - 1]}…"


def _qualified(kind: type) -> str:
    module, name = str(kind.__module__), str(kind.__qualname__)
    return name if module == "builtins" else f"{module}.{name}"


def _base_name(match: re.Match[str]) -> str:
    name = re.split(r"[/\\]", match.group().rstrip("/\\"))[-1]
    return f"…/{name}"


def _reply(text: str | None, tool_calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    # A text with lone surrogates is still a text; its digest must not raise.
    raw = None if text is None else text.encode("utf-8", "surrogatepass")
    return {
        "text": text,
        "text_sha256": None if raw is None else hashlib.sha256(raw).hexdigest(),
        "tool_calls": [_tool_call(item) for item in tool_calls],
    }


def _tool_call(item: object) -> dict[str, str]:
    # Adapters may hand over mappings, as their SDK gives them.
    if isinstance(item, Mapping):
        return {name: str(item.get(name)) for name in ("name", "arguments")}
    return {name: str(getattr(item, name, None)) for name in ("name", "arguments")}
