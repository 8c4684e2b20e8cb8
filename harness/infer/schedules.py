"""Schedules: base, factor, cap and jitter of one loop, from the laws of its waits.

What the waits do not show is not guessed. Two waits of 500 ms and 1 s are a factor of 2, a line of
500 ms, or a cap of 1 s, and the answer names all three. A cap that no wait has reached is unknown,
and so is the shape of jitter on waits that are all nominally the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.infer.laws import Law, close, rounded
from harness.infer.layers import Loop
from harness.model.duration import format_duration
from harness.model.inferred import Evidence, Growth, JitterKind, JitterSeen, Layer, Sureness, Told

__all__ = ["layer_of"]

#: Relative difference of two ratios that are the same.
_RATIO = 2e-5
#: The same, where only ranges are known.
_ROUGH_RATIO = 0.2
#: Evidence named for one answer, at the most.
_EVIDENCE_MAX = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """How nominal waits grow."""

    growth: Growth | None
    base_ns: float
    factor: float | None = None
    step_ns: float | None = None
    cap_ns: float | None = None
    reason: str = ""
    cap_reason: str = ""
    leading_zero: bool = False

    @property
    def fits(self) -> bool:
        return self.growth is not None or bool(self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A shape of the jitter, and the nominal waits that it leaves."""

    jitter: JitterSeen
    curve: _Curve


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
    reading = _reading(loop.laws)
    told = _Teller(sure, evidence)
    curve, jitter = reading.curve, reading.jitter
    growth = told.word(curve.growth, curve.reason)
    rough = len(loop.laws) == 1 and not loop.laws[0].exact and loop.laws[0].values > 1
    unbased = curve.growth == "listed" or rough
    base = told.number(None if unbased else rounded(curve.base_ns), curve.reason)
    factor = told.ratio(curve.factor, curve.reason or f"the schedule is {curve.growth}")
    step = told.number(
        None if curve.step_ns is None else rounded(curve.step_ns),
        curve.reason or f"the schedule is {curve.growth}",
    )
    cap = told.number(None if curve.cap_ns is None else rounded(curve.cap_ns), curve.cap_reason)
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


@dataclass(frozen=True, slots=True)
class _Teller:
    sure: Sureness
    evidence: tuple[Evidence, ...]

    def number(self, value: int | None, reason: str) -> Told[int]:
        if value is None:
            return Told[int](reason=reason)
        return Told[int](value=value, sure=self.sure, evidence=self.evidence)

    def ratio(self, value: float | None, reason: str) -> Told[float]:
        if value is None:
            return Told[float](reason=reason)
        shown = round(value, 4)
        return Told[float](value=shown, sure=self.sure, evidence=self.evidence)

    def word(self, value: Growth | None, reason: str) -> Told[Growth]:
        if value is None:
            return Told[Growth](reason=reason)
        return Told[Growth](value=value, sure=self.sure, evidence=self.evidence)


# ---------------------------------------------------------------------- jitter


def _reading(laws: Sequence[Law]) -> _Reading:
    for shape in _SHAPES:
        found = shape(laws)
        if found is not None:
            return found
    text = ", ".join(f"{_said(law.low_ns)} to {_said(law.high_ns)}" for law in laws)
    reason = f"no shape of jitter fits waits of {text}"
    return _Reading(
        jitter=JitterSeen(kind=Told(reason=reason), text="jitter of no known shape"),
        curve=_Curve(growth="listed", base_ns=laws[0].high_ns, cap_reason=reason),
    )


def _without(laws: Sequence[Law]) -> _Reading | None:
    if not all(close(law.low_ns, law.high_ns) for law in laws):
        return None
    curve = _curve([law.low_ns for law in laws], rough=False)
    once = all(law.values == 1 for law in laws)
    kind: Told[JitterKind] = Told(value="none", sure="exact")
    if once:
        kind = Told(reason="one run only")
    return _Reading(
        jitter=JitterSeen(kind=kind, low=1.0, high=1.0, text="without jitter"), curve=curve
    )


def _decorrelated(laws: Sequence[Law]) -> _Reading | None:
    found = [law for law in laws if law.multiplier is not None]
    if not found or not all(law.exact for law in laws):
        return None
    multiplier = sum(law.multiplier or 0.0 for law in found) / len(found)
    base_ns = found[0].low_ns
    if not all(close(law.multiplier or 0.0, multiplier, 1e-3) for law in found):
        return None
    cut = [law.high_ns for law in laws if law.clipped]
    text = f"decorrelated: {_said(base_ns)} to {multiplier:.4g} x the wait before"
    return _Reading(
        jitter=JitterSeen(kind=Told(value="decorrelated", sure="exact"), text=text),
        curve=_Curve(
            growth="decorrelated",
            base_ns=base_ns,
            factor=multiplier,
            cap_ns=min(cut) if cut else None,
            cap_reason="no wait was cut off at one",
        ),
    )


def _one_rough(laws: Sequence[Law]) -> _Reading | None:
    """Read a single wait that no draw explains: between two times, and nothing more."""
    if len(laws) > 1 or laws[0].exact:
        return None
    # Said here: a shape would be read into it by what comes next.
    text = f"{_said(laws[0].low_ns)} to {_said(laws[0].high_ns)}"
    reason = "there is only one wait, and no draw explains it"
    curve = _Curve(growth=None, base_ns=laws[0].high_ns, reason=reason, cap_reason=reason)
    return _Reading(jitter=JitterSeen(kind=Told(reason=reason), text=text), curve=curve)


def _full(laws: Sequence[Law]) -> _Reading | None:
    if any(law.low_ns > max(law.tolerance_ns, 1e-3 * law.high_ns) for law in laws):
        return None
    rough = any(not law.exact for law in laws)
    curve = _curve([law.high_ns for law in laws], rough=rough)
    if not curve.fits:
        return None
    told: Told[str] = Told(value="full", sure="bounded" if rough else "exact")
    return _Reading(
        jitter=JitterSeen.model_validate(
            {"kind": told.model_dump(), "low": 0.0, "high": 1.0, "text": "full jitter: from 0"}
        ),
        curve=curve,
    )


def _proportional(laws: Sequence[Law]) -> _Reading | None:
    rough = any(not law.exact for law in laws)
    ratios = [law.low_ns / law.high_ns for law in laws if law.high_ns]
    allowed = _ROUGH_RATIO if rough else 1e-4
    if not ratios or max(ratios) - min(ratios) > allowed or len(ratios) != len(laws):
        return None
    anchors: tuple[Callable[[Law], float], ...] = (
        lambda law: (law.low_ns + law.high_ns) / 2,
        lambda law: law.high_ns,
        lambda law: law.low_ns,
    )
    curves = [(anchor, _curve([anchor(law) for law in laws], rough=rough)) for anchor in anchors]
    usable = [item for item in curves if item[1].fits]
    if not usable:
        return None
    # The interval is what was seen; which of its ends is the nominal one is a convention. The
    # roundest is what somebody wrote down.
    anchor, curve = min(usable, key=lambda item: _digits(anchor_of(item[0], laws)))
    nominal = anchor(laws[0])
    low, high = laws[0].low_ns / nominal, laws[0].high_ns / nominal
    alone = len({rounded(anchor(law)) for law in laws}) == 1
    text = f"{low:.4g} to {high:.4g} of the nominal wait"
    if close(low, 0.5, 1e-3) and close(high, 1.0, 1e-3):
        kind, text = "equal", "equal jitter: half of the nominal wait to all of it"
    elif close(1 - low, high - 1, 1e-3):
        kind, text = "proportional", f"±{(high - 1) * 100:.4g} %"
    else:
        kind = "proportional"
    told: dict[str, object] = {"value": kind, "sure": "bounded" if rough else "exact"}
    if alone:
        why = "the nominal waits are all alike" if len(laws) > 1 else "there is only one wait"
        told = {"reason": f"{why}, so jitter in parts of it and jitter that is added look the same"}
        text = f"{_said(laws[0].low_ns)} to {_said(laws[0].high_ns)}"
    return _Reading(
        jitter=JitterSeen.model_validate({"kind": told, "low": low, "high": high, "text": text}),
        curve=curve,
    )


def anchor_of(anchor: Callable[[Law], float], laws: Sequence[Law]) -> float:
    """Return the first nominal wait under `anchor`."""
    return anchor(laws[0])


def _additive(laws: Sequence[Law]) -> _Reading | None:
    if len(laws) < 2:
        return None
    rough = any(not law.exact for law in laws)
    widths = [law.width_ns for law in laws]
    tolerance = max(law.tolerance_ns for law in laws) + (_ROUGH_RATIO * max(widths) if rough else 0)
    if max(widths) - min(widths) > tolerance:
        return None
    curve = _curve([law.low_ns for law in laws], rough=rough)
    return _added(curve, max(widths), "bounded" if rough else "exact") if curve.fits else None


def _capped_additive(laws: Sequence[Law]) -> _Reading | None:
    """Read jitter that is added before a cap cuts the sum: tenacity's, and others'."""
    free = [law for law in laws if not law.clipped and law.width_ns > law.tolerance_ns]
    cut = [law for law in laws if law not in free]
    if len(free) < 2 or not cut or not all(law.exact for law in laws):
        return None
    widths = [law.width_ns for law in free]
    top = max(law.high_ns for law in cut)
    if not close(min(widths), max(widths)) or not all(close(law.high_ns, top) for law in cut):
        return None
    curve = _curve([law.low_ns for law in laws], rough=False, cap_ns=top)
    return _added(curve, max(widths), "exact") if curve.fits else None


def _added(curve: _Curve, added_ns: float, sure: Sureness) -> _Reading:
    return _Reading(
        jitter=JitterSeen(
            kind=Told(value="additive", sure=sure),
            added_ns=rounded(added_ns),
            text=f"up to {_said(added_ns)} added",
        ),
        curve=curve,
    )


#: In the order in which they are tried: what fits two of them is the earlier one.
_SHAPES: tuple[Callable[[Sequence[Law]], _Reading | None], ...] = (
    _without,
    _decorrelated,
    _one_rough,
    _full,
    _proportional,
    _additive,
    _capped_additive,
)


# ---------------------------------------------------------------------- growth


def _curve(waits: Sequence[float], *, rough: bool, cap_ns: float | None = None) -> _Curve:
    """Return how nominal waits grow.

    Args:
        rough: whether they are only approached.
        cap_ns: where sums are cut off, when that is known already.
    """
    allowed = _ROUGH_RATIO if rough else _RATIO
    zero = len(waits) > 1 and abs(waits[0]) < 1e4 and waits[1] > 1e4
    body = list(waits[1:] if zero else waits)
    if all(_same(body[0], wait, allowed) for wait in body):
        return _flat(body, zero=zero, cap_ns=cap_ns)
    top = body[-1] if cap_ns is None else cap_ns
    rising = [wait for wait in body if not _same(wait, top, allowed)]
    plateau = body[len(rising) :]
    if rising + plateau != body or sorted(rising) != rising or (rising and rising[-1] > top):
        return _Curve(growth=None, base_ns=body[0])
    climbing = [*rising, *plateau[:1]]
    return _climb(climbing, len(plateau), allowed, zero=zero, cap_ns=cap_ns)


def _flat(body: Sequence[float], *, zero: bool, cap_ns: float | None) -> _Curve:
    if len(body) == 1:
        reason = "there is only one wait" + (" that is not zero" if zero else "")
        return _Curve(
            growth=None,
            base_ns=body[0],
            reason=reason,
            cap_ns=cap_ns,
            cap_reason=reason,
            leading_zero=zero,
        )
    why = "every nominal wait is the same: fixed, or cut off at a cap from the first one on"
    growth: Growth = "none" if abs(body[0]) < 1e4 else "fixed"
    return _Curve(growth=growth, base_ns=body[0], cap_reason=why, cap_ns=cap_ns, leading_zero=zero)


def _climb(
    climbing: Sequence[float], plateau: int, allowed: float, *, zero: bool, cap_ns: float | None
) -> _Curve:
    """Return the growth of waits that rise to the last one, which `plateau` of them share.

    Only the last may be cut off. A curve explains the waits where all others lie on it, and the
    last one not above it; what two curves explain is not told.
    """
    base, last = climbing[0], climbing[-1]
    ratio, step = (climbing[1] / base if base else 0.0), climbing[1] - base
    power = [base * ratio**index for index in range(len(climbing))]
    line = [base + step * index for index in range(len(climbing))]
    # With no plateau below a cap that is known, the last one is as free as the others.
    free = len(climbing) if plateau == 0 else len(climbing) - 1
    by_power = _agree(climbing[:free], power, allowed) and _not_above(last, power[-1], allowed)
    by_line = _agree(climbing[:free], line, allowed) and _not_above(last, line[-1], allowed)
    unreached = f"no wait ran into one: the longest nominal wait is {_said(last)}"
    if by_power and by_line:
        known_cap = last if plateau > 1 else cap_ns
        why = f"it may be {_said(last)}, or longer: no two waits at the end are alike"
        return _Curve(
            growth=None,
            base_ns=base,
            reason=_both(climbing, plateau, ratio, step),
            cap_ns=known_cap,
            cap_reason=why,
            leading_zero=zero,
        )
    if not (by_power or by_line):
        why = "the waits follow no curve that is known"
        return _Curve(growth="listed", base_ns=base, cap_reason=why, leading_zero=zero)
    capped = plateau > 1 or not _same(last, (power if by_power else line)[-1], allowed)
    return _Curve(
        growth="exponential" if by_power else "linear",
        base_ns=base,
        factor=ratio if by_power else None,
        step_ns=step if by_line else None,
        cap_ns=cap_ns if cap_ns is not None else last if capped else None,
        cap_reason=unreached,
        leading_zero=zero,
    )


def _both(climbing: Sequence[float], plateau: int, ratio: float, step: float) -> str:
    shown = ", ".join(_said(wait) for wait in climbing)
    if plateau > 1 and len(climbing) == 2:
        return (
            f"waits of {shown} and no longer: a factor of {ratio:.4g} or more, or steps of"
            f" {_said(step)} or more, cut off"
        )
    if len(climbing) == 3:
        return (
            f"waits of {shown}: steps of {_said(step)}, or a factor of {ratio:.4g} cut off at"
            f" {_said(climbing[-1])}"
        )
    return (
        f"two different waits, {shown}: a factor of {ratio:.4g}, steps of {_said(step)}, or more"
        f" and cut off at {_said(climbing[-1])}"
    )


def _not_above(last: float, due: float, allowed: float) -> bool:
    return _same(last, due, allowed) or last < due


def _agree(seen: Sequence[float], due: Sequence[float], allowed: float) -> bool:
    return all(_same(one, other, allowed) for one, other in zip(seen, due, strict=False))


def _same(one: float, other: float, allowed: float) -> bool:
    return abs(one - other) <= max(2e4, allowed * max(abs(one), abs(other)))


def _digits(time_ns: float) -> int:
    """Return how many digits a time has, in milliseconds, without zeros at either end."""
    return len(str(round(time_ns / 10_000)).strip("0"))


def _said(time_ns: float) -> str:
    return format_duration(rounded(time_ns))


def _words(layer: Layer, curve: _Curve, laws: Sequence[Law]) -> str:
    base = layer.base_ns.value
    parts: list[str] = []
    if curve.growth == "exponential" and base is not None:
        parts.append(f"{_said(base)} x {layer.factor.value:g}^n")
    elif curve.growth == "linear" and layer.step_ns.value is not None:
        more = layer.step_ns.value
        parts.append(f"{_said(curve.base_ns)} and {_said(more)} more each time")
    elif curve.growth == "fixed":
        parts.append(f"{_said(curve.base_ns)} each time")
    elif curve.growth == "none":
        parts.append("at once")
    elif curve.growth == "decorrelated":
        parts.append("")
    elif layer.base_ns.value is not None or curve.growth == "listed":
        # The nominal ones, as far as the jitter tells which they are.
        part = layer.jitter.high or 1.0
        added = layer.jitter.added_ns is not None
        nominal = [law.low_ns if added else law.high_ns / part for law in laws]
        parts.append("waits " + ", ".join(dict.fromkeys(map(_said, nominal))))
    if layer.cap_ns.value is not None:
        parts.append(f"at most {_said(layer.cap_ns.value)}")
    if curve.leading_zero:
        parts.append("the first one at once")
    parts.append(layer.jitter.text)
    return ", ".join(part for part in parts if part)
