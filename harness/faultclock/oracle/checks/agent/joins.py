"""Joins: a group of subagents ends as the join policy says, and the turn with it.

A group is the subagents that the model asked for in one answer. Where its join holds, the turn
goes on, and the model gets their results; where it is violated, the turn does not go on as
if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import JoinRule, covers
from faultclock.model.error_model.turn_rules import split
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, broken, check, otherwise, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.run_end import end_of
from faultclock.oracle.facts.tool_messages import told_of
from faultclock.oracle.facts.turn_facts import Answer, ToolCall
from faultclock.oracle.facts.uses import limits_reached
from faultclock.oracle.failures.failure import setting_holds
from faultclock.oracle.wire.requests import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One subagent of a group.

    Attributes:
        matters: whether the join depends on it.
        failed: whether nothing good can come of it any more: its last execution has ended, or it
            was never executed.
    """

    asked: ToolCall
    matters: bool
    succeeded: bool
    failed: bool

    @property
    def seq(self) -> int:
        """The event by which it came out."""
        ends = [item.end.seq for item in self.asked.executions if item.end is not None]
        return max(ends, default=self.asked.answer.seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The subagents of one answer, and what their join came to.

    Attributes:
        quorum: how many of the members that matter have to succeed.
    """

    answer: Answer
    rule: JoinRule
    members: tuple[Member, ...]
    quorum: int

    @property
    def holds(self) -> bool | None:
        """Whether the join holds; None where that was open when the trace, or the turn, ended."""
        matter = [member for member in self.members if member.matters]
        if sum(member.succeeded for member in matter) >= self.quorum:
            return True
        return False if sum(not member.failed for member in matter) < self.quorum else None

    @property
    def asked_seq(self) -> int:
        """The answer that asked for it."""
        return self.answer.tool_calls[0].answer.seq

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show how its members came out."""
        executions = (item for member in self.members for item in member.asked.executions)
        return tuple(sorted({seq for item in executions for seq in item.events}))

    def __str__(self) -> str:
        bad = [member.asked.name for member in self.members if not member.succeeded]
        count = f"{len(self.members) - len(bad)} of {len(self.members)} succeeded"
        return f"{count} ({', '.join(bad)} did not)" if bad else count


def groups_of(history: History, model: ErrorModel) -> Iterator[Group]:
    """Yield the groups of subagents, in order; none where the model has no rule for them."""
    rule = _rule(history, model)
    if rule is None:
        return
    for answer in history.answers:
        members = tuple(
            _member(history, rule, answer, item)
            for item in answer.tool_calls
            if (script := history.tool_scripts.get(item.name)) is not None and script.agent
        )
        if members:
            quorum = _quorum(rule, members, history.session.quorum)
            yield Group(answer=answer, rule=rule, members=members, quorum=quorum)


def join_violations(history: History, model: ErrorModel) -> Iterator[tuple[Group, TraceEvent]]:
    """Yield the groups whose join does not hold, in order, with the event that settled it."""
    for group in groups_of(history, model):
        if group.holds is False and group.rule.violation is not None:
            matter = [member for member in group.members if member.matters]
            failed = sorted(member.seq for member in matter if member.failed)
            # As soon as so many have failed, too few are left.
            settled = failed[max(0, len(matter) - group.quorum)]
            yield group, history.trace.events[settled - 1]


# --------------------------------------------------------------------- how a group came out


def _rule(history: History, model: ErrorModel) -> JoinRule | None:
    policy = history.session.join
    return next((rule for rule in model.joins if policy in ("", rule.policy)), None)


def _member(history: History, rule: JoinRule, answer: Answer, asked: ToolCall) -> Member:
    executions = asked.executions
    succeeded = any(item.is_good for item in executions)
    # A member that never began has failed once the turn goes on without it, or is over.
    over = answer.next is not None or answer.in_call.end is not None
    ended = all(item.end is not None for item in executions) if executions else over
    return Member(
        asked=asked,
        matters=rule.holds != "all_required" or history.tool_scripts[asked.name].required,
        succeeded=succeeded,
        failed=ended and not succeeded,
    )


def _quorum(rule: JoinRule, members: tuple[Member, ...], quorum: int | None) -> int:
    """Return how many of the members that matter have to succeed."""
    matter = sum(member.matters for member in members)
    match rule.holds:
        case "all" | "all_required":
            return matter
        case "any":
            return 1
        case "quorum":
            return matter // 2 + 1 if quorum is None else quorum
        case "always":
            return 0


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
    elif _rule(history, model) is None:
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
            yield from _judge_results(group, group.answer.next)


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


def _judge_results(group: Group, following: Attempt) -> Verdicts:
    """Judge that the request after a join that holds has the good results."""
    asked = following.asked
    untold = [
        member.asked.name
        for member in group.members
        if asked is not None
        and asked.messages
        and member.succeeded
        and not told_of(asked, member.asked.id)
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
