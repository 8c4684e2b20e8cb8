"""Fits a scenario to an agent that brings its own tools.

Such an agent is handed none. Each tool of a scenario stands for one of them: one that needs an
approval for one that needs one, one with effects for one that has effects; one that only reads for
one that only reads, where there is one. The model then asks for
that tool by its own name, with arguments that fit its own schema. Equal arguments stay equal, and
different ones stay different.

A scenario for a provider adapter is played by such an agent, too: each call is a turn.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from faultclock.model.scenario.fault import StreamError
from faultclock.model.scenario.interaction_script import InteractorScript
from faultclock.model.scenario.mishap import CancelRule, CrashRule
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply
from faultclock.model.scenario.scenario import BaseScenario, RuntimeScenario, Scenario
from faultclock.model.scenario.service_host import STDIO, ServiceHost
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.samples import sample_of
from faultclock.subjects.schemas import misfit

#: Contracts that only a scripted tool has: no tool of a framework declares them.
_DECLARED = {
    "input_schema": "an input schema of its own",
    "output_schema": "an output schema",
    "retry": "retries",
    "agent": "a subagent",
    "policy": "a policy",
    "lives": "lives",
    "on_cancel": "cancels",
}
#: What only a runtime that is handed it can meet: the agents of frameworks are handed none.
_HANDED = {
    "fallbacks": "a chain of providers",
    "queue": "a queue",
    "telemetry": "telemetry",
    "hooks": "hooks",
    "programs": "programs",
    "workflow": "a workflow",
}
#: What a tool of the subject declares, whatever it does in a scenario.
_FACTS = ("name", "description", "input_schema", "reads", "service", "through")
#: What becomes of a call that a function cannot do: it returns a value, or raises.
_NO_FUNCTION = ("partial", "output_malformed")
#: What goes wrong with an MCP server only over HTTP.
_OF_HTTP = ("http_error", "connect_refused", "connect_timeout", "dns_failure")
#: What an application cancels: all that runs.
_CANCELLED = ("session", "turn")


class _Place(Struct, frozen=True, kw_only=True):
    """One tool of a scenario.

    Attributes:
        asked: the arguments with which the model asks for it, each once.
        acts: whether the scenario is about its effects.
    """

    script: ToolScript
    asked: tuple[str, ...]
    acts: bool


class NoFit(Exception):  # noqa: N818 - an answer, and no error
    """A scenario needs what the agent does not have; the text says what."""


def fitted_to_agent(scenario: Scenario, own: tuple[ToolScript, ...]) -> Scenario:
    """Return `scenario` with the tools of an agent in place of its own, as turns of the agent.

    A scenario whose tools are those of the agent, by name, stays as it is: it was written for that
    agent, or fitted before. One that only happens to use the same name is fitted as any other.

    Args:
        own: all tools that the agent has.

    Raises:
        NoFit: it has no tool for one of the places, or cannot be asked so.
    """
    for name, what in _HANDED.items():
        if getattr(scenario.world, name):
            raise NoFit(f"{what} from outside")
    if scenario.role == "provider_adapter":
        scenario = _as_turns(scenario)
    if needs_a_stream(scenario) and not any(task.stream for task in scenario.tasks):
        tasks = tuple(task.model_copy(update={"stream": True}) for task in scenario.tasks)
        scenario = scenario.model_copy(update={"tasks": tasks})
    if _is_for(scenario, own):
        return scenario
    chosen: dict[str, ToolScript] = {}
    # Each tool has its turn: one in the first place of all would hide what the others make of it.
    first = zlib.crc32(scenario.id.encode()) % len(own) if own else 0
    in_turn = (*own[first:], *own[:first])
    for place in sorted(_places(scenario), key=lambda item: not item.acts):
        taken = {tool.name for tool in chosen.values()}
        chosen[place.script.name] = _chosen(place, in_turn, taken)
    return _renamed(scenario, chosen, own)


def needs_a_stream(scenario: Scenario) -> bool:
    """Return whether nothing of it is left without streams, or a fault is met in a stream alone."""
    if all(task.stream for task in scenario.tasks) and scenario.role == "provider_adapter":
        return True
    return any(
        rule.when.stream
        or isinstance(rule.then, StreamError)
        or getattr(rule.then, "after_chunks", None) is not None
        for rule in scenario.provider.faults
    )


def _is_for(scenario: Scenario, own: tuple[ToolScript, ...]) -> bool:
    """Return whether the tools of a scenario are those of the agent, and can be called so."""
    scripts = {script.name: script for script in scenario.world.tools}
    if scripts.keys() != {tool.name for tool in own}:
        return False
    if any(scripts[tool.name].gated and not tool.gated for tool in own):
        return False
    # One that declares a schema of its own is about what does not fit.
    schemas = {tool.name: tool.input_schema for tool in own if _declares_none(scripts[tool.name])}
    return all(
        call.name not in schemas or _can_be_called(schemas[call.name], call.arguments)
        for _, script in scenario.providers
        for call in _calls(script)
    )


def _declares_none(script: ToolScript) -> bool:
    return bool(script.input_schema == ToolScript.model_fields["input_schema"].get_default())


def _can_be_called(schema: Mapping[str, Any], arguments: str) -> bool:
    """Return whether arguments fit, and the tool knows each of them; true for broken JSON."""
    given = _read(arguments)
    if not isinstance(given, dict):
        return True
    return misfit(schema, given) is None and given.keys() <= schema.get("properties", given).keys()


def _as_turns(scenario: Scenario) -> Scenario:
    """Return a scenario for a provider adapter as one for a runtime."""
    if any(task.copies > 1 or task.after is not None or task.key for task in scenario.tasks):
        raise NoFit("several clients at once")
    if any(True for _, script in scenario.providers for _ in _calls(script)):
        raise NoFit("an answer that asks for a tool of the caller")
    values = {name: getattr(scenario, name) for name in BaseScenario.model_fields}
    cancels = tuple(
        rule.model_copy(update={"scope": "turn", "target": None}) for rule in scenario.cancel_rules
    )
    return RuntimeScenario.model_validate({**values, "role": "runtime", "cancels": cancels})


def _places(scenario: Scenario) -> Iterator[_Place]:
    calls = [call for _, script in scenario.providers for call in _calls(script)]
    if any(rule.scope not in _CANCELLED for rule in scenario.cancel_rules):
        raise NoFit("a way to cancel a single tool")
    about_effects = bool(scenario.crash_rules) or scenario.is_swept
    for script in scenario.world.tools:
        asked = dict.fromkeys(call.arguments for call in calls if call.name == script.name)
        effects = {rule.then.effect for rule in script.rules}
        acts = about_effects or not script.idempotent or bool(effects - {"none"})
        yield _Place(script=script, asked=tuple(asked), acts=acts)


def _calls(script: ProviderScript) -> Iterator[ToolCallReply]:
    yield from script.tool_calls
    for reply in script.replies:
        yield from reply.tool_calls


def _chosen(place: _Place, own: tuple[ToolScript, ...], taken: set[str]) -> ToolScript:
    """Return which of the agent's tools stands in a place: none of those that are taken."""
    script = place.script
    for name in _DECLARED:
        if getattr(script, name) != ToolScript.model_fields[name].get_default():
            raise NoFit(f"a tool whose contract has {_DECLARED[name]}")
    for rule in script.rules:
        if rule.when.arguments:
            raise NoFit("a tool that fails by its arguments")
        if rule.then.fault.kind in _NO_FUNCTION or rule.then.effect == "late":
            raise NoFit("a tool that replies in parts, or acts after its reply")
    kind, fits = "tool", list(own)
    if script.service is not None:
        kind, fits = "tool of an MCP server", [tool for tool in own if tool.service]
    elif any(rule.then.fault.kind == "hang" for rule in script.rules):
        # A client of an MCP server has a deadline of its own: such a server hangs on the wire.
        fits = [tool for tool in own if not tool.service]
        kind = "tool" if len(fits) == len(own) else "tool that is of no MCP server"
    gate = "an approval" if script.gated else "no approval"
    fits = [tool for tool in fits if tool.gated == script.gated]
    free = [tool for tool in fits if tool.name not in taken]
    if not free:
        raise NoFit(f"{'a second' if fits else 'a'} {kind} that needs {gate}")
    if place.acts:
        fits = [tool for tool in fits if not tool.reads]
        free = [tool for tool in free if not tool.reads]
        if not free:
            raise NoFit(f"{'a second' if fits else 'a'} {kind} that has effects and needs {gate}")
    elif script.reads:
        free.sort(key=lambda tool: not tool.reads)
    for tool in free:
        if len(_samples(tool, place.asked)) == len(place.asked):
            return tool
    raise NoFit(f"a {kind} that needs {gate} and can be called with different arguments")


def _samples(tool: ToolScript, asked: tuple[str, ...]) -> dict[str, str]:
    """Return arguments for `tool` by those of the scenario: as many as can be made, all different.

    Arguments that are no JSON are about that, and stay.
    """
    made: dict[str, str] = {}
    for number, arguments in enumerate(asked):
        sample = sample_of(tool.input_schema, number) if _is_object(arguments) else None
        text = arguments if not _is_object(arguments) else json.dumps(sample)
        if text == "null" or text in made.values():
            break
        made[arguments] = text
    return made


def _is_object(arguments: str) -> bool:
    return isinstance(_read(arguments), dict)


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return None


# ---------------------------------------------------------------------- the scenario, changed


def _renamed(
    scenario: Scenario, chosen: Mapping[str, ToolScript], own: tuple[ToolScript, ...]
) -> Scenario:
    places = {place.script.name: place for place in _places(scenario)}
    samples = {name: _samples(tool, places[name].asked) for name, tool in chosen.items()}

    def called(call: ToolCallReply) -> ToolCallReply:
        tool = chosen.get(call.name)
        if tool is None:
            return call
        arguments = samples[call.name][call.arguments]
        return ToolCallReply(name=tool.name, arguments=arguments, through=tool.through)

    def asking(script: ProviderScript) -> ProviderScript:
        replies = tuple(
            ProviderReply(text=reply.text, tool_calls=tuple(map(called, reply.tool_calls)))
            for reply in script.replies
        )
        return script.model_copy(
            update={"replies": replies, "tool_calls": tuple(map(called, script.tool_calls))}
        )

    by_name = {tool.name: places[name].script for name, tool in chosen.items()}
    return scenario.with_providers(asking).model_copy(
        update={
            "services": tuple(_service(item, chosen, places) for item in scenario.services),
            "tools": tuple(_in_place(tool, by_name.get(tool.name)) for tool in own),
            "cancels": tuple(_cancel(rule, chosen) for rule in scenario.cancel_rules),
            "crashes": tuple(_crash(rule, chosen) for rule in scenario.crash_rules),
            "interactors": tuple(_asked(item, chosen) for item in scenario.world.interactors),
        }
    )


def _service(
    service: ServiceHost, chosen: Mapping[str, ToolScript], places: Mapping[str, _Place]
) -> ServiceHost:
    """Return a service at the host of the subject's own that stands in its place."""
    hosts = (
        tool.service
        for name, tool in chosen.items()
        if places[name].script.service == service.place and tool.service
    )
    place = next(hosts, None)
    if place is None:
        return service
    if not place.startswith(STDIO):
        return service.model_copy(update={"host": place})
    if any(rule.then.kind in _OF_HTTP for rule in service.faults):
        raise NoFit("an MCP server that is asked over HTTP")
    return service.model_copy(update={"host": None, "command": place.removeprefix(STDIO)})


def _in_place(tool: ToolScript, script: ToolScript | None) -> ToolScript:
    """Return a tool of the subject that behaves as a tool of the scenario does."""
    if script is None:
        return tool
    facts = {name: getattr(tool, name) for name in _FACTS}
    return script.model_copy(update=facts)


def _name(value: Any, chosen: Mapping[str, ToolScript]) -> Any:
    return chosen[value].name if value in chosen else value


def _cancel(rule: CancelRule, chosen: Mapping[str, ToolScript]) -> CancelRule:
    on = rule.when.on
    changed: dict[str, Any] = {"target": _name(rule.target, chosen)}
    if on is not None:
        changed["when"] = rule.when.model_copy(update={"on": _event(on, chosen)})
    return rule.model_copy(update=changed)


def _asked(script: InteractorScript, chosen: Mapping[str, ToolScript]) -> InteractorScript:
    rules = tuple(
        rule.model_copy(
            update={"when": rule.when.model_copy(update={"tool": _name(rule.when.tool, chosen)})}
        )
        for rule in script.rules
    )
    return script.model_copy(update={"rules": rules})


def _crash(rule: CrashRule, chosen: Mapping[str, ToolScript]) -> CrashRule:
    return rule if rule.on is None else rule.model_copy(update={"on": _event(rule.on, chosen)})


def _event(trigger: Any, chosen: Mapping[str, ToolScript]) -> Any:
    where = {field: _name(value, chosen) for field, value in trigger.where.items()}
    return trigger.model_copy(update={"where": where})
