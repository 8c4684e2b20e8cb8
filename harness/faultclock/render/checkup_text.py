"""A CheckUp as one screen of at most 80 columns: pure, and free of control characters.

The first problems are shown in full and the others by title, so the worst is on the first screen.
Only a word that cannot be broken, such as a long path in a command, may go beyond the edge.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from faultclock.model.report.checkup import CheckUp
from faultclock.model.report.cut_short import was_cut_short
from faultclock.model.report.finding import RequirementCoverage, RunReport, Verdict
from faultclock.model.report.problem import Problem
from faultclock.model.report.unproved import hung_at
from faultclock.model.scenario.service_host import would_answer
from faultclock.model.trace.trace import CUT_SHORT
from faultclock.render.finding_text import command_lines
from faultclock.render.wording import clipped, count, visible

COLUMNS = 80
#: So many problems are shown in full; of more, the first ones, and of the rest the titles.
IN_FULL_MAX, IN_FULL_FIRST = 5, 3
_SITUATIONS_MAX = 2
_HELD_MAX = 12
_TITLE_MAX = 2 * (COLUMNS - 6)
_TITLE_MIN = 24
_LABEL = 8
_INDENT = 4
_ADDRESS = "https://"
_CAUSES_MAX = 5
#: What is said of runs that were cut short, and what to do about it, by their ending.
_CUT_SHORT = {
    "watchdog": (
        "did not end",
        "Look there for an endless loop, retries without a limit or a wait, a lock that nothing"
        " opens, or a call into C code (a regular expression, too) that does not come back.",
    ),
    "event_limit": (
        "went on without end",
        "Look for a loop that asks, waits or logs again and again without a limit.",
    ),
    "escape": (
        "left the simulation",
        "Start no process, open no socket of your own and do not exit in the code that is checked,"
        " nor where it handles an error; or give that part to the caller.",
    ),
    "harness_error": (
        "came to no result",
        "Look for code that ends or kills its own process.",
    ),
}
#: What to do where other hosts were asked, and nothing says what they answer.
_ANSWER = "Say with --services what these hosts answer: the lines for that stand below."
#: Before a problem in one line, by whether it is serious.
MARKS = {True: "✗", False: "!"}
Style = Literal["plain", "heading", "serious", "minor", "good", "dim"]


class Line(Struct, frozen=True):
    """One line of the screen.

    Attributes:
        style: how a terminal may show it; a file shows the text alone.
    """

    text: str
    style: Style = "plain"


class _How(Struct, frozen=True):
    """How much is shown."""

    in_full: bool
    show_output: bool
    brief: bool


def checkup_lines(
    checkup: CheckUp,
    *,
    wall_s: float,
    jobs: int,
    again: str,
    in_full: bool = False,
    show_output: bool = False,
    brief: bool = False,
) -> Iterator[Line]:
    """Yield the screen.

    Args:
        wall_s: real seconds that it took.
        jobs: how many runs were made at a time.
        again: the command that was typed.
        in_full: show every problem in full.
        show_output: show what the target logged and printed.
        brief: show the first problem in full, count the others, and nothing else.
    """
    for line in _screen(checkup, wall_s, jobs, again, _How(in_full, show_output, brief)):
        yield Line(" ".join(line.text.splitlines()).rstrip(), line.style)


def problem_line(problem: Problem, *, margin: int, counted: bool = True) -> str:
    """Return a problem in one line, for a list and for progress.

    Args:
        margin: columns that stand before it.
        counted: say how many runs show it.
    """
    seen = f"  {problem.seen_in}" if counted else ""
    line = f"{MARKS[problem.serious]} {_title(problem)}"
    return _clip(line, COLUMNS - margin - len(seen)) + seen


def _title(problem: Problem) -> str:
    """Return the kind, the place and the title."""
    source = problem.source
    place = f"{source.file.rpartition('/')[2]}:{source.line}: " if source else ""
    return f"{problem.kind}: {place}{problem.title}"


def _screen(checkup: CheckUp, wall_s: float, jobs: int, again: str, how: _How) -> Iterator[Line]:
    yield from _taken_for(checkup, how)
    yield from () if how.brief else _does(checkup)
    yield from _cut_short(checkup)
    new = [problem for problem in checkup.problems if not problem.known]
    known = [problem for problem in checkup.problems if problem.known]
    if new:
        yield from _problems(new, how)
    else:
        yield from _held(checkup, known=bool(known))
    if known:
        yield Line("")
        yield Line("Known by the baseline", "heading")
        yield from (Line(f"  {problem_line(problem, margin=2)}", "dim") for problem in known)
    yield from () if how.brief else _left_out(checkup)
    yield Line("")
    yield from _totals(checkup, new, wall_s=wall_s, jobs=jobs)
    yield from _next(checkup, new, again=again)


def _taken_for(checkup: CheckUp, how: _How) -> Iterator[Line]:
    taken = checkup.taken_for
    speaks = f" that speaks {taken.dialect}" if taken.dialect else ""
    yield from _wrapped(f"{taken.target}: {taken.kind}{speaks}", style="heading")
    if how.brief:
        return
    because = f"Taken for that because {taken.because}. " if taken.because else ""
    otherwise = f"If that is wrong: {taken.otherwise}" if taken.otherwise else ""
    yield from _wrapped(f"{because}{otherwise}".strip(), indent=2, style="dim")


def _does(checkup: CheckUp) -> Iterator[Line]:
    if not checkup.does:
        return
    yield Line("")
    yield Line("What it does", "heading")
    widest = max(len(trait.name) for trait in checkup.does) + 2
    for trait in checkup.does:
        yield from _wrapped(trait.text, indent=2, label=trait.name, width=widest)


def _problems(problems: Sequence[Problem], how: _How) -> Iterator[Line]:
    yield Line("")
    yield Line(f"{count(len(problems), 'problem')}, the worst first", "heading")
    shown = problems[: _in_full_count(len(problems), how)]
    for number, problem in enumerate(shown, 1):
        yield Line("")
        yield from _in_full(number, problem, how)
    others = problems[len(shown) :]
    if others:
        yield Line("")
        yield from _counted(others) if how.brief else _titles(others)


def _in_full_count(problems: int, how: _How) -> int:
    if how.brief:
        return 1
    return problems if how.in_full or problems <= IN_FULL_MAX else IN_FULL_FIRST


def _titles(problems: Sequence[Problem]) -> Iterator[Line]:
    yield Line("The others (--all shows them in full; ✗ is serious)", "heading")
    for problem in problems:
        mark, text = MARKS[problem.serious], _clip(_title(problem), _TITLE_MAX)
        text = f"{text} ({problem.seen_in})"
        yield from _wrapped(text, indent=2, label=mark, width=2, style="minor")


def _counted(problems: Sequence[Problem]) -> Iterator[Line]:
    kinds = Counter((problem.serious, problem.kind) for problem in problems)
    others = "; ".join(f"{MARKS[serious]} {kind} ({n})" for (serious, kind), n in kinds.items())
    yield from _wrapped(f"The others: {others} (✗ is serious)")


def _in_full(number: int, problem: Problem, how: _How) -> Iterator[Line]:
    style: Style = "serious" if problem.serious else "minor"
    title = _clip(problem.title, _TITLE_MAX)
    yield from _wrapped(title, label=f"{number}.", width=_INDENT, style=style)
    serious = "Serious. " if problem.serious else ""
    yield from _wrapped(f"{serious}{_harm(problem)}: {problem.does}", indent=_INDENT)
    yield from _labelled("at", _where(problem))
    if (tool := problem.tool) is not None:
        yield from _labelled("tool", _line(tool.file, tool.line, tool.code))
    if not problem.error:
        yield from _labelled("should", problem.expected)
    yield from _labelled("seen", _seen(problem))
    for line in problem.output if how.show_output else ():
        yield from _labelled(line.stream, _clip(line.text, _TITLE_MAX), style="dim")
    yield from _labelled("change", problem.change)
    yield from _command("again", problem.reproduce)
    yield from _rule(problem)


def _harm(problem: Problem) -> str:
    return problem.kind[:1].upper() + problem.kind[1:]


def _where(problem: Problem) -> str:
    if problem.source is None:
        raised = problem.frames[-1:] if problem.error else ()
        said = (*(f"{frame.file}:{frame.line}" for frame in raised), problem.beyond)
        return "; ".join(filter(None, said))
    return _line(problem.source.file, problem.source.line, problem.code)


def _line(file: str, line: int, code: str) -> str:
    place = f"{file}:{line}"
    room = COLUMNS - _INDENT - _LABEL - len(place) - 1
    return f"{place} {_clip(code, room)}" if room >= _TITLE_MIN else place


def _seen(problem: Problem) -> str:
    shown = problem.situations[:_SITUATIONS_MAX]
    more = len(problem.situations) - len(shown)
    left = f"; and {more} more" if more else ""
    return f"in {problem.seen_in}: {'; '.join(shown)}{left}"


def _rule(problem: Problem) -> Iterator[Line]:
    """Yield the requirement and one of its sources; an address stays in one piece."""
    head = f"{problem.requirement} ({problem.level})"
    if not problem.sources:
        yield from _labelled("rule", f"{head}: {problem.sentence}", style="dim")
        return
    title, sign, address = problem.sources[0].partition(_ADDRESS)
    others = len(problem.sources) - 1
    more = f", and {count(others, 'more source')}" if others else ""
    yield from _labelled("rule", f"{head}, from {title.rstrip(' :')}{more}", style="dim")
    link = f"{sign}{address}"
    if sign and len(link) <= COLUMNS:
        yield Line(f"{' ' * min(_INDENT, COLUMNS - len(link))}{link}", "dim")


def _cut_short(checkup: CheckUp) -> Iterator[Line]:
    """Yield why runs were ended by force: whatever would have come next is not seen."""
    for ending, (what, change) in _CUT_SHORT.items():
        runs = [run for run in checkup.report.runs if run.ending == ending and was_cut_short(run)]
        if not runs:
            continue
        yield Line("")
        text = f"{count(len(runs), 'run')} {what}, and what comes after that is not seen"
        yield from _wrapped(text, style="serious")
        for (label, why), number in Counter(map(_why_cut, runs)).most_common(_CAUSES_MAX):
            yield from _labelled(label, f"{why} ({count(number, 'run')})")
        unanswered = all(run.unanswered for run in runs)
        yield from _labelled("change", _ANSWER if unanswered else change)
        yield from _command("again", runs[0].replay)


def _why_cut(run: RunReport) -> tuple[str, str]:
    """Return the line at which a run was ended, or without one the reason, and its label."""
    if (frame := hung_at(run)) is not None:
        return "at", f"{frame.file}:{frame.line} {frame.code}"
    return "because", "; ".join(run.ending_detail[:1])


def _held(checkup: CheckUp, *, known: bool) -> Iterator[Line]:
    """Say what was tried where nothing is to be mended; what was not tried is not claimed."""
    tested = [item for item in checkup.report.coverage if item.status == "tested"]
    yield Line("")
    if not tested:
        yield Line("Nothing could be shown: no run proves anything about this target", "serious")
        return
    what = "No other problem" if known else "No problem"
    yield Line(f"{what} in what was tried. These held:", "good")
    for item in tested[:_HELD_MAX]:
        yield from _held_line(item)
    if len(tested) > _HELD_MAX:
        yield Line(f"  and {len(tested) - _HELD_MAX} more (--json has all)")
    untried = [item for item in checkup.report.coverage if item.status == "not exercised"]
    if untried:
        yield Line(
            f"Not tried: {count(len(untried), 'other rule')} of {checkup.report.model}", "dim"
        )


def _held_line(item: RequirementCoverage) -> Iterator[Line]:
    yield Line(f"  {_clip(item.sentence, COLUMNS - 2)}")


def _left_out(checkup: CheckUp) -> Iterator[Line]:
    if checkup.left_out:
        yield Line("")
        yield Line("Not checked", "heading")
        widest = max(len(item.what) for item in checkup.left_out) + 2
        for item in checkup.left_out:
            of = f" ({count(item.scenarios, 'situation')})" if item.scenarios else ""
            yield from _wrapped(f"{item.why}{of}", indent=2, label=item.what, width=widest)
    unanswered = [asked for run in checkup.report.runs for asked in run.unanswered]
    if unanswered:
        yield Line("")
        yield Line("Asked of other hosts, and answered by nothing", "heading")
        told = "Write what they answer into a file, and name it with --services FILE:"
        yield from _wrapped(told, indent=2)
        yield from (Line(f"  {visible(line)}") for line in would_answer(unanswered).splitlines())
    if checkup.inconclusive:
        yield Line("")
        yield Line("Shown by no run", "heading")
        for text in checkup.inconclusive:
            yield from _wrapped(text, indent=2)


def _totals(
    checkup: CheckUp, new: Sequence[Problem], *, wall_s: float, jobs: int
) -> Iterator[Line]:
    runs = count(len(checkup.report.runs), "run")
    workers = count(jobs, "worker")
    serious = sum(problem.serious for problem in new)
    found = f"{count(serious, 'serious problem')}, {count(len(new) - serious, 'other')}"
    cut = sum(run.ending in CUT_SHORT for run in checkup.report.runs)
    ended = f", {cut} ended by force" if cut else ""
    yield Line(f"{runs} in {wall_s:.1f} s, {workers}: {found}{ended}", "heading")


def _next(checkup: CheckUp, new: Sequence[Problem], *, again: str) -> Iterator[Line]:
    if any(map(was_cut_short, checkup.report.runs)):
        yield from _command("next", again, said="mend what stands first, then run again:")
    elif new:
        yield from _command("next", again, said="mend the first problem, then run again:")
    elif any(run.verdict is Verdict.PASS for run in checkup.report.runs):
        yield from _command("next", again, said="run it with every push:")


def _clip(text: str, most: int) -> str:
    """Return `text` in one line that is no longer, also where it is made visible."""
    return clipped(visible(text), most)


def _labelled(label: str, text: str, *, style: Style = "plain") -> Iterator[Line]:
    if text:
        yield from _wrapped(text, indent=_INDENT, label=label, width=_LABEL, style=style)


def _command(label: str, command: str, *, said: str = "") -> Iterator[Line]:
    """Yield a command that works when it is pasted: a line that goes on ends with a backslash."""
    indent = _INDENT if not said else 0
    if said:
        yield Line(f"{label.ljust(_LABEL)}{said}")
        first = " " * (indent + _LABEL)
    else:
        first = f"{' ' * indent}{label.ljust(_LABEL)}"
    for row in command_lines(command, first=first, width=COLUMNS):
        yield Line(row)


def _wrapped(
    text: str, *, indent: int = 0, label: str = "", width: int = 0, style: Style = "plain"
) -> Iterator[Line]:
    """Yield `text` in lines, with a label in the margin of the first one."""
    margin = " " * (indent + width)
    for line in textwrap.wrap(
        " ".join(visible(text).split()),
        COLUMNS,
        initial_indent=f"{' ' * indent}{label.ljust(width)}",
        subsequent_indent=margin,
        break_on_hyphens=False,
    ):
        yield Line(line, style)
