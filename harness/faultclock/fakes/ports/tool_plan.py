"""What becomes of a tool's execution: a pure fold, `(script, counts, arguments) -> (counts, plan)`.

Effect and reply are planned apart from each other: a tool may have done its work and say that it
failed, or say so first and do it afterwards. It knows neither time nor who waits.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.fakes.plain import canonical
from faultclock.fakes.rules import first_for
from faultclock.model.scenario.port_values import ToolProblem, ToolResult
from faultclock.model.scenario.tool_script import ToolFault, ToolRule, ToolScript

#: What a tool of the documents says about itself, by the kind of its fault: class and code.
_PROBLEMS: Mapping[str, tuple[str, str]] = {
    "timeout": ("ToolTransient", "ExecutionTimeout"),
    "resource_busy": ("ToolTransient", "ResourceBusy"),
    "input_rejected": ("ToolTerminal", "InputInvalid"),
    "forbidden": ("ToolTerminal", "Forbidden"),
    "not_found": ("ToolTerminal", "NotFound"),
    "logical": ("Tool", "Logical"),
    "capability_absent": ("Tool", "CapabilityAbsent"),
}


class ToolCounts(Struct, frozen=True, kw_only=True):
    """What happened to all tools so far in the run, over all lives. Plain data: it is pickled.

    Attributes:
        total: executions of all tools.
        executions: executions by tool name.
        effects: how often each effect happened, by its key.
    """

    total: int = 0
    executions: Mapping[str, int] = field(default_factory=dict)
    effects: Mapping[str, int] = field(default_factory=dict)


class ToolPlan(Struct, frozen=True, kw_only=True):
    """What is to become of one execution.

    Attributes:
        execution: "t1", "t2"... over all tools of the run.
        number: 1-based, among the executions of its tool in the run.
        rule: the rule that shapes it; None for a good one.
        takes_ns: from the start to the end of the work, when it replies.
        replies: whether it does reply.
        effect_ns: from the start to its effect; None where it has none.
        late: whether the effect comes after the reply; otherwise it comes right before it.
    """

    execution: str
    number: int
    rule: ToolRule | None
    takes_ns: int
    replies: bool
    effect_ns: int | None
    late: bool

    @property
    def works(self) -> bool:
        """Whether it does its work at all, before it replies or hangs."""
        return self.rule is None or self.rule.then.effect == "committed"

    @property
    def fires_at_once(self) -> bool:
        """Whether its rule makes a difference from the start, and not only by the reply."""
        return self.rule is not None and (not self.replies or self.rule.then.takes is not None)


def decide(
    script: ToolScript, counts: ToolCounts, arguments: Mapping[str, Any]
) -> tuple[ToolCounts, ToolPlan]:
    """Return the counts after one more execution begins, and what is to become of it."""
    number = counts.executions.get(script.name, 0) + 1
    total = counts.total + 1
    counted = replace(counts, total=total, executions={**counts.executions, script.name: number})

    rule = first_for(script.rules, number, arguments=arguments)
    takes_ns, effect_ns = _times(script, rule)
    plan = ToolPlan(
        execution=f"t{total}",
        number=number,
        rule=rule,
        takes_ns=takes_ns,
        replies=rule is None or rule.then.fault.kind != "hang",
        effect_ns=None if script.reads else effect_ns,
        late=rule is not None and rule.then.effect == "late",
    )
    return counted, plan


def commit(counts: ToolCounts, key: str) -> tuple[ToolCounts, int]:
    """Return the counts after an effect happens, and how often it has happened now."""
    count = counts.effects.get(key, 0) + 1
    return replace(counts, effects={**counts.effects, key: count}), count


def effect_key(tool: str, arguments: object) -> str:
    """Return what identifies an effect: equal calls of a tool have equal effects."""
    return hashlib.sha256((tool + canonical(arguments)).encode()).hexdigest()[:16]


def reply_of(script: ToolScript, rule: ToolRule | None) -> ToolResult | RuntimeError:
    """Return what the tool replies, or the exception that leaves it, fresh each time.

    Raises:
        ValueError: it does not reply at all.
    """
    if rule is None:
        return ToolResult(value=copy.deepcopy(script.value))
    return _bad_reply(rule.then.fault)


def _bad_reply(fault: ToolFault) -> ToolResult | RuntimeError:
    match fault.kind:
        case "partial":
            problems = tuple(
                ToolProblem(
                    error_class=error.error_class,
                    code=error.code,
                    message=error.message,
                    item=error.item,
                )
                for error in fault.errors
            )
            return ToolResult(value=copy.deepcopy(fault.value), errors=problems)
        case "output_malformed":
            return ToolResult(value=copy.deepcopy(fault.value))
        case "exception":
            return RuntimeError(fault.message)
        case "hang":
            raise ValueError("a hanging tool has no reply")
    error_class, code = _PROBLEMS[fault.kind]
    message = getattr(fault, "message", code)
    return ToolResult(problem=ToolProblem(error_class=error_class, code=code, message=message))


def _times(script: ToolScript, rule: ToolRule | None) -> tuple[int, int | None]:
    """Return when the work ends and when its effect happens, both from the start."""
    if rule is None:
        return script.takes, script.takes
    outcome = rule.then
    takes_ns = script.takes if outcome.takes is None else outcome.takes
    match outcome.effect:
        case "none":
            return takes_ns, None
        case "committed":
            return takes_ns, takes_ns
        case "late":
            return takes_ns, takes_ns + outcome.effect_after
