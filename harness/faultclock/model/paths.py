"""What an absolute path looks like, so that no trace or report says whose machine it comes from.

Recorders put `…/name.py` in place of a path; the oracle finds that a subject let one out by its
shape, or by the mark that stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

#: What stands for the folder of a file.
ELSEWHERE = "…/"
#: Folders below which files lie on POSIX machines. The path of a URL, such as /v1/chat, begins with
#: none of them.
_ROOTS = (
    "Applications|Library|System|Users|Volumes|bin|boot|dev|etc|home|lib|lib64|media|mnt|nix|opt"
    "|private|proc|root|run|sbin|snap|srv|sys|tmp|usr|var|work|workspace"
)
#: Parts of the path of a folder directly below the root.
_TOP_DEPTH = 2
#: What may stand before a path: no part of a word, of a URL or of a longer path, and no method of a
#: request.
_METHODS = ("GET", "PUT", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS")
_BEFORE = r"(?<![\w/.…])" + "".join(rf"(?<!\b{method} )" for method in _METHODS)
#: What the name of a file begins with, and how a path goes on.
_FIRST, _MORE = r"[^\s'\"`:;,()\[\]{}<>|/\\]", r"[^\s'\"`:;,()\[\]{}<>|]*"
ABSOLUTE_PATH = re.compile(
    rf"{_BEFORE}(?:/(?:{_ROOTS})/+|file:///+(?:[A-Za-z]:/)?){_FIRST}{_MORE}"
    rf"|\b[A-Za-z]:\\+{_FIRST}{_MORE}"
)
#: The name of a folder that a run makes for itself, which is another one each time.
_OF_A_RUN = re.compile(r"faultclock-[a-z]+-\d+-\w+")
#: Directly below the root, where a folder such as /app could be part of a URL, a file has a suffix.
_SUFFIX = r"\.[A-Za-z]\w*(?![\w/\\.-])"


def paths_below(folders: Iterable[str]) -> re.Pattern[str]:
    """Return what the paths of these folders and of files in them look like.

    They need not be such as any machine has.

    Args:
        folders: one that is relative, and the root, has no such files.
    """
    found: list[str] = []
    for folder in sorted(set(folders), key=len, reverse=True):
        depth = len(PurePath(folder).parts) if PurePath(folder).is_absolute() else 0
        name = re.escape(folder.rstrip("/"))
        if depth == _TOP_DEPTH:
            found.append(rf"{name}/{_MORE}{_SUFFIX}")
        elif depth > _TOP_DEPTH:
            found += [rf"{name}[/\\]+{_FIRST}{_MORE}", rf"(?P<_{len(found)}>{name})/*(?![\w.-])"]
    return re.compile(rf"{_BEFORE}(?:{'|'.join(found)})" if found else r"(?!)")


def without_paths(text: str, pattern: re.Pattern[str] = ABSOLUTE_PATH) -> str:
    r"""Return `text` with the name of the file alone where an absolute path stands.

    Args:
        pattern: of the paths.

    Example:
        >>> without_paths("cannot open /home/me/app.py or C:\\me\\app.py")
        'cannot open …/app.py or …/app.py'
    """
    if "/" not in text and "\\" not in text:
        # Each path has one of these.
        return text
    return pattern.sub(_base_name, text)


def _base_name(match: re.Match[str]) -> str:
    if match.lastgroup is not None:
        # A folder itself, whose name may be that of a person.
        return ELSEWHERE
    name = re.split(r"[/\\]", match.group().rstrip("/\\"))[-1]
    return ELSEWHERE if _OF_A_RUN.fullmatch(name) else ELSEWHERE + name
