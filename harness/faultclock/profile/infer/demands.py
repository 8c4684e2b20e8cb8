"""Demands: what an error model asks of each point of a profile, beside what was seen.

The model is read by the oracle's own fold (`oracle.retries.predict`), so that a difference here
and a finding of `faultclock run` speak of the same sentence. Waits are compared as laws where they
are known: a law may leave its interval under a seed that was not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.inferred import (
    Ceiling,
    Difference,
    Evidence,
    HeaderReading,
    Schedule,
    WaitLaw,
)
from faultclock.model.retry_policy import RetryPolicy
from faultclock.model.trace.trace import SubjectInfo, Trace
from faultclock.oracle.retries.predict import Ruling, Step, plan, step_legal
from faultclock.oracle.wire.timing import SLACK_NS, VIRTUAL
from faultclock.profile.infer.battery import Findings
from faultclock.profile.infer.kinds import kind_of
from faultclock.profile.infer.seen import asked_about, request_of

_ROUNDING_NS = 10_000
_SILENT = "the document does not say"


def differences(
    model: ErrorModel, subject: SubjectInfo, found: Findings, schedules: Sequence[Schedule]
) -> tuple[Difference, ...]:
    """Return every point at which `model` demands something, in the order of the profile."""
    return tuple(_folded(_Comparison(model, subject, found, schedules).points()))


def _folded(points: Iterable[Difference]) -> Iterator[Difference]:
    """Yield the points, those that differ in nothing but the kind of failure as one."""
    groups: dict[tuple[object, ...], list[Difference]] = {}
    for item in points:
        key = (item.what, item.demanded, item.observed, item.requirement)
        groups.setdefault(key, []).append(item)
    for alike in groups.values():
        yield alike[0].model_copy(
            update={
                "after": tuple(name for item in alike for name in item.after),
                "evidence": tuple(ref for item in alike for ref in item.evidence),
            }
        )


class _Comparison:
    def __init__(
        self,
        model: ErrorModel,
        subject: SubjectInfo,
        found: Findings,
        schedules: Sequence[Schedule],
    ) -> None:
        self._model = model
        self._subject = subject
        self._found = found
        self._main = "" if found.main is None else found.main.id
        self._laws: Mapping[str, tuple[WaitLaw, ...]] = {
            kind: schedule.waits for schedule in schedules for kind in schedule.kinds
        }

    def points(self) -> Iterator[Difference]:
        for kind, seen in self._found.persistent.items():
            if seen.trouble or not seen.met:
                continue
            steps = self._steps(self._found.traces[seen.name])
            if steps:
                yield from self._attempts(kind, steps)
                yield from self._waits(kind, steps)
        for reading in self._found.headers:
            yield from self._header(reading)
        for ceiling in self._found.ceilings:
            if ceiling.largest_ns.value is not None:
                yield from self._above(ceiling, ceiling.largest_ns.value)

    def _steps(self, trace: Trace) -> tuple[Step, ...]:
        call = asked_about(trace)
        request = None if call is None else request_of(call)
        if request is None:
            return ()
        return tuple(plan(self._model, self._subject, request, {}, VIRTUAL))

    # ------------------------------------------------------------------ attempts

    def _attempts(self, kind: str, steps: tuple[Step, ...]) -> Iterator[Difference]:
        first, seen = steps[0], steps[0].classification
        if seen is None:
            return
        ruling, count = first.ruling, len(steps)
        due: int | None
        evidence = (self._found.persistent[kind].whole,)
        if first.act == "unjudged" or (first.act == "retry" and ruling is None):
            demanded, due, requirement = _SILENT, None, seen.requirement
        elif first.act == "end" or ruling is None:
            demanded, due, requirement = "1: it is not retried", 1, seen.requirement
        else:
            due = ruling.policy.attempts_max
            demanded, requirement = str(due), _requirement(ruling, "attempts")
        yield self._difference(
            what="attempts",
            after=kind,
            demanded=f"{demanded} ({seen})",
            observed=str(count),
            differs=due is not None and due != count,
            requirement=requirement,
            evidence=evidence,
        )

    # ------------------------------------------------------------------ waits

    def _waits(self, kind: str, steps: tuple[Step, ...]) -> Iterator[Difference]:
        due = [step for step in steps if step.wait is not None and step.next is not None]
        laws = {law.retry: law for law in self._laws.get(kind, ())}
        if not due or due[0].ruling is None:
            return
        policy = due[0].ruling.policy
        told = [(step, laws.get(step.attempt.number)) for step in due]
        wrong = [(step, law) for step, law in told if not _within(step, law)]
        shown = wrong or told
        yield self._difference(
            what="waits",
            after=kind,
            demanded=", ".join(_demanded(step) for step, _ in told),
            observed=", ".join(_waited(step, law) for step, law in told),
            differs=bool(wrong),
            requirement=_requirement(due[0].ruling, "wait"),
            evidence=tuple(item for _, law in shown[:3] if law is not None for item in law.evidence)
            or (self._found.persistent[kind].whole,),
        )
        yield from self._jitter(kind, policy, due[0].ruling, [law for _, law in told if law])

    def _jitter(
        self, kind: str, policy: RetryPolicy, ruling: Ruling, laws: Sequence[WaitLaw]
    ) -> Iterator[Difference]:
        if policy.jitter.kind == "none" or not laws:
            return
        constant = [law for law in laws if law.how == "constant"]
        yield self._difference(
            what="jitter",
            after=kind,
            demanded="waits vary",
            observed="they are the same under every seed" if constant else "they vary",
            differs=bool(constant),
            requirement=_requirement(ruling, "jitter"),
            evidence=tuple(item for law in (constant or laws)[:2] for item in law.evidence),
        )

    # ------------------------------------------------------------------ headers

    def _header(self, reading: HeaderReading) -> Iterator[Difference]:
        trace = self._found.traces.get(reading.evidence[0].trace) if reading.evidence else None
        steps = self._steps(trace) if trace is not None else ()
        first, seen = (steps[0], steps[0].classification) if steps else (None, None)
        if first is None or seen is None:
            return
        if reading.reading in ("retried", "same"):
            if first.act == "end":
                yield self._difference(
                    what=_sent(reading),
                    after=reading.kind,
                    demanded=f"not retried ({seen})",
                    observed=reading.text,
                    differs=reading.reading == "retried",
                    requirement=seen.requirement,
                    evidence=reading.evidence,
                )
            return
        yield from self._hinted(
            _sent(reading),
            reading.kind,
            first,
            reading.text,
            reading.evidence,
        )

    def _above(self, ceiling: Ceiling, largest_ns: int) -> Iterator[Difference]:
        evidence = ceiling.above.evidence
        steps = self._steps(self._found.traces[evidence[0].trace]) if evidence else ()
        if steps:
            top = format_duration(largest_ns)
            yield from self._hinted(
                f"{ceiling.header} ({ceiling.form}) above {top}",
                self._main,
                steps[0],
                str(ceiling.above.value),
                evidence,
            )

    def _hinted(
        self, what: str, after: str, first: Step, observed: str, evidence: tuple[Evidence, ...]
    ) -> Iterator[Difference]:
        wait, ruling = first.wait, first.ruling
        if first.act != "retry" or wait is None or ruling is None:
            return
        exact = wait.exact
        yield self._difference(
            what=what,
            after=after,
            demanded=_demanded(first) if not exact else f"exactly {_demanded(first)}",
            observed=observed,
            differs=first.next is None or not step_legal(first),
            requirement=_requirement(ruling, "retry_after" if exact else "wait"),
            evidence=evidence,
        )

    def _difference(
        self,
        *,
        what: str,
        after: str,
        demanded: str,
        observed: str,
        differs: bool,
        requirement: str | None,
        evidence: tuple[Evidence, ...],
    ) -> Difference:
        stated = None if requirement is None else self._model.requirement(requirement)
        return Difference(
            what=what,
            after=(kind_of(after).title,) if after else (),
            demanded=demanded,
            observed=observed,
            differs=differs,
            requirement=requirement,
            sentence="" if stated is None else stated.sentence,
            level=None if stated is None else stated.level,
            evidence=evidence,
        )


def _requirement(ruling: Ruling, part: str) -> str | None:
    own = ruling.requirements
    if own is None:
        return None
    found: str | None = getattr(own, part)
    return found or own.wait


def _within(step: Step, law: WaitLaw | None) -> bool:
    if law is None or step.wait is None or step.wait.exact:
        return step_legal(step)
    legal = step.wait.interval.widened(SLACK_NS + _ROUNDING_NS)
    return law.low_ns in legal and law.high_ns in legal


def _demanded(step: Step) -> str:
    return "nothing" if step.wait is None else str(step.wait.interval)


def _waited(step: Step, law: WaitLaw | None) -> str:
    if law is not None:
        if law.low_ns == law.high_ns:
            return format_duration(law.low_ns)
        return f"{format_duration(law.low_ns)} to {format_duration(law.high_ns)}"
    waited = step.waited_ns
    return "an unknown time" if waited is None else format_duration(waited)


def _sent(reading: HeaderReading) -> str:
    return f"{reading.header}: {reading.value}"
