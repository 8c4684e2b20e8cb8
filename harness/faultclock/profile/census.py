"""What a client did in one run, read off its trace: pure, and without any verdict of its own.

Attempts and their ends are those of `oracle.wire.attempts`, so a census and a report speak of
the same thing. Nothing here knows an error model: whether a wait was legal is not asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from faultclock.model.duration import MICROSECOND_NS, format_duration
from faultclock.model.report.census import (
    Answer,
    AttemptSeen,
    BrokenAnswer,
    CallConduct,
    ScenarioConduct,
    Step,
    WaitSeen,
)
from faultclock.model.report.finding import RunReport, Verdict
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.wire.attempts import Attempt, Call, observe
from faultclock.oracle.wire.requests import waited

#: Longest message kept, in characters: a census says what came out, a report shows all of it.
_MESSAGE_MAX = 200
#: Causes named at most.
_CAUSES_MAX = 6
_SILENT = frozenset({"deadline", "connect_timeout"})
#: A status of 400 and above is no answer that could break.
_ERRORS_FROM = 400

_LAST_WORDS: Mapping[Step, str] = {
    "returned_whole": "returned the whole answer",
    "returned_partial": "returned a part of the answer without an error",
    "returned_empty": "returned an empty answer without an error",
    "returned_other": "returned something other than the answer without an error",
    "never_ended": "never ended",
}
_RETURNED: Mapping[Answer, Step] = {
    "whole": "returned_whole",
    "partial": "returned_partial",
    "empty": "returned_empty",
    "other": "returned_other",
}


def behaviour(trace: Trace) -> ScenarioConduct:
    """Return what the subject of `trace` did, call by call."""
    exchanges = _Exchanges(trace)
    return ScenarioConduct(
        scenario=trace.header.scenario.id,
        seed=trace.header.seed,
        calls=tuple(_conduct(call, trace, exchanges) for call in observe(trace).calls),
        ending=trace.footer.ending,
        ending_detail=trace.footer.detail if trace.footer.ending != "completed" else (),
        leaks=tuple(
            dict.fromkeys(
                f"{event.payload.get('what')} at {event.payload.get('site')}"
                for event in trace.of_kind("leak")
            )
        ),
    )


def with_verdict(conduct: ScenarioConduct, run: RunReport) -> ScenarioConduct:
    """Return `conduct` with what an error model says of the same run."""
    verdicts = [finding.verdict for finding in run.findings]
    failed = {finding.check for finding in run.findings if finding.verdict is Verdict.FAIL}
    return conduct.model_copy(
        update={
            "verdict": run.verdict.value,
            "findings": {
                verdict.value: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts
            },
            "failed": tuple(sorted(failed)),
        }
    )


class _Exchanges:
    """What the network says of each connection, and the provider of each exchange."""

    def __init__(self, trace: Trace) -> None:
        self.ended_at_ns = trace.footer.ended_at_ns
        self._delivered: dict[str, list[int]] = {}
        self._status: dict[str, int] = {}
        for event in trace.of_kind("net.delivered", "http.response"):
            if event.kind == "http.response":
                self._status[str(event.payload.get("exchange"))] = int(event.payload["status"])
            else:
                connection = str(event.payload.get("connection"))
                self._delivered.setdefault(connection, []).append(event.at_ns)

    def began_well(self, attempt: Attempt) -> bool:
        """Return whether an answer with a good status had begun to arrive."""
        if attempt.asked is None or self._last_delivery(attempt) is None:
            return False
        status = self._status.get(str(attempt.asked.payload.get("exchange")))
        return status is not None and status < _ERRORS_FROM

    def silence_ns(self, attempt: Attempt, call: Call) -> int:
        """Return how long nothing had come when the attempt was given up."""
        until_ns = attempt.known_ns
        if until_ns is None:
            until_ns = self.ended_at_ns if call.end is None else call.end.at_ns
        last_ns = self._last_delivery(attempt)
        return until_ns - (attempt.start.at_ns if last_ns is None else last_ns)

    def _last_delivery(self, attempt: Attempt) -> int | None:
        if attempt.asked is None:
            return None
        times = self._delivered.get(str(attempt.asked.payload.get("connection")), [])
        until_ns = self.ended_at_ns if attempt.known_ns is None else attempt.known_ns
        # A kept connection has delivered the answers of earlier attempts, too.
        mine = [at_ns for at_ns in times if attempt.asked.at_ns <= at_ns <= until_ns]
        return mine[-1] if mine else None


def _conduct(call: Call, trace: Trace, exchanges: _Exchanges) -> CallConduct:
    stream = bool(call.start.payload.get("stream"))
    attempts = tuple(_seen(attempt, call, exchanges) for attempt in call.attempts)
    answer = _answer(call, trace.header.scenario.provider) if call.returned else None
    error, causes, message = _raised(call.end) if call.raised else (None, (), "")
    outcome = "returned" if call.returned else "raised" if call.raised else "never_ended"
    last: Step = "never_ended"
    if answer is not None:
        last = _RETURNED[answer]
    elif error is not None:
        last = "raised"
    return CallConduct.model_validate(
        {
            "call": call.id,
            "stream": stream,
            "attempts": attempts,
            "waits": _waits(call),
            "outcome": outcome,
            "answer": answer,
            "error": error,
            "causes": causes,
            "message": message,
            "broken": _broken(call.attempts, attempts, exchanges, last, error, stream=stream),
        }
    )


def _seen(attempt: Attempt, call: Call, exchanges: _Exchanges) -> AttemptSeen:
    signal = attempt.signal
    silent = signal is not None and signal.kind in _SILENT
    return AttemptSeen(
        ended=attempt.outcome if signal is None else str(signal),
        retry_after=None if signal is None else signal.headers.get("retry-after"),
        hung_ns=exchanges.silence_ns(attempt, call) if silent else None,
    )


def _waits(call: Call) -> tuple[WaitSeen, ...]:
    waits: list[WaitSeen] = []
    retried = {
        after.start.seq: before
        for request in call.requests
        for before, after in pairwise(request.attempts)
    }
    for number, after in enumerate(call.attempts):
        before = retried.get(after.start.seq)
        if before is None:
            continue
        waited_ns = waited(before, after)
        headers: Mapping[str, str] = {} if before.signal is None else before.signal.headers
        waits.append(
            WaitSeen(
                after=number,
                ns=waited_ns,
                text="unknown" if waited_ns is None else _rounded(waited_ns),
                asked=headers.get("retry-after"),
                asked_ms=headers.get("retry-after-ms"),
            )
        )
    return tuple(waits)


def _rounded(time_ns: int) -> str:
    """Return a time for people: what is below a microsecond is the noise of float seconds."""
    return format_duration(round(time_ns / MICROSECOND_NS) * MICROSECOND_NS)


def _answer(call: Call, script: ProviderScript) -> Answer:
    payload: Mapping[str, Any] = {} if call.end is None else call.end.payload
    text = payload.get("text") or ""
    tool_calls = payload.get("tool_calls") or []
    if tool_calls:
        same = _tools(tool_calls) == _tools([item.model_dump() for item in script.tool_calls])
        return "whole" if same else "partial" if script.tool_calls else "other"
    if not text:
        return "empty"
    digest = payload.get("text_sha256")
    if text == script.reply or any(digest == item.text_sha256 for item in call.attempts):
        return "whole"
    return "partial" if script.reply.startswith(text) else "other"


def _tools(items: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    return [(str(item.get("name")), _parsed(item.get("arguments"))) for item in items]


def _parsed(arguments: object) -> object:
    # SDKs that hand over an object write its JSON with other spaces.
    try:
        return json.loads(str(arguments))
    except ValueError:
        return arguments


def _raised(end: TraceEvent | None) -> tuple[str, tuple[str, ...], str]:
    chain: Sequence[Mapping[str, Any]] = [] if end is None else end.payload.get("chain") or []
    if not chain:
        return "an unknown exception", (), ""
    shown = [item for item in chain[1:] if item.get("link") != "suppressed"]
    lines = str(chain[0].get("message") or "").splitlines() or [""]
    message = lines[0] if len(lines[0]) <= _MESSAGE_MAX else lines[0][: _MESSAGE_MAX - 1] + "…"
    causes = dict.fromkeys(str(item.get("type")) for item in shown)
    return str(chain[0].get("type")), tuple(causes)[:_CAUSES_MAX], message


def _broken(
    attempts: Sequence[Attempt],
    seen: Sequence[AttemptSeen],
    exchanges: _Exchanges,
    last: Step,
    error: str | None,
    *,
    stream: bool,
) -> BrokenAnswer | None:
    found = [
        index
        for index, attempt in enumerate(attempts)
        if attempt.outcome != "ok" and exchanges.began_well(attempt)
    ]
    if not found:
        return None
    first = found[0]
    hung_ns = seen[first].hung_ns
    retries = len(attempts) - first - 1
    steps: list[Step] = []
    words: list[str] = []
    if hung_ns is not None:
        steps.append("hung")
        words.append(f"hung {_rounded(hung_ns)}")
    if retries:
        steps.append("retried")
        words.append("retried" if retries == 1 else f"retried {retries} times")
    steps.append(last)
    words.append(f"raised {error}" if last == "raised" else _LAST_WORDS[last])
    return BrokenAnswer(
        kind="stream" if stream else "body",
        how="neither side ended it" if attempts[first].outcome == "open" else seen[first].ended,
        steps=tuple(steps),
        text=", ".join(words),
    )
