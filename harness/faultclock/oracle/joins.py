"""Joins: a group of subagents ends as the join policy says, and the turn with it.

A group is the subagents that the model asked for in one answer. Where its join holds, the turn
goes on, and the model gets their results; where it is violated, the turn does not go on as
if nothing had happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import JoinRule, covers
from faultclock.model.turn_rules import split
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Check, Verdicts, broken, held, otherwise
from faultclock.oracle.failure_where import setting_holds
from faultclock.oracle.history import History
from faultclock.oracle.requests import Attempt
from faultclock.oracle.run_end import end_of
from faultclock.oracle.tool_messages import told_of
from faultclock.oracle.turn_facts import Answer, ToolCall
from faultclock.oracle.uses import limits_reached

__all__ = ["CHECKS", "Group", "JoinViolation", "groups_of", "join_violations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One subagent of a group.

    Attributes:
        ended: whether its last execution has ended, or it was never executed.
    """

    asked: ToolCall
    required: bool
    succeeded: bool
    ended: bool

    @property
    def failed(self) -> bool:
        """Whether nothing good can come of it any more."""
        return self.ended and not self.succeeded

    @property
    def seq(self) -> int:
        """The event by which it came out."""
        ends = [item.end.seq for item in self.asked.executions if item.end is not None]
        return max(ends, default=self.asked.answer.seq)

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show it."""
        return tuple(seq for item in self.asked.executions for seq in item.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The subagents of one answer, and what their join came to.

    Attributes:
        holds: None where that was not settled yet when the trace, or the turn, was over.
    """

    answer: Answer
    rule: JoinRule
    members: tuple[Member, ...]
    holds: bool | None

    def __str__(self) -> str:
        bad = [member.asked.name for member in self.members if not member.succeeded]
        count = f"{len(self.members) - len(bad)} of {len(self.members)} succeeded"
        return f"{count} ({', '.join(bad)} did not)" if bad else count


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinViolation:
    """A join that does not hold.

    Attributes:
        pair: what the model says it is.
        seq: the event by which it was settled, at `at_ns`.
        events: `seq` of the events that show it.
    """

    group: Group
    call: str
    pair: str
    at_ns: int
    seq: int
    events: tuple[int, ...]


def groups_of(history: History, model: ErrorModel) -> tuple[Group, ...]:
    """Return the groups of subagents, in order; none where the model has no rule for them."""
    rule = _rule(history, model)
    if rule is None:
        return ()
    groups = []
    for answer in history.answers:
        members = tuple(
            _member(history, answer, item) for item in answer.tool_calls if _is_agent(history, item)
        )
        if members:
            holds = _settled(*_terms(rule, members, history.session.quorum))
            groups.append(Group(answer=answer, rule=rule, members=members, holds=holds))
    return tuple(groups)


def join_violations(history: History, model: ErrorModel) -> tuple[JoinViolation, ...]:
    """Return the joins that do not hold, in order."""
    found = []
    for group in groups_of(history, model):
        if group.holds is not False or group.rule.violation is None:
            continue
        relevant, count = _terms(group.rule, group.members, history.session.quorum)
        failed = sorted(member.seq for member in relevant if member.failed)
        # As soon as so many have failed, too few are left.
        seq = failed[max(0, len(relevant) - count)]
        events = {seq for member in group.members for seq in member.events}
        found.append(
            JoinViolation(
                group=group,
                call=group.answer.in_call.id,
                pair=group.rule.violation,
                at_ns=history.trace.events[seq - 1].at_ns,
                seq=seq,
                events=(group.answer.tool_calls[0].answer.seq, *sorted(events)),
            )
        )
    return tuple(found)


# --------------------------------------------------------------------- how a group came out


def _rule(history: History, model: ErrorModel) -> JoinRule | None:
    rules, policy = model.joins, history.session.join
    if not policy:
        return rules[0] if rules else None
    return next((rule for rule in rules if rule.policy == policy), None)


def _is_agent(history: History, asked: ToolCall) -> bool:
    script = history.tool_scripts.get(asked.name)
    return script is not None and script.agent


def _member(history: History, answer: Answer, asked: ToolCall) -> Member:
    executions = asked.executions
    # Who was never begun has come out badly, once the turn went on without it or is over.
    over = answer.next is not None or answer.in_call.end is not None
    return Member(
        asked=asked,
        required=history.tool_scripts[asked.name].required,
        succeeded=any(item.is_good for item in executions),
        ended=all(item.end is not None for item in executions) if executions else over,
    )


def _terms(
    rule: JoinRule, members: tuple[Member, ...], quorum: int | None
) -> tuple[tuple[Member, ...], int]:
    """Return the members that matter, and how many of them have to succeed."""
    match rule.holds:
        case "all":
            return members, len(members)
        case "all_required":
            required = tuple(member for member in members if member.required)
            return required, len(required)
        case "any":
            return members, 1
        case "quorum":
            return members, len(members) // 2 + 1 if quorum is None else quorum
        case "always":
            return members, 0


def _settled(members: tuple[Member, ...], count: int) -> bool | None:
    """Return whether `count` of the members succeeded; None while that is open."""
    if sum(member.succeeded for member in members) >= count:
        return True
    return False if sum(not member.failed for member in members) < count else None


# ------------------------------------------------------------------------------- the check


def _held(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no group of subagents came to an end")
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
            yield from _judge_violated(history, model, call, group)
        elif group.holds is True:
            yield from _judge_held(history, model, call, group)


def _judge_violated(history: History, model: ErrorModel, call: Call, group: Group) -> Verdicts:
    rule, following = group.rule, group.answer.next
    if rule.violation is None or _goes_on(history, model, rule.violation):
        return
    end = end_of(model, call)
    if following is None and end is None:
        return
    yield held(rule.requirement)
    if following is not None:
        observed, shown = "the model was asked again, as if it held", following.start.seq
    elif end is not None and end.state == "completed":
        observed, shown = "the turn ended as completed", end.event.seq
    else:
        return
    yield broken(
        (rule.requirement,),
        call=call.id,
        expected=f"{rule.violation}: {rule.policy} does not hold, {group}",
        observed=observed,
        events=(group.answer.tool_calls[0].answer.seq, shown),
        hint="Is the join judged only when all of its members are good?",
    )


def _judge_held(history: History, model: ErrorModel, call: Call, group: Group) -> Verdicts:
    rule, following = group.rule, group.answer.next
    if following is None:
        end = end_of(model, call)
        if end is None or not _nothing_else_ends_it(history, group):
            return
        yield held(rule.requirement)
        yield broken(
            (rule.requirement,),
            call=call.id,
            expected=f"the turn goes on: {rule.policy} holds, {group}",
            observed=f"{end}, without asking the model again",
            events=(group.answer.tool_calls[0].answer.seq, end.event.seq),
            hint="Does one failed subagent fail the group under every policy?",
        )
        return
    yield held(rule.requirement)
    untold = _untold(group, following)
    if untold:
        yield broken(
            (rule.requirement,),
            call=call.id,
            expected="the next request holds the results of the subagents",
            observed=f"it has no result of {', '.join(untold)}",
            events=(group.answer.tool_calls[0].answer.seq, *following.events),
        )


def _untold(group: Group, following: Attempt) -> list[str]:
    """Return the members with a good result of which the next request has none."""
    asked = following.asked
    if asked is None or not asked.messages:
        return []
    return [
        member.asked.name
        for member in group.members
        if member.succeeded and not told_of(asked, member.asked.id)
    ]


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
    rules = (
        rule
        for rule in model.consequences
        if covers(rule.applies_to, split(pair)) and setting_holds(history, None, None, rule.where)
    )
    return any(rule.run == "goes_on" for rule in islice(rules, 1))


CHECKS = (
    Check(
        id="joins.held",
        title="Groups of subagents",
        says="When a join holds, the turn goes on. When it fails, the turn ends as the join says.",
        run=_held,
    ),
)
