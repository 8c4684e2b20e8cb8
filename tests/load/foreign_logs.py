"""The golden logs of other systems, and what is wrong with those that are wrong.

Each bad one is wrong in the one way that its name says. Where that shows in two sentences of a
document, both are there. A log that lacks a beginning or an end is judged as `--complete`.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2] / "fixtures" / "foreign-logs"

#: Good log to how many requirements it exercises at least, none of which fails.
GOOD: dict[str, int] = {
    "afk/good-approval": 9,
    "afk/good-degraded": 8,
    "afk/good-subagents": 8,
    "afk/good-tool-error-goes-to-the-model": 9,
    "afk/good-tool-then-answer": 8,
    "afk/good-two-runs-at-once": 10,
    "error-matrix/good-approved": 7,
    "error-matrix/good-auth-error-ends-it": 8,
    "error-matrix/good-disconnect-is-retried": 9,
    "error-matrix/good-follow-up": 7,
    "error-matrix/good-iterates": 8,
    "error-matrix-run/good-exit": 4,
    "error-matrix-run/good-killed": 4,
    "error-matrix-run/good-no-such-program": 2,
    "kode-sdk/good-answer": 4,
    "kode-sdk/good-interrupted": 4,
    "kode-sdk/good-model-fails": 9,
    "kode-sdk/good-permission-denied": 7,
    "kode-sdk/good-tool-error": 23,
    "kode-sdk/good-tool-then-answer": 5,
    "kode-sdk/good-two-turns": 4,
    "relavium/good-cancelled": 8,
    "relavium/good-gate": 9,
    "relavium/good-node-retry": 12,
    "relavium/good-run-failed": 15,
    "relavium/good-run-timeout": 16,
    "relavium/good-tool-call": 9,
    "relavium/good-two-runs-of-one-workflow": 15,
    "stud-cli/good-denied-then-answered": 2,
    "stud-cli/good-resumed": 1,
    "stud-cli/good-tool-call": 3,
    "stud-cli/good-turn-fails": 3,
    "stud-cli/good-turn": 1,
}

#: Bad log to the checks that fail, each with the requirement that it cites.
BAD: dict[str, dict[str, str | None]] = {
    "afk/bad-batch-before-the-answer": {
        "ordering.step-in-order": "AFK-EVENT-19",
        "ordering.llm-called-comes-to-an-end": "AFK-EVENT-04",
    },
    "afk/bad-degraded-without-warning": {"ordering.degraded-was-warned": "AFK-POLICY-03"},
    "afk/bad-event-after-the-end": {"ordering.terminal-event-last": "AFK-EVENT-00"},
    "afk/bad-failed-says-nothing": {"ordering.failed-says-why": "AFK-CLASS-02"},
    "afk/bad-key-for-the-model": {"audience.model": "AFK-SEC-01"},
    "afk/bad-key-in-the-message": {"audience.user": "AFK-SEC-01"},
    "afk/bad-llm-called-outside-a-step": {"ordering.step-before-llm": "AFK-EVENT-02"},
    "afk/bad-no-end": {"ordering.one-terminal-event": "AFK-EVENT-00"},
    "afk/bad-paused-for-ever": {"ordering.paused-then-resumed": "AFK-EVENT-20"},
    "afk/bad-state-and-event-disagree": {"ordering.completed-is-told": "AFK-EVENT-15"},
    "afk/bad-subagent-never-completes": {"ordering.subagent-completed-once": "AFK-EVENT-12"},
    "afk/bad-tool-completes-twice": {"ordering.tool-completed-once": "AFK-EVENT-06"},
    "afk/bad-two-ends": {"ordering.one-terminal-event": "AFK-EVENT-00"},
    "error-matrix/bad-auth-error-is-retried": {"backoff.declared": "MATRIX-BASE-00"},
    "error-matrix/bad-build-before-plan": {"ordering.fsm-begins-with-intake": "MATRIX-FSM-01"},
    "error-matrix/bad-exit-is-called-failed": {"ordering.run-failed-is-no-exit": "MATRIX-RUN-03"},
    "error-matrix/bad-finalized-twice": {"ordering.fsm-finalizes-once": "MATRIX-FSM-03"},
    "error-matrix/bad-fourth-attempt": {"backoff.declared": "MATRIX-NET-02"},
    "error-matrix/bad-no-end": {
        "ordering.call-ends-once": "MATRIX-FSM-04",
        "ordering.fsm-finalizes-once": "MATRIX-FSM-03",
        "ordering.fsm-finalize-is-last": "MATRIX-FSM-03",
    },
    "error-matrix/bad-program-ends-twice": {"ordering.run-ends-once": "MATRIX-RUN-02"},
    "error-matrix/bad-retry-after-ten-seconds": {"backoff.declared": "MATRIX-BASE-03"},
    "error-matrix/bad-stage-after-finalize": {
        "ordering.fsm-order-of-a-round": "MATRIX-FSM-01",
        "ordering.fsm-finalize-is-last": "MATRIX-FSM-03",
    },
    "error-matrix/bad-stages-out-of-order": {"ordering.fsm-order-of-a-round": "MATRIX-FSM-01"},
    "error-matrix/bad-transition-without-reason": {"ordering.fsm-says-why": "MATRIX-FSM-05"},
    "error-matrix/bad-unknown-outcome": {"classification.named": "MATRIX-BASE-00"},
    "error-matrix-run/bad-ended-without-code": {
        "ordering.run-completed-tells-how": "MATRIX-RUN-04"
    },
    "error-matrix-run/bad-line-after-the-end": {"ordering.run-order": "MATRIX-RUN-01"},
    "error-matrix-run/bad-no-end": {
        "ordering.call-ends-once": "MATRIX-FSM-04",
        "ordering.run-ends-once": "MATRIX-RUN-02",
    },
    "error-matrix-run/bad-spawned-before-started": {
        "ordering.run-begins-with-started": "MATRIX-RUN-01",
        "ordering.run-order": "MATRIX-RUN-01",
    },
    "error-matrix-run/bad-two-ends": {
        "ordering.run-ends-once": "MATRIX-RUN-02",
        "ordering.run-failed-is-no-exit": "MATRIX-RUN-03",
    },
    "kode-sdk/bad-abort-marked-retryable": {"ordering.not-retryable-is-monitored": "KODE-FLOW-06"},
    "kode-sdk/bad-bookmark-used-twice": {"ordering.bookmarks-increase": "KODE-SUM-11"},
    "kode-sdk/bad-decided-before-paused": {"ordering.paused-while-pending": "KODE-ORD-05"},
    "kode-sdk/bad-failed-model-is-completed": {"ordering.completed-is-not-failed": "KODE-PRIN-03"},
    "kode-sdk/bad-key-for-the-user": {"audience.user": "KODE-EVT-04"},
    "kode-sdk/bad-no-done": {
        "ordering.done-once": "KODE-ORD-01",
        "ordering.done-before-return": "KODE-ORD-01",
    },
    "kode-sdk/bad-no-end": {
        "ordering.call-ends-once": "KODE-PRIN-02",
        "ordering.ready-last": "KODE-ORD-02",
    },
    "kode-sdk/bad-schema-error-ends-in-silence": {"ordering.tool-ends-once": "KODE-ORD-04"},
    "kode-sdk/bad-stack-for-the-model": {"audience.model": "KODE-FLOW-11"},
    "kode-sdk/bad-text-after-done": {
        "ordering.done-is-last": "KODE-ORD-01",
        "ordering.model-step-in-order": "KODE-ORD-03",
    },
    "kode-sdk/bad-tool-error-is-not-monitored": {
        "ordering.tool-error-is-monitored": "KODE-FLOW-09"
    },
    "kode-sdk/bad-unknown-severity": {"ordering.monitor-error-severity": "KODE-EVT-07"},
    "relavium/bad-event-after-the-end": {"ordering.run-end-is-last": "REL-EVENT-04"},
    "relavium/bad-failed-without-its-node": {"ordering.run-failure-names-its-node": "REL-EVENT-08"},
    "relavium/bad-fatal-error-retried": {
        "backoff.declared": "REL-TYPED-01",
        # Nobody waits for what nobody retries.
        "ordering.announced-in-a-second": "REL-EVENT-07",
    },
    "relavium/bad-flag-and-code-disagree": {"ordering.fatal-error-says-so": "REL-CODE-02"},
    "relavium/bad-gate-resumed-twice": {"ordering.gate-resumes-once": "REL-GATE-02"},
    "relavium/bad-key-in-a-node-error": {"ordering.error-events-hold-no-internals": "REL-USER-01"},
    "relavium/bad-no-correlation-id": {"ordering.run-failed-is-whole": "REL-USER-06"},
    "relavium/bad-no-end": {
        "ordering.call-ends-once": "REL-INTERNAL-03",
        "ordering.run-ends-once": "REL-EVENT-04",
    },
    "relavium/bad-node-never-ends": {"ordering.node-started-ends": "REL-EVENT-05"},
    "relavium/bad-numbered-from-one": {"ordering.numbered-from-zero": "REL-EVENT-01"},
    "relavium/bad-retry-does-not-start": {
        "ordering.retry-starts-again": "REL-EVENT-06",
        "ordering.announced-in-a-second": "REL-EVENT-07",
    },
    "relavium/bad-sequence-gap": {"ordering.numbered-without-a-gap": "REL-EVENT-13"},
    "relavium/bad-skipped-before-failed": {"ordering.failed-skipped-ended": "REL-EVENT-08"},
    "relavium/bad-stack-for-the-user": {
        "ordering.error-events-hold-no-internals": "REL-USER-01",
        "audience.user": "REL-USER-03",
    },
    "relavium/bad-two-ends": {
        "ordering.run-ends-once": "REL-EVENT-04",
        "ordering.run-end-is-last": "REL-EVENT-04",
    },
    "relavium/bad-unknown-code": {"classification.named": "REL-TYPED-01"},
    "stud-cli/bad-end-without-start": {"ordering.turn-end-has-start": "STUD-TURN-01"},
    "stud-cli/bad-no-end": {
        "ordering.call-ends-once": "STUD-DEF-03",
        "ordering.turn-ends-once": "STUD-TURN-01",
    },
    "stud-cli/bad-record-without-code": {"audience.audit": "STUD-RULE-06"},
    "stud-cli/bad-record-without-context": {"audience.audit": "STUD-RULE-06"},
    "stud-cli/bad-tool-succeeds-twice": {"ordering.tool-succeeds-once": "STUD-APPR-02"},
    "stud-cli/bad-tool-was-never-proposed": {"ordering.tool-proposed-first": "STUD-APPR-01"},
    "stud-cli/bad-turn-ends-twice": {"ordering.turn-ends-once": "STUD-TURN-01"},
    "stud-cli/bad-unknown-class": {"classification.named": None},
    "stud-cli/bad-unknown-code": {"classification.named": "STUD-CLASS-03"},
}

#: Logs that were cut: they prove nothing, unless somebody says that they are complete.
CUT = (
    "afk/cut-in-a-step",
    "error-matrix/cut-in-a-program",
    "kode-sdk/cut-in-a-tool",
    "relavium/cut-after-retrying",
    "stud-cli/cut-in-a-turn",
)


def map_of(log: str) -> str:
    """Return the id of the map for a golden log."""
    return log.partition("/")[0]
