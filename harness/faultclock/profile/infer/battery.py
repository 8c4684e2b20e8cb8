"""The battery: all questions in a fixed order, each round made of what the one before has shown.

What is asked depends on nothing but the subject, so the same subject gets the same questions and
the same answers. Runs are made by the caller's function: this module only asks and reads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from faultclock.model.report.inferred import Ceiling, Deadline, HeaderReading, Told
from faultclock.model.trace.trace import Trace
from faultclock.profile.infer.ceilings import CEILED, find_ceiling
from faultclock.profile.infer.deadlines import (
    DRIP,
    SECOND_TIMEOUT_NS,
    attempt_deadline,
    drip_deadline,
    find_total,
)
from faultclock.profile.infer.groups import Group, first_wait_ns, grouped
from faultclock.profile.infer.header_forms import ALWAYS, FORMS, Form, persuading
from faultclock.profile.infer.hints import never_retried, precedence_of, reading_of, with_law
from faultclock.profile.infer.kinds import KINDS, Kind, kind_of
from faultclock.profile.infer.laws import SEEDS, laws_of
from faultclock.profile.infer.probes import Asker, Probe
from faultclock.profile.infer.seen import Seen, read_run
from faultclock.profile.infer.times import close

#: Makes the runs of some probes; returns their traces in the same order.
Run = Callable[[Sequence[Probe]], Sequence[Trace]]

#: Why what became of requests at once is not known where none reached the provider.
_MIXED = "requests were sent at the same time, and none arrived: which is whose retry is not known"

T = TypeVar("T")
#: Yields probes, is sent what they show, and returns what it was about.
Questions = Generator[Sequence[Probe], Sequence[Seen], T]

#: Statuses by how well they stand for others; the first that is retried is asked about at length.
_PREFERRED = (429, 503, 500, 502, 529, 504, 408, 409)
#: What a header may make a client retry, where it does not retry it anyway.
_PERSUADED = ("status-400", "status-413", "status-429", "status-503")


@dataclass(kw_only=True)
class Findings:
    """Everything that the battery brought.

    Attributes:
        asked: every run, in order.
        traces: by the name of the probe.
        persistent: by kind, what became of a failure that never goes away.
        groups: kinds that are retried alike, with their runs under all seeds.
        main: the kind that was asked about at length; None where no status is retried.
    """

    asked: list[Probe] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    persistent: dict[str, Seen] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    main: Kind | None = None
    headers: list[HeaderReading] = field(default_factory=list)
    precedence: Told[str] = field(default_factory=lambda: Told(reason="no header was honored"))
    honored_for: list[str] = field(default_factory=list)
    ignored_for: list[str] = field(default_factory=list)
    ceilings: list[Ceiling] = field(default_factory=list)
    deadlines: list[Deadline] = field(default_factory=list)


def ask_everything(asker: Asker, run: Run) -> Findings:
    """Ask all questions and return what came of them."""
    return _Battery(asker, run).all()


def answered(questions: Questions[T], ask: Callable[[Sequence[Probe]], Sequence[Seen]]) -> T:
    """Return what `questions` come to, each round of them asked by `ask`."""
    answers: Sequence[Seen] | None = None
    while True:
        try:
            probes = next(questions) if answers is None else questions.send(answers)
        except StopIteration as over:
            value: T = over.value
            return value
        answers = ask(probes)


class _Battery:
    def __init__(self, asker: Asker, run: Run) -> None:
        self._asker = asker
        self._run = run
        self._found = Findings()

    def all(self) -> Findings:
        found = self._found
        kinds = [kind for kind in KINDS if not kind.stream or self._asker.role != "runtime"]
        runs = self._ask([self._asker.persistent(kind) for kind in kinds])
        runs = list(_told_apart(runs))
        found.persistent = {kind.id: run for kind, run in zip(kinds, runs, strict=True)}
        found.seen |= {run.name: run for run in runs}
        self._schedules()
        found.main = self._main()
        self._hints()
        self._deadlines()
        return found

    def _ask(self, probes: Sequence[Probe]) -> list[Seen]:
        new = [probe for probe in probes if probe.name not in self._found.seen]
        for probe, trace in zip(new, self._run(new) if new else (), strict=True):
            self._found.asked.append(probe)
            self._found.traces[probe.name] = trace
            self._found.seen[probe.name] = read_run(probe.name, trace)
        return [self._found.seen[probe.name] for probe in probes]

    def _schedules(self) -> None:
        groups = []
        for group in grouped(self._found.persistent):
            kind = kind_of(_plainest(group))
            runs = self._ask([self._asker.persistent(kind, seed) for seed in SEEDS])
            groups.append(group.over_seeds(tuple(run for run in runs if not run.trouble)))
        self._found.groups = tuple(groups)

    def _main(self) -> Kind | None:
        retried = {kind for group in self._found.groups for kind in group.all_kinds}
        names = [f"status-{status}" for status in _PREFERRED]
        return next((kind_of(name) for name in names if name in retried), None)

    # ------------------------------------------------------------------ hints

    def _hints(self) -> None:
        if self._found.main is None:
            self._persuade()
            return
        self._forms(self._found.main)
        self._for_which()
        self._persuade()
        honored = {item.form: item for item in self._found.headers if item.is_honored}
        if ALWAYS.form not in honored and self._own_wait_ns(self._found.main) is not None:
            self._low_ceiling(self._found.main)
        for form in FORMS:
            if form.form in honored and form.form in CEILED and form.header.startswith("retry-"):
                reading = honored[form.form]
                coarse = not close(reading.waited_ns or 0, reading.asked_ns or 0)
                main = self._found.main
                questions = find_ceiling(
                    self._asker,
                    main,
                    form,
                    self._found.persistent[main.id],
                    coarse=coarse,
                    like=next(iter(self._found.ceilings), None),
                )
                self._found.ceilings.append(answered(questions, self._ask))

    def _low_ceiling(self, main: Kind) -> None:
        """Find a ceiling that lies below what was asked for: then nothing looks honored."""
        questions = find_ceiling(
            self._asker, main, ALWAYS, self._found.persistent[main.id], coarse=False, low=True
        )
        ceiling = answered(questions, self._ask)
        if ceiling.largest_ns.value is not None:
            self._found.ceilings.append(ceiling)

    def _own_wait_ns(self, kind: Kind) -> int | None:
        return first_wait_ns(self._found.persistent[kind.id])

    def _forms(self, kind: Kind) -> None:
        found, own = self._found, self._own_wait_ns(kind)
        later = found.persistent[kind.id].waits_ns[1:]
        runs = self._ask([self._asker.hinted(kind, form.slug, form.headers) for form in FORMS])
        for form, run in zip(FORMS, runs, strict=True):
            reading = reading_of(form, kind.id, run, own, later=later)
            if reading.reading == "honored_with_more":
                reading = self._over_seeds(kind, form, reading)
            found.headers.append(reading)
            kept = {item.form for item in found.headers if item.is_honored}
            first = precedence_of(reading, form, kept)
            if first is not None:
                found.precedence = Told(value=first, sure="exact", evidence=reading.evidence)

    def _over_seeds(self, kind: Kind, form: Form, reading: HeaderReading) -> HeaderReading:
        runs = self._ask(
            [self._asker.hinted(kind, form.slug, form.headers, seed=seed) for seed in SEEDS]
        )
        laws = laws_of(runs)
        return with_law(reading, laws[0]) if laws else reading

    def _for_which(self) -> None:
        found = self._found
        retried = [kind for group in found.groups for kind in group.all_kinds]
        kinds = [
            kind
            for kind in KINDS
            if kind.id in retried and kind.status is not None and not kind.stream
        ]
        runs = self._ask([self._asker.hinted(kind, ALWAYS.slug, ALWAYS.headers) for kind in kinds])
        for kind, run in zip(kinds, runs, strict=True):
            reading = reading_of(ALWAYS, kind.id, run, self._own_wait_ns(kind))
            (found.honored_for if reading.is_honored else found.ignored_for).append(kind.id)

    def _persuade(self) -> None:
        asked = [
            (kind, form)
            for kind in map(kind_of, _PERSUADED)
            for form in persuading()
            if len(self._found.persistent[kind.id].attempts) == 1
        ]
        runs = self._ask(
            [self._asker.hinted(kind, form.slug, form.headers) for kind, form in asked]
        )
        self._found.headers += [
            never_retried(form, kind.id, run) for (kind, form), run in zip(asked, runs, strict=True)
        ]

    # ------------------------------------------------------------------ deadlines

    def _deadlines(self) -> None:
        found = self._found
        silent = [kind for kind in KINDS if kind.silent and kind.id in found.persistent]
        runs = self._ask([self._asker.timed(kind, SECOND_TIMEOUT_NS) for kind in silent])
        found.deadlines += [
            attempt_deadline(kind, found.persistent[kind.id], run)
            for kind, run in zip(silent, runs, strict=True)
        ]
        (dripped,) = self._ask([self._asker.once(DRIP)])
        found.deadlines.append(drip_deadline(dripped))
        if found.main is not None:
            fast = found.persistent[found.main.id]
            found.deadlines.append(answered(find_total(self._asker, found.main, fast), self._ask))


def _told_apart(runs: Sequence[Seen]) -> Iterator[Seen]:
    """Yield the runs; of a client that sends requests at once, without what shows no request."""
    at_once = any(run.at_once for run in runs)
    for run in runs:
        if at_once and run.is_silent and len(run.attempts) > 1 and not run.trouble:
            yield replace(run, trouble=_MIXED)
        else:
            yield run


def _plainest(group: Group) -> str:
    """Return the kind that stands for a group: one whose attempts all reach the provider."""
    return next((name for name in group.kinds if name.startswith("status-")), group.kinds[0])
