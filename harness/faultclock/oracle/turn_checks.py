"""The checks of whole turns: they judge the traces of runtimes, and no others."""

from __future__ import annotations

from dataclasses import replace

from faultclock.oracle import (
    approval_deadlines,
    approvals,
    audit,
    breaker,
    cancels,
    chain_rules,
    consent,
    extension_course,
    extension_set,
    failure_outcome,
    failure_redone,
    failure_told,
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
        *approvals.CHECKS,
        *consent.CHECKS,
        *approval_deadlines.CHECKS,
        *tool_effects.CHECKS,
        *checks_in(tool_redo),
        *tool_shapes.CHECKS,
        *tool_messages.CHECKS,
        *tool_outcomes.CHECKS,
        *turn_course.CHECKS,
        *extension_set.CHECKS,
        *extension_course.CHECKS,
        *resume.CHECKS,
        *checks_in(store_redo),
        *checks_in(stages),
        *cancels.CHECKS,
        limits.budgets_kept,
        *chain_rules.CHECKS,
        *breaker.CHECKS,
        *checks_in(joins),
        limits.limits_ends,
        *checks_in(failure_redone, failure_outcome),
        audit.classified,
        *checks_in(failure_told),
        audit.attempts,
        audit.interactions,
    )
)
