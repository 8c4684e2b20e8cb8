"""GitHub: the report as a step summary, and workflow commands that annotate a change.

Both have caps beyond which GitHub drops things in silence, so what is left out is counted here:
a summary has 1 MiB, and of a step's annotations ten errors and ten warnings are shown. What a
subject says is text here and nothing else: it ends no line, opens no markup and starts no command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultclock.model.report.finding import Report, Verdict
from faultclock.render.gate import make_gate
from faultclock.render.notices import Gravity, Notice, gravities, notices
from faultclock.render.wording import clipped, count, visible

#: Of each level; GitHub shows no more of one step.
_ANNOTATIONS_MAX = 10
#: GitHub cuts an annotation at 4 kB.
_ANNOTATION_MAX = 2_000
_CELL_MAX = 400
_SUMMARY_BYTES_MAX = 1024 * 1024

_SYMBOL = {
    Gravity.FAILS: ":x: fails",
    Gravity.OPEN: ":grey_question: proves nothing",
    Gravity.WARNS: ":warning: warns",
    Gravity.KNOWN: ":heavy_minus_sign: known",
}
_VERDICT = {
    Verdict.PASS: ":white_check_mark: conforms",
    Verdict.WARN: ":warning: conforms, with warnings",
    Verdict.FAIL: ":x: does not conform",
    Verdict.INCONCLUSIVE: ":grey_question: proves nothing",
}
#: What GitHub's Markdown gives a meaning within a line: markup, mathematics, people, issues, emoji
#: (`:x:`) and what becomes a link by itself. An underscore within a word is none of it.
_MARKUP = re.compile(
    r"[\\`*\[\]<>#|~&@$]|(?<![^\W_])_|_(?![^\W_])|:(?=//|[\w+-]+:)|(?<=www)\.", re.IGNORECASE
)


def github_summary(report: Report, *, bytes_max: int = _SUMMARY_BYTES_MAX) -> str:
    """Return `report` as GitHub Markdown of at most `bytes_max` bytes of UTF-8.

    Of a table that is too long, the last line says how much is missing. With less room than the
    heading takes, there is nothing.
    """
    found = notices(report)
    head = "\n".join(_head(report, found)) + "\n"
    rows = [_row(notice) for notice in found]
    room = bytes_max - len(head.encode())
    if room < 0:
        return ""
    if not rows:
        return head
    table = "\n| | scenario | check | what |\n|---|---|---|---|\n"
    shown = _fitting(rows, room - len(table.encode()))
    left = len(rows) - len(shown)
    if not shown:
        rest = f"\n{_more(left)}\n"
        return head + rest if len(rest.encode()) <= room else head
    return head + table + "".join(shown) + (f"\n{_more(left)}\n" if left else "")


def github_annotations(report: Report) -> str:
    """Return a workflow command for each scenario that is not green, within GitHub's caps.

    What the baseline knows of is not annotated: it was decided before.
    """
    lines: list[str] = []
    found = notices(report)
    for level, gravest in (
        ("error", (Gravity.FAILS, Gravity.OPEN)),
        ("warning", (Gravity.WARNS,)),
    ):
        told = list(_by_scenario(notice for notice in found if notice.gravity in gravest))
        # The last place is for how many there are more.
        most = _ANNOTATIONS_MAX if len(told) <= _ANNOTATIONS_MAX else _ANNOTATIONS_MAX - 1
        lines += [_annotation(level, group) for group in told[:most]]
        if len(told) > most:
            words = f"{count(len(told) - most, 'more scenario')}: see the summary or the report"
            lines.append(_command(level, {"title": "Faultclock"}, words))
    return "".join(f"{line}\n" for line in lines)


def _head(report: Report, found: tuple[Notice, ...]) -> Iterator[str]:
    subject, model = _text(report.subject.id), _text(f"{report.model} {report.model_revision}")
    yield f"### Faultclock: {subject} against {model}"
    yield ""
    yield _said(report)
    yield ""
    totals = (f"{number:,} {_text(name)}" for name, number in sorted(report.totals.items()))
    yield f"{count(len(report.runs), 'run')}: {', '.join(totals) or 'none'}"
    counted = gravities(found)
    words = (f"{counted[item]:,} {_SYMBOL[item]}" for item in Gravity if counted[item])
    if any(counted.values()):
        yield ""
        yield " · ".join(words)


def _said(report: Report) -> str:
    view = make_gate(report)
    if view is None:
        return f"**{_VERDICT.get(report.verdict, _text(report.verdict))}**"
    shut = view.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
    sign = ":x:" if shut else ":white_check_mark:"
    return f"**{sign} {_text(view.headline)}** (baseline {_text(view.baseline)}, {view.today})"


def _row(notice: Notice) -> str:
    what = notice.summary
    if notice.known is not None:
        until = notice.known.expires.isoformat()
        what += f" (known until {until}: {notice.known.reason}; {notice.known.owner})"
    cells = (_SYMBOL[notice.gravity], _cell(notice.subject), _cell(notice.rule), _cell(what))
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    return _text(clipped(text, _CELL_MAX)) or " "


def _text(text: str) -> str:
    """Return Markdown that shows `text` in one line, whatever it holds."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", " ".join(visible(text).split()))


def _fitting(rows: list[str], room: int) -> list[str]:
    """Return as many rows as fit, with the line that tells of the others."""
    sizes = [len(row.encode()) for row in rows]
    if sum(sizes) <= room:
        return rows
    room -= len(_more(len(rows)).encode()) + 2
    shown: list[str] = []
    for row, size in zip(rows, sizes, strict=True):
        room -= size
        if room < 0:
            break
        shown.append(row)
    return shown


def _more(number: int) -> str:
    return f"{number:,} more: see the report."


def _by_scenario(found: Iterable[Notice]) -> Iterator[list[Notice]]:
    grouped: dict[str, list[Notice]] = {}
    for notice in found:
        grouped.setdefault(notice.scenario or "", []).append(notice)
    yield from grouped.values()


def _annotation(level: str, group: list[Notice]) -> str:
    first = group[0]
    properties = {}
    if first.place is not None:
        properties = {"file": first.place.file, "line": str(first.place.line)}
    properties["title"] = f"Faultclock: {first.subject}" if first.subject else "Faultclock"
    lines = [f"{first.rule}: {first.summary}"]
    finding = first.finding
    if finding is not None and finding.sentence:
        lines.append(f"{finding.requirement or ''} “{finding.sentence}”".strip())
    if len(group) > 1:
        lines.append(f"and {len(group) - 1} more of this scenario")
    if first.run is not None and first.run.replay:
        lines.append(f"replay: {first.run.replay}")
    return _command(level, properties, "\n".join(lines))


def _command(level: str, properties: dict[str, str], message: str) -> str:
    """Return one workflow command, escaped as the runner's own toolkit does."""
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {said}::{_data(message)}"


def _data(text: str) -> str:
    cut = text if len(text) <= _ANNOTATION_MAX else text[: _ANNOTATION_MAX - 1] + "…"
    plain = visible(cut.replace("\r\n", "\n"))
    return plain.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
