"""Scenarios that were selected and not run, in words: nobody is to take them for passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.model.finding import PassedOver
from harness.render.wording import count

__all__ = ["passed_over_lines"]


def passed_over_lines(items: Sequence[PassedOver]) -> Iterator[str]:
    """Yield how many there are, and each with its reason; nothing where there are none."""
    if items:
        yield f"  passed over, not run: {count(len(items), 'scenario')}"
    for item in items:
        yield f"    {item.scenario}: {item.because}"
