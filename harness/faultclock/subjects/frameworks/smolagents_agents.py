"""Agents of smolagents, as they are: the functions of their tools are called through the seam.

A tool is not given the id of the model's call, so the calls of a step are noted where smolagents
begins to process them. A `CodeAgent` has the model write code in place of calls, which a scripted
model does not: its tools are left alone, and its answers are the code that gives them. smolagents
stores no session: its memory, which `reset=False` goes on with, is kept after each turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from smolagents import CodeAgent, MultiStepAgent, Tool, ToolCallingAgent
from smolagents.models import get_tool_json_schema
from smolagents.utils import AgentMaxStepsError

from faultclock.subjects.frameworks.own_tools import Declared, OwnTools, own_tool
from faultclock.subjects.frameworks.pickled import pickled, unpickled
from faultclock.subjects.ports import Reply, Surroundings

#: The tool by which the model answers.
_FINAL = "final_answer"
#: Calls of the step that runs, as the model made them.
_CALLS: ContextVar[list[Any]] = ContextVar("calls")


def tools_of(agent: MultiStepAgent) -> Declared:
    """Return what the agent's own tools declare of themselves."""
    return (
        own_tool(
            tool.name,
            tool.description,
            get_tool_json_schema(tool)["function"]["parameters"],
            through=through,
        )
        for _, tool, through in _tools(agent)
    )


def answer_form(agent: MultiStepAgent) -> str:
    """Return how the model answers in code; empty where it does not."""
    if not isinstance(agent, CodeAgent):
        return ""
    begin, end = agent.code_block_tags
    return f"{begin}\nfinal_answer({{text}})\n{end}"


def live(agent: MultiStepAgent, surroundings: Surroundings) -> _Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _tools(
    agent: MultiStepAgent, through: tuple[str, ...] = ()
) -> Iterator[tuple[ToolCallingAgent, Tool, tuple[str, ...]]]:
    """Yield what the model calls by name, but for the tool by which it answers.

    Each comes with its agent, and the managed agents that the model calls first.
    """
    if isinstance(agent, ToolCallingAgent):
        yield from ((agent, tool, through) for name, tool in agent.tools.items() if name != _FINAL)
        for name, managed in agent.managed_agents.items():
            yield from _tools(managed, (*through, name))


class _Life:
    """One life of an agent: its turns block."""

    def __init__(self, agent: MultiStepAgent, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._own = OwnTools(surroundings)
        self._agent = agent
        callers = {id(agent): agent}
        for caller, tool, _ in _tools(agent):
            tool.forward = self._observed(tool.name, tool.forward)
            callers[id(caller)] = caller
        for caller in callers.values():
            if isinstance(caller, ToolCallingAgent):
                caller.process_tool_calls = _noting(caller.process_tool_calls)
        if surroundings.resume:
            kept = surroundings.store.read(surroundings.session_id)
            if kept is not None:
                agent.memory.steps = unpickled(kept["steps"])

    def _observed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*args: Any, **given: Any) -> Any:
            call_id, arguments = _called(name, given)
            return self._own.call_blocking(
                name, arguments, call_id, lambda: function(*args, **given)
            )

        return forward

    def cancel(self, scope: str, target: str | None) -> None:  # noqa: ARG002 - of the port
        """Interrupt the run: smolagents looks at that before each step."""
        self._agent.interrupt()

    def run_turn(self, text: str) -> Any:
        """Answer one message of the user; the conversation goes on."""
        try:
            answer = self._agent.run(text, reset=False)
        finally:
            # A CodeAgent sends its history in another form, so nothing could be said of that.
            if isinstance(self._agent, ToolCallingAgent):
                steps = pickled(self._agent.memory.steps)
                self._surroundings.store.write(self._surroundings.session_id, {"steps": steps})
        return Reply(answer, (), self._reason()) if isinstance(answer, str) else answer

    def _reason(self) -> str | None:
        """Return why the agent stopped, or the model, whose answer smolagents keeps as it is."""
        last = self._agent.memory.steps[-1]
        if isinstance(getattr(last, "error", None), AgentMaxStepsError):
            return "max_steps_error"
        message = getattr(last, "model_output_message", None)
        choices = getattr(getattr(message, "raw", None), "choices", None)
        return choices[0].finish_reason if choices else None


def _noting(process: Callable[..., Any]) -> Callable[..., Any]:
    """Return what processes the calls of a step, with the calls noted."""

    def process_tool_calls(chat_message: Any, memory_step: Any) -> Iterator[Any]:
        _CALLS.set(list(chat_message.tool_calls))
        yield from process(chat_message, memory_step)

    return process_tool_calls


def _called(name: str, given: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the id and the arguments of the model's call that is executed."""
    calls = _CALLS.get([])
    for call in calls:
        if call.function.name == name and call.function.arguments in (given, given or None):
            calls.remove(call)
            return call.id, call.function.arguments
    return "", dict(given)
