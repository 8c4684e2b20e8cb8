"""Where the walk over a store's history puts what it finds, and how it words it."""

from __future__ import annotations

from dataclasses import dataclass

from faultclock.oracle.check import Verdict, broken, held
from faultclock.oracle.store_facts import StoreCall

__all__ = ["READS", "StoreVerdicts", "kept", "whose", "wrong_entries"]

#: Operations that return what is kept.
READS = ("read", "read_slot", "read_journal")


@dataclass(frozen=True, slots=True)
class StoreVerdicts:
    """Where the walk puts what it finds."""

    found: dict[str, list[Verdict]]
    requirements: dict[str, tuple[str, ...]]
    """By check id, or by the name that a model gives to a part of what a check judges."""
    part: str = ""
    """What the crashes of the run take with them: `process`, or `power` for what is not synced."""

    def good(self, check: str) -> None:
        """Count one thing that is as it should be, for `store.<check>`."""
        self.found[f"store.{check}"].append(held(*self._requirements(check)))

    def _requirements(self, check: str) -> tuple[str, ...]:
        id_ = f"store.{check}"
        return self.requirements.get(f"{id_}.{self.part}") or self.requirements[id_]

    def bad(
        self, check: str, call: StoreCall, expected: str, observed: str, hint: str, *seqs: int
    ) -> None:
        """Add a violation of `store.<check>`; `seqs` are events beside those of the call."""
        id_ = f"store.{check}"
        requirements = self._requirements(check)
        self.found[id_] += (
            held(*requirements),
            broken(
                requirements,
                call=call.id,
                expected=expected,
                observed=observed,
                events=(*seqs, *call.seqs),
                hint=hint,
            ),
        )


def kept(acked: StoreCall) -> str:
    """Return in words what was there for certain."""
    if acked.do in READS:
        return f"what {acked.id} read after a crash"
    return f"what {acked.id} wrote and the store acknowledged"


def whose(call: StoreCall) -> str:
    """Return in words what a call was about."""
    return f"session {call.session!r}" + ("" if call.owner is None else f", owner {call.owner!r}")


def wrong_entries(found: list[str], wanted: list[str]) -> str:
    """Return in words how a journal differs from what was appended."""
    if any(item not in wanted for item in found):
        return "it has an entry that was not appended since then"
    if len(set(found)) < len(found):
        return "an entry is there twice"
    if [item for item in wanted if item in found] != found:
        return "its entries are in another order"
    return f"it has {len(found)} of them, and acknowledged ones are missing"
