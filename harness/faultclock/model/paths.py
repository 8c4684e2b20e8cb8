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
    "|private|proc|root|run|sbin|snap|srv|sys|tmp|usr|var|work|workspace|workspaces"
)
#: Parts of the path of a folder directly below the root.
_TOP_DEPTH = 2
#: What may stand before a path: no part of a word, of a URL or of a longer path.
_BEFORE = r"(?<![\w/.:…])"
#: A path goes on with these characters.
_MORE = r"[^\s'\"`:;,()\[\]{}<>|]*"
ABSOLUTE_PATH = re.compile(
    rf"{_BEFORE}/(?:{_ROOTS})/{_MORE}|\b[A-Za-z]:\\{_MORE}"
    rf"|\bfile:///(?=\w)(?:[A-Za-z]:)?{_MORE}"
)


def paths_below(folders: Iterable[str]) -> re.Pattern[str]:
    """Return what the paths of files in these folders look like, in case those are no usual ones.

    Directly below the root, where a folder such as /app could be part of a URL, a file has a dot.

    Args:
        folders: one that is relative, and the root, has no such files.
    """
    found: list[str] = []
    for folder in sorted(folders, key=len, reverse=True):
        depth = len(PurePath(folder).parts) if PurePath(folder).is_absolute() else 0
        if depth > 1:
            ends = r"\.\w+" if depth == _TOP_DEPTH else ""
            found.append(rf"{re.escape(folder)}[/\\]{_MORE}{ends}")
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
    return ELSEWHERE + re.split(r"[/\\]", match.group().rstrip("/\\"))[-1]
