"""Names in a scenario file that lead nowhere: each is a mistake with its place and a suggestion.

The model of a scenario knows what a value may be. Whether the tool that a rule names exists is
asked here, where the place in the file is still known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultclock.errors import Problem
from faultclock.load.known_keys import Location
from faultclock.load.wording import did_you_mean
from faultclock.load.yaml_file import Document
from faultclock.model.scenario.scenario import RUNTIME_ONLY, Role, Scenario
from faultclock.model.scenario.trigger import EventTrigger
from faultclock.model.trace.events import EVENT_KINDS

_COMMON = {"variant", "matrix", "models", "vary", "settle", "tape"}
#: Role to the sections that mean something for it, beside those that every scenario has.
_SECTIONS: dict[Role, set[str]] = {
    "provider_adapter": _COMMON | {"cancels"},
    "runtime": _COMMON
    | {"session", "tools", "interactors", "store", "cancels", "crashes", "crash_everywhere"}
    | RUNTIME_ONLY,
    "tool": _COMMON | {"cancels"},
    "session_store": _COMMON | {"disk", "crashes", "crash_everywhere"},
    "extension": _COMMON | {"cancels"},
}


def unknown_names(document: Document, scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for each section that the role has not, and each name that is none."""
    for name in sorted(Scenario.SPARSE - _SECTIONS[scenario.role]):
        if name in document.data:
            message = f"`{name}` says nothing to a subject of role {scenario.role}"
            yield document.problem((name,), message, "take it out, or write another `role`")
    for location, trigger in _triggers(scenario):
        if trigger.kind is not None and trigger.kind not in EVENT_KINDS:
            message = f"no event has the kind {trigger.kind!r}"
            yield document.problem(location, message, did_you_mean(trigger.kind, _KINDS))
    if scenario.role != "runtime":
        return
    tools = [tool.name for tool in scenario.tools]
    for location, name, what, known in (*_named(scenario, tools), *_of_nodes(scenario, tools)):
        if name not in known:
            message = f"there is no {what} {name!r}"
            hint = did_you_mean(name, tuple(known)) or "none is declared in this file"
            if what == "program":
                hint += "; one that is not to be there has `good: {missing: true}`"
            yield document.problem(location, message, hint)


def _triggers(scenario: Scenario) -> Iterator[tuple[Location, EventTrigger]]:
    for number, cancel in enumerate(scenario.cancels):
        if cancel.when.on is not None:
            yield ("cancels", number, "when", "on", "kind"), cancel.when.on
    for number, crash in enumerate(scenario.crashes):
        if crash.on is not None:
            yield ("crashes", number, "on", "kind"), crash.on


_KINDS = tuple(sorted(EVENT_KINDS))
_Named = tuple[Location, str, str, Iterable[str]]


def _of_nodes(scenario: Scenario, tools: list[str]) -> Iterator[_Named]:
    programs = [program.name for program in scenario.programs]
    for number, node in enumerate(scenario.workflow.nodes if scenario.workflow else ()):
        if node.tool is not None:
            yield ("workflow", "nodes", number, "tool"), node.tool, "tool", tools
        if node.argv:
            yield ("workflow", "nodes", number, "argv", 0), node.argv[0], "program", programs


def _named(scenario: Scenario, tools: list[str]) -> Iterator[_Named]:
    where: Location
    for place, interactor in enumerate(scenario.interactors):
        for number, rule in enumerate(interactor.rules):
            if rule.when.tool is not None:
                where = ("interactors", place, "rules", number, "when", "tool")
                yield where, rule.when.tool, "tool", tools
    if scenario.session is not None:
        for number, name in enumerate(scenario.session.allowlist):
            yield ("session", "allowlist", number), name, "tool", tools
        for place, stage in enumerate(scenario.session.stages):
            for number, name in enumerate(stage.allowed_tools):
                where = ("session", "stages", place, "allowed_tools", number)
                yield where, name, "tool", tools
    tasks = [task.id for task in scenario.tasks]
    if scenario.store is not None:
        for number, store_rule in enumerate(scenario.store.rules):
            if store_rule.when.task is not None:
                where = ("store", "rules", number, "when", "task")
                yield where, store_rule.when.task, "task", [*tasks, "start", "close"]
    stages = [stage.id for stage in scenario.session.stages] if scenario.session else []
    stages += [node.id for node in scenario.workflow.nodes] if scenario.workflow else []
    for number, cancel in enumerate(scenario.cancels):
        if cancel.target is not None and cancel.scope == "stage":
            yield ("cancels", number, "target"), cancel.target, "stage", stages
        # A tool's target may also be the id that the provider gave a call.
        tool_call = cancel.target is not None and cancel.target.startswith("call_")
        if cancel.target is not None and cancel.scope == "tool" and not tool_call:
            yield ("cancels", number, "target"), cancel.target, "tool", tools
