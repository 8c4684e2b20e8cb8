"""Miniatures of the three audiences: the audit trail, the user, the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
