"""Which scenarios fit a subject: those about something that it does in a healthy world.

What a subject does not do in a healthy world it is not asked to do in a bad one: a scenario about
streams shows nothing about a client that never asks for one. Such scenarios are left out by name.
`check` sees for itself what a target does; `run` and its like take what a binding declares.
"""

from __future__ import annotations

from faultclock.model.scenario.fault import AnswerEnds
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.bind_scenario import agent_lacks, cannot_be_said
from faultclock.run.fit_agent import needs_a_stream
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.binding import Binding


def why_left_out(
    scenario: Scenario, binding: Binding, abilities: Abilities
) -> tuple[str, str] | None:
    """Return what is left out with this scenario and why; None where it fits.

    Args:
        abilities: what the subject does, as a healthy run shows it.
    """
    lacking = agent_lacks(scenario, binding)
    if lacking is not None:
        return ("situations that need", lacking)
    if cannot_be_said(scenario, binding) is not None:
        return ("errors of other APIs", f"{binding.dialect} has no such answer")
    return _beyond(scenario, binding, abilities)


def unplayable(scenario: Scenario, binding: Binding) -> str | None:
    """Return why this scenario is not run for a subject; None where it is.

    It cannot be said in the subject's API, or needs what the subject declares that it never does.
    """
    reason = cannot_be_said(scenario, binding)
    if reason is not None:
        return reason
    if _needs_state(scenario) and binding.state_slot is None:
        return "it is about state that is kept with a session, and the contract has no state_slot"
    beyond = _beyond(scenario, binding, binding.abilities)
    if beyond is None:
        return None
    what, why = beyond
    return f"it is about {what}, and by its own declaration {why}"


def _beyond(scenario: Scenario, binding: Binding, abilities: Abilities) -> tuple[str, str] | None:
    if abilities.streams == "never" and needs_a_stream(scenario):
        if binding.is_run_in_one_piece:
            return ("streams", "the check does not run this agent in a stream")
        return ("streams", "the target never asks for a stream")
    if abilities.streams == "always" and _needs_no_stream(scenario):
        return ("answers in one piece", "the target always asks for a stream")
    if not abilities.tools and _needs_tools(scenario):
        if binding.own_tools:
            return (
                "tool calls",
                "none was seen: a call past the agent's framework is not observed",
            )
        return ("tool calls", "the target offers the model no tools, or calls none")
    if abilities.tool_error and _needs_tools(scenario):
        made_up = "a tool of the target was called with arguments made up by its schema"
        return ("tool calls", f"{made_up}, and raised {abilities.tool_error}")
    if _pauses(scenario) and (binding.own_tools is not None or not abilities.tools):
        return ("paused answers", "only tools of the provider's own pause, and none is known")
    if not abilities.approvals and _needs_approvals(scenario):
        return ("approvals", "the target calls tools without asking a person")
    if not abilities.sessions and _needs_sessions(scenario):
        why = "stores no session" if abilities.history else "sends the model no earlier turn"
        return ("resumed sessions", f"the target {why}")
    if not abilities.cancels and scenario.cancel_rules:
        if binding.own_tools is not None:
            return ("cancels", "the check does not cancel this agent")
        return ("cancels", "a call of the target cannot be cancelled from outside")
    return None


def _needs_no_stream(scenario: Scenario) -> bool:
    return any(rule.when.stream is False for rule in scenario.provider.faults)


def _needs_tools(scenario: Scenario) -> bool:
    """Return whether the model asks for a tool: an answer that fits no call that offers none."""
    provider = scenario.provider
    asks = provider.tool_calls or any(reply.tool_calls for reply in provider.replies)
    return scenario.role in ("provider_adapter", "runtime") and bool(asks)


def _pauses(scenario: Scenario) -> bool:
    """Return whether an answer is paused, as one that makes use of the provider's own tools may be.

    ("Handling stop reasons", pause_turn: https://docs.anthropic.com/en/api/handling-stop-reasons;
    anthropics/anthropic-sdk-python#1170, read 2026-11-29)
    """
    answers = (rule.then for rule in scenario.provider.faults)
    return any(isinstance(it, AnswerEnds) and it.how == "paused" for it in answers)


def _needs_approvals(scenario: Scenario) -> bool:
    return (
        any(tool.gated for tool in scenario.world.tools)
        or any(item.rules for item in scenario.world.interactors)
        or any(task.do == "ask" for task in scenario.tasks)
    )


def _needs_state(scenario: Scenario) -> bool:
    """Return whether an extension is given the state that it kept."""
    return scenario.role == "extension" and any(task.do == "slot" for task in scenario.tasks)


def _needs_sessions(scenario: Scenario) -> bool:
    """Return whether a runtime has to go on in a fresh process, or its store fails."""
    return scenario.role == "runtime" and bool(
        scenario.crash_rules
        or scenario.is_swept
        or scenario.world.stored.rules
        or any(task.do == "restart" for task in scenario.tasks)
    )
