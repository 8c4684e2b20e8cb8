"""A drift between two censuses as lines for a terminal and as a page: pure.

Cells that changed alike are one group: what was done, what is done now, in which scenarios, and by
which clients.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from faultclock.model.report.census import CallConduct, ScenarioConduct
from faultclock.model.report.census_drift import CellChange, CensusDrift, ClientDrift, DriftKind
from faultclock.render.census_text import wrapped
from faultclock.render.census_view import (
    attempts_in_words,
    call_look,
    cell_of,
    endings_of,
    short_class,
)
from faultclock.render.json_text import canonical_digest
from faultclock.render.page import environment, frame
from faultclock.render.wording import count, short_time

_WIDTH = 80
_HEADLINES = {
    "worse": "{worse} got worse",
    "unclear": "nothing got worse, and not everything can be compared",
    "not worse": "nothing got worse",
}
#: Kind to the key of its sign and to its title, the worst first.
_KINDS: dict[DriftKind, tuple[str, str]] = {
    "worse": ("fail", "worse"),
    "lost": ("open", "no result any more, which is no pass"),
    "better": ("pass", "better"),
    "different": ("none", "different, and neither better nor worse"),
    "gained": ("none", "a result now, and none before"),
}


class Alike(Struct, frozen=True, kw_only=True):
    """Cells that changed alike.

    Attributes:
        checks: which checks are failed now, or no more; empty where that is the same.
    """

    before: str
    after: str
    checks: str
    clients: tuple[str, ...]
    scenarios: tuple[str, ...]

    @property
    def number(self) -> int:
        """How many cells."""
        return len(self.clients) * len(self.scenarios)


def drift_lines(drift: CensusDrift, width: int = _WIDTH) -> Iterator[str]:
    """Yield what changed, the worst first, in lines of at most `width` columns."""
    yield headline(drift)
    for versions, clients in _versions(drift):
        yield from wrapped(f"{', '.join(clients)}: {versions}", width)
    for title, _, number, groups in _kinds(drift):
        yield ""
        yield f"{title} ({number})"
        for group in groups:
            yield from wrapped(group.before, width, "  ")
            checks = f"; {group.checks}" if group.checks else ""
            yield from wrapped(f"-> {group.after}{checks}", width, "  ")
            where = f"{', '.join(group.clients)}: {', '.join(group.scenarios)}"
            yield from wrapped(where, width, "     ")
    if drift.gone or drift.new:
        yield ""
    for words, names in (("only in OLD", drift.gone), ("only in NEW", drift.new)):
        if names:
            yield from wrapped(f"{words}: {', '.join(names)}", width, "")


def drift_page(drift: CensusDrift) -> str:
    """Return `drift` as one self-contained HTML document."""
    page = environment().get_template("drift.html.j2")
    return page.render(
        drift=drift,
        headline=headline(drift),
        key={"worse": "fail", "unclear": "open", "not worse": "pass"}[drift.verdict],
        versions=list(_versions(drift)),
        kinds=list(_kinds(drift)),
        **frame("census.css"),
        digest=canonical_digest(drift),
    )


def headline(drift: CensusDrift) -> str:
    """Return what a drift comes to, in one sentence."""
    if not drift.compared:
        return "nothing can be compared: no client has a result in both for the same scenario"
    said = _HEADLINES[drift.verdict].format(worse=count(drift.count("worse"), "cell"))
    changed = sum(len(client.changes) for client in drift.clients)
    return f"{said}: {count(changed, 'cell')} of {drift.compared} changed"


def _versions(drift: CensusDrift) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what was exchanged, with the clients of which that is so."""
    groups: dict[str, list[str]] = {}
    for client in drift.clients:
        groups.setdefault(_exchanged(client), []).append(client.client)
    for words, names in groups.items():
        yield words, tuple(names)


def _exchanged(client: ClientDrift) -> str:
    names = dict.fromkeys((*client.before, *client.after))
    pairs = [(name, client.before.get(name), client.after.get(name)) for name in names]
    said = [f"{name} {old or 'none'} -> {new or 'none'}" for name, old, new in pairs if old != new]
    return ", ".join(said) or "the same versions"


def _kinds(drift: CensusDrift) -> Iterator[tuple[str, str, int, list[Alike]]]:
    """Yield title, key, number of cells and groups of each kind that there is."""
    for kind, (key, title) in _KINDS.items():
        number = drift.count(kind)
        if number:
            yield title, key, number, list(_groups(drift, kind))


def _groups(drift: CensusDrift, kind: DriftKind) -> Iterator[Alike]:
    # First who does the same in a scenario, then in which scenarios the same ones do the same.
    by_scenario: dict[tuple[str, str, str, str], list[str]] = {}
    for client in drift.clients:
        for change in client.changes:
            if change.kind == kind:
                by_scenario.setdefault((change.scenario, *_words(change)), []).append(client.client)
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = {}
    for (scenario, *words), clients in by_scenario.items():
        before, after, checks = words
        groups.setdefault((before, after, checks, tuple(clients)), []).append(scenario)
    for (before, after, checks, names), scenarios in groups.items():
        yield Alike(
            before=before, after=after, checks=checks, clients=names, scenarios=tuple(scenarios)
        )


def _words(change: CellChange) -> tuple[str, str, str]:
    """Return what was done, what is done now, and what that means for the checks."""
    checks = [f"newly fails {name}" for name in change.newly_failed]
    checks += [f"no longer fails {name}" for name in change.fixed]
    before, after = _of_run(change.before), _of_run(change.after)
    old, new = change.before, change.after
    if before == after and old is not None and new is not None:
        before, after = _first_difference(old, new)
    if before == after:
        before, after = f"{before}: {_verdict(old)}", f"{after}: {_verdict(new)}"
    return before, after, ", ".join(checks)


def _first_difference(old: ScenarioConduct, new: ScenarioConduct) -> tuple[str, str]:
    """Return what the first call that differs does, with more and more of the details."""
    for call, other in zip(old.calls, new.calls, strict=False):
        for details in (_of_call, _with_endings):
            if details(call) != details(other):
                named = f"{call.call}: " if len(old.calls) > 1 else ""
                return f"{named}{details(call)}", f"{named}{details(other)}"
    return _of_run(old), _of_run(new)


def _of_run(run: ScenarioConduct | None) -> str:
    if run is not None and not run.trouble and len(run.calls) == 1:
        return _of_call(run.calls[0])
    cell = cell_of(run)
    waits = f"waits {cell.waits}" if cell.waits else ""
    return ", ".join(part for part in (cell.word, cell.attempts, waits) if part)


def _of_call(call: CallConduct) -> str:
    word = f"{call_look(call)[1]} {short_class(call.error or '')}".rstrip()
    waits = ["unknown" if wait.ns is None else short_time(wait.ns) for wait in call.waits]
    shown = [f"waits {' · '.join(waits)}"] if waits else []
    return ", ".join((word, attempts_in_words((call,)), *shown))


def _with_endings(call: CallConduct) -> str:
    return f"{_of_call(call)} ({endings_of(call)})"


def _verdict(run: ScenarioConduct | None) -> str:
    return (run and run.verdict) or "not judged"
