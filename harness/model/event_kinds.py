"""The canonical kinds of trace events: what a trigger of a scenario may wait for.

What a subject says of itself comes as the `declared.*` kinds; everything else the world observed
or did.
"""

from __future__ import annotations

__all__ = ["DERIVED_KINDS", "EVENT_KINDS"]

_BY_GROUP: dict[str, tuple[str, ...]] = {
    "call": ("crashed", "raised", "returned", "skipped", "started"),
    "archive": ("saved",),
    "cancel": ("raised", "requested", "unsupported"),
    "contract": ("declared",),
    "declared": (
        "audit",
        "audit_event",
        "event",
        "model_message",
        "operator_message",
        "user_message",
    ),
    "disk": ("acted", "edited", "read", "survived"),
    "extension": ("capabilities", "phase", "residue", "slot_decided", "slot_delivered"),
    "fault": ("fired", "unmet"),
    "http": ("exchange_ended", "malformed", "request", "response", "stream_error"),
    "hook": ("called", "replied"),
    "interaction": ("answered", "broken", "dismissed", "shown"),
    "net": (
        "closed",
        "connect",
        "connect_failed",
        "connected",
        "delivered",
        "eof",
        "reset",
        "resolve",
        "resolving",
        "sent",
    ),
    "node": ("called", "replied"),
    "policy": ("decided",),
    "process": ("crashed", "started"),
    "program": ("ended", "left_running", "missing", "signalled", "started", "wrote"),
    "queue": ("answered", "asked"),
    "run": ("started",),
    "stage": ("asked",),
    "store": ("answered", "asked", "durable", "edited"),
    "telemetry": ("answered", "asked"),
    "tool": ("called", "effect", "raised", "replied", "stopped", "unfinished"),
    "world": ("touched",),
}

#: Every kind that a trace may hold.
EVENT_KINDS = frozenset(
    {f"{group}.{name}" for group, names in _BY_GROUP.items() for name in names}
    | {"entropy", "leak", "sleep"}
)

#: What the oracle makes of these for ordering rules; a trigger cannot wait for them.
DERIVED_KINDS = frozenset(
    {"attempt.failed", "attempt.started", "dependent.phase", "failure.seen", "gated.called"}
)
