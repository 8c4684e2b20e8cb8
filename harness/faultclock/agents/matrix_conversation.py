"""The Error Handling Matrix in a plain conversation over HTTP, and in its own words.

    a failed request over HTTP -> pair of class and code -> Notice (message, pill, actions)

A status decides, or the code (then the type) of an error object where no status does. The words of
a message decide nothing. For a rate limit or a quota the document has no row. The texts and labels
of the notices are the document's own and stay as they are. What stages and their programs need
beside all this is in `matrix`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultclock.agents.calls import Call, Outcome
from faultclock.agents.core import Agent
from faultclock.agents.turn import Ended, FailedAttempt, Next, Pair, Turn
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import (
    CancelScope,
    Node,
    ProviderTarget,
    RunResult,
    Surroundings,
    TypedError,
)
from faultclock.subjects.provider_words import Meaning, said
from faultclock.subjects.stud import AttemptError

NOT_FOUND = ("provider", "provider_not_found")
TIMEOUT = ("provider", "provider_timeout")
DENIED = ("provider", "provider_permission_denied")
AUTH = ("provider", "provider_auth_error")
NETWORK = ("provider", "provider_network_error")
RUNTIME = ("provider", "provider_runtime_error")
REVIEW_SCHEMA = ("stage", "review_schema_invalid")
TESTER_SCHEMA = ("stage", "tester_schema_invalid")
TEST_FAILED = ("stage", "test_failed")
CANCELED = ("run", "canceled")

_KEY_CODES = frozenset({"invalid_api_key", "invalid_token"})
#: For what has no row.
_NO_ROW = ("", "")
_ANSWERS: dict[Meaning, Pair] = {
    "limit": _NO_ROW,
    "server": NETWORK,
    "overloaded": NETWORK,
    "timeout": NETWORK,
    "key": AUTH,
}
RETRY_STAGE = "重试当前阶段"
SWITCH_PROVIDER = "切换 Provider 重试"
CONTINUE = "继续讨论"
GRANT = "授予权限"

_PILLS = {
    "provider_network_error": "network error",
    "provider_auth_error": "auth error",
    "review_schema_invalid": "schema invalid",
    "tester_schema_invalid": "schema invalid",
    "canceled": "canceled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A stage that failed for good.

    Attributes:
        pair: class and code; None where the document has no row.
        stage: id of the stage.
        argv: of its program or command; empty where it asked a model over HTTP.
        said: the last line that it wrote to its error output, or what the connection did.
        raw: everything that the provider said.
        retries: how often it was done again before it failed for good.
    """

    pair: Pair | None
    stage: str
    discussion: bool = False
    argv: tuple[str, ...] = ()
    said: str = ""
    raw: str = ""
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What the operator is shown, and what is noted as the next action."""

    message: str
    pill: str | None
    actions: tuple[str, ...]
    next_action: str


def notice_of(failure: Failure) -> Notice:
    """Return what the operator is shown of `failure`."""
    actions = _actions(failure)
    code = "" if failure.pair is None else failure.pair[1]
    return Notice(
        message=_message(code, failure),
        pill=_PILLS.get(code),
        actions=actions,
        next_action=" / ".join(actions) or "none",
    )


def _message(code: str, failure: Failure) -> str:
    program = failure.argv[0] if failure.argv else "the provider"
    texts = {
        "provider_network_error": "网络断流，可重试",
        "provider_timeout": f"timeout: {failure.stage} did not complete in time",
        "provider_auth_error": "鉴权失败，检查 token",
        "provider_not_found": f"{program} was not found: install it, or add its folder to PATH",
        "review_schema_invalid": "评审输出格式错误",
        "tester_schema_invalid": "测试输出格式错误",
        "test_failed": f"test command failed: {' '.join(failure.argv)}\n{failure.said}",
        "provider_permission_denied": f"{program} is denied a permission again and again",
        "canceled": "canceled by the operator",
    }
    return texts.get(code, f"{failure.stage} failed: {failure.said or 'runtime error'}")


def _actions(failure: Failure) -> tuple[str, ...]:
    if failure.pair is None:
        return (RETRY_STAGE,)
    class_name, code = failure.pair
    actions: list[str] = []
    if code == "provider_permission_denied":
        actions.append(GRANT)
    if class_name in ("provider", "stage"):
        actions.append(RETRY_STAGE)
    if class_name == "provider":
        actions.append(SWITCH_PROVIDER)
    if failure.discussion:
        actions.append(CONTINUE)
    return tuple(actions)


def wire_pair(seen: AttemptError) -> Pair | None:
    """Return class and code of a failed attempt, None where the document has no row for it."""
    if seen.kind in ("network", "cut"):
        return NETWORK
    if seen.kind == "deadline":
        return TIMEOUT
    if seen.kind == "malformed":
        return RUNTIME
    code = str(seen.provider_code)
    if code in _KEY_CODES:
        return AUTH
    if seen.kind == "http_error":
        found = _by_status(seen.status or 0)
    else:
        found = said(code, seen.provider_type, _ANSWERS, _by_status) or RUNTIME
    return None if found == _NO_ROW else found


def _by_status(status: int) -> Pair:
    if status in (401, 403):
        return AUTH
    if status in (408, 429):
        return _NO_ROW
    return NETWORK if 500 <= status <= 599 else RUNTIME


class MatrixConversation(Agent):
    """A conversation by the matrix, for one life of the process.

    Attributes:
        attempts_max: code to attempts in all; what is not there is not done again.
        first_wait_s, longest_wait_s: of a doubling schedule.
        jitter: half width around a wait, as a fraction of it.
        denials_max: denials of permission in a row after which to stop, if nothing else is said.
    """

    attempts_max: Mapping[str, int] = {"provider_network_error": 3, "provider_timeout": 3}
    first_wait_s = 1.0
    longest_wait_s = 4.0
    jitter = 0.2
    denials_max = 3

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.log: list[dict[str, Any]] = []
        self.state = "intake"
        self.round = 1
        self.node: Node | None = None
        self.failures: Counter[str] = Counter()
        self.is_canceled = False
        self.is_over = False

    # ------------------------------------------------------------------ turns and their ends

    async def run_turn(self, text: str) -> RunResult:
        """Carry out one task.

        Raises:
            TypedError: run/canceled: the operator has cancelled it.
        """
        if self.is_over:
            raise TypedError(*CANCELED, "the session was canceled")
        self.is_canceled = False
        try:
            result = await super().run_turn(text)
        except asyncio.CancelledError:
            if not self.is_canceled:
                raise
            raise TypedError(*CANCELED, "the operator has canceled the task") from None
        if result.state == "cancelled":
            raise TypedError(*CANCELED, "the operator has canceled the task")
        return result

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        self.is_over = self.is_over or scope == "session"
        if not self.is_canceled:
            self.is_canceled = True
            super().cancel(scope, target)

    def turn_started(self, turn: Turn) -> None:
        self.log = []
        self.state, self.round, self.node = "intake", 1, None

    def cancelled(self, turn: Turn) -> Ended:
        self.host.audit_event("Cancellation", scope="run", code=CANCELED[1], turn=turn.number)
        return Ended("cancelled", CANCELED, "canceled")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        context = {"target": "run", "message": type(error).__name__, "turn": turn.number}
        self.put_on_record(None, context)
        return Ended("failed", None, "internal error")

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a task at a limit, of which the document says nothing."""
        self.put_on_record(None, {"target": "run", "limit": limit})
        return Ended("failed", None, f"the limit {limit} is used up")

    def no_provider_left(self, turn: Turn) -> Ended:
        return Ended("failed", NETWORK, "no provider is left")

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if end.state == "cancelled":
            self.show(notice_of(Failure(pair=CANCELED, stage="run")))
        elif end.state == "failed":
            if self.world.workflow is None:
                said = "" if end.pair else str(end)
                self.show(notice_of(Failure(pair=end.pair, stage="turn", said=said)))
            self.host.show_user("The task could not be finished. The operator has been told why.")
        if self.world.workflow is not None:
            self.transition("finalize", end.pair[1] if end.pair else end.state)

    # ------------------------------------------------------------------ events

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event, and keep it for the stage's own log."""
        fields["ts"] = _now()
        self.log.append({"event": name, **fields})
        self.host.event(name, **fields)

    def transition(self, to: str, reason: str) -> None:
        """Go to another state of the task."""
        if self.state == to:
            return
        fields = {"from": self.state, "to": to, "reason": reason, "round": self.round}
        self.emit("fsm.transition", **fields)
        self.state = to

    def show(self, notice: Notice) -> None:
        """Show the operator a notice."""
        self.host.show_operator(notice.message, actions=notice.actions, pill=notice.pill)

    # ------------------------------------------------------------------ retries

    def scheduled_s(self, code: str) -> float | None:
        """Return the wait after the latest failure with `code`, None if it was the last one."""
        count = self.failures[code]
        if count >= self.attempts_max.get(code, 1):
            return None
        nominal_s = wait_s("exponential", self.first_wait_s, count, cap_s=self.longest_wait_s)
        return nominal_s * random.uniform(1 - self.jitter, 1 + self.jitter)

    # ------------------------------------------------------------------ requests to a provider

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        """Begin to count anew with each request."""
        if attempt == 1:
            self.failures.clear()

    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        """Return the first provider: another one is the operator's choice."""
        return self.targets[:1]

    def classify(self, failed: AttemptError) -> Pair | None:
        return wire_pair(failed)

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Ask again where the failure passes by itself."""
        code = "" if attempt.pair is None else attempt.pair[1]
        self.failures[code] += 1
        delay_s = self.scheduled_s(code)
        return Next(act="end") if delay_s is None else Next(act="again", wait_s=delay_s)

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """Put the failure on record, and note the retry that follows it."""
        stage = "turn" if self.node is None else self.node.id
        context = {"target": stage, "signal": attempt.error.kind}
        self.put_on_record(attempt.pair, context, attempt.number)
        if step.act == "again":
            code = None if attempt.pair is None else attempt.pair[1]
            fields = {"code": code, "attempt": attempt.number, "wait_s": step.wait_s}
            self.emit("task.retry", stage=stage, **fields)

    # ------------------------------------------------------------------ tools of a conversation

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        """Return class and code of a refused call: only a loop of denials has a row."""
        return DENIED if outcome.kind.startswith(("denied", "approval")) else None

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """Tell the model, unless it is denied again and again."""
        limit = self.world.denials_max or self.denials_max
        return Next(act="end" if turn.denials >= limit else "tell")

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        pair = DENIED if step.act == "end" else None
        self.put_on_record(
            pair, {"target": call.id, "tool": call.name, "message": outcome.message}, 1
        )

    def call_ended(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        if step is not None:
            self.put_on_record(
                None, {"target": call.id, "tool": call.name, "kind": outcome.kind}, 1
            )

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.ok:
            return {"value": outcome.value}
        if outcome.kind == "partial":
            items = [{"item": item.item, "code": item.code} for item in outcome.errors]
            return {"value": outcome.value, "errors": items}
        return {"error": outcome.kind, "message": f"{call.name} did not succeed."}


def _now() -> float:
    return round(time.monotonic(), 6)
