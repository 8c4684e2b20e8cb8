"""What a program says of an answer beside its text: that it is none or not whole, or what else.

Programs return answers in forms of their own: a mapping, an object of a class, a pair. A reader of
them knows what `ok`, `error` and `truncated` say, and words such as `timed out`. What else is said
may mean that the answer is whole or that it is not: a run in which that counts shows nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from faultclock.model.finish_reasons import is_usual_end

#: Stands for the reason of what a program returns in place of an answer.
FAILED = "error"

#: Members that say of a value that it is no whole answer: by not being empty, and by being false.
_FAILS = ("error", "errors", "exception", "failure", "failed", "is_error", "isError")
_CUTS = ("truncated", "is_truncated", "partial", "incomplete")
_WHOLE = ("ok", "is_ok", "success", "succeeded", "complete", "is_complete", "is_whole")
#: Members that have the provider's word for why an answer ended, or a program's.
REASONS = ("finish_reason", "stop_reason", "done_reason", "finishReason", "stopReason")
#: Members that say it in a word, and those that say something only where there is something.
_STATES = (*REASONS, "status", "status_code", "state", "reason", "kind", "outcome")
_NOTES = ("detail", "details", "note", "notes", "problem", "problems", "warning", "warnings")
#: What a result of which one asks whether it is one has for that.
_ASKED = ("is_ok", "is_err", "is_error", "unwrap")
#: From here on a status of HTTP is an error.
ERROR_STATUS = 400
_FINE = frozenset(
    {
        *("ok", "okay", "success", "succeeded", "successful", "200", "200 ok"),
        *("done", "finished", "final", "answered", "whole", "assistant"),
    }
)
#: What says in any text that something failed, in a word or two, and in the name of a class.
_FAILURE = r"fail|error|exception|timed?[ _]?out|refus|truncat|incomplete|abort|not whole"
_WORDS_OF_FAILURE = re.compile(_FAILURE, re.IGNORECASE)
_WORD_OF_FAILURE = re.compile(
    rf"{_FAILURE}|(?<![a-z])(cut|partial|length|limit|max_?tok|filter|cancel|block|exceed|unavail"
    r"|reject|pause|exhaust|denied|invalid|missing|empty|no|not|none|overload|busy|lost|safety)",
    re.IGNORECASE,
)
_CLASS_OF_FAILURE = re.compile(
    r"Fail|Err|Exception|Problem|Trunc|Partial|Incomplete|Refus|Timeout|TimedOut|Cut|Unanswer|No[A-Z]"
)
#: A text of more words is none of a status.
_FEW_WORDS = 3
#: The name of a model or an identifier, which says nothing of how an answer ended.
_NAME = re.compile(r"\S*[\d/-]\S*")
_INSTALLED = ("/site-packages/", "/dist-packages/")
#: What is not known, in place of a word.
_UNCLEAR = "\0"


class Remarks(Struct, frozen=True, kw_only=True):
    """What is said beside a text.

    Attributes:
        fails: how the answer is none, or not whole, in a word of the program; None: that is not
            said.
        unclear: what may say that; empty: nothing does.
    """

    fails: str | None = None
    unclear: str = ""


def remarks_beside(items: Iterable[Any]) -> Remarks:
    """Return what values say that stand beside a text, in a tuple say."""
    return _together((f"a {type(item).__name__}", _said_by(item)) for item in items)


def remarks_in(value: Any, texts: Iterable[str], *, own: bool) -> Remarks:
    """Return what the members of a value say.

    Args:
        texts: names of those that hold the text.
        own: whether the value is of the program's own making, so that any of its words counts.
    """
    members = dict(_members(value))
    flags = ((name, _said_by_flag(name, it)) for name, it in members.items())
    said = _together((name, word) for name, word in flags if own or word != _UNCLEAR)
    if said.fails is not None or not own:
        return said
    if not isinstance(value, Mapping):
        if _CLASS_OF_FAILURE.search(type(value).__name__):
            return Remarks(fails=FAILED)
        asked = next((name for name in _ASKED if callable(getattr(value, name, None))), "")
        if asked:
            return Remarks(unclear=f"{asked}()")
    known = {*texts, *_FAILS, *_CUTS, *_WHOLE}
    others = _together(
        (name, _said_by_member(name, it)) for name, it in members.items() if name not in known
    )
    return said if said.unclear and others.fails is None else others


def is_of_a_library(value: Any) -> bool:
    """Return whether an object is of a class that is installed, and so not the program's own."""
    module = sys.modules.get(type(value).__module__)
    file = str(getattr(module, "__file__", "") or "").replace("\\", "/")
    return any(place in file for place in _INSTALLED)


def is_a_remark(text: str) -> bool:
    """Return whether a text beside others is a word about the answer, and not the answer."""
    return _said_by(text) != _UNCLEAR


def _together(said: Iterable[tuple[str, str | None]]) -> Remarks:
    found = [(name, word) for name, word in said if word is not None]
    fails = next((word for _, word in found if word != _UNCLEAR), None)
    return Remarks(fails=fails, unclear="" if fails or not found else found[0][0])


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((name, it) for name, it in value.items() if isinstance(name, str))
        return
    fields = {**getattr(value, "__dict__", {})}
    fields |= {name: getattr(value, name, None) for name in getattr(value, "__slots__", ())}
    names = (*_FAILS, *_CUTS, *_WHOLE, "status_code")
    fields |= {name: it for name in names if (it := getattr(value, name, None)) is not None}
    yield from ((name, it) for name, it in fields.items() if not name.startswith("_"))


def _said_by_flag(name: str, value: Any) -> str | None:
    if callable(value):
        return None
    if name in _FAILS:
        return FAILED if value else None
    if name in _CUTS:
        return (_UNCLEAR if isinstance(value, str) else FAILED) if value else None
    if name in _WHOLE:
        return FAILED if value is False else None
    is_status = name in ("status", "status_code") and isinstance(value, int)
    return FAILED if is_status and value >= ERROR_STATUS else None


def _said_by_member(name: str, value: Any) -> str | None:
    if isinstance(value, Enum) or name in _STATES:
        return _said_by(value)
    if name in _NOTES and value:
        return _said_by(value) or _UNCLEAR
    return _UNCLEAR if isinstance(value, bool) else None


def _said_by(value: Any) -> str | None:
    """Return the word of a failure; None where none is meant; `_UNCLEAR` where one may be."""
    if isinstance(value, Enum):
        value = value.value if isinstance(value.value, str) else value.name
    if isinstance(value, BaseException):
        return FAILED
    if isinstance(value, bool):
        return _UNCLEAR
    if not isinstance(value, str) or not value or is_usual_end(value) or value.lower() in _FINE:
        return None
    few = len(value.split()) <= _FEW_WORDS
    if (_WORD_OF_FAILURE if few else _WORDS_OF_FAILURE).search(value):
        return value
    return None if _NAME.fullmatch(value) else _UNCLEAR
