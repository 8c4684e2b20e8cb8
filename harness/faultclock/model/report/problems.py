"""Problems: the findings of many runs, folded into what a person mends. Pure.

One cause is one problem. An exception of the handling is one by its type and its line; anything
else by its requirement and by the cause that the check names. Where it names none, that is what was
observed without its numbers and details, and the line that waited where one is known. What becomes
of a call after its handler has crashed follows from the crash and is part of that problem. An error
model that names no harm still gives causes: then the order is by what is broken and how often.

The fingerprint of `explore` would not do: it is made of the kinds of events, so one cause would be
two problems where it shows on a new connection and on one that was kept.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.error_model.error_model import Requirement
from faultclock.model.error_model.harm import Harm
from faultclock.model.report.finding import (
    Finding,
    Report,
    RequirementCoverage,
    RunReport,
    SourcePlace,
    Verdict,
)
from faultclock.model.report.lines import lines_of, own_frame, package_of
from faultclock.model.report.problem import Problem
from faultclock.model.trace.notes import RaisedError

#: A requirement as the error model has it, or as a report shows it.
Demand = Requirement | RequirementCoverage

_DIGITS = 10
#: Log lines that a problem shows: the last ones, which are the nearest to its end.
_OUTPUT_MAX = 8
#: A broken MUST, and a broken SHOULD.
_DEVIATES = (Verdict.FAIL, Verdict.WARN)
#: What becomes of a call that does not end.
_UNENDED = (Harm.HANG, Harm.LOOP)
#: What differs from run to run for the same cause: quoted values, ids that a provider makes, and
#: numbers with their units.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_ID = re.compile(r"\b(?:[a-z]+_)?(?=[a-f]*\d)[0-9a-f]{8,}\b")
_NUMBER = re.compile(r"\b\d[\d.,]*(?:ns|us|µs|ms|s|m|h|d)?(?:\d[\d.]*(?:ms|s|m|h))*\b")
#: What follows in parentheses, and how often something was seen.
_DETAIL = re.compile(r" \([^()]*\)")
_TIMES = re.compile(r"\b(?:once|twice)\b|# times\b")
#: Scenarios of the inference: no file leads to them, so any other shows a problem better.
_INFERRED = "infer/"
#: How an attempt ends that went well, and how those begin that a status refuses.
_WELL, _REFUSALS = "ok", ("4", "5")
#: See `_Seen.plainness`.
_Plainness = tuple[bool, bool, bool, int, int, int]


class _Seen(Struct, frozen=True, kw_only=True):
    """One deviation with the run that shows it.

    Attributes:
        run: of a verdict on a group of seeds, the first of them.
        seeds: how many runs that group has; 1 for a verdict on one run.
        raised: the exception that left its call, where that is what it is about.
        crash: the crash of the handler, or the hang, that it follows from; None: it stands for
            itself.
    """

    finding: Finding
    run: RunReport
    order: int
    requirement: Demand
    seeds: int = 1
    raised: RaisedError | None = None
    crash: _Seen | None = None

    @property
    def harm(self) -> Harm | None:
        """What it does to people; None where the error model does not say."""
        return self.requirement.harm

    @property
    def plainness(self) -> _Plainness:
        """Sorts the plainest situation first: answers with a status, few calls, few events."""
        events = len(self.run.timeline) + self.run.timeline_cut
        inferred = self.run.scenario.startswith(_INFERRED)
        ends = (attempt.ended for call in self.run.calls for attempt in call.attempts)
        exotic = not all(end == _WELL or end.startswith(_REFUSALS) for end in ends)
        calls = len(self.run.calls)
        return (self.crash is not None, inferred, exotic, calls, events, self.order)


def problems_of(
    runs: Sequence[RunReport],
    seeds_findings: Iterable[Finding],
    demands: Iterable[Demand],
    *,
    known: Collection[str] = (),
    library: str = "",
) -> tuple[Problem, ...]:
    """Return what is to be mended, the serious ones first, of each the most harmful first.

    Args:
        seeds_findings: verdicts on groups of seeds among `runs`.
        demands: the requirements that the runs were judged by.
        known: ids of the findings that a baseline knows.
        library: what runs between the user's own code and the wire; empty: nothing is known of it.
    """
    requirements = {item.id: item for item in demands}
    groups: dict[str, _Group] = {}
    for order, run in enumerate(runs):
        if not run.verdicts.isdisjoint(_DEVIATES):
            for seen in _of_run(run, order, requirements):
                groups.setdefault(_key(seen), _Group()).add(seen)
    for seen in _of_seeds(seeds_findings, runs, requirements):
        groups.setdefault(_key(seen), _Group()).add(seen)
    # Where no line of the user's own ever waits or raises, none is between the model and a tool.
    passed = not any(own for run in runs for own in lines_of(run))
    # Where nothing is asked in one piece, that it was seen in a stream says nothing.
    either = any(run.in_one_piece for run in runs)
    problems = (
        _problem(key, group, known).model_copy(
            update={
                "only_in_streams": either and group.streamed,
                **(_beyond(group, library) if group.is_beyond(passed=passed) else {}),
            }
        )
        for key, group in _joined(groups).items()
    )
    return tuple(sorted(problems, key=_rank))


def _beyond(group: _Group, library: str) -> dict[str, str]:
    """Return where it is, and for an exception what a person does who cannot mend that line."""
    raised = None if group.shown is None else group.shown.raised
    if raised is None or not library or not (package := package_of(raised.frames)):
        return {"library": library}
    catch = f"Catch {raised.type} around your call, as a failed call among others"
    change = f"{catch}; the line is in the package {package}, for its authors to mend."
    return {"library": library, "package": package, "change": change}


def _joined(groups: Mapping[str, _Group]) -> Mapping[str, _Group]:
    """Return the groups, those of one cause as one.

    A library that crashes at one line does so whoever called it: an exception that met no line of
    the user's joins the same that did. What is at a line where a call waited joins the same at that
    line where none did, and what shows no line joins the same at a line. A requirement may name
    another one, with which it is shown.
    """
    groups = _housed(groups, lambda group: group.is_placed, lambda group: group.crashed_at)
    groups = _housed(
        groups, lambda group: not _waited_at(group.shown), lambda group: group.caused_at
    )
    groups = _housed(groups, lambda group: group.placed is not None, lambda group: group.caused_by)
    leading = {group.demand.id: key for key, group in reversed(list(groups.items()))}
    return _folded(
        groups,
        {key: leading.get(group.demand.shown_with, key) for key, group in groups.items()},
    )


def _housed(
    groups: Mapping[str, _Group],
    is_home: Callable[[_Group], bool],
    at: Callable[[_Group], tuple[object, ...] | None],
) -> Mapping[str, _Group]:
    """Return the groups, each that is no home as a part of the first home at the same place."""
    homes = {at(group): key for key, group in reversed(list(groups.items())) if is_home(group)}
    homes.pop(None, None)
    others = {key: at(group) for key, group in groups.items() if not is_home(group)}
    return _folded(groups, {key: homes.get(where, key) for key, where in others.items()})


def _folded(groups: Mapping[str, _Group], homes: Mapping[str, str]) -> dict[str, _Group]:
    """Return the groups, each that has another home as a part of that one."""
    found = {key: group for key, group in groups.items() if homes.get(key, key) == key}
    for key, group in groups.items():
        if key not in found:
            found[homes[key]] = found[homes[key]].with_(group)
    return found


class _Group(Struct):
    """What shows one problem: the plainest of all in full, and of each what the problem says.

    Attributes:
        placed: the first that points at a line.
        rows: plainness, title of the situation and id of the finding, in the order of the runs.
        failing: ids of those that fail.
        lines: whether the lines that waited or raised are the user's own.
        streamed: whether every run that shows it asks for nothing but streams.
    """

    shown: _Seen | None = None
    placed: _Seen | None = None
    least: _Plainness = (True, True, True, 0, 0, 0)
    rows: list[tuple[_Plainness, str, str]] = field(default_factory=list)
    orders: set[int] = field(default_factory=set)
    levels: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    lines: set[bool] = field(default_factory=set)
    streamed: bool = True

    def is_beyond(self, *, passed: bool) -> bool:
        """Return whether no line of the user's own was seen in it.

        What leaks may be what a tool of theirs returned, which no stack shows.

        Args:
            passed: none was in any run: then that holds where no run shows a line, too.
        """
        leaks = self.shown is not None and self.shown.harm is Harm.SECRET
        foreign = self.lines == {False} or (passed and not self.lines)
        return self.placed is None and foreign and not leaks

    @property
    def is_placed(self) -> bool:
        """Whether the exception that it is about met a line of the user's."""
        raised = None if self.shown is None else self.shown.raised
        return raised is not None and own_frame(raised.frames) is not None

    @property
    def crashed_at(self) -> tuple[object, ...] | None:
        """The type of its exception with the innermost line; None where none is known."""
        raised = None if self.shown is None else self.shown.raised
        if raised is None or not raised.frames:
            return None
        at = raised.frames[-1]
        return raised.type, at.file, at.function, at.code or at.line

    @property
    def caused_at(self) -> tuple[object, ...] | None:
        """The cause of its finding with the line that it points at; None where none is known."""
        place = None if self.placed is None else _place(self.placed)[0]
        if self.caused_by is None or place is None:
            return None
        return *self.caused_by, place.file, place.line

    @property
    def caused_by(self) -> tuple[object, ...] | None:
        """The cause of its finding; None where it is an exception."""
        if self.shown is None or self.shown.raised is not None:
            return None
        return _cause(self.shown.finding)

    @property
    def demand(self) -> Demand:
        """The requirement that it is about."""
        assert self.shown is not None, "a group exists because of a deviation"
        return self.shown.requirement

    def with_(self, other: _Group) -> _Group:
        """Return both as one, which shows what this one does; of one cause, what is plainer."""
        same = self.caused_by is not None and self.caused_by == other.caused_by
        return replace(
            min(self, other, key=lambda group: group.least) if same else self,
            placed=self.placed or (other.placed if same else None),
            lines=self.lines | other.lines,
            streamed=self.streamed and other.streamed,
            rows=[*self.rows, *other.rows],
            orders=self.orders | other.orders,
            levels=self.levels | other.levels,
            failing=self.failing | other.failing,
        )

    def add(self, seen: _Seen) -> None:
        """Take one more deviation."""
        plainness = seen.plainness
        if self.shown is None or plainness < self.least:
            self.shown, self.least = seen, plainness
        if self.placed is None and _place(seen)[0] is not None:
            self.placed = seen
        self.rows.append((plainness, seen.run.title, seen.finding.id))
        self.orders.add(seen.order)
        self.lines.update(lines_of(seen.run))
        self.streamed = self.streamed and seen.run.streamed
        if seen.crash is None:
            self.levels.add(seen.requirement.level)
        if seen.finding.verdict is Verdict.FAIL:
            self.failing.add(seen.finding.id)


def problems_in(report: Report) -> tuple[Problem, ...]:
    """Return what is to be mended of `report`, with what its gate knows marked as known."""
    gate = report.gate
    known = {id_ for entry in gate.known for id_ in entry.findings} if gate is not None else set()
    libraries = dict(report.subject.distributions if report.subject.source_digest else {})
    if len(libraries) > 1:
        # The host of a module is no library of its problems.
        libraries.pop("node", None)
    return problems_of(
        report.runs,
        report.seeds_findings,
        report.coverage,
        known=known,
        library=" and ".join(f"{name} {version}" for name, version in libraries.items()),
    )


def _rank(problem: Problem) -> tuple[bool, int, bool, int, str]:
    harm = len(Harm) if problem.harm is None else problem.harm.rank
    return (not problem.serious, harm, problem.only_in_streams, -problem.runs, problem.id)


def _of_run(run: RunReport, order: int, requirements: Mapping[str, Demand]) -> Iterator[_Seen]:
    """Yield the deviations of one run, those that follow from a crash marked as such."""
    raised = {item.call: item for item in (run.notes.raised if run.notes is not None else ())}
    found = [
        (finding, _demand(finding, requirements), raised.get(finding.call or ""))
        for finding in run.findings
        if finding.verdict in _DEVIATES
    ]
    crashes: dict[str | None, _Seen] = {}
    for finding, demand, error in found:
        if _is_crash(demand, error):
            seen = _Seen(finding=finding, run=run, order=order, requirement=demand, raised=error)
            crashes.setdefault(finding.call, seen)
            yield seen
    hangs: dict[str | None, _Seen] = {}
    for finding, demand, error in sorted(found, key=lambda it: it[1].harm not in _UNENDED):
        if not _is_crash(demand, error):
            # A problem worse than a crash does not follow from it.
            follows = demand.harm is None or demand.harm.rank > Harm.CRASH.rank
            crash = crashes.get(finding.call) if follows else None
            if finding.requirement is None:
                # That a call does not end is why it does not settle, too.
                crash = crash or hangs.get(finding.call)
            seen = _Seen(finding=finding, run=run, order=order, requirement=demand, crash=crash)
            if demand.harm in _UNENDED:
                hangs.setdefault(finding.call, seen)
            yield seen


def _is_crash(demand: Demand, error: RaisedError | None) -> bool:
    """Return whether a handler crashed; without a word of the model its exception says so."""
    if demand.harm is None:
        return error is not None and error.raised_by == "operation"
    return demand.harm is Harm.CRASH


def _demand(finding: Finding, requirements: Mapping[str, Demand]) -> Demand:
    """Return what `finding` is judged by; a report that does not list it still has it."""
    known = requirements.get(finding.requirement or "")
    if known is not None:
        return known
    return RequirementCoverage(
        id=finding.requirement or finding.check,
        level=finding.level or "MUST",
        place=finding.place or "",
        sentence=finding.sentence or finding.expected,
        status="failed",
    )


def _of_seeds(
    findings: Iterable[Finding], runs: Sequence[RunReport], requirements: Mapping[str, Demand]
) -> Iterator[_Seen]:
    for finding in findings:
        of = [
            (order, run)
            for order, run in enumerate(runs)
            if (run.scenario, run.variant) == (finding.scenario, finding.variant)
        ]
        if of and finding.verdict in _DEVIATES:
            order, run = of[0]
            demand = _demand(finding, requirements)
            yield _Seen(finding=finding, run=run, order=order, requirement=demand, seeds=len(of))


def _key(seen: _Seen) -> str:
    """Return what is the same for the same cause, in every run that shows it."""
    if seen.crash is not None:
        return _key(seen.crash)
    if seen.raised is not None:
        place = own_frame(seen.raised.frames)
        where = () if place is None else (place.file, place.function, place.code or place.line)
        return _digest("raised", seen.raised.type, *where)
    return _digest(*_cause(seen.finding), *(_waited_at(seen) or ()))


def _cause(finding: Finding) -> tuple[object, ...]:
    """Return the rule that was broken and the cause, where none is named by what was observed."""
    observed = _QUOTED.sub("'…'", headline(finding.observed))
    observed = _TIMES.sub("#", _NUMBER.sub("#", _ID.sub("#", _DETAIL.sub("", observed))))
    return finding.check, finding.requirement, finding.cause or observed


def _waited_at(seen: _Seen | None) -> tuple[object, ...] | None:
    """Return the line that a finding points at, if a call waited there."""
    if seen is None or seen.run.notes is None or (source := seen.finding.source) is None:
        return None
    frames = (frame for wait in seen.run.notes.waits for frame in wait.frames)
    if (source.file, source.line) not in {(it.file, it.line) for it in frames if it.own}:
        return None
    return source.file, source.line


def _digest(*parts: object) -> str:
    text = "\n".join(map(str, parts))
    return "P-" + hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


def _problem(key: str, group: _Group, known: Collection[str]) -> Problem:
    shown, failing = group.shown, group.failing
    assert shown is not None, "a group exists because of a deviation"
    requirement = shown.requirement
    by_plainness = sorted(group.rows, key=lambda row: row[0])
    place, code = _place(shown)
    if place is None and group.placed is not None:
        place, code = _place(group.placed)
    return Problem(
        id=key,
        harm=shown.harm,
        serious=bool(failing),
        level=next(level for level in ("MUST", "SHOULD", "MAY") if level in group.levels),
        title=_title(shown),
        does=requirement.does or requirement.sentence,
        change=requirement.change or shown.finding.hint,
        source=place,
        code=code,
        error="" if shown.raised is None else _error(shown.raised),
        frames=() if shown.raised is None else shown.raised.frames,
        output=tuple(
            line
            for line in (shown.run.notes.output if shown.run.notes is not None else ())
            if line.call in (None, shown.finding.call)
        )[-_OUTPUT_MAX:],
        runs=len(group.orders),
        situations=tuple(dict.fromkeys(title for _, title, _ in by_plainness)),
        expected=shown.finding.expected,
        observed=shown.finding.observed,
        reproduce=_reproduce(shown),
        requirement=requirement.id,
        sentence=requirement.sentence,
        sources=requirement.sources,
        findings=tuple(dict.fromkeys(id_ for _, _, id_ in by_plainness)),
        known=bool(failing) and all(id_ in known for id_ in failing),
    )


def _title(seen: _Seen) -> str:
    if seen.raised is not None:
        return _error(seen.raised)
    text = headline(" ".join((seen.finding.observed or seen.requirement.sentence).split()))
    first = text.partition(" ")[0]
    # `json.JSONDecodeError` stays as it is written.
    return text[:1].upper() + text[1:] if first.isalpha() else text


def headline(text: str) -> str:
    """Return what was observed without what comes after a semicolon of ours.

    These are details: of threads that wait, of the first time.
    """
    return text[: len(_QUOTED.sub(lambda it: "-" * len(it[0]), text).partition("; ")[0])]


def _error(raised: RaisedError) -> str:
    message = " ".join(raised.message.split())
    return f"{raised.type}: {message}" if message else raised.type


def _place(seen: _Seen) -> tuple[SourcePlace | None, str]:
    """Return the user's line to look at, and what stands there."""
    frame = None if seen.raised is None else own_frame(seen.raised.frames)
    if frame is not None:
        return SourcePlace(file=frame.file, line=frame.line), frame.code
    source = seen.finding.source
    if source is None or seen.run.notes is None:
        return source, ""
    notes = seen.run.notes
    stacks = [item.frames for item in notes.raised] + [item.frames for item in notes.waits]
    codes = (
        frame.code
        for frames in stacks
        for frame in frames
        if (frame.file, frame.line) == (source.file, source.line) and frame.code
    )
    return source, next(codes, "")


def _reproduce(seen: _Seen) -> str:
    """Return the command of the run; of a group of seeds, with all of them."""
    if seen.seeds == 1:
        return seen.run.replay
    words = shlex.split(seen.run.replay)
    if "--seeds" in words:
        words[words.index("--seeds") + 1] = str(seen.seeds)
    return shlex.join(words)
