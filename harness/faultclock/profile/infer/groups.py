"""Groups: which kinds of failures are retried alike.

Under one seed a client draws the same numbers, so two kinds that follow one schedule have the very
same waits. That needs no statistics: equal waits to the microsecond, or another schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from faultclock.profile.infer.seen import Seen
from faultclock.profile.infer.times import close


class Group(Struct, frozen=True, kw_only=True):
    """Kinds with one schedule.

    Attributes:
        kinds: the one that stands for all of them first.
        waits_ns: under the first seed.
        runs: of the first kind, under all seeds.
        shorter: kinds whose waits are the first ones of these, with fewer attempts.
    """

    kinds: tuple[str, ...]
    attempts: int
    waits_ns: tuple[int | None, ...]
    runs: tuple[Seen, ...] = ()
    shorter: tuple[str, ...] = ()

    @property
    def all_kinds(self) -> tuple[str, ...]:
        """Return every kind that follows the schedule, as far as it gets."""
        return (*self.kinds, *self.shorter)

    def over_seeds(self, runs: tuple[Seen, ...]) -> Group:
        """Return the group with the runs of its first kind."""
        return replace(self, runs=runs)


def grouped(persistent: Mapping[str, Seen]) -> tuple[Group, ...]:
    """Return the groups of all kinds that are retried, those of most kinds first.

    Args:
        persistent: by kind, what became of a failure that never goes away, all under one seed.
    """
    groups: list[Group] = []
    for kind, run in persistent.items():
        if run.trouble or not run.met or len(run.attempts) < 2:
            continue
        waits = effective_waits_ns(run)
        for index, group in enumerate(groups):
            if group.attempts == len(run.attempts) and _equal(group.waits_ns, waits):
                groups[index] = replace(group, kinds=(*group.kinds, kind))
                break
        else:
            groups.append(Group(kinds=(kind,), attempts=len(run.attempts), waits_ns=waits))
    ordered = sorted(groups, key=lambda group: -len(group.kinds))
    return tuple(_without_parts(ordered))


def effective_waits_ns(run: Seen) -> tuple[int | None, ...]:
    """Return the waits of `run`, also where it closes what hung only after the wait.

    How long it sits on a silent connection by itself shows at its last attempt, after which it
    waits for nothing.
    """
    last = run.attempts[-1].hung_ns if run.attempts else None
    found: list[int | None] = []
    for attempt, wait in zip(run.attempts, run.waits_ns, strict=False):
        late = 0 if last is None or attempt.hung_ns is None else attempt.hung_ns - last
        found.append(None if wait is None else wait + late)
    return tuple(found) if all((wait or 0) >= 0 for wait in found) else run.waits_ns


def first_wait_ns(run: Seen) -> int | None:
    """Return the first wait of a run; None where there is none to see."""
    return run.waits_ns[0] if run.waits_ns else None


def _equal(ones: tuple[int | None, ...], others: tuple[int | None, ...]) -> bool:
    return len(ones) == len(others) and all(
        one is None or other is None or close(one, other)
        for one, other in zip(ones, others, strict=True)
    )


def _without_parts(groups: list[Group]) -> Iterator[Group]:
    """Yield the groups, those that are the beginning of another one within that."""
    parts: dict[int, int] = {}
    for index, group in enumerate(groups):
        longer = [
            place
            for place, other in enumerate(groups)
            if other.attempts > group.attempts
            and _equal(other.waits_ns[: group.attempts - 1], group.waits_ns)
        ]
        if longer:
            parts[index] = longer[0]
    for index, group in enumerate(groups):
        if index not in parts:
            shorter = [
                kind
                for part in parts
                if _whole_of(part, parts) == index
                for kind in groups[part].kinds
            ]
            yield replace(group, shorter=tuple(shorter))


def _whole_of(part: int, parts: Mapping[int, int]) -> int:
    while part in parts:
        part = parts[part]
    return part
