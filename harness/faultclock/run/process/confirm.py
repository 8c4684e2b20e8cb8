"""A run that fails is made a second time, elsewhere, and so is a sample of those that do not.

Equal scenario, seed, tape and subject give equal bytes. Where they do not, something real got in
that the simulation does not replace, or the harness is at fault; either way the run proves nothing:
none of its failures is the subject's, and its pass is not earned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest

from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.finding import Finding, Judgement, Verdict
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.checks.run.evidence import SPOILING
from faultclock.oracle.verdicts import spoilt
from faultclock.run.compare import ReplayResult, compare, differences

#: The check of the evidence that only a run which was made twice is put to.
REPEATABLE = "evidence.repeatable"
#: Why nothing else that was found in such a run counts.
_NOT_TWICE = f"{REPEATABLE}: the run was not the same a second time"
#: Of the runs that do not fail, the share that is made twice: those whose digests are the smallest.
_SHARE = 0.05
#: Digits of a digest that say whether it is one of them.
_DIGITS = 4
#: What the two runs are called.
_CALLED = ("first", "second")
#: Endings that leave no events behind.
_NO_EVENTS = ("watchdog", "harness_error")
#: What the line of an event begins with.
_EVENT = '{"actor":'
#: Texts of a line are cut at a readable length.
_TEXT_MAX = 300
#: Fields of a line that differ, named at most.
_FIELDS_MAX = 6

_HINT = (
    "The same seed and the same choices gave another run in another process: something real got in"
    " that is not simulated, or Faultclock is at fault. The usual causes are time or chance that"
    " C code asks of the system, the order of a set of objects that have no hash of their own, a"
    " file on disk, and what a binding with `inline` keeps in its process."
)


def is_made_twice(trace: Trace, verdict: Verdict, *, always: bool = False) -> bool:
    """Return whether a run with this verdict is made once more.

    Every failure is. Of the others the digest decides, so the same command makes the same runs
    twice, and no subject knows in a run whether it is one of them. What real time ended is never
    the same twice.

    Args:
        always: whether a run that passes is made once more whatever its digest is.
    """
    if trace.footer.ending == "watchdog":
        return False
    if verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE):
        return verdict is Verdict.FAIL
    return always or int(trace.footer.digest[:_DIGITS], 16) < _SHARE * (1 << 4 * _DIGITS)


def confirmed(
    trace: Trace, again: Callable[[], Trace], *, coordinates: Coordinates | None = None
) -> Unsteady | None:
    """Make a run again, and return what differs; None where every byte is the same.

    Args:
        trace: of the first run.
        again: makes the run once more, in a process of its own.
        coordinates: of the run; as the trace's header has them where they are not given.
    """
    return unsteadiness(trace, again(), coordinates=coordinates)


def unsteadiness(
    first: Trace, second: Trace, *, coordinates: Coordinates | None = None
) -> Unsteady | None:
    """Return in what two traces of one run differ; None where every byte is the same."""
    result = compare(first, second)
    if result.identical:
        return None
    return Unsteady(
        coordinates=coordinates or coordinates_of(first),
        first_digest=first.footer.digest,
        second_digest=second.footer.digest,
        differs_at=None if _unfinished(first, second) else result.line_number,
        was=_cut(result.recorded),
        now=_cut(result.observed),
        difference=tuple(_differs(first, second, result)),
        leaks=tuple(dict.fromkeys(_leaks(first, second))),
    )


def unproved(judgement: Judgement, unsteady: Unsteady) -> Judgement:
    """Return the judgement of a run that was not the same twice: it proves nothing.

    What the checks found stays to be read, as inconclusive.
    """
    told = _told(unsteady)
    at = unsteady.differs_at
    finding = Finding(
        check=REPEATABLE,
        verdict=Verdict.INCONCLUSIVE,
        expected="the run is the same a second time, byte for byte",
        observed=told,
        hint=_HINT,
        # The header is line 1, so event n is line n + 1; the first trace has to have it.
        events=(at - 1,) if at is not None and unsteady.was.startswith(_EVENT) else (),
        reason=told,
    )
    others = (
        item if item.check in SPOILING else spoilt(item, _NOT_TWICE) for item in judgement.findings
    )
    # No wait of such a run is legal or illegal.
    return judgement.model_copy(update={"findings": (finding, *others), "waits": ()})


def _told(unsteady: Unsteady) -> str:
    at = unsteady.differs_at
    where = "" if at is None else f"line {at} of the trace is the first that differs, "
    told = f"a second run was not the same: {where}{'; '.join(unsteady.difference)}"
    return f"{told} ({'; '.join(unsteady.leaks)})" if unsteady.leaks else told


def coordinates_of(trace: Trace) -> Coordinates:
    """Return what leads to a run again, as its header has it."""
    header = trace.header
    return Coordinates(
        scenario=header.scenario.id,
        scenario_digest=header.scenario_digest,
        variant=header.scenario.variant,
        subject=header.subject.id,
        seed=header.seed,
        tape=header.tape,
    )


def _unfinished(*traces: Trace) -> bool:
    return any(trace.footer.ending in _NO_EVENTS for trace in traces)


def _differs(first: Trace, second: Trace, result: ReplayResult) -> Iterator[str]:
    if _unfinished(first, second):
        for name, trace in zip(_CALLED, (first, second), strict=True):
            because = "; ".join(trace.footer.detail[:2])
            yield f"the {name} run ended by {trace.footer.ending}" + (because and f": {because}")
        return
    told = differences(result.recorded, result.observed, called=_CALLED)
    yield from map(_cut, told[:_FIELDS_MAX])
    if len(told) > _FIELDS_MAX:
        yield f"and {len(told) - _FIELDS_MAX} fields more"


def _cut(text: str | None) -> str:
    text = (text or "").rstrip("\n")
    return text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 1] + "…"


# ---------------------------------------------------------------------- what may have got in


def _leaks(first: Trace, second: Trace) -> Iterator[str]:
    yield from _real(first, second)
    yield from _drawn(first, second)
    yield from _touched(first, second)


def _real(first: Trace, second: Trace) -> Iterator[str]:
    """Yield what either run reached for that is not simulated."""
    reached = [
        dict.fromkeys(
            f"{event.payload.get('what')} at {event.payload.get('site')}"
            for event in trace.of_kind("leak")
        )
        for trace in (first, second)
    ]
    for what in reached[0] | reached[1]:
        only = [name for name, seen in zip(_CALLED, reached, strict=True) if what in seen]
        yield what if len(only) == 2 else f"{what}, only in the {only[0]} run"


def _drawn(first: Trace, second: Trace) -> Iterator[str]:
    """Yield the first draw of entropy that only one run made, or that the other made otherwise."""
    pairs = zip_longest(first.of_kind("entropy"), second.of_kind("entropy"))
    for pair in pairs:
        before, after = (None if event is None else _draw(event) for event in pair)
        if before == after:
            continue
        for name, event in zip(_CALLED, pair, strict=True):
            if event is not None:
                at_s = event.at_ns / 1_000_000_000
                yield f"the {name} run drew {_draw(event)}, event {event.seq} at {at_s:g} s"
            else:
                yield f"the {name} run drew no more"
        return


def _draw(event: TraceEvent) -> str:
    payload = event.payload
    call = payload.get("call")
    of_call = "" if call is None else f" in call {call}"
    return f"{payload.get('bytes_count')} bytes from {payload.get('source')}{of_call}"


def _touched(first: Trace, second: Trace) -> Iterator[str]:
    """Yield which counters of what the world replaces differ, life by life."""
    pairs = zip_longest(first.of_kind("world.touched"), second.of_kind("world.touched"))
    for was, now in pairs:
        if was is None or now is None:
            # One life was ended before it could say anything.
            continue
        for name in sorted(was.payload.keys() | now.payload.keys()):
            before, after = was.payload.get(name, 0), now.payload.get(name, 0)
            if before == after:
                continue
            if name == "random_state":
                yield "`random` was left in another state, so it was asked otherwise"
            else:
                yield f"{_counter(name)}: {before} in the first run, {after} in the second"


def _counter(name: str) -> str:
    return "bytes of entropy drawn" if name == "entropy_bytes" else f"uses of {name}"
