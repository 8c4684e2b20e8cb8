"""Jitter: between which parts of a nominal wait the waits of one loop lie.

The shapes are tried in a fixed order, and the first that fits all waits is reported. A shape that
only waits of different nominal length could show is not reported for equal waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from faultclock.model.report.inferred import JitterKind, JitterSeen, Sureness, Told
from faultclock.profile.infer.growth import ROUGH_RATIO, Curve, curve_of
from faultclock.profile.infer.laws import Law
from faultclock.profile.infer.times import close, rounded, said


class Reading(Struct, frozen=True, kw_only=True):
    """A shape of the jitter, and the nominal waits that it leaves."""

    jitter: JitterSeen
    curve: Curve


def reading_of(laws: Sequence[Law]) -> Reading:
    """Return the first shape that fits the waits of a loop; where none does, it says so."""
    for shape in _SHAPES:
        found = shape(laws)
        if found is not None:
            return found
    text = ", ".join(f"{said(law.low_ns)} to {said(law.high_ns)}" for law in laws)
    reason = f"no shape of jitter fits waits of {text}"
    return Reading(
        jitter=JitterSeen(kind=Told(reason=reason), text="they vary, in no way that is known"),
        curve=Curve(growth="listed", base_ns=laws[0].high_ns, cap_reason=reason),
    )


def _without(laws: Sequence[Law]) -> Reading | None:
    if not all(close(law.low_ns, law.high_ns) for law in laws):
        return None
    curve = curve_of([law.low_ns for law in laws], rough=False)
    once = all(law.values == 1 for law in laws)
    kind: Told[JitterKind] = Told(value="none", sure="exact")
    if once:
        kind = Told(reason="one run only")
    return Reading(
        jitter=JitterSeen(kind=kind, low=1.0, high=1.0, text="without jitter"), curve=curve
    )


def _decorrelated(laws: Sequence[Law]) -> Reading | None:
    found = [law for law in laws if law.multiplier is not None]
    if not found or not all(law.exact for law in laws):
        return None
    multiplier = sum(law.multiplier or 0.0 for law in found) / len(found)
    base_ns = found[0].low_ns
    if not all(close(law.multiplier or 0.0, multiplier, 1e-3) for law in found):
        return None
    cut = [law.high_ns for law in laws if law.clipped]
    text = f"decorrelated: {said(base_ns)} to {multiplier:.4g} x the wait before"
    return Reading(
        jitter=JitterSeen(kind=Told(value="decorrelated", sure="exact"), text=text),
        curve=Curve(
            growth="decorrelated",
            base_ns=base_ns,
            factor=multiplier,
            cap_ns=min(cut) if cut else None,
            cap_reason="no wait was cut off at one",
        ),
    )


def _one_rough(laws: Sequence[Law]) -> Reading | None:
    """Read a single wait that no draw explains: between two times, and nothing more."""
    if len(laws) > 1 or laws[0].exact:
        return None
    # Said here: a shape would be read into it by what comes next.
    text = f"{said(laws[0].low_ns)} to {said(laws[0].high_ns)}"
    reason = "there is only one wait, and no draw explains it"
    curve = Curve(growth=None, base_ns=laws[0].high_ns, reason=reason, cap_reason=reason)
    return Reading(jitter=JitterSeen(kind=Told(reason=reason), text=text), curve=curve)


def _full(laws: Sequence[Law]) -> Reading | None:
    if any(law.low_ns > max(law.tolerance_ns, 1e-3 * law.high_ns) for law in laws):
        return None
    rough = any(not law.exact for law in laws)
    curve = curve_of([law.high_ns for law in laws], rough=rough)
    if not curve.fits:
        return None
    told: Told[str] = Told(value="full", sure="bounded" if rough else "exact")
    return Reading(
        jitter=JitterSeen.model_validate(
            {"kind": told.model_dump(), "low": 0.0, "high": 1.0, "text": "full jitter: from 0"}
        ),
        curve=curve,
    )


def _proportional(laws: Sequence[Law]) -> Reading | None:
    rough = any(not law.exact for law in laws)
    ratios = [law.low_ns / law.high_ns for law in laws if law.high_ns]
    allowed = ROUGH_RATIO if rough else 1e-4
    if not ratios or max(ratios) - min(ratios) > allowed or len(ratios) != len(laws):
        return None
    anchors: list[Callable[[Law], float]] = [lambda law: law.high_ns]
    if not rough:
        anchors = [lambda law: (law.low_ns + law.high_ns) / 2, *anchors, lambda law: law.low_ns]
    curves = [(anchor, curve_of([anchor(law) for law in laws], rough=rough)) for anchor in anchors]
    usable = [item for item in curves if item[1].fits]
    if not usable:
        return None
    # The interval is what was seen; which of its ends is the nominal one is a convention. The
    # roundest is what the code says. No end is round of waits that no draw explains.
    anchor, curve = min(usable, key=lambda item: _digits(item[0](laws[0])))
    nominal = anchor(laws[0])
    low, high = laws[0].low_ns / nominal, laws[0].high_ns / nominal
    alone = len({rounded(anchor(law)) for law in laws}) == 1
    text = f"each wait is {_percent(low)} to {_percent(high)} of that, at random"
    if rough:
        kind = "proportional"
        text = f"each wait is {_percent(low, 2)} to 100 % of that, as far as seen"
    elif close(low, 0.5, 1e-3) and close(high, 1.0, 1e-3):
        kind, text = "equal", "equal jitter: each wait is 50 % to 100 % of that, at random"
    elif close(1 - low, high - 1, 1e-3):
        kind, text = "proportional", f"±{(high - 1) * 100:.4g} %"
    else:
        kind = "proportional"
    told: dict[str, object] = {"value": kind, "sure": "bounded" if rough else "exact"}
    if alone:
        why = "the nominal waits are all alike" if len(laws) > 1 else "there is only one wait"
        told = {"reason": f"{why}, so jitter in parts of it and jitter that is added look the same"}
        text = f"{said(laws[0].low_ns)} to {said(laws[0].high_ns)}"
    return Reading(
        jitter=JitterSeen.model_validate({"kind": told, "low": low, "high": high, "text": text}),
        curve=curve,
    )


def _additive(laws: Sequence[Law]) -> Reading | None:
    if len(laws) < 2:
        return None
    rough = any(not law.exact for law in laws)
    widths = [law.width_ns for law in laws]
    tolerance = max(law.tolerance_ns for law in laws) + (ROUGH_RATIO * max(widths) if rough else 0)
    if max(widths) - min(widths) > tolerance:
        return None
    curve = curve_of([law.low_ns for law in laws], rough=rough)
    return _added(curve, max(widths), "bounded" if rough else "exact") if curve.fits else None


def _capped_additive(laws: Sequence[Law]) -> Reading | None:
    """Read jitter that is added before a cap cuts the sum: tenacity's, and others'."""
    free = [law for law in laws if not law.clipped and law.width_ns > law.tolerance_ns]
    cut = [law for law in laws if law not in free]
    if len(free) < 2 or not cut or not all(law.exact for law in laws):
        return None
    widths = [law.width_ns for law in free]
    top = max(law.high_ns for law in cut)
    if not close(min(widths), max(widths)) or not all(close(law.high_ns, top) for law in cut):
        return None
    curve = curve_of([law.low_ns for law in laws], rough=False, cap_ns=top)
    return _added(curve, max(widths), "exact") if curve.fits else None


def _added(curve: Curve, added_ns: float, sure: Sureness) -> Reading:
    return Reading(
        jitter=JitterSeen(
            kind=Told(value="additive", sure=sure),
            added_ns=rounded(added_ns),
            text=f"up to {said(added_ns)} added",
        ),
        curve=curve,
    )


#: In the order in which they are tried: what fits two of them is the earlier one.
_SHAPES: tuple[Callable[[Sequence[Law]], Reading | None], ...] = (
    _without,
    _decorrelated,
    _one_rough,
    _full,
    _proportional,
    _additive,
    _capped_additive,
)


def _percent(part: float, digits: int = 4) -> str:
    return f"{100 * part:.{digits}g} %"


def _digits(time_ns: float) -> int:
    """Return how many digits a time has, in milliseconds, without zeros at either end."""
    return len(str(round(time_ns / 10_000)).strip("0"))
