"""Growth: how the nominal waits of one loop grow, from the first to the last.

What the waits do not show is not guessed. Two waits of 500 ms and 1 s are a factor of 2, a line of
500 ms, or a cap of 1 s, and the answer names all three. A cap that no wait has reached is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from faultclock.model.report.inferred import Growth
from faultclock.profile.infer.times import said

#: Relative difference of two ratios that are the same.
_RATIO = 2e-5
#: The same, where only ranges are known.
ROUGH_RATIO = 0.2
#: A wait that is shorter is none.
_AT_ONCE_NS = 10_000
#: Up to which two nominal waits are the same, however short.
_SAME_NS = 20_000


class Curve(Struct, frozen=True, kw_only=True):
    """How nominal waits grow.

    Attributes:
        growth: None where several curves explain them (`reason`), or none does.
        base_ns: the first of them that is not zero.
        cap_ns: where they are cut off; None where that is not known (`cap_reason`).
        leading_zero: whether the first one of all is none.
    """

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
        """Whether a curve explains the waits, or several do."""
        return self.growth is not None or bool(self.reason)


def curve_of(waits: Sequence[float], *, rough: bool, cap_ns: float | None = None) -> Curve:
    """Return how nominal waits grow.

    Args:
        rough: whether they are only approached.
        cap_ns: where sums are cut off, when that is known already.
    """
    allowed = ROUGH_RATIO if rough else _RATIO
    zero = len(waits) > 1 and abs(waits[0]) < _AT_ONCE_NS < waits[1]
    body = list(waits[1:] if zero else waits)
    if all(_same(body[0], wait, allowed) for wait in body):
        return _flat(body, zero=zero, cap_ns=cap_ns)
    top = body[-1] if cap_ns is None else cap_ns
    rising = [wait for wait in body if not _same(wait, top, allowed)]
    plateau = body[len(rising) :]
    if rising + plateau != body or sorted(rising) != rising or (rising and rising[-1] > top):
        return Curve(growth=None, base_ns=body[0])
    climbing = [*rising, *plateau[:1]]
    return _climb(climbing, len(plateau), allowed, zero=zero, cap_ns=cap_ns)


def _flat(body: Sequence[float], *, zero: bool, cap_ns: float | None) -> Curve:
    if len(body) == 1:
        reason = "there is only one wait" + (" that is not zero" if zero else "")
        return Curve(
            growth=None,
            base_ns=body[0],
            reason=reason,
            cap_ns=cap_ns,
            cap_reason=reason,
            leading_zero=zero,
        )
    why = "every nominal wait is the same: fixed, or cut off at a cap from the first one on"
    growth: Growth = "none" if abs(body[0]) < _AT_ONCE_NS else "fixed"
    return Curve(growth=growth, base_ns=body[0], cap_reason=why, cap_ns=cap_ns, leading_zero=zero)


def _climb(
    climbing: Sequence[float], plateau: int, allowed: float, *, zero: bool, cap_ns: float | None
) -> Curve:
    """Return the growth of waits that rise to the last one, which `plateau` of them share.

    Only the last may be cut off. A curve explains the waits where all others lie on it, and the
    last one not above it; what two curves explain is not reported.
    """
    base, last = climbing[0], climbing[-1]
    ratio, step = (climbing[1] / base if base else 0.0), climbing[1] - base
    power = [base * ratio**index for index in range(len(climbing))]
    line = [base + step * index for index in range(len(climbing))]
    # With no plateau below a cap that is known, the last one is as free as the others.
    free = len(climbing) if plateau == 0 else len(climbing) - 1
    by_power = _agree(climbing[:free], power, allowed) and _not_above(last, power[-1], allowed)
    by_line = _agree(climbing[:free], line, allowed) and _not_above(last, line[-1], allowed)
    unreached = f"no wait ran into one: the longest nominal wait is {said(last)}"
    if by_power and by_line:
        known_cap = last if plateau > 1 else cap_ns
        why = f"it may be {said(last)}, or longer: no two waits at the end are alike"
        return Curve(
            growth=None,
            base_ns=base,
            reason=_both(climbing, plateau, ratio, step),
            cap_ns=known_cap,
            cap_reason=why,
            leading_zero=zero,
        )
    if not (by_power or by_line):
        why = "the waits follow no curve that is known"
        return Curve(growth="listed", base_ns=base, cap_reason=why, leading_zero=zero)
    capped = plateau > 1 or not _same(last, (power if by_power else line)[-1], allowed)
    return Curve(
        growth="exponential" if by_power else "linear",
        base_ns=base,
        factor=ratio if by_power else None,
        step_ns=step if by_line else None,
        cap_ns=cap_ns if cap_ns is not None else last if capped else None,
        cap_reason=unreached,
        leading_zero=zero,
    )


def _both(climbing: Sequence[float], plateau: int, ratio: float, step: float) -> str:
    shown = ", ".join(said(wait) for wait in climbing)
    if plateau > 1 and len(climbing) == 2:
        return (
            f"waits of {shown} and no longer: a factor of {ratio:.4g} or more, or steps of"
            f" {said(step)} or more, cut off"
        )
    if len(climbing) == 3:
        return (
            f"waits of {shown}: steps of {said(step)}, or a factor of {ratio:.4g} cut off at"
            f" {said(climbing[-1])}"
        )
    return (
        f"two different waits, {shown}: a factor of {ratio:.4g}, steps of {said(step)}, or more"
        f" and cut off at {said(climbing[-1])}"
    )


def _not_above(last: float, due: float, allowed: float) -> bool:
    return _same(last, due, allowed) or last < due


def _agree(seen: Sequence[float], due: Sequence[float], allowed: float) -> bool:
    return all(_same(one, other, allowed) for one, other in zip(seen, due, strict=False))


def _same(one: float, other: float, allowed: float) -> bool:
    return abs(one - other) <= max(_SAME_NS, allowed * max(abs(one), abs(other)))
