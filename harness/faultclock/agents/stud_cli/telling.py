"""Three audiences, and what is theirs to know of a failure.

the audit trail    class, code, context and attempt of every failure, and every decision
the user           a sentence to act on: no class names, no codes, nothing of the inside
the model          class, code and a sentence; never a stack, a path or a secret
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from faultclock.agents.stud_cli.cancellation import Scope, is_cancellation
from faultclock.model.secrets import without_secrets
from faultclock.subjects.ports import Host, TypedError

_MODEL_TEXT_MAX = 300
_PATH = re.compile(r"(?<![\w:/.])/(?:[\w.@-]+/)+[\w.@-]*|\b[A-Za-z]:\\\S+|\bfile:/\S+")

_FOR_THE_USER = {
    "ProviderTransient": "The AI provider could not answer at the moment. Please try again later.",
    "ProviderCapability": "The chosen model cannot do this. Please pick another model, or shorten"
    " the conversation.",
    "Session": "The session could not be saved or opened. Please check where sessions are stored.",
    "Validation": "The input or the configuration is not valid. Please correct it and try again.",
    "ExtensionHost": "The agent could not finish this turn. An operator can find the details in"
    " the audit trail.",
}
_FOR_THE_USER_OTHERWISE = (
    "The request could not be carried out. An operator can find the details in the audit trail."
)
_FOR_THE_MODEL = "The turn ended with an error."


class Telling:
    """Says each thing once, to whom it belongs."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._audited: list[BaseException] = []

    # To the audit trail.

    def failed_attempt(
        self, error: BaseException, attempt: int | None, context: Mapping[str, Any]
    ) -> None:
        """Audit one failed attempt with its number (1-based)."""
        error_class, code = pair_of(error)
        self.host.audit(
            error_class=error_class,
            code=code,
            context={**context, **self.details(error)},
            attempt=attempt,
        )
        self.is_audited(error)

    def is_audited(self, error: BaseException) -> None:
        """Note that the audit trail has `error` already."""
        self._audited.append(error)

    def details(self, error: BaseException) -> dict[str, Any]:
        """Return what operators want to know of `error`."""
        return {"message": str(error), "type": type(error).__name__}

    def cancelled(self, scope: Scope) -> None:
        """Audit a cancel, as what it is: not an error."""
        self.host.audit_event(
            "Cancellation",
            scope=scope.kind,
            code=scope.code,
            reason=scope.reason,
            target=scope.names[0] if scope.names else None,
            tool_call=scope.names[-1] if scope.kind == "tool" else None,
        )

    def swallowed(self, reason: str, error: BaseException) -> None:
        """Emit that an error is ignored on purpose, and why."""
        error_class, code = pair_of(error)
        self.host.event("SuppressedError", reason=reason, error_class=error_class, code=code)

    # To the user and the model.

    def turn_failed(self, error: BaseException, context: Mapping[str, Any]) -> None:
        """Tell everyone of the error that ends a turn or keeps a session shut."""
        if is_cancellation(error):
            return
        if not any(known is error for known in self._audited):
            self.failed_attempt(error, None, context)
        self.host.show_user(self.for_the_user(error))
        error_class, code = pair_of(error)
        if error_class is not None and code is not None:
            self.host.tell_model(self.shape(error_class, code, _FOR_THE_MODEL)["error"])

    def for_the_user(self, error: BaseException) -> str:
        """Return the sentence that a person is shown."""
        return _FOR_THE_USER.get(pair_of(error)[0] or "", _FOR_THE_USER_OTHERWISE)

    def shape(self, error_class: str, code: str, message: str, **more: Any) -> dict[str, Any]:
        """Return the typed shape in which the model learns of an error."""
        return {
            "error": {
                "class": error_class,
                "code": code,
                "message": self.for_the_model(message),
                **{name: self.for_the_model(str(text)) for name, text in more.items()},
            }
        }

    def for_the_model(self, message: str) -> str:
        """Return `message` without internal details."""
        return without_internals(message)

    def tool_failed(self, content: Mapping[str, Any]) -> None:
        """Hand the model the shape of a failed call; its next request carries the same."""
        if "error" in content:
            self.host.tell_model(content["error"])


def pair_of(error: BaseException) -> tuple[str | None, str | None]:
    """Return class and code of an error that carries them; nothing is read from its message."""
    error_class, code = getattr(error, "error_class", None), getattr(error, "code", None)
    if isinstance(error_class, str) and isinstance(code, str):
        return error_class, code
    return None, None


def without_internals(message: str) -> str:
    """Return `message` as one line without stacks, absolute paths and secrets.

    Example:
        >>> without_internals("no such file: /srv/agent/notes.txt")
        'no such file: …'
    """
    text = message.partition("Traceback (most recent call last)")[0]
    text = " ".join(_PATH.sub("…", without_secrets(text)).split())
    # The mark that stands for a secret says that there was one.
    text = text.replace("<secret>", "…")
    return text if len(text) <= _MODEL_TEXT_MAX else f"{text[: _MODEL_TEXT_MAX - 1]}…"


def typed(error: BaseException, otherwise: tuple[str, str], message: str) -> TypedError:
    """Return `error` in the one shape that crosses ports; class and code of the origin stay."""
    error_class, code = pair_of(error)
    pair = otherwise if error_class is None or code is None else (error_class, code)
    wrapper = TypedError(*pair, f"{message}: {error}")
    wrapper.__cause__ = error
    return wrapper
