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
from faultclock.model.scenario.scenario import RuntimeScenario, Scenario
from faultclock.model.scenario.trigger import EventTrigger
from faultclock.model.trace.events import EVENT_KINDS


def unknown_names(document: Document, scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for each name that is none."""
    for location, trigger in _triggers(scenario):
        if trigger.kind is not None and trigger.kind not in EVENT_KINDS:
            message = f"no event has the kind {trigger.kind!r}"
            yield document.problem(location, message, did_you_mean(trigger.kind, _KINDS))
    if not isinstance(scenario, RuntimeScenario):
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
    for number, cancel in enumerate(scenario.cancel_rules):
        if cancel.when.on is not None:
            yield ("cancels", number, "when", "on", "kind"), cancel.when.on
    for number, crash in enumerate(scenario.crash_rules):
        if crash.on is not None:
            yield ("crashes", number, "on", "kind"), crash.on


_KINDS = tuple(sorted(EVENT_KINDS))
_Named = tuple[Location, str, str, Iterable[str]]


def _of_nodes(scenario: RuntimeScenario, tools: list[str]) -> Iterator[_Named]:
    programs = [program.name for program in scenario.programs]
    for number, node in enumerate(scenario.nodes):
        if node.tool is not None:
            yield ("workflow", "nodes", number, "tool"), node.tool, "tool", tools
        if node.argv:
            yield ("workflow", "nodes", number, "argv", 0), node.argv[0], "program", programs


def _named(scenario: RuntimeScenario, tools: list[str]) -> Iterator[_Named]:
    where: Location
    for place, interactor in enumerate(scenario.interactors):
        for number, rule in enumerate(interactor.rules):
            if rule.when.tool is not None:
                where = ("interactors", place, "rules", number, "when", "tool")
                yield where, rule.when.tool, "tool", tools
    for number, name in enumerate(scenario.set_up.allowlist):
        yield ("session", "allowlist", number), name, "tool", tools
    for place, stage in enumerate(scenario.set_up.stages):
        for number, name in enumerate(stage.allowed_tools):
            where = ("session", "stages", place, "allowed_tools", number)
            yield where, name, "tool", tools
    tasks = [task.id for task in scenario.tasks]
    for number, store_rule in enumerate(scenario.stored.rules):
        if store_rule.when.task is not None:
            where = ("store", "rules", number, "when", "task")
            yield where, store_rule.when.task, "task", [*tasks, "start", "close"]
    stages = [stage.id for stage in scenario.set_up.stages]
    stages += [node.id for node in scenario.nodes]
    for number, cancel in enumerate(scenario.cancel_rules):
        if cancel.target is not None and cancel.scope == "stage":
            yield ("cancels", number, "target"), cancel.target, "stage", stages
        # A tool's target may also be the id that the provider gave a call.
        tool_call = cancel.target is not None and cancel.target.startswith("call_")
        if cancel.target is not None and cancel.scope == "tool" and not tool_call:
            yield ("cancels", number, "target"), cancel.target, "tool", tools
