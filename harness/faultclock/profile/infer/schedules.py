"""Schedules: base, factor, cap and jitter of one loop, from the laws of its waits.

`jitter` finds the nominal waits and `growth` how they grow; here both become what a profile says
of a layer, each answer with its evidence or with why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from faultclock.model.duration import format_roughly
from faultclock.model.report.inferred import Evidence, Growth, Layer, Sureness, Told
from faultclock.profile.infer.growth import Curve
from faultclock.profile.infer.jitter import reading_of
from faultclock.profile.infer.laws import Law
from faultclock.profile.infer.layers import Loop
from faultclock.profile.infer.times import rounded, said

T = TypeVar("T")
#: Evidence named for one answer, at the most.
_EVIDENCE_MAX = 6


def layer_of(loop: Loop, number: int) -> Layer:
    """Return what the waits of `loop` come to.

    Args:
        number: of the layer, 1 for the innermost.
    """
    evidence = tuple(item for law in loop.laws for item in law.evidence)[:_EVIDENCE_MAX]
    attempts = Told[int](value=loop.attempts, sure="exact", evidence=evidence)
    if not loop.laws:
        return Layer(number=number, attempts=attempts, retries=loop.own, text="one attempt")
    sure: Sureness = "exact" if all(law.exact for law in loop.laws) else "bounded"
    reading = reading_of(loop.laws)
    told = _Teller(sure, evidence)
    curve, jitter = reading.curve, reading.jitter
    growth = told(Told[Growth], curve.growth, curve.reason)
    rough = len(loop.laws) == 1 and not loop.laws[0].exact and loop.laws[0].values > 1
    unbased = curve.growth == "listed" or rough
    base = told(Told[int], None if unbased else rounded(curve.base_ns), curve.reason)
    other = curve.reason or f"the schedule is {curve.growth}"
    factor = told(Told[float], None if curve.factor is None else round(curve.factor, 4), other)
    step = told(Told[int], None if curve.step_ns is None else rounded(curve.step_ns), other)
    cap_ns = None if curve.cap_ns is None else rounded(curve.cap_ns)
    cap = told(Told[int], cap_ns, curve.cap_reason)
    layer = Layer(
        number=number,
        attempts=attempts,
        growth=growth,
        base_ns=base,
        factor=factor,
        step_ns=step,
        cap_ns=cap,
        jitter=jitter.model_copy(
            update={"kind": jitter.kind.model_copy(update={"evidence": evidence})}
        ),
        retries=loop.own,
    )
    return layer.model_copy(update={"text": _words(layer, curve, loop.laws)})


class _Teller(Struct, frozen=True):
    sure: Sureness
    evidence: tuple[Evidence, ...]

    def __call__(self, kind: type[Told[T]], value: T | None, reason: str) -> Told[T]:
        if value is None:
            return kind(reason=reason)
        return kind(value=value, sure=self.sure, evidence=self.evidence)


def _words(layer: Layer, curve: Curve, laws: Sequence[Law]) -> str:
    base = layer.base_ns.value
    parts: list[str] = []
    if curve.growth == "exponential" and base is not None:
        parts.append(f"{said(base)} x {layer.factor.value:g}^n")
    elif curve.growth == "linear" and layer.step_ns.value is not None:
        more = layer.step_ns.value
        parts.append(f"{said(curve.base_ns)} and {said(more)} more each time")
    elif curve.growth == "fixed":
        parts.append(f"{said(curve.base_ns)} each time")
    elif curve.growth == "none":
        parts.append("at once")
    elif curve.growth == "decorrelated":
        parts.append("")
    elif layer.base_ns.value is not None or curve.growth == "listed":
        # The nominal ones, as far as the jitter shows which they are.
        part = layer.jitter.high or 1.0
        added = layer.jitter.added_ns is not None
        nominal = [law.low_ns if added else law.high_ns / part for law in laws]
        # Of waits that no draw explains the longest ones seen are all that is known.
        most = "up to " if layer.jitter.kind.sure == "bounded" and not added else ""
        waits = dict.fromkeys(format_roughly(rounded(wait)) for wait in nominal)
        parts.append(f"waits {most}{', '.join(waits)}")
    if layer.cap_ns.value is not None:
        parts.append(f"at most {said(layer.cap_ns.value)}")
    if curve.leading_zero:
        parts.append("the first one at once")
    parts.append(layer.jitter.text)
    return ", ".join(part for part in parts if part)
