"""Joins: a group of subagents ends as the join policy says, and the turn with it.

A group is the subagents that the model asked for in one answer. Where its join holds, the turn
goes on, and the model gets their results; where it is violated, the turn does not go on as
if nothing had happened.
"""

from __future__ import annotations

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import covers
from faultclock.model.error_model.turn_rules import split
from faultclock.oracle.check import Verdicts, broken, check, otherwise, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.run_end import end_of
from faultclock.oracle.facts.tool_messages import told_of
from faultclock.oracle.facts.uses import limits_reached
from faultclock.oracle.failures.failure import setting_holds
from faultclock.oracle.failures.groups import Group, groups_of, rule_of
from faultclock.oracle.wire.requests import Attempt

# ------------------------------------------------------------------------------- the check


@check(
    "joins.held",
    title="Groups of subagents",
    says="When a join holds, the turn goes on. When it fails, the turn ends as the join says.",
    unjudged="no group of subagents came to an end",
    role="runtime",
)
def joins_held(history: History, model: ErrorModel) -> Verdicts:
    """Judge each turn that asks for subagents, unless something else ended it."""
    if not model.joins:
        yield otherwise("the document says nothing of groups of subagents")
    elif rule_of(history, model) is None:
        yield otherwise(f"the document has no join policy {history.session.join!r}")
    reached = {item.call for item in limits_reached(history, model)}
    for group in groups_of(history, model):
        call = group.answer.in_call
        if call.stop is not None or call.crashed is not None or call.id in reached:
            continue
        if group.holds is False:
            yield from _judge_violated(history, model, group)
        elif group.holds is True and group.answer.next is None:
            yield from _judge_over(history, model, group)
        elif group.holds is True and group.answer.next is not None:
            yield from _judge_results(history, group, group.answer.next)


def _judge_violated(history: History, model: ErrorModel, group: Group) -> Verdicts:
    rule, following, call = group.rule, group.answer.next, group.answer.in_call
    if rule.violation is None or _goes_on(history, model, rule.violation):
        return
    end = end_of(model, call)
    if following is not None:
        observed, shown = "the model was asked again, as if it held", following.start.seq
    elif end is not None:
        completed = end.state == "completed"
        observed, shown = "the turn ended as completed" if completed else "", end.event.seq
    else:
        return
    yield verdict(
        (rule.requirement,),
        observed,
        call=call.id,
        expected=f"{rule.violation}: {rule.policy} does not hold, {group}",
        events=(group.asked_seq, shown),
        hint="Is the join judged only when all of its members are good?",
    )


def _judge_over(history: History, model: ErrorModel, group: Group) -> Verdicts:
    """Judge a turn in which nothing follows a join that holds."""
    rule, call = group.rule, group.answer.in_call
    end = end_of(model, call)
    if end is not None and _nothing_else_ends_it(history, group):
        yield broken(
            (rule.requirement,),
            call=call.id,
            expected=f"the turn goes on: {rule.policy} holds, {group}",
            observed=f"{end}, without asking the model again",
            events=(group.asked_seq, end.event.seq),
            hint="Does one failed subagent fail the group under every policy?",
        )


def _judge_results(history: History, group: Group, following: Attempt) -> Verdicts:
    """Judge that the request after a join that holds has the good results."""
    asked = following.asked
    untold = [
        member.asked.name
        for member in group.members
        if asked is not None
        and asked.messages
        and member.succeeded
        and not told_of(history, asked, member.asked.id)
    ]
    yield verdict(
        (group.rule.requirement,),
        f"it has no result of {', '.join(untold)}" if untold else "",
        call=group.answer.in_call.id,
        expected="the next request holds the results of the subagents",
        events=(group.asked_seq, *following.events),
    )


def _nothing_else_ends_it(history: History, group: Group) -> bool:
    """Return whether no failure beside the join's can have ended the turn."""
    ids = {member.asked.id for member in group.members}
    for item in group.answer.tool_calls:
        if item.id not in ids and not any(execution.is_good for execution in item.executions):
            return False
    if all(member.succeeded for member in group.members):
        return True
    # A failed subagent may end a run by the policy for subagents, before any join.
    return history.session.policies.get("subagent") not in ("fail", "degrade")


def _goes_on(history: History, model: ErrorModel, pair: str) -> bool:
    """Return whether the model lets a run go on after the violation."""
    for rule in model.consequences:
        if covers(rule.applies_to, split(pair)) and setting_holds(history, None, None, rule.where):
            return rule.run == "goes_on"
    return False
