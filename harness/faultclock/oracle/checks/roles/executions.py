"""The calls of a tool under test: what it was given, what it asked its service, how it ended.

A tool may ask its service several things in one call. The request line and the body show what it
asks again after a failure: equal ones are attempts of one Ask. An attempt that never became a
request belongs to the only ask of its call; where there are several, it is unknown to which.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.role_rules import ToolRules
from faultclock.model.retry_policy import Backoff, Jitter, RetryPolicy
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import check
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.wire.attempts import Attempt, Call
from faultclock.oracle.wire.signals import Classification, classify

#: Makes a check of a function that judges the calls of a tool under test.
tool_check = partial(check, role="tool", section="tools")


class Ask(Struct, frozen=True, kw_only=True):
    """One thing that a tool asked its service, with all attempts at it."""

    attempts: tuple[Attempt, ...]

    @property
    def last(self) -> Attempt:
        """The last attempt."""
        return self.attempts[-1]

    def pair(self, model: ErrorModel) -> str | None:
        """Return the class and code that its last failure has for a tool; None for none."""
        seen = classify_for_tool(model, self.last)
        return None if seen is None or seen.pair is None else str(seen)


class ToolRun(Struct, frozen=True, kw_only=True):
    """One call of a tool under test.

    Attributes:
        reply: what it replied; None where an exception left it, or it has not ended.
        chain: of the exception that left it, outermost first.
        pair: class and code of its failure, replied or raised; None where it has none.
        stopped: whether a cancel ended it, with no error of its own.
        cancel: the first cancel that it got.
        asks: None where its attempts cannot be separated.
        deadline_ns: when it had to be over.
    """

    call: Call
    reply: TraceEvent | None
    chain: tuple[Mapping[str, Any], ...]
    pair: tuple[str, str] | None
    stopped: bool
    cancel: TraceEvent | None
    asks: tuple[Ask, ...] | None
    deadline_ns: int

    @property
    def ok(self) -> bool:
        """Whether it replied a value, whole or partial."""
        return self.reply is not None and bool(self.reply.ok)

    @property
    def ended(self) -> bool:
        """Whether it has an end."""
        return self.call.end is not None

    @property
    def failed(self) -> bool:
        """Whether it ended without a value."""
        return self.ended and not self.ok

    @property
    def misfit(self) -> str | None:
        """Why its arguments do not fit the input schema; None: they do."""
        return self.call.start.input_problem

    @property
    def errors(self) -> tuple[Mapping[str, Any], ...]:
        """The entries of its reply's errors."""
        return () if self.reply is None else tuple(self.reply.errors or ())

    @property
    def failed_asks(self) -> list[Ask]:
        """What its service did not answer well, with the last attempt."""
        return [ask for ask in self.asks or () if ask.last.failed]

    @property
    def seen(self) -> tuple[int, ...]:
        """`seq` of its beginning and of its end."""
        return seqs(self.call.start, self.reply, self.call.end)


def contract_of(history: History) -> Mapping[str, Any]:
    """Return the contract that the subject declares; empty where it declares none."""
    declared = next(iter(history.of("contract.declared")), None)
    return {} if declared is None else declared.contract


def cancels_of_calls(history: History) -> dict[str, TraceEvent]:
    """Return the first cancel of each call of a tool or an extension that was cancelled."""
    requested = reversed(history.of("cancel.requested"))
    return {call: event for event in requested for call in event.calls}


def retry_rule(history: History) -> tuple[RetryPolicy, tuple[str, ...]] | None:
    """Return the retry policy in the tool's contract and its retryable codes; None: it has none."""
    retry = contract_of(history).get("retry")
    if not retry:
        return None
    percent = int(retry["jitter_percent"])
    policy = RetryPolicy.model_construct(
        id="contract",
        applies_to=("*",),
        attempts_max=int(retry["attempts_max"]),
        backoff=Backoff.model_construct(
            kind=retry["backoff"],
            base=int(retry["base_ns"]),
            factor=int(retry["factor"]),
            cap=retry.get("cap_ns"),
        ),
        jitter=Jitter(kind="proportional" if percent else "none", percent=percent),
    )
    return policy, tuple(retry["retryable"])


def classify_for_tool(model: ErrorModel, attempt: Attempt) -> Classification | None:
    """Return what the failure of an attempt is for a tool; None where it has not failed."""
    signal = attempt.signal
    return None if signal is None else classify(model, signal, model.tool_signals)


@once
def tool_runs(history: History) -> tuple[ToolRun, ...]:
    """Return the calls of a tool under test; none for any other role."""
    if history.trace.header.subject.role != "tool":
        return ()
    replies = {event.call: event for event in history.of("tool.replied")}
    stopped = {event.call for event in history.of("tool.stopped")}
    cancels = cancels_of_calls(history)
    found = []
    for call in history.calls:
        reply = replies.get(call.id)
        chain = () if call.end is None else tuple(call.end.chain)
        found.append(
            ToolRun(
                call=call,
                reply=reply,
                chain=chain,
                pair=_pair(reply.payload if reply is not None else chain[0] if chain else {}),
                stopped=call.id in stopped,
                cancel=cancels.get(call.id),
                asks=_asks(call.attempts),
                deadline_ns=call.start.at_ns + (call.start.timeout_ns or 0),
            )
        )
    return tuple(found)


def rules_of(model: ErrorModel) -> ToolRules:
    """Return what the model asks of tools; its checks apply only where there is such a section."""
    assert model.tools is not None
    return model.tools


def said(run: ToolRun) -> str:
    """Return in words how a call ended."""
    if not run.ended:
        return "it never ended"
    if run.ok:
        count = len(run.errors)
        return f"it replied a value with {count} errors" if count else "it replied a value"
    if run.pair is not None:
        return f"it failed with {'/'.join(run.pair)}"
    if run.chain:
        return f"it raised {run.chain[0].get('type')}"
    return "it failed without class and code"


def _pair(failure: Mapping[str, Any]) -> tuple[str, str] | None:
    class_name, code = failure.get("class"), failure.get("code")
    return None if class_name is None or code is None else (str(class_name), str(code))


def _asks(attempts: tuple[Attempt, ...]) -> tuple[Ask, ...] | None:
    groups: dict[object, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.asked is not None:
            asked = attempt.asked
            key = (asked.method, asked.target, asked.body_sha256)
            groups.setdefault(key, []).append(attempt)
    if len(groups) > 1:
        loose = any(attempt.asked is None for attempt in attempts)
        return None if loose else tuple(Ask(attempts=tuple(group)) for group in groups.values())
    return (Ask(attempts=attempts),) if attempts else ()
