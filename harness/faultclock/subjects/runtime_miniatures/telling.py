"""Miniatures of the three audiences: the audit trail, the user, the model."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.ports import TypedError
from faultclock.subjects.reference_runtime.provider import TransportRetries
from faultclock.subjects.reference_runtime.telling import Telling
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []


@wrong("error-to-user", "Shows the user the exception", fails="audience.user")
class _ErrorToUser(Telling):
    """A class name and a host are nothing that a person can act on."""

    def for_the_user(self, error: BaseException) -> str:
        return f"{type(error).__name__}: {error}"


@wrong("error-to-model", "Hands paths and keys to the model", fails="audience.model")
class _ErrorToModel(Telling):
    """modelcontextprotocol/typescript-sdk#1651: internals were sent to the other side."""

    def tool_failed(self, content: Mapping[str, Any]) -> None:
        if "error" in content:
            where = {"message": "see /var/log/agent/turn.log"}
            super().tool_failed({"error": {**content["error"], **where}})


@wrong("audit-without-context", "Audits failures without context", fails="audience.audit")
class _AuditWithoutContext(Telling):
    """An operator reads that something failed, and not what."""

    def failed_attempt(
        self, error: BaseException, attempt: int | None, context: Mapping[str, Any]
    ) -> None:
        super().failed_attempt(error, attempt, {})

    def details(self, error: BaseException) -> dict[str, Any]:
        return {}


@wrong("retries-in-silence", "Audits no retry of a request", fails="ordering.retry-audited")
class _RetriesInSilence(TransportRetries):
    """livekit/agents#5335: of twelve requests three were on record."""

    def audit_retry(self, error: TypedError) -> None:
        return
