"""The checks of whole turns: they judge the traces of runtimes, and no others."""

from __future__ import annotations

from dataclasses import replace

from faultclock.oracle import (
    approval_deadlines,
    approvals,
    breaker,
    cancels,
    chain_rules,
    extension_set,
    failure_classified,
    failure_outcome,
    failure_redone,
    failure_told,
    joins,
    limits,
    resume,
    rows,
    stages,
    store_redo,
    tool_calls,
    tool_effects,
    tool_redo,
    tool_results,
    turn_course,
)
from faultclock.oracle.check import Check, checks_in

__all__ = ["CHECKS"]


#: What a subject does comes before what it says of itself, and acts before their times.
CHECKS: tuple[Check, ...] = tuple(
    replace(check, role="runtime")
    for check in (
        *checks_in(approvals, approval_deadlines, tool_effects, tool_redo),
        *checks_in(tool_calls, tool_results, turn_course),
        *checks_in(extension_set, resume, store_redo, stages, cancels),
        limits.budgets_kept,
        *checks_in(chain_rules, breaker, joins),
        limits.limits_ends,
        *checks_in(failure_redone, failure_outcome, failure_classified, failure_told),
        *rows.RUNTIME_CHECKS,
    )
)
