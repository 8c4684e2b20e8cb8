"""Groups of subagents: those that one answer asked for, and what their join came to."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import JoinRule
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.turn_facts import Answer, ToolCall


class Member(Struct, frozen=True, kw_only=True):
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


class Group(Struct, frozen=True, kw_only=True):
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
    rule = rule_of(history, model)
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


def rule_of(history: History, model: ErrorModel) -> JoinRule | None:
    """Return what the model says of the join of the session; None where it says nothing."""
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
