"""The page of the real systems, from what was measured."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import PROJECT
from tests.field.systems.building import HERE, SYSTEMS, System
from tests.field.systems.measuring import ROWS, Judged, Measured
from tests.field.systems.stories import reproduced

PAGE = PROJECT / "docs" / "real-systems.md"
#: What no run says: how they are had, and what of them is ours.
BY_HAND = Path(__file__).parent / "by_hand.md"
DOCUMENTS = {"kode": "Error Handling Guide", "stud": "Error Model"}
#: Verdict to how many sentences have it.
_VERDICTS = {"holds": "hold", "deviates": "deviate", "not observed": "were not observed"}


def kept(system: System) -> Path:
    """Return the file with what was measured of a system."""
    return HERE / "measured" / f"{system.id}.json"


def page() -> str:
    """Return the page."""
    measured = [(system, Measured.read(kept(system))) for system in SYSTEMS]
    parts = [BY_HAND.read_text("utf-8").rstrip("\n"), ""]
    parts += ["## Measured", "", *_figures(measured), ""]
    for system, one in measured:
        parts += [*_system(system, one), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def _figures(measured: list[tuple[System, Measured]]) -> Iterator[str]:
    yield "| system | asked at | runs | problems: serious, others | escapes | differ | s | by |"
    yield "|---|---|---|---|---|---|---|---|"
    for system, one in measured:
        for seam in (*one.seams, one.log):
            serious = sum(is_serious for *_, is_serious in seam.problems)
            others = len(seam.problems) - serious
            yield (
                f"| {system.title} | {seam.title} | {seam.runs} | {serious}, {others} |"
                f" {seam.escapes} | {seam.differ} | {seam.seconds:.0f} | `{seam.command}` |"
            )


def _system(system: System, one: Measured) -> Iterator[str]:
    versions = one.versions
    yield f"## {system.title}"
    yield ""
    yield _filled(
        f"{system.repository}, version {versions['version']}, commit {versions['commit']};"
        f" {system.licence}. Node {versions['node']}, {one.on}."
    )
    for seam in (*one.seams, one.log):
        yield ""
        yield from _problems(seam)
    count = Counter(one.rows.values())
    said = ", ".join(f"{count[it]} {words}" for it, words in _VERDICTS.items())
    yield ""
    yield f"### {system.title} and its own document"
    yield ""
    yield _filled(
        f'The page "{DOCUMENTS[system.id]}", sentence by sentence: {said}. {one.stories} runs were'
        " made for it, each situation over a near and a far network. *Run* is an export of the"
        " module and a situation; where none stands, the source alone was read."
    )
    yield ""
    yield "```text"
    yield reproduced(system, "EXPORT SITUATION")
    yield "```"
    yield ""
    yield "| the page says | it | why | run |"
    yield "|---|---|---|---|"
    for row in ROWS[system.id]:
        runs = ", ".join(f"`{run}`" for run in row.runs)
        says = row.says.replace("|", "\\|")
        yield f"| {says} | {one.rows[row.says]} | {row.why.replace('|', chr(92) + '|')} | {runs} |"


def _problems(seam: Judged) -> Iterator[str]:
    yield f"**{seam.title[0].upper()}{seam.title[1:]}**"
    yield ""
    if not seam.problems:
        yield "- No problem."
    for (id_, is_serious), group in _by_requirement(seam).items():
        mark = "✗" if is_serious else "!"
        runs = sum(times for _, times in group)
        count = f"{len(group)} problems in " if len(group) > 1 else ""
        said = f"- {mark} {group[0][0]} ({id_}, {count}{runs} run{'' if runs == 1 else 's'})"
        yield _filled(said, indent="  ")


def _by_requirement(seam: Judged) -> dict[tuple[str, bool], list[tuple[str, int]]]:
    found: dict[tuple[str, bool], list[tuple[str, int]]] = {}
    for title, id_, runs, is_serious in seam.problems:
        found.setdefault((id_, is_serious), []).append((title, runs))
    return found


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)
