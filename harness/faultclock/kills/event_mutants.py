"""All edits of what a subject says, that its own traces give reason for.

They need nothing but the traces, so they are made for any subject and any model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from msgspec import Struct, field

from faultclock.kills.event_edits import (
    Doubled,
    Dropped,
    Edit,
    LeftOut,
    Moved,
    Said,
    Set,
    Sum,
    Summed,
    Where,
    is_said,
)
from faultclock.kills.mutant import Mutant
from faultclock.kills.told_edits import Told, members, results_told
from faultclock.kills.values import LEAK, OTHER_TEXT, Path, digest, leaves, others
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace, TraceEvent

#: The harness writes these: whose fact it is, and digests of what a subject says elsewhere.
_OF_THE_HARNESS = frozenset({"call", "life", "line", "log_run", "task", "do", "text_sha256"})
#: By what a call hands over, a subject speaks as well.
_HANDED_OVER = frozenset({"call.returned", "call.raised"})
#: Where words for somebody stand.
_MESSAGES = frozenset({"message", "shape", "text", "error", "reason", "why"})
#: Other names that an event gets, of those that the subject has.
_NAMES_MAX = 2
#: Members of the results of tools that are changed.
_MEMBERS_MAX = 40

_WHERE: Mapping[Where, str] = {
    "behind_said": "later, behind the next thing that is said",
    "behind_done": "later, behind the next thing that is done",
    "last": "when its call is over",
    "before_said": "sooner, before the last thing that is said",
    "before_done": "sooner, before the last thing that is done",
    "first": "as soon as its call begins",
}
_SUMS: Mapping[Sum, str] = {"+1": "one more", "-1": "one less", "*2": "twice as much"}


class _Group(Struct):
    """What is known of the events of one kind and name.

    Attributes:
        scenarios: ids of those in which they are said.
        values: path to the values that were seen there.
        optional: paths of members, to leave them out.
    """

    scenarios: set[str] = field(default_factory=set)
    values: dict[Path, list[Any]] = field(default_factory=dict)

    def add(self, event: TraceEvent, scenario: str) -> None:
        """Take one more event."""
        self.scenarios.add(scenario)
        for path, value in leaves(event.payload):
            if path[0] not in _OF_THE_HARNESS:
                self.values.setdefault(path, []).append(value)


def event_mutants(traces: Sequence[Trace]) -> tuple[Mutant, ...]:
    """Return the mutants of what is said in traces of one subject, in a stated order."""
    groups: dict[Said, _Group] = {}
    for trace in traces:
        scenario = trace.header.scenario
        heard = _heard(scenario)
        for event in trace.events:
            if (is_said(event) or event.kind in _HANDED_OVER) and event.kind not in heard:
                name = event.payload.get("name")
                said = Said(event.kind, name if isinstance(name, str) else None)
                groups.setdefault(said, _Group()).add(event, scenario.id)
    named = sorted(groups, key=lambda said: (said.kind, said.name or ""))
    names: dict[str, list[str]] = {}
    for said in named:
        names.setdefault(said.kind, []).append(said.name or "")
    mutants = [_told(traces), *(tuple(_of(said, groups[said], names[said.kind])) for said in named)]
    # What is done to every event comes first: the rules that are easily killed are soon gone.
    return tuple(item for row in zip_longest(*mutants) for item in row if item is not None)


def _told(traces: Sequence[Trace]) -> tuple[Mutant, ...]:
    """Return the mutants of what the model is told as the results of tools."""
    values: dict[Path, list[Any]] = {}
    scenarios: set[str] = set()
    for trace in traces:
        for text in results_told(trace):
            scenarios.add(trace.header.scenario.id)
            for path, value in members(text):
                values.setdefault(path, []).append(value)
    edits: dict[str, Told] = {}
    if scenarios:
        edits |= {f"says {_shown(new)}": Told(new=new) for new in (OTHER_TEXT, "", "null", LEAK)}
    for path in sorted(values, key=str)[:_MEMBERS_MAX]:
        place = ".".join(map(str, path))
        edits[f"leaves {place} out"] = Told(path=path, is_left_out=True)
        for new in others(values[path], is_message=bool(_MESSAGES & {*map(str, path)})):
            edits[f"says {_shown(new)} as {place}"] = Told(path=path, new=new)
    return tuple(
        Mutant(
            id=f"tool result: {does} {digest(does)[:4]}",
            family="event",
            group="tool result",
            does=f"{does} in the result of a tool, for the model",
            edit=edit,
            scenarios=frozenset(scenarios),
        )
        for does, edit in edits.items()
    )


def _heard(scenario: Scenario) -> frozenset[str]:
    """Return the kinds of events on which this scenario acts, so that an edit shows nothing."""
    text = scenario.model_dump_json()
    if '"seq":' in text and any(crash.on and crash.on.seq for crash in scenario.crash_rules):
        return _SAID_KINDS
    return frozenset(kind for kind in _SAID_KINDS if f'"{kind}"' in text)


_SAID_KINDS = frozenset(
    {
        *("declared.audit", "declared.audit_event", "declared.event", "declared.content"),
        *("declared.model_message", "declared.operator_message", "declared.user_message"),
        *_HANDED_OVER,
    }
)


def _of(said: Said, group: _Group, names: list[str]) -> Iterator[Mutant]:
    title = said.name or said.kind.removeprefix("declared.").replace("_", " ")
    scenarios = frozenset(group.scenarios)

    def mutant(what: str, does: str, edit: Edit) -> Mutant:
        return Mutant(
            id=f"{said.name or said.kind}: {what}",
            family="event",
            group=said.name or said.kind,
            does=does,
            edit=edit,
            scenarios=scenarios,
        )

    if said.kind not in _HANDED_OVER:
        yield mutant("drop", f"does not say {title}", Dropped(of=said))
        yield mutant("double", f"says {title} twice", Doubled(of=said))
        for where, words in _WHERE.items():
            edit = Moved(of=said, where=where)
            yield mutant(where.replace("_", " "), f"says {title} {words}", edit)
    if said.kind == "declared.content":
        return
    for path, values in group.values.items():
        place = ".".join(map(str, path))
        for new in _new_values(path, values, said, names):
            shown = _shown(new)
            does = f"says {shown} as {place} of {title}"
            short = shown if not shown.endswith('…"') else f"{shown} {digest(new)[:4]}"
            yield mutant(f"set {place} to {short}", does, Set(of=said, path=path, new=new))
        if any(isinstance(item, int) and not isinstance(item, bool) for item in values):
            for by, words in _SUMS.items():
                does = f"says {words} as {place} of {title}"
                yield mutant(f"set {place} {by}", does, Summed(of=said, path=path, by=by))
        if len(path) > 1 and isinstance(path[-1], str):
            does = f"leaves {place} out of {title}"
            yield mutant(f"leave out {place}", does, LeftOut(of=said, path=path))


def _new_values(path: Path, values: list[Any], said: Said, names: list[str]) -> Iterator[Any]:
    if path == ("name",) and said.name is not None:
        at = names.index(said.name)
        yield from dict.fromkeys(
            name for name in [*names[at + 1 :], *names[:at]][:_NAMES_MAX] if name
        )
    is_message = bool(_MESSAGES & {*map(str, path)})
    yield from others(values, is_message=is_message)


def _shown(value: Any) -> str:
    """Return a value in one short line."""
    if value is None:
        return "null"
    if isinstance(value, str):
        line = value.split("\n", 1)[0]
        return f'"{line}"' if len(line) == len(value) <= 30 else f'"{line[:29]}…"'
    return str(value).lower() if isinstance(value, bool) else str(value)
