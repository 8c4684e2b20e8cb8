"""Ordering: the rules of a model, and the rows that every model has, judged in one pass.

A rule is a check by itself, or a part of one (`check`): then its verdicts are that check's, beside
those of the check's code. The rows in `rows` are rules that every model has whose sentences name
their checks. Beside the events of the trace a rule may speak of those that `derived` makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel, OrderingRule
from faultclock.model.error_model.ordering import kinds_of
from faultclock.model.trace.trace import SubjectInfo, TraceEvent
from faultclock.oracle.check import Check, Judging, Verdicts, also, broken, held, otherwise
from faultclock.oracle.checks.rules.derived import with_derived
from faultclock.oracle.checks.rules.rows import ROWS
from faultclock.oracle.checks.run.foreign import as_seen, by_run
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.rules.figures import settings_of
from faultclock.oracle.rules.match import field_of, is_absent
from faultclock.oracle.rules.patterns import PatternResult, RuleSet, Witness

#: A field that the words of a rule stand for.
_FIELD = re.compile(r"\{([a-z_0-9.]+)\}")


def checks(model: ErrorModel, code: Sequence[Check] = ()) -> tuple[Check, ...]:
    """Return `code`, each check with the rules that are a part of it, and all others of `model`.

    All rules share one pass over a trace.
    """
    known = {check.id: check for check in code}
    named = {name for requirement in model.requirements for name in requirement.checks}
    rules = (*model.ordering, *(row for row in ROWS if row.check in known and row.check in named))
    parts: dict[str, list[OrderingRule]] = {}
    for rule in rules:
        parts.setdefault(rule.check_id, []).append(rule)
    results = _Results(model, tuple((rule, known.get(rule.check_id)) for rule in rules))
    own = (
        replace(check, run=_with_rules(check, parts.pop(check.id), results))
        if check.id in parts
        else check
        for check in code
    )
    return (*own, *(_check(id_, part, results) for id_, part in parts.items()))


class _Ready(Struct, frozen=True, kw_only=True):
    """The rules that apply to a trace.

    Attributes:
        kinds: what they speak of.
    """

    rules: RuleSet
    kinds: frozenset[str]

    @classmethod
    def of(cls, applying: Iterable[OrderingRule], model: ErrorModel) -> _Ready:
        """Make rules ready."""
        rules = tuple(applying)
        kinds = frozenset(kind for rule in rules for kind in kinds_of(rule, model.events))
        return cls(rules=RuleSet(rules, model.events), kinds=kinds)


class _Results:
    """What the rules of a model come to over a history, all in one pass."""

    def __init__(
        self, model: ErrorModel, rules: tuple[tuple[OrderingRule, Check | None], ...]
    ) -> None:
        self._model = model
        #: Each rule, with the check whose code it stands beside.
        self._rules = rules
        #: To make rules ready takes as long as to follow them. Which ones apply to a simulated run
        #: follows from the subject, so there are few such sets.
        self._ready: dict[tuple[object, ...], _Ready] = {}

    def of(self, rule: OrderingRule, history: History) -> PatternResult | None:
        """Return what `rule` comes to; None where it does not apply.

        The first rule of a history has all of them evaluated.
        """
        return _all_results(history, self).get((rule.check_id, rule.id))

    def all(self, history: History) -> dict[tuple[str, str], PatternResult]:
        """Return what each rule that applies comes to, by its check and its id."""
        header = history.trace.header
        ready = self._ready_for(history)
        events = with_derived(history, self._model, ready.kinds)
        runs = (events,) if header.foreign is None else by_run(events)
        # The scenario of a log of another system is not what that system was set up with.
        settings = settings_of(header.scenario) if header.foreign is None else {}
        each_run = [ready.rules.evaluate(run, settings) for run in runs]
        results = [_together(of_rule) for of_rule in zip(*each_run, strict=True)]
        found = zip(ready.rules.rules, results, strict=True)
        return {(rule.check_id, rule.id): result for rule, result in found}

    def _ready_for(self, history: History) -> _Ready:
        """Return the rules that apply, for a subject such as this and a trace of this kind."""
        header = history.trace.header
        if header.foreign is not None:
            # What a log can show of each rule is narrowed to that log.
            return _Ready.of(self._applying(history), self._model)
        key = (header.subject.role, header.subject.declares, history.trace.is_virtual)
        if key not in self._ready:
            self._ready[key] = _Ready.of(self._applying(history), self._model)
        return self._ready[key]

    def _applying(self, history: History) -> Iterator[OrderingRule]:
        """Yield the rules that are for the subject; in a log, what it can show of each."""
        header = history.trace.header
        for rule, check in self._rules:
            if _does_not_apply(rule, header.subject):
                continue
            if check is not None and check.inapplicable(header.subject, self._model):
                continue
            # What is a part of a check needs what the world observed, as code does.
            if rule.check is not None and not history.trace.is_virtual:
                continue
            seen: OrderingRule | str = rule
            if header.foreign is not None:
                seen = as_seen(rule, self._model.events, header.foreign)
            if not isinstance(seen, str):
                yield seen


@once
def _all_results(history: History, results: _Results) -> dict[tuple[str, str], PatternResult]:
    return results.all(history)


def _together(results: tuple[PatternResult, ...]) -> PatternResult:
    """Return what a rule comes to in all runs of a log."""
    if len(results) == 1:
        return results[0]
    return PatternResult(
        judged=sum(result.judged for result in results),
        witnesses=tuple(witness for result in results for witness in result.witnesses),
        silent="" if any(not result.silent for result in results) else results[0].silent,
    )


def _check(id_: str, rules: Sequence[OrderingRule], results: _Results) -> Check:
    first = rules[0]
    return Check(
        id=id_,
        title=id_.partition(".")[2].replace("-", " ").capitalize(),
        says=first.says,
        run=partial(_verdicts, rules, results),
        why_not=partial(_does_not_apply, first) if len(rules) == 1 else None,
    )


def _with_rules(check: Check, rules: Sequence[OrderingRule], results: _Results) -> Judging:
    """Return how a check is judged that has code and rules."""

    def run(history: History, model: ErrorModel) -> Verdicts:
        yield from check.run(history, model)
        yield from _verdicts(rules, results, history, model)

    return run


def _verdicts(
    rules: Sequence[OrderingRule], results: _Results, history: History, model: ErrorModel
) -> Verdicts:
    for rule in rules:
        result = results.of(rule, history)
        if result is None:
            why_not = _does_not_apply(rule, history.trace.header.subject)
            yield otherwise(why_not or "it needs a simulated run")
        else:
            yield from _judged(rule, history, model, result)


def _does_not_apply(rule: OrderingRule, subject: SubjectInfo) -> str:
    """Return why the rule is not for the subject; empty when it is."""
    if rule.roles and subject.role not in rule.roles:
        roles = " or a ".join(role.replace("_", " ") for role in rule.roles)
        return f"the rule is for a {roles}"
    for declaration in rule.declarations:
        if declaration not in subject.declares:
            return f"the subject's binding does not declare {declaration!r}"
    return ""


def _judged(
    rule: OrderingRule, history: History, model: ErrorModel, result: PatternResult
) -> Verdicts:
    # Where the model has no sentence for a part of a check, it has one for all of it.
    requirements = rule.requirements or also(model, rule.rules) or also(model, rule.check_id)
    if result.silent or rule.check is None:
        yield otherwise(result.silent or "no event of the rule happened")
    for _ in range(result.judged):
        yield held(*requirements)
    footer = history.trace.footer
    waits = ""
    if footer.ending != "completed" and not rule.observed:
        detail = "; ".join(footer.detail)
        ending = footer.ending.replace("_", " ")
        waits = f" (the run ended by {ending}{': ' if detail else ''}{detail})"
    for witness in result.witnesses:
        yield broken(
            requirements,
            call=_call(rule, witness),
            expected=_in_words(rule.expected, witness.about) or rule.says,
            observed=f"{_in_words(rule.observed, witness.about) or witness.observed}{waits}",
            events=_cited(rule, witness),
            hint=rule.hint,
            # That one event is not as it should be is no order, and the words say more of it.
            order=() if rule.observed and rule.pattern == "universality" else witness.order,
        )


def _cited(rule: OrderingRule, witness: Witness) -> tuple[int, ...]:
    """Return `seq` of the events to show; a part of a check shows the proof alone."""
    if rule.check is None:
        return tuple(sorted({event.seq for event in (*witness.events, *witness.near)}))
    shown = (event.payload.get("shown_by") or (event.seq,) for event in witness.events)
    return tuple(dict.fromkeys(seq for seqs in shown for seq in seqs))


def _in_words(template: str, about: TraceEvent | None) -> str:
    """Return the words of a rule about an event."""

    def said(field: re.Match[str]) -> str:
        value = None if about is None else field_of(about.payload, field[1])
        return "none" if is_absent(value) else str(value)

    return _FIELD.sub(said, template)


def _call(rule: OrderingRule, witness: Witness) -> str | None:
    """Return the call that a violation is in: the key, else that of the event that shows it."""
    if rule.per == "call":
        return witness.key
    calls = [event.call for event in witness.events]
    return next((str(call) for call in reversed(calls) if call is not None), None)
