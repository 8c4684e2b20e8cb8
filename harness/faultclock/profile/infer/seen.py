"""What one run of the battery shows, as far as inference needs it: pure over its trace.

Attempts and waits are those of `oracle.wire.attempts`. The random numbers that the run had to
give are known as well, since the seed is: what the client made of them is for `laws`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import pairwise, starmap
from typing import Literal

from msgspec import Struct

from faultclock.model.report.inferred import Evidence
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.wire.attempts import Attempt, Call, Request, observe
from faultclock.oracle.wire.requests import waited
from faultclock.oracle.wire.retry_hints import parse_retry_after

#: Random numbers of each source that are kept: more than a client draws for its waits.
DRAWS_KEPT = 160
#: Bytes that `random.SystemRandom().random()` and an unseeded `random.Random()` ask the system for.
_SYSTEM_FLOAT_BYTES = 7
_SEED_BYTES = 32
_ENDINGS_OF_OURS = frozenset({"escape", "watchdog", "harness_error"})


class SeenAttempt(Struct, frozen=True, kw_only=True):
    """One attempt.

    Attributes:
        known_ns: when the client could know of its end; None where that is unknown.
        hung_ns: how long nothing had come when the client gave it up; None where it did not.
        headers: of the request; empty where it never reached the provider.
    """

    start_ns: int
    known_ns: int | None
    ended: str
    failed: bool
    hung_ns: int | None
    headers: Mapping[str, str]
    body: str | None
    events: tuple[int, ...]


class Seen(Struct, frozen=True, kw_only=True):
    """One run with one call.

    Attributes:
        name: of the probe.
        waits_ns: between the attempts; None where the start of a wait is not known.
        outcome: of the call.
        error: class of what it raised.
        trouble: why the run proves nothing about the client; empty where it does.
        met: whether every fault of the probe reached the wire, on a stream where it is about one.
        draws: by source, the random numbers that the run had to give, in order.
        asked_ns: the wait up to the date in the first answer's Retry-After; None for none.
        at_once: whether the call asked for several answers at the same time.
    """

    name: str
    seed: int
    attempts: tuple[SeenAttempt, ...]
    waits_ns: tuple[int | None, ...]
    outcome: Literal["returned", "raised", "never_ended"]
    error: str | None
    start_ns: int
    end_ns: int | None
    end_seq: int | None
    trouble: str
    met: bool
    draws: Mapping[str, tuple[float, ...]]
    asked_ns: int | None = None
    at_once: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether nothing that it sent reached the provider."""
        return all(item.body is None for item in self.attempts)

    def at_wait(self, retry: int) -> Evidence:
        """Return the events around the wait before `retry` (1-based)."""
        pair = self.attempts[retry - 1 : retry + 1]
        return Evidence(trace=self.name, events=tuple(s for item in pair for s in item.events))

    @property
    def whole(self) -> Evidence:
        """The first event of each attempt, and the end of the call."""
        seqs = [item.events[0] for item in self.attempts if item.events]
        seqs += [] if self.end_seq is None else [self.end_seq]
        return Evidence(trace=self.name, events=tuple(seqs))


def read_run(name: str, trace: Trace) -> Seen:
    """Return what `trace` shows of the call that was asked about."""
    call = asked_about(trace)
    trouble = _trouble(trace)
    if call is None:
        return Seen(
            name=name,
            seed=trace.header.seed,
            attempts=(),
            waits_ns=(),
            outcome="never_ended",
            error=None,
            start_ns=0,
            end_ns=None,
            end_seq=None,
            trouble=trouble or "the subject was never called",
            met=False,
            draws={},
        )
    request = request_of(call)
    made = () if request is None else request.attempts
    attempts = tuple(_attempt(item, call, trace) for item in made)
    return Seen(
        name=name,
        seed=trace.header.seed,
        attempts=attempts,
        waits_ns=tuple(starmap(waited, pairwise(made))),
        outcome="returned" if call.returned else "raised" if call.raised else "never_ended",
        error=_error(call.end) if call.raised else None,
        start_ns=call.start.at_ns,
        end_ns=None if call.end is None else call.end.at_ns,
        end_seq=None if call.end is None else call.end.seq,
        trouble=trouble,
        met=_is_met(trace),
        draws=_draws(trace),
        asked_ns=_until_the_date(trace, attempts),
        at_once=any(item.is_one_of_several for item in call.requests),
    )


def asked_about(trace: Trace) -> Call | None:
    """Return the call that a probe asks about.

    A runtime is started before it and closed after it, which are calls of their own.
    """
    calls = observe(trace).calls
    tasks = {task.id for task in trace.header.scenario.tasks}
    return next((item for item in calls if item.task in tasks), next(iter(calls), None))


def request_of(call: Call) -> Request | None:
    """Return the request that shows how a call retries: the first that failed, and nothing cut."""
    whole = [item for item in call.requests if item.outcome != "cut"] or call.requests
    failed = (item for item in whole if any(attempt.failed for attempt in item.attempts))
    return next(failed, next(iter(whole), None))


def _until_the_date(trace: Trace, attempts: tuple[SeenAttempt, ...]) -> int | None:
    first = next(trace.of_kind("http.response"), None)
    text = None if first is None else first.payload.get("retry_after")
    if text is None or not attempts or attempts[0].known_ns is None:
        return None
    value = parse_retry_after(str(text))
    # A date has whole seconds, so it is a little less than was meant, and exactly known.
    return value.instant_ns - attempts[0].known_ns if value.form == "date" else None


def _is_met(trace: Trace) -> bool:
    if not all(event.payload.get("optional") for event in trace.of_kind("fault.unmet")):
        return False
    about_a_stream = any(getattr(task, "stream", False) for task in trace.header.scenario.tasks)
    return not about_a_stream or any(event.stream for event in trace.of_kind("http.request"))


def _trouble(trace: Trace) -> str:
    leaks = [f"{item.payload.get('what')}" for item in trace.of_kind("leak")]
    if leaks:
        return "something real leaked in: " + "; ".join(dict.fromkeys(leaks))
    if trace.footer.ending in _ENDINGS_OF_OURS:
        return f"{trace.footer.ending}: {'; '.join(trace.footer.detail) or 'nothing more is known'}"
    return ""


def _attempt(attempt: Attempt, call: Call, trace: Trace) -> SeenAttempt:
    asked = {} if attempt.asked is None else attempt.asked.payload
    return SeenAttempt(
        start_ns=attempt.start.at_ns,
        known_ns=attempt.known_ns,
        ended=attempt.outcome if attempt.signal is None else str(attempt.signal),
        failed=attempt.failed,
        hung_ns=_hung_ns(attempt, call, trace),
        headers={str(name): str(value) for name, value in (asked.get("headers") or {}).items()},
        body=asked.get("body_sha256"),
        events=attempt.events,
    )


def _hung_ns(attempt: Attempt, call: Call, trace: Trace) -> int | None:
    if attempt.signal is None or attempt.signal.kind not in ("deadline", "connect_timeout"):
        return None
    until_ns = attempt.known_ns
    if until_ns is None:
        until_ns = trace.footer.ended_at_ns if call.end is None else call.end.at_ns
    since_ns = attempt.start.at_ns
    if attempt.asked is not None:
        connection = attempt.asked.payload.get("connection")
        since_ns = max(
            (
                event.at_ns
                for event in trace.of_kind("net.delivered")
                if event.payload.get("connection") == connection
                and since_ns <= event.at_ns <= until_ns
            ),
            default=since_ns,
        )
    return until_ns - since_ns


def _error(end: TraceEvent | None) -> str:
    chain = [] if end is None else end.payload.get("chain") or []
    return str(chain[0].get("type")) if chain else "an unknown exception"


def _draws(trace: Trace) -> dict[str, tuple[float, ...]]:
    """Return the numbers that the run had to give: those of the module, and of the system."""
    # The same seeding as in `faultclock.sim.surroundings` and `faultclock.sim.kernel.ledger`.
    module = random.Random(trace.header.seed)
    found = {"random": tuple(module.random() for _ in range(DRAWS_KEPT))}
    found |= dict(_drawn_from_the_system(trace))
    return found


def _drawn_from_the_system(trace: Trace) -> Iterator[tuple[str, tuple[float, ...]]]:
    entropy = random.Random(f"entropy-{trace.header.seed}")
    floats: list[float] = []
    generators = 0
    for event in trace.of_kind("entropy"):
        count = int(event.payload.get("bytes_count", 0))
        raw = entropy.randbytes(count)
        if count == _SYSTEM_FLOAT_BYTES:
            floats.append((int.from_bytes(raw, "big") >> 3) * 2.0**-53)
        elif count == _SEED_BYTES and generators < 4:
            generators += 1
            own = random.Random(int.from_bytes(raw, "big"))
            yield f"generator {generators}", tuple(own.random() for _ in range(DRAWS_KEPT))
    if floats:
        yield "system", tuple(floats[:DRAWS_KEPT])
