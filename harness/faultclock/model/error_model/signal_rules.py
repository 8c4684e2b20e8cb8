"""What a failure is, in the words of a model: from what is seen of it to class, code, disposition.

The kinds are ours and the same for every model: what went wrong on a wire, or with anything else
that the world can see fail. The classes and codes are each model's own.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from faultclock.model._base import Value
from faultclock.model.error_model.failure_rules import Where

Disposition = Literal[
    "retry",
    "terminal",
    "surface_to_model",
    "degrade",
    "regenerate_once",
    "owner_decides",
    "not_an_error",
]
_STATUSES = re.compile(r"([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")
#: Failures of a request to the model.
SignalKind = Literal[
    "http_error",
    "error_body",
    "stream_error",
    "stream_cut",
    "body_cut",
    "malformed_body",
    "dns_failure",
    "connect_refused",
    "connect_timeout",
    "connection_reset",
    "connection_closed",
    "deadline",
]
#: Failures of anything but a request to the model, as the world can see them.
FailureKind = Literal[
    "tool_input_invalid",
    "tool_exception",
    "tool_timeout",
    "tool_failed",
    "tool_partial",
    "tool_output_malformed",
    "tool_denied_by_policy",
    "tool_denied_by_user",
    "tool_denial_loop",
    "tool_unknown",
    "tool_unavailable",
    "tool_cancelled",
    "approval_timed_out",
    "subagent_failed",
    "subagent_timeout",
    "subagent_denied",
    "join_violated",
    "hook_failed",
    "memory_unavailable",
    "telemetry_failed",
    "queue_refused",
    "program_missing",
    "program_exit",
    "program_cut",
    "program_refused",
    "program_timeout",
    "program_denial_loop",
    "command_failed",
    "output_not_json",
    "output_schema_invalid",
    "content_filtered",
    "sandbox_failed",
    "handler_failed",
    "breaker_open",
    "limit_reached",
    "cancelled",
]


class ErrorClass(Value):
    """A class of failures with its codes."""

    id: str
    recoverable: str
    """As the document words it."""
    handler: str
    """Who owns the next move, as the document words it."""
    disposition: Disposition
    codes: tuple[str, ...] = ()
    dispositions: dict[str, Disposition] = {}
    """Code to a disposition other than that of the class."""
    requirement: str


class SignalPattern(Value):
    """Conditions on a Signal; every one that is given must hold."""

    kinds: tuple[Literal[SignalKind, FailureKind], ...] = ()
    statuses: tuple[str, ...] = Field(
        default=(), json_schema_extra={"items": {"type": ["integer", "string"]}}
    )
    """`429` or `500-599`."""
    error_codes: tuple[str, ...] = ()
    """The provider's own `error.code` values, or the names that errors have in every dialect."""
    error_types: tuple[str, ...] = ()
    """The provider's own `error.type` values."""
    causes: tuple[str, ...] = ()
    """Which sort of its kind: the code that a tool gave, the fault of a sandbox (`syntax`...), the
    limit (`steps`...), what a program said (`auth`, `network`...)."""
    roles: tuple[str, ...] = ()
    """The role of the node of a workflow in which it happened, such as `reviewer`."""
    where: Where = {}
    """Settings of the run, such as `node.idempotent: false`."""

    @field_validator("statuses", mode="before")
    @classmethod
    def _as_text(cls, statuses: object) -> object:
        if isinstance(statuses, (list, tuple)):
            return tuple(str(item) if isinstance(item, int) else item for item in statuses)
        return statuses

    @field_validator("statuses")
    @classmethod
    def _in_order(cls, statuses: tuple[str, ...]) -> tuple[str, ...]:
        for text in statuses:
            found = _STATUSES.fullmatch(text)
            if found is None or int(found[1]) > int(found[2] or found[1]):
                raise ValueError(f"{text!r} is neither a status nor a range: write 429 or 500-599")
        return statuses


class SignalRule(Value):
    """Signal to classification; the first rule that matches decides."""

    id: str
    when: SignalPattern
    error_class: str | None = Field(default=None, alias="class")
    code: str | None = None
    unmapped: str | None = None
    """Why the document has no class for it; then class and code are absent."""
    disposition: Disposition | None = None
    """None: the document does not say, so what the subject does is not judged."""
    requirement: str

    @model_validator(mode="after")
    def _mapped_or_not(self) -> SignalRule:
        mapped = self.error_class is not None and self.code is not None
        if mapped == (self.unmapped is not None):
            raise ValueError(f"{self.id}: give class and code, or unmapped with the reason")
        return self
