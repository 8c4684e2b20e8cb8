"""What all parts of one life share: the session, the turn that runs, and what is said of a failure.

A Session holds nothing that the store does not hold too, but for the turn on its way. Three
audiences hear of a failure, each what is theirs to know:

    the audit trail    class, code, context and attempt of every failure, and every decision
    the user           a sentence to act on: no class names, no codes, nothing of the inside
    the model          class, code and a sentence; never a stack, a path or a secret
"""

from __future__ import annotations

import re
import time
import uuid
from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from msgspec import field

from faultclock.agents.stud_cli.cancellation import Scope, is_cancellation
from faultclock.agents.turn import Ended, Turn, Turns
from faultclock.agents.wire import one_line
from faultclock.subjects.ports import Host, Slot, Stage, Surroundings, TypedError

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
    text = _PATH.sub("…", one_line(message))
    return text if len(text) <= _MODEL_TEXT_MAX else f"{text[: _MODEL_TEXT_MAX - 1]}…"


def typed(error: BaseException, otherwise: tuple[str, str], message: str) -> TypedError:
    """Return `error` in the one shape that crosses ports; class and code of the origin stay."""
    error_class, code = pair_of(error)
    pair = otherwise if error_class is None or code is None else (error_class, code)
    wrapper = TypedError(*pair, f"{message}: {error}")
    wrapper.__cause__ = error
    return wrapper


class Halted(Ended):
    """A headless turn needs a person: it ends here, with nothing done."""

    def __init__(self) -> None:
        super().__init__("interrupted", None, "permission-required", text="permission-required")


class StudTurn(Turn, kw_only=True):
    """One turn on its way.

    Attributes:
        stage: of a state machine; None where there is none.
        stage_scope: of that stage.
        requests: to the model in this stage, or in this turn.
        executed: ids of the tool calls that were executed, or begun.
        results: id of a tool call to the content of its tool message.
        saved: whether the store has acknowledged it.
    """

    id: str
    scope: Scope
    stage: Stage | None = None
    stage_scope: Scope | None = None
    requests: int = 0
    executed: set[str] = field(default_factory=set)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    saved: bool = False


class Session(Turns[StudTurn, str], ABC):
    """The session as this process knows it.

    Attributes:
        id: of the session.
        mode: how a gated call is decided; of a resumed session, the recorded one.
        history: the messages up to the last turn boundary.
        slots: migrated slots that the store does not have yet, by extension.
        sm_state: where the state machine is to go on; None for its entry.
        dirty: whether the store lacks something of it.
        failed: why nothing more can be done with it.
    """

    telling_type: type[Telling] = Telling
    scope_type: type[Scope] = Scope

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.id = surroundings.session_id
        self.telling = self.telling_type(self.host)
        self.scope = self.scope_type("session", self.id, told=self.telling.cancelled)
        self.mode: Literal["ask", "yolo", "allowlist"] = surroundings.mode
        self.slots: dict[str, Slot] = {}
        self.sm_state: dict[str, Any] | None = None
        self.created_at = self.now()
        self.dirty = False
        self.state: Literal["idle", "active", "closed"] = "idle"
        self.failed: TypedError | None = None
        # Another life counts from 1 too, and ids are unique over all of them.
        self._tag = uuid.uuid4().hex[:8]
        self._counts: dict[str, int] = {}

    def new_id(self, prefix: str) -> str:
        """Return an id such as `turn-5f0c2a91-1`."""
        count = self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}-{self._tag}-{count}"

    def now(self) -> int:
        """Return the time as it is written into a manifest: milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    @contextmanager
    def stage(self, turn: StudTurn, name: str) -> Iterator[None]:
        """Bracket a stage: what was fired before it is always matched by what is fired after."""
        id_ = self.new_id("stage")
        self.host.event("StagePreFired", turn=turn.id, stage=name, id=id_)
        try:
            yield
        except BaseException:
            self.host.event("StagePostFired", turn=turn.id, stage=name, id=id_, error=True)
            raise
        self.host.event("StagePostFired", turn=turn.id, stage=name, id=id_, error=False)
