"""Explores, follows up what was found, writes and shows it. If it is stopped, it still shows the
finished runs.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from msgspec import Struct

from faultclock.cli.exits import INCONCLUSIVE, INTERRUPTED, NONCONFORMING, OK
from faultclock.cli.explore_outputs import ExploreOutputs
from faultclock.cli.explore_session import KeptSession
from faultclock.cli.finding_text import columns
from faultclock.cli.progress import Advance, bar
from faultclock.cli.say import say
from faultclock.cli.selection import without_root
from faultclock.errors import InputError
from faultclock.explore.engine import ExploreRequest, Interrupted, explore
from faultclock.explore.followup import Followed, FollowUp, follow_up
from faultclock.explore.shrink import RUNS_MAX
from faultclock.model.report.exploration import Exploration, Tried
from faultclock.model.report.finding import Verdict
from faultclock.render.exploration_text import exploration_lines
from faultclock.render.wording import count
from faultclock.run.process.workers import hands


class Found(Struct, frozen=True, kw_only=True):
    """What an exploration came to.

    Attributes:
        made: how many of its runs were made now, and not found in a history.
        wall_s: real seconds that they took.
        interrupted: whether a person ended it.
        problems: what could not be followed up, and why, one a line.
    """

    exploration: Exploration
    followed: tuple[Followed, ...] = ()
    made: int
    wall_s: float
    interrupted: bool = False
    problems: tuple[str, ...] = ()


class Exploring(Struct, kw_only=True):
    """One call of the command.

    Attributes:
        files: scenario id to its file, where it is none that is shipped.
    """

    request: ExploreRequest
    model_spec: str
    files: Mapping[str, str]
    session: KeptSession | None
    shrink: bool
    shrink_runs: int | None
    outputs: ExploreOutputs
    quiet: bool

    def run(self) -> Found:
        """Explore, and follow up what was found."""
        started_s = time.perf_counter()
        with ExitStack() as stack:
            if self.session is not None:
                stack.enter_context(self.session)
            exploration, made, interrupted = self._explored()
            if self.session is not None and exploration.complete and self.request.runs is not None:
                self.session.completed()
        wall_s = time.perf_counter() - started_s
        if interrupted or not exploration.groups:
            return Found(exploration=exploration, made=made, wall_s=wall_s, interrupted=interrupted)
        followed = self._followed_up(exploration)
        groups = tuple(item.group for item in followed)
        return Found(
            exploration=exploration.model_copy(update={"groups": groups}),
            followed=followed,
            made=made,
            wall_s=wall_s,
            problems=tuple(
                f"{item.group.fingerprint} was not reduced: {item.problem}"
                for item in followed
                if item.problem
            ),
        )

    def close(self, found: Found) -> int:
        """Write the files, show what was found, and return the exit code.

        Raises:
            InputError: a file cannot be written; what was found is shown all the same.
        """
        problem: InputError | None = None
        files: Mapping[str, tuple[str, ...]] = {}
        reports: tuple[str, ...] = ()
        try:
            files = self.outputs.write_failures(found.followed)
        except InputError as error:
            problem = error
        exploration = self._with_commands(found.exploration, files)
        try:
            reports = tuple(self.outputs.write_reports(exploration))
        except InputError as error:
            problem = problem or error
        err = self.outputs.takes_stdout
        for line in self._lines(found, self.outputs.seen_from(exploration, "."), reports):
            say(line, err=err)
        if problem is not None:
            raise problem
        if found.interrupted:
            return INTERRUPTED
        codes = {Verdict.FAIL: NONCONFORMING, Verdict.PASS: OK}
        return codes.get(exploration.verdict, INCONCLUSIVE)

    def _with_commands(
        self, exploration: Exploration, files: Mapping[str, tuple[str, ...]]
    ) -> Exploration:
        """Return it with what makes the runs again.

        Args:
            files: of each failure, by its fingerprint.
        """
        groups = tuple(
            group.model_copy(
                update={
                    "files": files.get(group.fingerprint, ()),
                    "again": self._again(group.scenario, group.token),
                }
            )
            for group in exploration.groups
        )
        scenarios = tuple(
            item.model_copy(
                update={
                    "no_results": tuple(
                        group.model_copy(update={"again": self._again(item.scenario, group.token)})
                        if group.token
                        else group
                        for group in item.no_results
                    )
                }
            )
            for item in exploration.scenarios
        )
        return exploration.model_copy(update={"groups": groups, "scenarios": scenarios})

    def _again(self, scenario: str, token: str) -> str:
        """Return the command that makes the run at a token again."""
        words = ["faultclock", "replay", token]
        if self.request.binding.source_digest is not None:
            words += ["--subject", self.request.subject_spec]
        if (file := self.files.get(scenario)) is not None:
            words += ["--scenario", file]
        words += ["--model", self.model_spec]
        for switch, option in sorted(self.request.readings.items()):
            words += ["--reading", f"{switch}={option}"]
        if self.request.sought is not None:
            words += ["--raises", self.request.sought.text]
        if self.request.wall_limit_s is not None:
            words += ["--wall-limit", f"{self.request.wall_limit_s:g}s"]
        return shlex.join(words)

    def _explored(self) -> tuple[Exploration, int, bool]:
        request = self.request
        total = None if request.runs is None else request.runs * len(request.scenarios)
        with bar(total, quiet=self.quiet) as advance:
            on_run = _Progress(advance)
            try:
                exploration = explore(request, ledger=self.session, on_run=on_run)
            except Interrupted as stopped:
                return stopped.exploration, on_run.made, True
            return exploration, on_run.made, False

    def _followed_up(self, exploration: Exploration) -> tuple[Followed, ...]:
        plan = FollowUp(
            request=self.request,
            model_spec=self.model_spec,
            folder=without_root(self.outputs.folder or ""),
            smaller=self.shrink,
            runs_max=self.shrink_runs or RUNS_MAX,
            files=self.files,
        )
        found = len(exploration.groups)
        doing = f"comparing {count(found, 'failure')} with runs that pass"
        if self.shrink:
            doing = f"reducing {count(found, 'failure')} (--no-shrink skips this)"
        with bar(found, quiet=self.quiet, doing=doing) as advance:
            return follow_up(plan, exploration, on_done=lambda _: advance(doing))

    def _lines(
        self, found: Found, exploration: Exploration, reports: tuple[str, ...]
    ) -> Iterator[str]:
        lines = list(exploration_lines(exploration, columns()))
        if not self.quiet:
            yield from lines
        else:
            # What it came to is said last.
            last = next(place for place in reversed(range(len(lines))) if lines[place][:1] != " ")
            yield from lines[last:]
        yield f"  {_rate(found, hands(self.request.workers))}"
        for problem in found.problems:
            yield f"  {problem}"
        if self.session is not None:
            yield from self._session_lines(self.session, found)
        for path in reports:
            yield f"  written: {path}"
        if exploration.groups and not self.outputs.has_page:
            yield "  to see both runs side by side: --html found.html, or -o DIR for all files"

    def _session_lines(self, session: KeptSession, found: Found) -> Iterator[str]:
        before = f", {count(session.found, 'run')} of it from before" if session.found else ""
        yield f"  kept: session {session.number} of {session.path}{before}"
        if self.request.runs is None or not found.exploration.complete:
            yield "  to continue: the same command with --resume"


class _Progress:
    """Shows how fast the runs are, and how many of them failed."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._started_s = time.perf_counter()
        self.made = 0
        self._failed = 0

    def __call__(self, tried: Tried) -> None:
        """Count one run."""
        self.made += 1
        self._failed += bool(tried.failures)
        rate = self.made / max(time.perf_counter() - self._started_s, 1e-6)
        failed = f", {self._failed:,} failed" if self._failed else ""
        self._advance(f"{rate:,.0f} runs/s{failed}  {tried.scenario}")


def _rate(found: Found, workers: int) -> str:
    rate = found.made / max(found.wall_s, 1e-6)
    return (
        f"{count(found.made, 'run')} in {found.wall_s:.1f} s: {rate:,.0f} a second with"
        f" {count(workers, 'worker')}"
    )
