"""How sample runs are told: a clock, events, attempts and waits, then findings about them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from faultclock.model.report.finding import (
    AttemptMark,
    CallReport,
    EventMark,
    Finding,
    RunReport,
    Verdict,
    WaitMark,
    overall,
)

MS = 1_000_000
S = 1_000 * MS
LIMITED = "429 rate_limit_exceeded"
TRANSIENT = "ProviderTransient/RateLimited"
WORDS = {
    "STUD-RL-01": (
        "Error Model › Rate-limit default › Retry-After",
        "If the provider returns Retry-After, sleep exactly that, then retry.",
    ),
    "STUD-RL-02": (
        "Error Model › Rate-limit default › schedule",
        "Exponential backoff with jitter: 5s → 10s → 20s → 40s → 80s → 160s, ±20% jitter.",
    ),
    "STUD-RL-03": (
        "Error Model › Rate-limit default › attempts",
        "6 attempts total; after the sixth failure RateLimited becomes terminal.",
    ),
    "STUD-PROP-02": (
        "Error Model › Propagation rules › second rule",
        "A wrapped error keeps the class and the code of its cause.",
    ),
    "STUD-AUDIT-01": (
        "Error Model › Propagation rules › audit",
        "Every retry is audited with its attempt count.",
    ),
}


class Story:
    """A clock and a list of events, from which one run is told."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.events: list[EventMark] = []
        self.exchanges = 0

    def mark(self, lane: str, kind: str, text: str, **payload: Any) -> int:
        """Stamp an event and return its seq."""
        seq = len(self.events) + 1
        self.events.append(
            EventMark(seq=seq, at_ns=self.now_ns, lane=lane, kind=kind, text=text, payload=payload)
        )
        return seq

    def attempt(self, call: str, number: int, ended: str, took_ns: int) -> AttemptMark:
        """Tell one exchange that ends as `ended` and return its mark."""
        started_ns = self.now_ns
        self.exchanges += 1
        name = f"x{self.exchanges}"
        first = self.mark("network", "net.sent", f"c1 sends 412 bytes for {name}", call=call)
        if ended == "connection reset":
            self.now_ns += took_ns
            last = self.mark("network", "net.reset", "c1 reset by the provider", call=call)
        else:
            self.now_ns += 10 * MS
            self.mark("provider", "http.request", f"{name}: POST /v1/chat/completions", call=call)
            if ended != "ok":
                self.mark("provider", "fault.fired", "fault limited (http error)", call=call)
            self.now_ns += took_ns - 20 * MS
            status = 200 if ended == "ok" else int(ended.split()[0])
            last = self.mark("provider", "http.response", f"answers {ended}", status=status)
            self.now_ns += 10 * MS
            self.mark("network", "net.delivered", "c1 receives 612 bytes", call=call)
        classification = None if ended == "ok" else TRANSIENT
        return AttemptMark(
            call=call,
            number=number,
            started_ns=started_ns,
            known_ns=self.now_ns,
            ended=ended,
            classification=classification,
            events=(first, last),
        )


def tell(
    story: Story,
    call: str,
    ends: Sequence[str],
    waits: Sequence[tuple[int, int | None, int | None, bool, str]],
    outcome: str = "returned",
    took_ns: int = 120 * MS,
) -> tuple[CallReport, tuple[WaitMark, ...]]:
    """Tell one call whose attempts end as `ends`, with (observed, low, high, legal, basis)."""
    started_ns = story.now_ns
    story.mark("harness", "call.started", f"{call} started", call=call)
    attempts: list[AttemptMark] = []
    marks: list[WaitMark] = []
    for index, ended in enumerate(ends):
        attempts.append(story.attempt(call, index + 1, ended, took_ns))
        if index < len(waits):
            observed_ns, low_ns, high_ns, legal, basis = waits[index]
            marks.append(
                WaitMark(
                    call=call,
                    retry_number=index + 1,
                    from_ns=story.now_ns,
                    observed_ns=observed_ns,
                    low_ns=low_ns,
                    high_ns=high_ns,
                    legal=legal,
                    basis=basis,
                    events=(len(story.events), len(story.events) + 1),
                )
            )
            story.now_ns += observed_ns
    kind = "call.returned" if outcome == "returned" else "call.raised"
    story.mark("harness", kind, f"{call} {outcome}", call=call)
    report = CallReport(
        call=call,
        task=call.split("/")[0],
        started_ns=started_ns,
        ended_ns=story.now_ns,
        outcome=outcome,
        attempts=tuple(attempts),
    )
    return report, tuple(marks)


def passed(check: str, requirement: str | None = None, judged: int = 1) -> Finding:
    """Return a PASS."""
    return Finding(
        check=check,
        verdict=Verdict.PASS,
        requirement=requirement,
        level="MUST" if requirement else None,
        judged=judged,
    )


def silent(check: str, reason: str) -> Finding:
    """Return a NOT_APPLICABLE."""
    return Finding(check=check, verdict=Verdict.NOT_APPLICABLE, reason=reason)


def broken(check: str, requirement: str, expected: str, observed: str, **more: Any) -> Finding:
    """Return a FAIL with the words of its requirement."""
    place, sentence = WORDS[requirement]
    values: dict[str, Any] = {
        "check": check,
        "verdict": Verdict.FAIL,
        "requirement": requirement,
        "level": "MUST",
        "place": place,
        "sentence": sentence,
        "expected": expected,
        "observed": observed,
        "judged": 1,
    }
    return Finding(**{**values, **more})


BASE = (
    passed("classification.disposition", "STUD-CLASS-02"),
    silent("classification.declared", "the binding declares no errors"),
    passed("backoff.wait", "STUD-RL-02", 2),
    passed("backoff.attempts", "STUD-RL-03"),
    passed("ordering.terminal-last"),
    silent("ordering.retry-audited", "the binding declares no audit records"),
    silent("wrapping.identity", "the binding declares no errors"),
    passed("swallow.silent"),
    silent("audience.user", "the binding declares no user messages"),
    passed("evidence.whole"),
    passed("evidence.faults-met"),
)


def with_findings(*changed: Finding) -> tuple[Finding, ...]:
    """Return the usual findings with those of the same check replaced by `changed`."""
    names = {finding.check for finding in changed}
    return (*changed, *(finding for finding in BASE if finding.check not in names))


def run(
    scenario: str,
    title: str,
    why: str,
    story: Story,
    told: Sequence[tuple[CallReport, tuple[WaitMark, ...]]],
    findings: tuple[Finding, ...] = BASE,
    **more: Any,
) -> RunReport:
    """Return the report of one run."""
    seed = more.pop("seed", 0)
    subject = more.pop("subject", "openai-async")
    values: dict[str, Any] = {
        "scenario": scenario,
        "title": title,
        "why": why,
        "seed": seed,
        "verdict": overall(tuple(finding.verdict for finding in findings)),
        "ending": "completed",
        "virtual_ns": story.now_ns,
        "trace_digest": hashlib.sha256(f"{scenario} {seed}".encode()).hexdigest(),
        "trace_file": f"traces/{scenario.replace('/', '--')}.seed-{seed}.jsonl",
        "replay": f"faultclock run {scenario} --subject {subject} --model stud-cli "
        f"--seed {seed} --seeds 1",
        "findings": findings,
        "calls": tuple(call for call, _ in told),
        "waits": tuple(wait for _, waits in told for wait in waits),
        "timeline": tuple(story.events),
    }
    return RunReport(**{**values, **more})


def waited(observed_ns: int, interval: tuple[int, int, str]) -> tuple[int, int, int, bool, str]:
    """Return a wait; it is legal when it lies in its interval, as in the sample's own story."""
    low_ns, high_ns, basis = interval
    return observed_ns, low_ns, high_ns, low_ns <= observed_ns <= high_ns, basis
