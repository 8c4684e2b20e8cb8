"""What else fails beside the check that a miniature of stud-cli is made for.

A miniature names the scenario that shows its defect. In it nothing but the one check that the
miniature is made for has anything against it; what cannot be otherwise stands here.
"""

from __future__ import annotations

#: What else a defect cannot but show in its scenario, because it has a consequence that somebody
#: else's check is for.
BESIDES: dict[str, set[str]] = {
    # What is not asked any more leaves the script's answer unmet.
    "mini-runtime-one-yes-for-all": {"evidence.faults-met"},
    "mini-runtime-mode-of-the-process": {"evidence.faults-met"},
    # A timeout that is a yes is no denial, and no approval either.
    "mini-runtime-timeout-is-yes": {
        "ordering.approval-before-execution",
        "ordering.timeout-denies",
    },
    # The tool runs outside of the turn, so nobody announces it, audits it, or tells the model.
    "mini-runtime-late-yes-runs-it": {
        "tools.told",
        "ordering.tool-started-before-executed",
        "ordering.approval-audited-before-execution",
        "ordering.interaction-late-answer-refused",
    },
    # What goes on after a cancel ends too late, and the other way round.
    "mini-runtime-backoff-swallows-cancel": {"ordering.cancelled-turn-acts-no-more"},
    "mini-runtime-session-goes-on": {"cancel.outcome"},
    # It says of what was lost that it was saved, and shows it.
    "mini-runtime-loses-silently": {
        "turns.saved",
        "ordering.persisted-after-acknowledgement",
        "ordering.persisted-before-render",
    },
    # Nobody is there to say no, and the turn goes on with that.
    "mini-runtime-nobody-is-a-no": {"approvals.respected"},
    # It makes up a call of its own to do it.
    "mini-runtime-repeats-the-effect": {"tools.asked-for"},
    # A session that opens with a rejected slot has delivered it.
    "mini-runtime-rejection-is-a-warning": {"ordering.rejected-slot-not-delivered"},
    # What is not loaded never has a phase.
    "mini-runtime-loads-nothing": {"evidence.exercised"},
    # What passes for a good value is no failed attempt to audit.
    "mini-runtime-hands-on-nonsense": {"audit.attempts"},
    # The model is told twice: in its next request, and as the host's shape of the error.
    "mini-runtime-exception-to-model": {"audience.model"},
    # Whoever dies while it handles a failure tells nobody of that failure.
    "mini-raises-on-a-date": {"classification.declared", "audience.user"},
    "mini-raw-error-from-streams": {
        "classification.declared",
        "audience.user",
        "audience.audit",
    },
    # The layer that nobody sees is seen by nobody: not by the audit trail either.
    "mini-library-retries-unseen": {"ordering.retry-audited"},
    # What is taken for another error is declared as that other one in the end.
    "mini-too-long-is-a-500": {"classification.declared"},
    # Nobody is there to say no, and the turn goes on with a failed tool.
    "mini-runtime-halt-is-a-failed-tool": {"approvals.respected"},
    # What was not saved is not in the session that goes on.
    "mini-runtime-cancel-interrupts-the-save": {"turns.history"},
    # The crash of this scenario waits for an entry that a locked store never takes.
    "mini-store-keeps-its-lock": {"evidence.faults-met"},
}

#: A leak makes whatever else was found in a run inconclusive.
SPOILED = frozenset({"mini-starts-a-process"})
