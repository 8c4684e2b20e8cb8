"""Puts a CheckUp together: what the target is, what it does, its problems, what was left out.

Pure: a report that was compared with a baseline gives its answer without another run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import faultclock
from faultclock.check.running import Runs
from faultclock.check.tool_lines import with_tool
from faultclock.check.traits import traits_of
from faultclock.model.report.checkup import CheckUp, LeftOut
from faultclock.model.report.finding import Report
from faultclock.model.report.problem import Problem
from faultclock.model.report.problems import problems_in
from faultclock.model.report.taken_for import TakenFor
from faultclock.model.report.unproved import unproved_in
from faultclock.model.trace.notes import Frame

#: Who writes a source, and how the names of the APIs begin that are theirs or copies of theirs.
_PROVIDERS = {
    "openai": ("openai", "azure", "deepseek", "openrouter"),
    "anthropic": ("anthropic",),
    "google": ("gemini",),
}
#: How the sources begin that are about one of OpenAI's two APIs: chat completions, and this one.
_RESPONSES = "openai-responses"
_OPENAI_APIS = ("OpenAI, Chat completions", "OpenAI, Responses")


def checkup_of(
    runs: Runs,
    *,
    taken_for: TakenFor,
    left_out: Sequence[LeftOut],
    streams: bool,
    tools: Mapping[str, Frame] | None = None,
) -> CheckUp:
    """Return the answer.

    Args:
        runs: all that was run; its report may have been held against a baseline.
        streams: whether the target asks for streams.
        tools: where the functions of its own tools begin.
    """
    report = runs.report
    return CheckUp(
        faultclock=faultclock.__version__,
        taken_for=taken_for,
        does=() if runs.profile is None else traits_of(runs.profile, streams=streams),
        problems=tuple(
            with_tool(_nearest_first(item, taken_for.dialect), report.runs, tools or {})
            for item in problems_in(report)
        ),
        left_out=(*left_out, *_not_run(report)),
        inconclusive=unproved_in(report),
        report=report,
        profile=runs.profile,
    )


def _nearest_first(problem: Problem, dialect: str) -> Problem:
    """Return a problem with the sources first that its API's own provider has written.

    Those of another provider, or of another API of the same one, come last: what that demands,
    this one may not.
    """
    other_api = _OPENAI_APIS[dialect != _RESPONSES]

    def distance(source: str) -> int:
        provider = source.partition(",")[0].lower()
        if provider not in _PROVIDERS:
            return 1
        is_own = dialect.startswith(_PROVIDERS[provider]) and not source.startswith(other_api)
        return 0 if is_own else 2

    return problem.model_copy(update={"sources": tuple(sorted(problem.sources, key=distance))})


def _not_run(report: Report) -> Iterator[LeftOut]:
    """Yield what was not run since too much of what was run before it did not end."""
    if report.not_reached:
        why = "not run, since earlier ones did not end: mend that first, and check again"
        yield LeftOut(what="the rest", why=why, scenarios=len(report.not_reached))
