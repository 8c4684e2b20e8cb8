"""Sample runs: the situations the project is about, with plausible figures of real clients.

The OpenAI SDK waits 0.46 s and 0.96 s where 4 to 6 s and 8 to 12 s are legal; the reference waits
5 to 80 s; a Retry-After of seven seconds is kept exactly. Nothing here is judged: verdicts are
written down, as a renderer finds them.
"""

from __future__ import annotations

import random

from faultclock.model.report.finding import CallReport, Finding, RunReport, Verdict, WaitMark
from tests.render.sample_story import (
    LIMITED,
    MS,
    S,
    Story,
    broken,
    passed,
    run,
    silent,
    tell,
    waited,
    with_findings,
)

FIRST = (4 * S, 6 * S, "5s ±20 %")
SECOND = (8 * S, 12 * S, "10s ±20 %")


def sdk_schedule(seed: int = 0) -> RunReport:
    """The SDK's own schedule where the model's holds: too early twice, and three attempts."""
    draw = random.Random(seed)
    first_ns = 463_218_734 + draw.randrange(20 * MS) * (seed > 0)
    second_ns = 961_004_120 + draw.randrange(40 * MS) * (seed > 0)
    story = Story()
    told = tell(
        story,
        "ask/1",
        [LIMITED] * 3,
        [waited(first_ns, FIRST), waited(second_ns, SECOND)],
        "raised RateLimitError",
    )
    early = broken(
        "backoff.wait",
        "STUD-RL-02",
        "retry 1 starts 4s to 6s after the failure was known (5s ±20 %)",
        f"it started {first_ns / 1e6:.3f}ms after it, {(4 * S - first_ns) / 1e9:.6f}s too early",
        call="ask/1",
        hint="The SDK's own schedule is 0.5 s doubling to 8 s, less up to 25 % jitter. "
        "Set max_retries=0 and retry in the adapter.",
        events=(6, 7),
        judged=2,
    )
    second = early.model_copy(
        update={
            "expected": "retry 2 starts 8s to 12s after the failure was known (10s ±20 %)",
            "observed": f"it started {second_ns / 1e6:.3f}ms after it",
            "events": (11, 12),
        }
    )
    few = broken(
        "backoff.attempts",
        "STUD-RL-03",
        "6 attempts before RateLimited is terminal",
        "3 attempts, then RateLimitError",
        call="ask/1",
        hint="max_retries is 2 by default, which makes 3 attempts.",
        events=(2, 7, 12, 17),
    )
    return run(
        "rate-limits/no-header",
        "Six 429 answers without Retry-After",
        "Without a header the document's own schedule holds: 5, 10, 20, 40 and 80 s, each ±20 %, "
        "six attempts in all. Most clients bring a schedule of their own.",
        story,
        [told],
        with_findings(early, second, few),
        seed=seed,
    )


def retry_after() -> RunReport:
    """Retry-After: 7 kept exactly."""
    story = Story()
    told = tell(story, "ask/1", [LIMITED, "ok"], [waited(7 * S, (7 * S, 7 * S, "Retry-After: 7"))])
    return run(
        "rate-limits/retry-after-integer",
        "A 429 that says Retry-After: 7",
        "The plainest form of the header. It replaces the schedule, exactly.",
        story,
        [told],
        with_findings(passed("backoff.retry-after", "STUD-RL-01")),
    )


def late_date() -> RunReport:
    """An HTTP-date that is met 80 ms late: only a SHOULD here."""
    story = Story()
    wait = (30_080 * MS, 30 * S, 30 * S, False, "Retry-After: Thu, 01 Jan 2026 00:00:30 GMT")
    told = tell(story, "ask/1", [LIMITED, "ok"], [wait])
    late = broken(
        "backoff.retry-after",
        "STUD-RL-01",
        "retry 1 starts exactly 30s after the failure",
        "it started 30.08s after it",
        verdict=Verdict.WARN,
        level="SHOULD",
        call="ask/1",
        events=(6,),
    )
    return run(
        "rate-limits/retry-after-http-date",
        "A 429 whose Retry-After is an HTTP-date",
        "The second form that RFC 9110 allows. Many clients read only the first.",
        story,
        [told],
        with_findings(late),
    )


def reference_six(seed: int = 0) -> RunReport:
    """Six attempts, five legal waits: what the model asks for."""
    draw = random.Random(seed)
    waits = []
    for retry in range(5):
        nominal_ns = 5 * S * 2**retry
        low_ns, high_ns = nominal_ns * 80 // 100, nominal_ns * 120 // 100
        basis = f"{5 * 2**retry}s ±20 %"
        waits.append((draw.randrange(low_ns, high_ns), low_ns, high_ns, True, basis))
    story = Story()
    told = tell(story, "ask/1", [LIMITED] * 6, waits, "raised RateLimitedError")
    return run(
        "rate-limits/six-failures-then-terminal",
        "Six 429 answers, then it is over",
        "After the sixth failure RateLimited becomes terminal: the caller must hear of it.",
        story,
        [told],
        with_findings(passed("backoff.jitter", "STUD-RL-02", 5)),
        seed=seed,
        subject="reference",
    )


def reset_twice() -> RunReport:
    """Two calls; the connection is reset in the middle of the first answer."""
    story = Story()
    one = tell(
        story,
        "ask/1",
        ["connection reset", "ok"],
        [waited(1_104 * MS, (800 * MS, 1_200 * MS, "1s ±20 %"))],
    )
    story.now_ns += 200 * MS
    two = tell(
        story,
        "plan/1",
        ["503 overloaded", "ok"],
        [waited(870 * MS, (800 * MS, 1_200 * MS, "1s ±20 %"))],
    )
    return run(
        "provider-transient/reset-mid-response",
        "The connection is reset in the middle of the answer",
        "A broken connection is a NetworkTimeout for this model: three attempts, 1 and 2 s.",
        story,
        [one, two],
    )


def quota_retried() -> RunReport:
    """A retry where none is legal."""
    story = Story()
    told = tell(
        story,
        "ask/1",
        ["429 insufficient_quota"] * 2,
        [(480 * MS, None, None, False, "quota is terminal")],
        "raised RateLimitError",
    )
    finding = broken(
        "classification.disposition",
        "STUD-PROP-02",
        "no retry: insufficient_quota is terminal",
        "1 retry, 480ms after the failure",
        call="ask/1",
        events=(6, 7),
        hint="Tell quota from rate limits by error.code, never by the status alone.",
    )
    return run(
        "rate-limits/quota-is-not-a-rate-limit",
        "A 429 that is really an exhausted quota",
        "The status is the same and the meaning is not: no wait can help.",
        story,
        [told],
        with_findings(finding),
    )


def hung() -> RunReport:
    """A run that ends by deadlock: inconclusive."""
    story = Story()
    story.mark("harness", "call.started", "ask/1 started", call="ask/1")
    first = story.attempt("ask/1", 1, LIMITED, 120 * MS)
    call = CallReport(
        call="ask/1",
        task="ask",
        started_ns=0,
        ended_ns=None,
        outcome="never ended",
        attempts=(first,),
    )
    unmet = Finding(
        check="evidence.faults-met",
        verdict=Verdict.INCONCLUSIVE,
        reason="the fault second-limited was never met, so the retry it stands for was not judged",
    )
    story.mark("harness", "fault.unmet", "fault second-limited was never met")
    return run(
        "rate-limits/lost-wakeup",
        "The answer to the second attempt never wakes its waiter",
        "A client that waits for nobody must be told apart from one that waits long.",
        story,
        [(call, ())],
        with_findings(unmet),
        ending="deadlock",
        ending_detail=(
            "task ask/1 waits for Future in my_adapter.py:41 ask",
            "thread pool-1 waits for Queue.get in my_adapter.py:17 worker",
        ),
    )


def crowd(size: int = 50) -> RunReport:
    """Fifty clients that meet a 429 at once; most come back at the same moment."""
    draw = random.Random(7)
    story = Story()
    calls: list[CallReport] = []
    waits: list[WaitMark] = []
    findings: list[Finding] = []
    for number in range(1, size + 1):
        name = f"ask/{number}"
        story.now_ns = 0
        first_ns = draw.randrange(4 * S, 6 * S) if number % 5 else 500 * MS
        call, marks = tell(
            story,
            name,
            [LIMITED, LIMITED, "ok"],
            [waited(first_ns, FIRST), waited(draw.randrange(8 * S, 12 * S), SECOND)],
            took_ns=120 * MS,
        )
        calls.append(call)
        waits += marks
        if number % 5 == 0:
            findings.append(
                broken(
                    "backoff.wait",
                    "STUD-RL-02",
                    "retry 1 starts 4s to 6s after the failure was known (5s ±20 %)",
                    "it started 500ms after it, 3.5s too early",
                    call=name,
                    events=(number * 7,),
                )
            )
    cut = max(len(story.events) - 400, 0)
    return run(
        "rate-limits/fifty-clients",
        "Fifty clients are limited at the same moment",
        "Jitter exists so that a crowd does not come back as a crowd.",
        story,
        [],
        with_findings(*findings),
        calls=tuple(calls),
        waits=tuple(waits),
        timeline=tuple(story.events[:400]),
        timeline_cut=cut,
        virtual_ns=max(call.ended_ns or 0 for call in calls),
    )


def nothing_applicable() -> RunReport:
    """A run in which no check had anything to judge."""
    story = Story()
    told = tell(story, "ask/1", ["ok"], [])
    return run(
        "provider-transient/calm",
        "Nothing goes wrong",
        "The calm before every storm: a client that fails here fails everywhere.",
        story,
        [told],
        (
            silent("backoff.wait", "no attempt failed"),
            silent("wrapping.identity", "nothing raised"),
        ),
        verdict=Verdict.NOT_APPLICABLE,
    )
