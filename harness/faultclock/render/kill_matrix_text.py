"""A kill matrix for a terminal: first the rules that nothing kills, on one screen."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from faultclock.model.report.kill_matrix import Fate, KillMatrix, MutantFate, RuleKills, RuleStatus
from faultclock.render.wording import clipped, count, listed

_WIDTH = 80
#: Rules that are shown with their sentence. The others are counted: the page has all of them.
_RULES_MAX = 5
_GROUPS_MAX = 5
_PASSED_OVER_MAX = 2
_SENTENCE_MAX = 200
_STATUSES: dict[RuleStatus, str] = {
    "killed": "killed",
    "cited elsewhere": "cited elsewhere",
    "survives": "that nothing kills",
    "not judged": "not judged here",
    "not for this subject": "not for this subject",
}
FATES: dict[Fate, str] = {
    "killed": "noticed",
    "unnoticed": "unnoticed",
    "no effect": "without effect",
    "unproven": "prove nothing",
    "untried": "not tried",
}


def kill_matrix_lines(matrix: KillMatrix, width: int = _WIDTH) -> Iterator[str]:
    """Yield what a terminal shows of a matrix, in lines of at most `width` columns."""
    survivors = matrix.of_status("survives")
    if survivors:
        yield "Rules that nothing kills"
        yield from _rules(survivors, width)
        yield ""
    silent = matrix.of_status("not judged")
    if silent:
        yield "Rules that no selected scenario judges"
        for rule in silent[:_RULES_MAX]:
            yield from _wrapped(f"{rule.requirement}, {rule.check}: {rule.hint}", width, "  ")
        yield from _rest(len(silent))
        yield ""
    if matrix.passed_over:
        yield f"Scenarios that show nothing: {len(matrix.passed_over)}"
        for item in matrix.passed_over[:_PASSED_OVER_MAX]:
            yield from _wrapped(f"{item.scenario}: {item.because}", width, "  ")
        yield from _rest(len(matrix.passed_over), _PASSED_OVER_MAX)
        yield ""
    unnoticed = groups_of(matrix, "unnoticed")
    if unnoticed:
        total = sum(len(group) for _, group in unnoticed)
        yield f"Mutants that nothing notices: {total}, by what they change"
        for name, group in unnoticed[:_GROUPS_MAX]:
            does = "; ".join(item.does for item in group[:2])
            yield from _wrapped(f"{name} ({len(group)}): {clipped(does, 160)}", width, "  ")
        yield from _rest(len(unnoticed), _GROUPS_MAX)
        yield ""


def totals_line(matrix: KillMatrix) -> str:
    """Return the totals in one line, without its end."""
    rules = Counter(rule.status for rule in matrix.rules)
    fates = Counter(item.fate for item in matrix.mutants)
    parts = [f"{rules[status]} {words}" for status, words in _STATUSES.items() if rules[status]]
    told = [f"{fates[fate]} {words}" for fate, words in FATES.items() if fates[fate]]
    left = f" of {len(matrix.mutants) + matrix.left_out:,}" if matrix.left_out else ""
    return (
        f"{count(len(matrix.rules), 'rule')}{': ' * bool(parts)}{listed(parts)}."
        f" {len(matrix.mutants):,}{left} mutants: {listed(told) or 'none'}."
        f" {count(len(matrix.scenarios), 'scenario')}, {count(matrix.trials, 'trial')}"
    )


def groups_of(matrix: KillMatrix, fate: Fate) -> list[tuple[str, list[MutantFate]]]:
    """Return the mutants of a fate by what they change, the largest group first."""
    groups: dict[str, list[MutantFate]] = {}
    for item in matrix.mutants:
        if item.fate == fate:
            groups.setdefault(item.group, []).append(item)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _rules(rules: Sequence[RuleKills], width: int) -> Iterator[str]:
    # What is judged most and never fails is the most suspicious.
    worst = sorted(rules, key=lambda rule: (rule.level != "MUST", -rule.tried))
    for rule in worst[:_RULES_MAX]:
        yield f"  {rule.requirement} ({rule.level}), {rule.check}"
        yield from _wrapped(clipped(rule.sentence, _SENTENCE_MAX), width, "    ")
        judged = count(rule.judged_in, "scenario")
        tried = count(rule.tried, "mutant")
        text = f"Judged in {judged}, with {tried} tried there: {rule.hint}."
        yield from _wrapped(text, width, "    ")
    yield from _rest(len(rules))


def _rest(number: int, shown: int = _RULES_MAX) -> Iterator[str]:
    if number > shown:
        yield f"  … and {number - shown} more (--html and --json have all)"


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent if len(indent) > 2 else "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
