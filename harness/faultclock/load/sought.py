"""Reads what exception a user searches for: a few words, or a traceback as Python prints it."""

from __future__ import annotations

import builtins
import os
import re
from difflib import get_close_matches
from pathlib import Path

from faultclock.errors import InputError
from faultclock.model.report.wanted_exception import Sought

_HEAD = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d{1,9})\b')
_PLACE = re.compile(r"(?:(?P<rest>.*?)(?:^|\s+at\s+|\s+))?(?P<file>[^\s:]+\.py):(?P<line>\d+)$")
#: What is meant as a file, and not as a part of a message.
_LIKE_A_FILE = re.compile(r"\S*[/\\]\S*|\S+\.(?:log|txt|out|err|json|jsonl|trace)|\.{1,2}")
_LINE_DIGITS_MAX = 9
_CLASS = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?::\s*(?P<message>.*))?$")
#: What a word that begins a message is not: classes of exceptions are written like this.
_LIKE_A_CLASS = re.compile(r"(?:[\w.]*\.)?_*[A-Z]\w*$")
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen")
_TEXT_MAX = 1 << 20


def read_sought(given: str) -> Sought:
    """Return what `given` names: a file that holds a traceback, or the words themselves.

    Raises:
        InputError: the file cannot be read, or it names no exception.
    """
    path = Path(given)
    # A place such as client.py:41 is no file; a file is named without a line.
    if "\n" not in given and len(given) < 1_000 and path.is_file():
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_TEXT_MAX)
        except OSError as error:
            raise InputError(f"{given}: cannot be read: {error.strerror}") from None
        if _HEAD not in text:
            raise InputError(
                f"{given}: the file holds no traceback of Python",
                hint="name the exception: --raises KeyError, or its line: --raises client.py:41",
            )
        return sought_of(text)
    if _LIKE_A_FILE.fullmatch(given) and _PLACE.match(given) is None:
        what = "a folder" if path.is_dir() else "there is no such file"
        raise InputError(
            f"{given}: {what}",
            hint="name a file that holds a traceback, or the exception: --raises KeyError",
        )
    sought = sought_of(given)
    _check_line(sought)
    return sought


def _check_line(sought: Sought) -> None:
    """Raise InputError where the line is in none of the lines of a file that is here."""
    try:
        lines = len(Path(sought.file).read_bytes().splitlines()) if sought.file else 0
    except OSError:
        # It may be one of a library, or lie elsewhere.
        return
    if sought.line > lines:
        raise InputError(
            f"{sought.file}:{sought.line}: the file has {lines} lines",
            hint="name a line that is in the traceback",
        )


def sought_of(text: str) -> Sought:
    """Return the exception that `text` names.

    Of a traceback this is the class of the last exception, and the innermost line of it that lies
    in no library: its message may hold what is another in each run, such as an id.

    Raises:
        InputError: it names none.
    """
    lines = text.strip().splitlines()
    if _HEAD in text or (len(lines) > 1 and any(map(_FRAME.match, lines))):
        return _of_traceback(lines)
    words = " ".join(text.split())
    if not words:
        raise InputError(
            "the exception to search for is empty",
            hint="--raises KeyError, --raises \"KeyError: 'choices'\" or --raises client.py:41",
        )
    place = _PLACE.match(words)
    named = words if place is None else (place["rest"] or "").strip()
    found: dict[str, str | int] = {}
    if place is not None:
        if len(place["line"]) > _LINE_DIGITS_MAX or int(place["line"]) == 0:
            raise InputError(
                f"{words[:80]}: the line is not a number from 1 on",
                hint="the first line is 1: --raises client.py:41",
            )
        found = {"file": _relative(place["file"]), "line": int(place["line"])}
    named_class = _CLASS.match(named)
    if named_class is not None and _LIKE_A_CLASS.match(named_class["type"]):
        found |= {"type": named_class["type"], "message": named_class["message"] or ""}
    elif named:
        found["message"] = named
    return Sought.model_validate(found)


def near_exception(sought: Sought) -> str | None:
    """Return the exception of Python whose name is near the one that is searched for.

    None where that is one, or where none is near: a program has exceptions of its own.
    """
    known = [
        name
        for name, kind in vars(builtins).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    ]
    if not sought.type or sought.type in known:
        return None
    return next(iter(get_close_matches(sought.type, known, n=1, cutoff=0.8)), None)


def _of_traceback(lines: list[str]) -> Sought:
    """Return what the last traceback of `lines` is about."""
    starts = [at for at, line in enumerate(lines) if _HEAD in line]
    block = lines[starts[-1] :] if starts else lines
    # A log may put its own words before each line of a traceback.
    indent = block[0].find(_HEAD) if starts else 0
    block = [line[indent:] if len(line) > indent else line for line in block]
    frames: list[tuple[str, int]] = []
    last = ""
    for line in block[1 if starts else 0 :]:
        frame = _FRAME.match(line)
        if frame is not None:
            frames.append((frame["file"], int(frame["line"])))
        elif line[:1].strip() and frames:
            last = line
            break
    named = _CLASS.match(last.strip())
    if named is None:
        raise InputError(
            "the traceback ends without the class of an exception",
            hint="give all of it, with its last line, such as KeyError: 'choices'",
        )
    own = [item for item in frames if not any(mark in item[0] for mark in _LIBRARIES)]
    file, number = (own or frames)[-1]
    return Sought(type=named["type"], file=_relative(file), line=number)


def _relative(file: str) -> str:
    """Return a path without what belongs to one machine."""
    path = Path(file)
    if not path.is_absolute():
        return file.removeprefix("./")
    here = os.path.relpath(path)
    if not here.startswith(".."):
        return here
    for mark in _LIBRARIES[:2]:
        if mark in file:
            return file.rpartition(mark)[2]
    return path.name
