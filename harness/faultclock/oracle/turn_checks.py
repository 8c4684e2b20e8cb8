"""The checks of whole turns: they judge the traces of runtimes, and no others."""

from __future__ import annotations

from dataclasses import replace

from faultclock.oracle import (
    approval_deadlines,
    approvals,
    audit,
    breaker,
    budgets,
    cancels,
    chain_rules,
    extension_set,
    failure_checks,
    joins,
    limits,
    resume,
    stages,
    store_redo,
    tool_effects,
    tool_messages,
    tool_outcomes,
    tool_redo,
    tool_shapes,
    turn_course,
)
from faultclock.oracle.check import Check, checks_in

__all__ = ["CHECKS"]


#: What a subject does comes before what it says of itself, and acts before their times.
CHECKS: tuple[Check, ...] = tuple(
    replace(check, role="runtime")
    for check in (
        *checks_in(approvals, approval_deadlines),
        *tool_effects.CHECKS,
        *tool_redo.CHECKS,
        *tool_shapes.CHECKS,
        *tool_messages.CHECKS,
        *tool_outcomes.CHECKS,
        *turn_course.CHECKS,
        *checks_in(extension_set, resume),
        *store_redo.CHECKS,
        *stages.CHECKS,
        *checks_in(cancels),
        *budgets.CHECKS,
        *chain_rules.CHECKS,
        *breaker.CHECKS,
        *joins.CHECKS,
        *limits.CHECKS,
        *failure_checks.CHECKS,
        *audit.CHECKS,
    )
)
