"""What is made of each failure once it is found: its smallest run, and where that run parts from
the nearest one that passes.

Each failure is followed up by itself, so several workers can do it, and what comes of it is the
same whoever does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from msgspec import Struct, field

from faultclock.errors import HarnessError
from faultclock.explore.artefacts import Origin, artefacts
from faultclock.explore.divergence import divergence
from faultclock.explore.engine import ExploreRequest
from faultclock.explore.goal import judge_for, verdict_of
from faultclock.explore.shrink import RUNS_MAX, Smallest, shrink
from faultclock.explore.trial import rerun
from faultclock.model.report.exploration import Exploration, FailureGroup
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.varied import choices_in_words, varied
from faultclock.model.tape import BLANK, SCENARIO_STREAMS, Chance
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.process.workers import Shared, Workers, as_finished
from faultclock.run.suite import run_one

_PASSES = (Verdict.PASS, Verdict.WARN)


class Followed(Struct, frozen=True, kw_only=True):
    """What came of one failure.

    Attributes:
        group: with all that was added to it.
        files: name to content; they belong into one folder.
        trace: of the smallest run, or of the first where nothing was made smaller; None if even
            that could not be made again.
        problem: why nothing was made smaller; empty where it was, or nobody asked for it.
    """

    group: FailureGroup
    files: Mapping[str, str] = field(default_factory=dict)
    trace: Trace | None = None
    problem: str = ""


class FollowUp(Struct, frozen=True, kw_only=True):
    """What is to be made of failures.

    Attributes:
        model_spec: how the error model was named.
        folder: where the files will lie, for the command that runs the smallest scenario.
        smaller: look for the smallest run of each.
        runs_max: how many runs that may take for each.
        files: scenario id to its file, where it is none that is shipped.
    """

    request: ExploreRequest
    model_spec: str
    folder: str = ""
    smaller: bool = True
    runs_max: int = RUNS_MAX
    files: Mapping[str, str] = field(default_factory=dict)

    def followed(self, group: FailureGroup) -> Followed:
        """Follow up one failure, in this process."""
        request = self.request
        (scenario,) = (
            item
            for item in request.scenarios
            if (item.id, item.variant) == (group.scenario, group.variant)
        )
        judge = judge_for(request.model, request.sought)
        smallest: Smallest | None = None
        problem = ""
        if self.smaller:
            try:
                smallest = self._smallest(scenario, group, judge)
            except HarnessError as error:
                # What was found stays found, and why no more is known of it is told.
                problem = str(error)
        if smallest is None:
            return self._as_found(scenario, group, judge, problem)
        near = smallest.near or tuple(self._near(scenario, group, judge))
        origin = self._origin(group)
        made = artefacts(smallest.shrunk, smallest.mark, origin)
        # Without a folder, whoever reads the command has to store the file first.
        script = next(text for file, text in made.files.items() if file.endswith(".yaml"))
        return Followed(
            group=group.model_copy(
                update={
                    "shrunk": smallest.shrunk,
                    "divergence": divergence(smallest.trace, near),
                    "command": made.command,
                    "script": script,
                }
            ),
            files=made.files,
            trace=smallest.trace,
        )

    def lost(self, group: FailureGroup) -> Followed:
        """Return what stands for a failure whose follow-up kills whoever makes it."""
        return Followed(group=group, problem="a process that looked for a smaller run died")

    def _smallest(self, scenario: Scenario, group: FailureGroup, judge: Judge) -> Smallest:
        where = group.coordinates
        return shrink(
            varied(scenario, where.tape),
            self.request.binding,
            where.seed,
            where.tape,
            group.fingerprint,
            judge,
            runs_max=self.runs_max,
            isolate=self.request.isolate,
            wall_limit_s=self.request.wall_limit_s,
        )

    def _as_found(
        self, scenario: Scenario, group: FailureGroup, judge: Judge, problem: str
    ) -> Followed:
        trace = rerun(
            scenario,
            self.request.binding,
            group.coordinates,
            wall_limit_s=self.request.wall_limit_s,
        )
        found = divergence(trace, tuple(self._near(scenario, group, judge)))
        return Followed(
            group=group.model_copy(update={"divergence": found}), trace=trace, problem=problem
        )

    def _near(
        self, scenario: Scenario, group: FailureGroup, judge: Judge
    ) -> Iterator[tuple[str, Trace]]:
        """Yield simpler runs that pass, each with what it is."""
        where = group.coordinates
        shaped = where.tape.about(SCENARIO_STREAMS)
        tried = [("the scenario as it is written", scenario.seed, BLANK)]
        if where.tape != shaped:
            tried.insert(0, ("the same, first in first out", where.seed, shaped))
        for stream, chosen in shaped.choices.items():
            rest = {name: dict(item) for name, item in where.tape.choices.items() if name != stream}
            alone = shaped.model_copy(update={"choices": {stream: chosen}})
            words = ", ".join(choices_in_words(scenario, alone))
            tried.append((f"the same but for {words}", where.seed, where.tape.of(rest)))
        for words, seed, tape in tried:
            try:
                played = varied(scenario, tape)
            except ValueError:
                # Without the one, the others make no scenario.
                continue
            trace = run_one(
                played,
                self.request.binding,
                seed,
                isolate=True,
                wall_limit_s=self.request.wall_limit_s,
                chance=Chance(tape=tape),
            )
            if verdict_of(judge.judge(trace).findings) in _PASSES:
                yield words, trace

    def _origin(self, group: FailureGroup) -> Origin:
        return Origin(
            subject=self.request.subject_spec,
            model=self.model_spec,
            readings=self.request.readings,
            scenario=group.scenario,
            variant=group.variant,
            run=group.first,
            runs=group.runs,
            token=group.token,
            file=self.files.get(group.scenario, ""),
            raises="" if self.request.sought is None else self.request.sought.text,
            folder=self.folder,
        )


def follow_up(
    plan: FollowUp,
    exploration: Exploration,
    *,
    on_done: Callable[[Followed], None] | None = None,
) -> tuple[Followed, ...]:
    """Follow up every failure of `exploration`, in its order.

    Args:
        on_done: called after each, in no order that anybody may rely on. What a KeyboardInterrupt
            leaves undone stays as it was found.
    """
    request = plan.request
    workers = Workers(min(request.workers, len(exploration.groups) or 1))
    shared = Shared(plan)
    done: dict[int, Followed] = {}
    try:
        with workers:
            for chunk in as_finished(
                workers, partial(_followed, shared), exploration.groups, size=1, lost=plan.lost
            ):
                (done[chunk.first],) = chunk.results
                if on_done is not None:
                    on_done(done[chunk.first])
    except KeyboardInterrupt:
        pass
    finally:
        shared.close()
    return tuple(
        done.get(place, Followed(group=group, problem="it was interrupted"))
        for place, group in enumerate(exploration.groups)
    )


def _followed(shared: Shared[FollowUp], groups: tuple[FailureGroup, ...]) -> list[Followed]:
    """Do one chunk; in a worker."""
    return [shared.get().followed(group) for group in groups]
