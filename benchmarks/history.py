"""The history file: what a run costs to write, to keep, to resume and to ask about.

Sessions are written in batches of 32 as the engine writes them. One run of ten fails, and each run
reaches another set of pairs of events, which is more than real explorations do. The time is real
time, file system and all.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks._table import Row, Size, rows_of
from faultclock.history.reading import read_history
from faultclock.history.store import HistoryStore
from faultclock.model.report.exploration import FailureMark, Reached, Tried
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.report.session import SessionScenario, SessionSettings
from faultclock.model.tape import Tape
from faultclock.model.trace.trace import SubjectInfo

BATCH = 32
_PAIRS = tuple(f"kind.number-{a} > kind.number-{b}" for a in range(12) for b in range(12))
_CHECKS = tuple(f"group.check-{n}" for n in range(30))


def settings(runs: int) -> SessionSettings:
    """Return those of an exploration of so many runs."""
    return SessionSettings(
        command="explore",
        subject=SubjectInfo(id="mine", role="provider_adapter", style="async"),
        model="stud-cli",
        model_revision="1",
        seed=0,
        runs=runs,
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


def measure(size: Size) -> Iterator[Row]:
    """Yield what a run costs in one session, and in ten."""
    runs = [outcome(number) for number in range(1, size.of(10_001, 65))]
    asked, many = settings(len(runs)), 10 * len(runs)
    taken_us: dict[str, float] = {}

    @contextmanager
    def timed(what: str, count: int) -> Iterator[None]:
        began_s = time.perf_counter()
        yield
        taken_us[what] = (time.perf_counter() - began_s) * 1e6 / count

    written = f"written in batches of {BATCH}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.sqlite")
        with HistoryStore(path) as store:
            session = store.begin(asked)
            with timed(written, len(runs)):
                for start in range(0, len(runs), BATCH):
                    session.record(runs[start : start + BATCH])
        kept = {f"runs: {len(runs):,}": path.stat().st_size / len(runs)}
        with HistoryStore(path) as store:
            with timed("read to resume", len(runs)):
                there = tuple(store.resume(asked).done("family/one", None, "0" * 64))
            assert there == tuple(runs)
            for _ in range(9):
                session = store.begin(asked)
                session.record(runs)
                session.finish(complete=True)
        with timed(f"all questions about {many:,} runs", many):
            history = read_history(path)
        assert not history.bugs
        assert len(history.flaky) == 1
        kept[f"runs: {many:,}"] = path.stat().st_size / many
    yield from rows_of("time", "µs a run", taken_us, written)
    yield from rows_of("file", "bytes a run", kept, f"runs: {len(runs):,}")
