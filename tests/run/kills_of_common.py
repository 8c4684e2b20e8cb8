"""The kill matrix of the model `common`: each requirement, a wrong subject and what shows it.

In that scenario the wrong subject breaks the requirement, and the reference of its role keeps it.
"""

from __future__ import annotations

#: Requirements of provider adapters, to the subject that breaks it and the scenario that shows it.
CLIENTS: dict[str, tuple[str, str]] = {
    "COMMON-END-01": ("mini-common-waits-for-ever", "provider-transient/stall-before-headers"),
    "COMMON-END-02": ("mini-retries-after-the-end", "provider-transient/statuses-without-a-rule"),
    "COMMON-CRASH-01": ("mini-common-reads-numbers-only", "rate-limits/retry-after-http-date"),
    "COMMON-CRASH-02": ("mini-common-raw-decoder-error", "provider-transient/corrupt-body"),
    "COMMON-ANSWER-01": (
        "mini-common-takes-a-part",
        "provider-transient/stream-ends-without-finish",
    ),
    "COMMON-ANSWER-02": ("mini-common-apologises", "provider-transient/errors-for-ever"),
    "COMMON-ANSWER-03": ("mini-common-drops-the-reason", "common/answer-cut"),
    "COMMON-ANSWER-04": ("mini-common-empty-is-an-answer", "common/answer-empty"),
    "COMMON-RETRY-01": ("mini-common-asks-in-vain", "provider-transient/context-length-exceeded"),
    "COMMON-RETRY-02": ("mini-common-gives-up-at-once", "rate-limits/retry-after-absent"),
    "COMMON-HINT-01": ("mini-common-ignores-retry-after", "rate-limits/retry-after-integer"),
    "COMMON-HINT-02": ("mini-common-hurries", "rate-limits/retry-after-ms-alone"),
    "COMMON-BOUND-01": ("mini-common-never-gives-up", "common/unavailable-for-ever"),
    "COMMON-BOUND-02": ("mini-common-sleeps-an-hour", "rate-limits/retry-after-huge"),
    "COMMON-WAIT-01": ("mini-common-waits-alike", "common/unavailable-for-ever"),
    "COMMON-WAIT-02": ("mini-common-no-jitter", "common/crowd-without-a-hint"),
    "COMMON-LAYER-01": ("mini-common-two-layers", "common/unavailable-for-ever"),
    "COMMON-CONTENT-01": ("mini-common-begins-anew", "common/stream-breaks-after-content"),
    "COMMON-CANCEL-01": ("mini-common-swallows-a-cancel", "common/cancelled-while-connecting"),
    "COMMON-APART-01": ("mini-common-one-error-for-all", "common/four-failures"),
    "COMMON-SECRET-01": ("mini-common-key-in-the-error", "provider-transient/bad-key"),
}

#: Likewise, of runtimes, tools, session stores and extensions.
AGENTS: dict[str, tuple[str, str]] = {
    # runtimes
    "COMMON-EFFECT-01": ("mini-runtime-retries-every-tool", "tools/commit-then-fail"),
    "COMMON-EFFECT-02": ("mini-runtime-repeats-the-effect", "resume-drift/effect-is-not-repeated"),
    "COMMON-EFFECT-03": (
        "mini-runtime-tries-again-in-the-background",
        "tools/busy-without-a-policy",
    ),
    "COMMON-CONSENT-01": (
        "mini-runtime-silence-is-consent",
        "approvals/unanswered-is-denied-after-two-minutes",
    ),
    "COMMON-CONSENT-02": (
        "mini-runtime-late-yes-runs-it",
        "approvals/answer-just-after-the-deadline",
    ),
    "COMMON-CONSENT-03": (
        "mini-runtime-makes-paths-absolute",
        "approvals/answer-just-before-the-deadline",
    ),
    "COMMON-INPUT-01": ("mini-runtime-runs-what-does-not-fit", "tools/arguments-do-not-fit"),
    "COMMON-RESULT-01": ("mini-runtime-failed-call-has-no-id", "tools/one-of-three-fails"),
    "COMMON-RESULT-02": ("mini-runtime-leaves-orphans", "resume-drift/effect-is-not-repeated"),
    "COMMON-RESULT-03": ("mini-runtime-failure-is-null", "tools/not-found-is-told"),
    "COMMON-RESULT-04": ("mini-runtime-one-failure-hides-the-rest", "tools/one-of-three-fails"),
    "COMMON-RESULT-05": ("mini-kode-sdk-an-exception-ends-the-turn", "shared/tool-throws"),
    "COMMON-SECRET-02": (
        "mini-runtime-tells-the-exception",
        "tools/exception-with-a-path-and-a-key",
    ),
    "COMMON-END-03": ("mini-runtime-waits-for-a-tool-for-ever", "tools/hangs-for-ever"),
    "COMMON-END-04": ("mini-runtime-loops-for-ever", "tools/loop-bound"),
    "COMMON-END-05": (
        "mini-runtime-waits-for-a-person-for-ever",
        "approvals/unanswered-is-denied-after-two-minutes",
    ),
    "COMMON-STORED-01": ("mini-runtime-forgets-history", "resume-drift/closed-session-is-resumed"),
    "COMMON-STORED-02": ("mini-runtime-saves-the-question-only", "session-store/slow-store"),
    "COMMON-CANCEL-02": ("mini-runtime-cancel-is-a-wish", "approvals/cancel-while-open"),
    "COMMON-CANCEL-03": ("tests/run/wrong_agents.py:works_on", "cancellation/between-two-tools"),
    "COMMON-CANCEL-04": ("mini-runtime-backoff-swallows-cancel", "cancellation/during-backoff"),
    "COMMON-CANCEL-05": (
        "tests/run/wrong_agents.py:waits_for_ever",
        "cancellation/between-two-tools",
    ),
    # tools
    "COMMON-TOOL-01": ("mini-tool-no-deadline", "tool-contract/silent-service"),
    "COMMON-TOOL-02": ("mini-tool-deaf-to-cancel", "tool-contract/cancel-in-backoff"),
    "COMMON-TOOL-03": ("mini-tool-drops-failed-items", "tool-contract/some-items-fail"),
    "COMMON-TOOL-04": ("mini-tool-asks-first", "tool-contract/invalid-input"),
    "COMMON-TOOL-05": ("mini-tool-wrong-shape", "tool-contract/all-items-good"),
    "COMMON-TOOL-06": ("mini-tool-always-busy", "tool-contract/all-items-good"),
    "COMMON-TOOL-07": ("mini-tool-key-in-message", "tool-contract/busy-for-ever"),
    "COMMON-TOOL-08": ("mini-tool-sends-twice", "tool-contract/silent-service"),
    # session stores
    "COMMON-STORE-01": (
        "mini-store-acknowledges-first",
        "session-store-contract/leftovers-of-a-crash",
    ),
    "COMMON-STORE-02": ("mini-store-no-folder-sync", "session-store-contract/power-cut-after-save"),
    "COMMON-STORE-03": ("mini-store-writes-in-place", "session-store-contract/disk-full-in-save"),
    "COMMON-STORE-04": ("mini-store-caches-reads", "session-store-contract/disk-full-then-free"),
    "COMMON-STORE-05": (
        "mini-store-swallows-full-disk",
        "session-store-contract/disk-full-in-save",
    ),
    "COMMON-STORE-06": ("mini-store-empty-on-torn", "session-store-contract/manifest-cut-in-half"),
    "COMMON-STORE-07": ("mini-store-shared-slots", "session-store-contract/names-that-look-alike"),
    "COMMON-STORE-08": (
        "mini-store-fixed-temporary",
        "session-store-contract/leftovers-of-a-crash",
    ),
    # extensions
    "COMMON-EXTENSION-01": ("mini-extension-one-way", "extension-contract/activate-fails"),
    "COMMON-EXTENSION-02": ("mini-extension-any-config", "extension-contract/invalid-config"),
    "COMMON-EXTENSION-03": ("mini-extension-keeps-beating", "extension-contract/activate-fails"),
    "COMMON-EXTENSION-04": ("mini-extension-dispose-once", "extension-contract/dispose-twice"),
    "COMMON-EXTENSION-05": ("mini-extension-offers-nothing", "extension-contract/activate-fails"),
    "COMMON-EXTENSION-06": (
        "mini-extension-deaf-to-cancel",
        "extension-contract/cancel-in-activate",
    ),
}

_WRONG = "tests/run/wrong_agents.py:"
#: Scenarios for whole agents, to a wrong one and the requirement that it breaks there.
WHOLE_AGENTS: dict[str, tuple[str, str]] = {
    "arguments-are-a-list": (f"{_WRONG}parser_raises", "COMMON-CRASH-01"),
    "arguments-are-no-json": (f"{_WRONG}acts_on_half", "COMMON-CONSENT-03"),
    "asked-about-broken-arguments": (f"{_WRONG}acts_on_half", "COMMON-CONSENT-03"),
    "asked-beside-an-effect": ("mini-runtime-timeout-is-yes", "COMMON-CONSENT-01"),
    "call-cut-in-a-stream": (f"{_WRONG}acts_on_half", "COMMON-CONSENT-03"),
    "call-cut-in-its-arguments": (f"{_WRONG}acts_on_half", "COMMON-CONSENT-03"),
    "cancelled-in-a-backoff-after-an-effect": (
        "mini-runtime-backoff-swallows-cancel",
        "COMMON-CANCEL-04",
    ),
    "down-for-a-while-after-an-effect": (f"{_WRONG}begins_anew", "COMMON-EFFECT-02"),
    "down-for-good-after-an-effect": ("mini-runtime-saves-the-question-only", "COMMON-STORED-02"),
    "killed-between-two-effects": (
        "mini-runtime-forgets-the-turn-before",
        "COMMON-EFFECT-02",
    ),
    "killed-in-a-backoff-after-an-effect": ("mini-runtime-leaves-orphans", "COMMON-RESULT-02"),
    "limited-right-after-an-answer": (f"{_WRONG}gives_up", "COMMON-RETRY-02"),
    "limited-right-after-an-effect-in-each-step": (
        f"{_WRONG}begins_anew",
        "COMMON-EFFECT-02",
    ),
    "one-of-two-acts-and-fails": (
        "mini-runtime-tries-again-in-the-background",
        "COMMON-EFFECT-01",
    ),
    "one-of-two-hangs": ("mini-runtime-one-failure-hides-the-rest", "COMMON-RESULT-04"),
    "yes-after-a-cancel": ("mini-runtime-late-yes-runs-it", "COMMON-CONSENT-02"),
}

#: Scenarios of answers that are none, to a client that passes one on and one that does not.
ENDINGS: dict[str, tuple[str, str]] = {
    "common/error-inside-a-choice": ("mini-common-drops-the-reason", "reference-common"),
    "common/no-answer-in-a-good-status": ("openai-sync", "reference-common"),
    "common/answer-paused": ("tests/run/text_alone.py:text_alone", "anthropic"),
    "common/answer-paused-in-a-stream": ("tests/run/text_alone.py:text_alone", "anthropic-sync"),
}

#: The reference that keeps a requirement, by role.
REFERENCES = {
    "provider_adapter": "reference-common",
    "runtime": "reference-runtime",
    "tool": "reference-tool",
    "session_store": "reference-store",
    "extension": "reference-extension",
    # Only a client that passes on what arrives can do so twice.
    "COMMON-CONTENT-01": "reference-common-passing-on",
    # Only a tool that changes something can do so twice.
    "COMMON-TOOL-08": "reference-acting-tool",
}

#: What else fails beside the check that a miniature by this model is made for.
BESIDES_OF_COMMON: dict[str, set[str]] = {
    # What the model is sent is told to the host as well.
    "mini-runtime-tells-the-exception": {"audience.model"},
}

#: Check and requirement to what kills this rule, where no subject of the tables above does: the
#: reference, a mutant of it (or another wrong subject), and the scenario.
OTHER_RULES: dict[tuple[str, str], tuple[str, str, str]] = {
    ("audience.operator", "COMMON-SECRET-01"): (
        "reference-common",
        "mini-common-key-for-the-operator",
        "provider-transient/bad-key",
    ),
    ("audience.user", "COMMON-SECRET-01"): (
        "reference-common",
        'declared.user_message: set message to "sk-simulated-0123456789abcdef…" 2701',
        "common/no-answer-in-a-good-status",
    ),
    ("tools.secrets", "COMMON-SECRET-01"): (
        "reference-runtime",
        "tests/run/wrong_agents.py:tells_a_key",
        "tools/one-of-three-fails",
    ),
    # The reference keeps it in no scenario: a service that fails shows it only where it is broken.
    ("tool.upstream", "COMMON-TOOL-03"): (
        "reference-tool",
        "mini-tool-error-in-value",
        "tool-contract/busy-for-ever",
    ),
}
