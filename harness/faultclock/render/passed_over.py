"""Scenarios that were selected and not run, in words: they are not to be taken for passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultclock.model.report.finding import PassedOver
from faultclock.render.wording import count, listed

#: More scenarios than these that have one reason are counted, and the first of them named.
_EACH_MAX = 3


def passed_over_lines(items: Sequence[PassedOver]) -> Iterator[str]:
    """Yield how many there are, and each reason with its scenarios; nothing where there are none.

    The reports name every one of them.
    """
    if items:
        yield f"  passed over, not run: {count(len(items), 'scenario')}"
    groups: dict[str, list[str]] = {}
    for item in items:
        groups.setdefault(item.because, []).append(item.scenario)
    for because, names in groups.items():
        if len(names) <= _EACH_MAX:
            yield from (f"    {name}: {because}" for name in names)
        else:
            yield f"    {count(len(names), 'scenario')}: {because}"
            yield f"      {listed(names, _EACH_MAX)} (--json names all)"
