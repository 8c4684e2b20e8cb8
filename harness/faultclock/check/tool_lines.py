"""Which tool of the user's a problem is about, and where that stands in their file.

A stack seldom shows it: what goes wrong around a tool is seen in the agent's framework.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from faultclock.model.report.finding import RunReport
from faultclock.model.report.problem import Problem
from faultclock.model.trace.notes import Frame
from faultclock.subjects.binding import Binding
from faultclock.subjects.source import line_of

_DEFINES = r"(?:async\s+)?def\s+{}\b"


def tool_lines(binding: Binding) -> Mapping[str, Frame]:
    """Return where the functions of an agent's tools begin, by the names of the tools.

    A tool that has another name than its function, or stands in another file, is left out.
    """
    place = binding.source
    if place is None or not binding.own_tools:
        return {}
    source = Path(place.file).read_bytes()
    rows = source.decode("utf-8", "replace").splitlines()
    found: dict[str, Frame] = {}
    for name in (tool.name for tool in binding.own_tools if tool.service is None):
        line = line_of(source, name)
        code = rows[line - 1].strip() if rows else ""
        if re.match(_DEFINES.format(re.escape(name)), code):
            found[name] = Frame(file=place.file, line=line, function=name, code=code)
    return found


def with_tool(problem: Problem, runs: Sequence[RunReport], lines: Mapping[str, Frame]) -> Problem:
    """Return a problem with the one tool that the finding that is shown of it is about."""
    for run in runs if lines and problem.source is None else ():
        cited = {
            seq for item in run.findings if item.id in problem.findings[:1] for seq in item.events
        }
        named = {event.payload.get("tool") for event in run.timeline if event.seq in cited} - {None}
        if len(named) == 1 and (tool := lines.get(str(*named))) is not None:
            return problem.model_copy(update={"tool": tool})
    return problem
