"""What one execution of a fake program does: a pure fold, `(script, counts, words) -> plan`.

It knows neither time nor who started it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.scenario.program_script import ProgramOutcome, ProgramRule, ProgramScript


class ProgramCounts(Struct, frozen=True, kw_only=True):
    """What was executed so far in the run, over all lives. Plain data: it is pickled.

    Attributes:
        runs: executions of programs that are there.
        executions: executions by program name, also of programs that are not there.
        matching: by id of a rule, executions whose arguments contain its words.
    """

    runs: int = 0
    executions: Mapping[str, int] = field(default_factory=dict)
    matching: Mapping[str, int] = field(default_factory=dict)


class ProgramPlan(Struct, frozen=True, kw_only=True):
    """What one execution does.

    Attributes:
        run: "p1", "p2"... over all programs of the run; empty where the program is missing.
        number: 1-based, among the executions of its program.
        rule: what decides; None where all is good.
    """

    run: str
    number: int
    rule: ProgramRule | None
    outcome: ProgramOutcome


def decide(
    script: ProgramScript, counts: ProgramCounts, arguments: Iterable[str]
) -> tuple[ProgramCounts, ProgramPlan]:
    """Return the counts after one more execution begins, and what it does.

    Args:
        arguments: those of the execution, without the program's name.
    """
    words = _words(arguments)
    # Each rule counts the executions that it could be for.
    matching = {
        rule.id: counts.matching.get(rule.id, 0) + 1
        for rule in script.rules
        if rule.holds(words=words)
    }
    rule = next(
        (rule for rule in script.rules if matching.get(rule.id, 0) in rule.executions), None
    )
    outcome = script.good if rule is None else rule.then
    after = counted(counts, script.name)
    after = replace(after, matching={**counts.matching, **matching})
    run = ""
    if not outcome.missing:
        after = replace(after, runs=counts.runs + 1)
        run = f"p{after.runs}"
    number = after.executions[script.name]
    return after, ProgramPlan(run=run, number=number, rule=rule, outcome=outcome)


def counted(counts: ProgramCounts, program: str) -> ProgramCounts:
    """Return the counts after one more execution of `program`, which need not be there."""
    number = counts.executions.get(program, 0) + 1
    return replace(counts, executions={**counts.executions, program: number})


def fault_kind_of(outcome: ProgramOutcome) -> str:
    """Return what is wrong with an execution, in a word."""
    if outcome.missing:
        return "missing"
    if outcome.hangs:
        return "hang"
    if outcome.signal:
        return "signal"
    return outcome.means or ("exit" if outcome.status else "output")


def _words(arguments: Iterable[str]) -> frozenset[str]:
    """Return each argument, and the words in it: a prompt is one argument of many words."""
    return frozenset(word for text in arguments for word in (text, *text.split()))
