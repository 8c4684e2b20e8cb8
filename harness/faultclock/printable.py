r"""Foreign text that is safe to print: no control characters, no orders to a build server.

A terminal obeys control characters, and a build server obeys some lines of a log. Names of files,
keys of YAML files, answers of a provider and exceptions of a subject may hold both. What is
escaped stays visible, as `\x1b`.

The rules for lines of a log, each read on 2026-11-23:

- GitHub obeys a line that begins with `::`, after leading space, and `##[` anywhere in a line
  (https://github.com/actions/runner, src/Runner.Common/ActionCommand.cs).
- Azure Pipelines obeys `##vso[` anywhere in a line
  (https://github.com/microsoft/azure-pipelines-agent, src/Microsoft.VisualStudio.Services.Agent/
  Command.cs).
- TeamCity obeys a line that begins with `##teamcity[`
  (https://www.jetbrains.com/help/teamcity/service-messages.html).
"""

from __future__ import annotations

import re

#: Controls but tab and newline (C0, C1), what is never seen (soft hyphen, zero width, tags), what
#: reverses or ends a line (bidirectional marks, U+2028, U+2029), and lone surrogates: a reader has
#: to see that they were there.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
#: .NET compares texts as a person reads them, so what has no width may stand inside an order.
_IGNORED = r"[^\x00-\x7f]*"
#: Up to the character that completes an order: `:` or `[`.
_ORDER = re.compile(
    rf"^[^!-~\n]*:{_IGNORED}(?=:)"
    + "".join(
        f"|{_IGNORED.join(order)}{_IGNORED}(?=\\[)" for order in ("##", "##vso", "##teamcity")
    ),
    re.MULTILINE | re.IGNORECASE,
)
#: Characters of an order that may have been written before the one that completes it.
_BEFORE_LAST = len("##teamcity")


def visible(text: str) -> str:
    r"""Return `text` with each control character written as an escape such as `\x1b`."""
    return _UNSEEN.sub(lambda match: ascii(match.group())[1:-1], text)


def one_line(text: str) -> str:
    r"""Return `text` in one line: a newline in it is written as `\n`."""
    return visible(text).replace("\n", r"\n")


def harmless(text: str) -> str:
    """Return `text` as it may stand in a log: nothing of it is an order to what shows the log."""
    return harmless_after("", text)[0]


def harmless_after(written: str, text: str) -> tuple[str, str]:
    """Return `text` as it may follow what was written, and what the next call needs to know.

    Args:
        written: the second result of the call before; at first the empty text.
    """
    shown = written + visible(text).expandtabs(4)
    # The last character of an order is escaped: the others may be on the screen already.
    parts, done = [], 0
    for match in _ORDER.finditer(shown):
        parts += [shown[done : match.end()], f"\\x{ord(shown[match.end()]):02x}"]
        done = match.end() + 1
    whole = "".join((*parts, shown[done:]))
    return whole[len(written) :], _state(whole.rpartition("\n")[2])


def _state(line: str) -> str:
    """Return the shortest text after which the same orders can be completed as after `line`."""
    plain = re.sub(_IGNORED, "", line).lstrip()
    return plain if len(plain) <= _BEFORE_LAST else f"x{plain[-_BEFORE_LAST:]}"
