"""What a run of the Relavium model says: its errors, its events, its log, the word to the person.

    AttemptError   what one attempt at a provider could see
      -> kind_of()      the kind (`llm/...`), by status and the provider's own type, never by words
      -> CODE_OF_KIND   the code that a run ends with (`run/...`)

An error reaches three audiences, and each has its own form of it: the log has it whole, the stream
of events has its code and a text for people, and the person has that text once. What a failure is,
and what is done about it, is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from faultclock.agents.calls import Call, Decision, Outcome
from faultclock.agents.core import Agent
from faultclock.agents.turn import Ended, FailedAttempt, Next, Turn
from faultclock.subjects.ports import Host, Node, Reply, Surroundings
from faultclock.subjects.provider_words import by_word
from faultclock.subjects.stud import AttemptError

RETRYABLE_KINDS = frozenset({"rate_limit", "overloaded", "timeout", "transport"})
CODE_OF_KIND = {
    "rate_limit": "provider_rate_limit",
    "overloaded": "provider_unavailable",
    "timeout": "provider_unavailable",
    "transport": "provider_unavailable",
    "auth": "provider_auth",
    "bad_request": "validation",
    "content_filter": "content_filter",
    "cancelled": "cancelled",
    "unknown": "internal",
}
#: Codes that a node may be done again for.
_RETRYABLE_CODES = frozenset({"provider_rate_limit", "provider_unavailable", "tool_failed"})

_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
#: What the type of an error object says goes before the status.
_BY_TYPE = by_word(
    {
        "rate_limit": "rate_limit_error",
        "overloaded": "overloaded_error api_error",
        "timeout": "timeout_error",
        "auth": "authentication_error permission_error",
        "bad_request": "not_found_error",
    }
)
_BY_STATUS = {
    **dict.fromkeys((401, 402, 403), "auth"),
    **dict.fromkeys((400, 404, 409, 413, 422), "bad_request"),
    408: "timeout",
    429: "rate_limit",
}
#: By the letter of the document, whatever type stands beside.
_AUTH_STATUSES = frozenset({401, 403})
#: What an error object says in a 200 or inside a stream: the document lists its words itself.
_IN_BAND_CODE = by_word(
    {
        "rate_limit": "rate_limit_exceeded rate_limit_error insufficient_quota"
        " billing_hard_limit_reached 1300",
        "overloaded": "server_error service_unavailable server_is_overloaded slow_down",
        "auth": "invalid_api_key",
        "bad_request": "context_length_exceeded invalid_value missing_required_parameter"
        " model_not_found unsupported_parameter",
    }
)
_IN_BAND_STATUS = {429, 500, 502, 503, 504, 529, 401, 402, 403, 400, 404, 422}
_IN_BAND_TYPE = by_word(
    {
        "rate_limit": "requests tokens rate_limit_exceeded insufficient_quota rate_limited"
        " ThrottlingException",
        "overloaded": "server_error service_unavailable InternalServerException"
        " ServiceUnavailableException",
        "bad_request": "invalid_request_error",
    }
)
_BY_CONNECTION = {"deadline": "timeout", "network": "transport", "cut": "transport"}


def kind_of(seen: AttemptError) -> str:
    """Return the LlmErrorKind of a failed attempt; nothing is unclassified."""
    if seen.kind in _BY_CONNECTION:
        return _BY_CONNECTION[seen.kind]
    if seen.kind == "malformed":
        return "unknown"
    code, type_ = str(seen.provider_code), seen.provider_type or ""
    if code in _CONTENT_CODES:
        return "content_filter"
    if seen.status in _AUTH_STATUSES:
        return "auth"
    if type_ in _BY_TYPE:
        return _BY_TYPE[type_]
    if seen.kind == "http_error":
        return _of_status(seen.status or 0)
    if code in _IN_BAND_CODE:
        return _IN_BAND_CODE[code]
    if code.isdecimal() and int(code) in _IN_BAND_STATUS:
        return _of_status(int(code))
    return _IN_BAND_TYPE.get(type_, "unknown")


def _of_status(status: int) -> str:
    return "overloaded" if 500 <= status <= 599 else _BY_STATUS.get(status, "unknown")


class RunError(Ended):
    """Ends a node, and the run with it unless the node is done again.

    Attributes:
        code: one of the ErrorCodes.
        target: id of what failed; empty where that is the run itself.
        field: the offending field of a validation error.
        cause: what it stands for, as plain data for the log.
        retryable: what the error says of itself; it need not be what its code says by default.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        target: str = "",
        retryable: bool | None = None,
        field: str | None = None,
        cause: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__("failed", ("run", code), message)
        self.code = code
        self.target = target
        self.field = field
        self.cause = dict(cause or {})
        self.retryable = code in _RETRYABLE_CODES if retryable is None else retryable


_TOLD = {
    "validation": "{run} failed validation at node {target}: {field} is not what it should be."
    " Correct it and start the run again.",
    "content_filter": "The provider blocked the content of this request. Change the text and try"
    " again.",
    "provider_auth": "The provider did not accept the API key — check it in Settings.",
    "provider_rate_limit": "The provider is limiting requests. Wait a moment and start the run"
    " again.",
    "provider_unavailable": "The provider could not be reached. Start the run again later.",
    "tool_denied": "The step {target} was not allowed. Allow it in Settings, or change it.",
    "tool_failed": "The step {target} did not work. Look at the tool and start the run again.",
    "tool_unavailable": "The step {target} is not possible here. Install what it needs.",
    "budget_exceeded": "The run has used up its budget. Raise the limit to go on.",
    "run_timeout": "The run has used up its time. Raise the limit to go on.",
    "turn_limit": "The run has used up its turns. Raise the limit to go on.",
    "sandbox_error": "An expression could not be evaluated. Check the expression of {target}.",
    "internal": "Something went wrong inside the program. Please report it with its id.",
}


def told(error: RunError, *, run: str = "The workflow") -> str:
    """Return what a person may read of `error`: its code in words, an id, and the next step."""
    return _TOLD[error.code].format(
        run=run, target=error.target or "a node", field=error.field or "the input"
    )


class Run:
    """One run: its id, its numbered events, and what it has come to so far.

    Attributes:
        seq: the number that the next event gets; numbers begin with 0 and have no gap.
        outputs: what each node that is done has come to, by its id.
        node: the node that is being done; `attempt`, its attempt (1-based).
        failed_node: id of the node that the run fails with.
        tool: name of the tool that failed; `cause`, what the error stands for.
    """

    def __init__(self, host: Host, id_: str, seq: int) -> None:
        self.host = host
        self.id = id_
        self.seq = seq
        self.outputs: dict[str, str] = {}
        self.node: Node | None = None
        self.attempt = 0
        self.failed_node: str | None = None
        self.tool = ""
        self.cause: dict[str, Any] = {}

    @property
    def node_id(self) -> str:
        """Id of the node that is being done; empty before the first."""
        return "" if self.node is None else self.node.id

    @property
    def correlation_id(self) -> str:
        """What joins the message for the person to the log; it says nothing by itself."""
        return f"corr-{self.id}"

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event of this run, with its envelope."""
        number, self.seq = self.seq, self.seq + 1
        stamp = round(time.time() * 1000)
        self.host.event(name, runId=self.id, sequenceNumber=number, timestamp=stamp, **fields)


class RelaviumTelling(Agent):
    """The moments of a run, as the stream and the log have them.

    Attributes:
        run: the run of the turn that is going on.
        parked: provider id to the virtual time until which it is not asked, in seconds.
    """

    run_type: type[Run] = Run

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.run = self.run_type(self.host, "", 0)
        self.parked: dict[str, float] = {}

    def new_run(self, number: int) -> Run:
        """Return a run with an id of its own."""
        return self.run_type(self.host, f"run-{number}-{int(time.monotonic() * 1000)}", 0)

    async def kept(self, event: str, **fields: Any) -> None:
        """Note in the journal where the run is, before anybody is told."""
        entry = {"event": event, "runId": self.run.id, "seq": self.run.seq, **fields}
        await self.world.store.append(self.world.session_id, entry)

    # ------------------------------------------------------------------ attempts

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """Record a failed attempt with what it used, before anything else happens."""
        kind = None if attempt.pair is None else attempt.pair[1]
        context = {
            **attempt.error.context(),
            **self.where(),
            "providerId": attempt.target.id or "first",
            "target": attempt.target.id or "first",
            "usage": {"inputTokens": 0, "outputTokens": 0},
        }
        self.put_on_record(attempt.pair, context, attempt.number)
        self.run.emit("cost:updated", tokens=turn.tokens)
        self.run.cause = {"type": "LlmError", "kind": kind, "message": str(attempt.error)}

    def answered(self, turn: Turn, reply: Reply) -> None:
        """Count the cost; an answer that the provider blocked is none.

        Raises:
            RunError: content_filter.
        """
        self.run.emit("cost:updated", tokens=turn.tokens)
        if reply.finish_reason == "content_filter":
            cause = {"type": "LlmError", "kind": "content_filter", "message": "blocked"}
            context = {
                **self.where(),
                "providerId": "first",
                "target": self.run.node_id,
                "usage": {"totalTokens": reply.tokens},
            }
            self.put_on_record(("llm", "content_filter"), context, 1)
            raise RunError("content_filter", "blocked", target=self.run.node_id, cause=cause)

    # ------------------------------------------------------------------ tools

    def call_proposed(self, turn: Turn, call: Call) -> None:
        self.run.emit("agent:tool_call", toolCallId=call.id, tool=call.name)

    def approval_asked(self, call: Call) -> None:
        self.run.emit("agent:approval_requested", toolCallId=call.id, tool=call.name)

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """A dialog that the person closes cancels the run."""
        if decision == "dismissed":
            raise asyncio.CancelledError(f"{call.name}: the dialog was closed")

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        self.tool_told(call, outcome, step, attempt=1)

    def call_ended(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        """A tool was executed: its result is told, or its failure recorded."""
        self.tool_told(call, outcome, step, attempt=attempt)

    def tool_told(self, call: Call, outcome: Outcome, step: Next | None, *, attempt: int) -> None:
        """Tell the result, or record the failure with the call that it belongs to."""
        if step is None or step.act == "tell":
            self.run.emit("agent:tool_result", toolCallId=call.id, tool=call.name, ok=outcome.ok)
            return
        pair = self.classify_tool(call, outcome)
        if pair is None:
            return
        self.run.tool, self.run.cause = (
            call.name,
            {"type": outcome.kind, "message": outcome.message},
        )
        context = {
            **self.where(),
            "target": call.id,
            "tool": call.name,
            "cause": self.run.cause,
            "correlationId": self.run.correlation_id,
        }
        self.put_on_record(pair, context, attempt)

    # ------------------------------------------------------------------ errors

    def fail_run(self, error: RunError) -> None:
        """Log an error whole, end the run with it, and tell the person."""
        self.log(error, final=True)
        self.run.emit(
            "run:failed",
            nodeId=self.run.failed_node,
            error=self.shown(error),
            partialOutputs=dict(self.run.outputs),
            correlationId=self.run.correlation_id,
        )
        self.tell_user(error)

    def tell_user(self, error: RunError) -> None:
        """Map an internal error to one for the person, here and nowhere else."""
        self.host.show_user(told(error))

    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        """Emit that a node failed, and that those which need it are skipped."""
        self.run.failed_node = node.id
        self.node_event(
            "node:failed", node, error=self.shown(error), correlationId=self.run.correlation_id
        )
        lost = {node.id}
        for other in nodes:
            if lost.intersection(other.needs):
                lost.add(other.id)
                self.node_event("node:skipped", other, reason="upstream_unreachable")

    def error_of(self, end: Ended, node: Node | None) -> RunError:
        """Return the end of a node as a RunError, with what it stands for."""
        if isinstance(end, RunError):
            return end
        code = "internal" if end.pair is None else end.pair[1]
        target = self.run.tool or ("" if node is None else node.id)
        field = "request" if code == "validation" else None
        return RunError(code, str(end), target=target, field=field, cause=self.run.cause)

    def shown(self, error: RunError) -> dict[str, Any]:
        """Return an error as the stream of events has it: a code and a text for people."""
        fields = {"code": error.code, "message": told(error), "retryable": error.retryable}
        return fields if error.field is None else {**fields, "field": error.field}

    def log(self, error: RunError, *, final: bool = False) -> None:
        """Put an error into the structured log, with its cause and the correlation id."""
        context = {
            **self.where(),
            "target": error.target,
            "message": str(error),
            "cause": error.cause or {"type": "none"},
            "correlationId": self.run.correlation_id,
            "final": final,
        }
        self.put_on_record(("run", error.code), context, max(1, self.run.attempt))

    def where(self) -> dict[str, Any]:
        """Return the fields that each record of the log has."""
        return {"runId": self.run.id, "nodeId": self.run.node_id}

    def node_event(self, name: str, node: Node, **fields: Any) -> None:
        """Emit an event of a node."""
        self.run.emit(name, nodeId=node.id, nodeKey=f"{self.run.id}/{node.id}", **fields)
