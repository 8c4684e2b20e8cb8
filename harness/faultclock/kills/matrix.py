"""The matrix that a search comes to: every rule with what kills it, and every mutant's fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import faultclock
from faultclock.kills.search import SearchRequest, Tried
from faultclock.kills.trial import Played, Trial
from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.report.finding import PassedOver
from faultclock.model.report.kill_matrix import (
    Fate,
    Kill,
    KillMatrix,
    MutantFate,
    Rule,
    RuleKills,
    RuleStatus,
)
from faultclock.oracle.judge import checks_of, not_for

#: Kills that are named of each rule.
_KILLS_MAX = 5


def kill_matrix(
    request: SearchRequest,
    played: Sequence[Played],
    tried: Sequence[Tried],
    *,
    readings: dict[str, str] | None = None,
    left_out: int = 0,
    passed_over: Iterable[PassedOver] = (),
) -> KillMatrix:
    """Return what a search comes to.

    Args:
        left_out: mutants that were not drawn.
        passed_over: what was selected and not played.
    """
    model = request.model
    shown = [item for item in played if not item.why_not]
    silent = (
        PassedOver(scenario=item.scenario.id, because=item.why_not)
        for item in played
        if item.why_not
    )
    return KillMatrix(
        faultclock=faultclock.__version__,
        model=model.id,
        model_title=model.title,
        model_revision=model.revision,
        readings=readings or {},
        subject=request.binding.info(),
        scenarios=tuple(dict.fromkeys(item.scenario.id for item in shown)),
        rules=tuple(_rules(request, shown, tried, _never_failed(left_out))),
        mutants=tuple(_fate(item) for item in tried),
        left_out=left_out,
        trials=sum(len(item.trials) for item in tried),
        passed_over=(*passed_over, *silent),
    )


def rules_of(model: ErrorModel) -> tuple[tuple[Requirement, str], ...]:
    """Return each sentence of a model that a run can show, with each check that judges it."""
    known = {check.id for check in checks_of(model)}
    return tuple(
        (requirement, check)
        for requirement in model.requirements
        if requirement.excluded is None
        for check in requirement.checks
        if check in known
    )


def _rules(
    request: SearchRequest, played: Sequence[Played], tried: Sequence[Tried], never_failed: str
) -> Iterable[RuleKills]:
    judged: Counter[Rule] = Counter(rule for item in played for rule in item.kept)
    reasons = _reasons(played)
    others = not_for(request.model, request.binding.info())
    kept = {(item.scenario.id, item.scenario.variant): item.kept for item in played}
    touched: Counter[Rule] = Counter()
    kills: dict[Rule, list[Kill]] = {}
    killers: Counter[Rule] = Counter()
    unproven: set[Rule] = set()
    for item in tried:
        changed = [trial for trial in item.trials if trial.is_changed]
        touched.update(
            frozenset().union(
                *(kept[trial.scenario, trial.variant] | trial.kills for trial in changed)
            )
        )
        for trial in item.trials:
            unproven |= trial.unproven
            for rule in sorted(trial.kills, key=str):
                kills.setdefault(rule, []).append(_kill(item, trial))
        killers.update(frozenset().union(*(trial.kills for trial in item.trials)))
    for requirement, check in rules_of(request.model):
        rule = (check, requirement.id)
        status: RuleStatus = "killed" if killers[rule] else "survives"
        hint = ""
        if not judged[rule] and not killers[rule]:
            hint = reasons.get(check) or (_OTHER_SENTENCES if played else _NOTHING_SHOWN)
            is_for = rule not in others and not hint.startswith(_OF_THE_BINDING)
            status = "not judged" if is_for else "not for this subject"
            hint = others.get(rule, hint)
        elif status == "survives" and rule in unproven:
            status, hint = "cited elsewhere", _ELSEWHERE
        elif status == "survives":
            hint = _UNTOUCHED if not touched[rule] else never_failed
        yield RuleKills(
            check=check,
            requirement=requirement.id,
            level=requirement.level,
            place=requirement.place,
            sentence=requirement.sentence,
            status=status,
            judged_in=judged[rule],
            tried=touched[rule],
            killed_by=killers[rule],
            kills=tuple(kills.get(rule, ())[:_KILLS_MAX]),
            hint=hint,
        )


def _reasons(played: Sequence[Played]) -> dict[str, str]:
    """Return why checks had nothing to judge in any scenario: the reason that most of them have."""
    found: dict[str, Counter[str]] = {}
    for item in played:
        for check, why in item.idle.items():
            found.setdefault(check, Counter())[why] += 1
    judging = {check for item in played for check, _ in item.kept}
    return {
        check: whys.most_common(1)[0][0] for check, whys in found.items() if check not in judging
    }


#: How a check begins its reason where it would judge a subject that shows more of itself.
_OF_THE_BINDING = "the subject's binding does not declare"
_OTHER_SENTENCES = "the check judges other sentences in the selected scenarios"
_NOTHING_SHOWN = "no run of the subject proves anything"
_ELSEWHERE = "mutants break it, and the findings cite another sentence that is broken by the same"
_UNTOUCHED = "no mutant changes anything in the scenarios that judge it"


def _never_failed(left_out: int) -> str:
    if left_out:
        return f"it never failed, and {left_out} mutants were not drawn"
    return "it never failed, so the rule may be unable to fail, or no mutant has this defect"


def _kill(item: Tried, trial: Trial) -> Kill:
    return Kill(mutant=item.mutant.id, scenario=trial.scenario, variant=trial.variant)


def _fate(item: Tried) -> MutantFate:
    kills: frozenset[Rule] = frozenset().union(*(trial.kills for trial in item.trials))
    noticed = next((trial.scenario for trial in item.trials if trial.is_noticed), None)
    changed = [trial for trial in item.trials if trial.is_changed]
    fate: Fate
    if kills or noticed is not None:
        fate = "killed"
    elif not changed:
        fate = "no effect" if item.trials else "untried"
    else:
        fate = "unnoticed" if any(trial.is_proof for trial in changed) else "unproven"
    return MutantFate(
        id=item.mutant.id,
        family=item.mutant.family,
        group=item.mutant.group,
        does=item.mutant.does,
        fate=fate,
        scenarios=len({trial.scenario for trial in item.trials}),
        kills=len(kills),
        noticed_in=noticed,
    )
