"""The history file: rows a second, bytes a run, seconds to resume and to ask.

    python -m benchmarks.history [SESSIONS]

Sessions of 10,000 runs, in batches of 32 as the engine writes them. One run of ten fails, and each
run reaches another set of pairs of events, which is more than real explorations do.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from pathlib import Path

from faultclock.history.reading import read_history
from faultclock.history.store import HistoryStore
from faultclock.model.report.exploration import FailureMark, Reached, Tried
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.report.session import SessionScenario, SessionSettings
from faultclock.model.tape import Tape
from faultclock.model.trace.trace import SubjectInfo

RUNS = 10_000
BATCH = 32
_PAIRS = tuple(f"kind.number-{a} > kind.number-{b}" for a in range(12) for b in range(12))
_CHECKS = tuple(f"group.check-{n}" for n in range(30))


def settings() -> SessionSettings:
    """Return those of an exploration."""
    return SessionSettings(
        command="explore",
        subject=SubjectInfo(id="mine", role="provider_adapter", style="async"),
        model="stud-cli",
        model_revision="1",
        seed=0,
        runs=RUNS,
        scenarios=(SessionScenario(scenario="family/one", digest="0" * 64),),
    )


def outcome(number: int) -> tuple[Tried, Reached]:
    """Return run `number`."""
    chance = random.Random(number)
    failed = number % 10 == 0
    tape = Tape.of({"schedule/0/call": {n: chance.randrange(1, 9) for n in range(0, 200, 4)}})
    finding = Finding(
        check="backoff.retry-after",
        verdict=Verdict.FAIL,
        requirement="STUD-RETRY-02",
        sentence="Retries, A wait that the provider asks for is kept.",
        expected="a wait of at least 7 s after the answer with Retry-After: 7",
        observed=f"attempt 2 began {chance.random():.6f} s after it",
        hint="The header is in whole seconds, or a date; is it read before the backoff is drawn?",
        events=tuple(sorted(chance.sample(range(200), 4))),
    )
    tried = Tried(
        number=number,
        scenario="family/one",
        seed=chance.randrange(2**32),
        schedule="random",
        verdict=Verdict.FAIL if failed else Verdict.PASS,
        ending="completed",
        events=chance.randrange(50, 400),
        virtual_ns=chance.randrange(10**12),
        trace_digest=f"{chance.getrandbits(256):064x}",
        tape=tape if failed else Tape(),
        failures=(FailureMark(fingerprint=f"f-{number % 7:012x}", finding=finding),)
        if failed
        else (),
    )
    reached = Reached(
        checks=_CHECKS[: chance.randrange(10, 20)],
        requirements=_CHECKS[: chance.randrange(5, 9)],
        faults=("family/one#limited",),
        pairs=tuple(sorted(chance.sample(_PAIRS, 45))),
    )
    return tried, reached


def main(sessions: int = 10) -> None:
    """Write the sessions, resume one and ask all of them."""
    runs = [outcome(number) for number in range(1, RUNS + 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.sqlite")
        with HistoryStore(path) as store:
            session = store.begin(settings())
            began_s = time.perf_counter()
            for start in range(0, RUNS, BATCH):
                session.record(runs[start : start + BATCH])
            seconds = time.perf_counter() - began_s
        print(f"written   {RUNS / seconds:9,.0f} runs a second in batches of {BATCH}")
        print(f"size      {os.path.getsize(path) / 1e6:9.2f} MB for {RUNS:,} runs")
        with HistoryStore(path) as store:
            began_s = time.perf_counter()
            there = tuple(store.resume(settings()).done("family/one", None, "0" * 64))
            print(f"resumed   {time.perf_counter() - began_s:9.2f} s to read {len(there):,} runs")
            assert there == tuple(runs)
            for _ in range(sessions - 1):
                session = store.begin(settings())
                session.record(runs)
                session.finish(complete=True)
        began_s = time.perf_counter()
        history = read_history(path)
        seconds = time.perf_counter() - began_s
        assert not history.bugs
        assert len(history.flaky) == 1
        print(f"asked     {seconds:9.2f} s, all questions about {RUNS * sessions:,} runs")
        print(f"size      {os.path.getsize(path) / 1e6:9.2f} MB for {RUNS * sessions:,} runs")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
