"""Compiled graphs of LangGraph, and what `create_agent` makes: with their own tools and savers.

The seam is around each tool. A graph without a checkpointer gets one that keeps what LangGraph's
own saver in memory has in the store of the scenario; one with a checkpointer keeps it. A run that
was interrupted goes on with `Command`, one that was cut off with `None`; a cancelled one is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt

from faultclock.errors import SubjectError
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.deps import default_deps
from faultclock.subjects.frameworks.langgraph_answers import Answers
from faultclock.subjects.frameworks.langgraph_interrupts import asks, resumption
from faultclock.subjects.frameworks.langgraph_mcp import servers_of
from faultclock.subjects.frameworks.langgraph_middleware import guards_in, reviewed
from faultclock.subjects.frameworks.langgraph_parts import tools_in
from faultclock.subjects.frameworks.langgraph_saver import StoreSaver, own_session
from faultclock.subjects.frameworks.langgraph_style import blocks
from faultclock.subjects.frameworks.langgraph_tools import declared_tools, observe, waiting_call
from faultclock.subjects.frameworks.langgraph_unjudged import unjudged_of
from faultclock.subjects.frameworks.life import Life, as_json, each, there
from faultclock.subjects.ports import Reply, Surroundings
from faultclock.subjects.reading import NO_REASON, reply_of

__all__ = ["blocks", "check", "live", "own_session", "servers_of", "tools_of", "unjudged_of"]

_Graph = Pregel[Any, Any, Any, Any]


def check(graph: _Graph, context: Any) -> None:
    """Check that the graph is a conversation, and that its runs have their context.

    Raises:
        SubjectError: it is none, or a context is missing.
    """
    if "messages" not in graph.channels:
        raise SubjectError(
            f"the graph {graph.get_name()} has no messages in its state",
            hint="name a function of a prompt that invokes it: `async def ask(prompt): ...`",
        )
    default_deps(graph.context_schema, context, "a context")


def tools_of(graph: _Graph, context: Any = None) -> Iterable[ToolScript | None]:  # noqa: ARG001
    """Return what its tools declare of themselves, wherever they hang."""
    return declared_tools(graph)


def live(graph: _Graph, surroundings: Surroundings, context: Any = None) -> Life:
    """Return one life of the graph, whose runs have that context."""
    return _Life(graph, surroundings, default_deps(graph.context_schema, context, "a context"))


class _Life(Life):
    def __init__(self, graph: _Graph, surroundings: Surroundings, context: Any) -> None:
        super().__init__(surroundings)
        self._graph = graph
        self._options: Any = {"config": {"configurable": {"thread_id": surroundings.session_id}}}
        if context is not None:
            self._options["context"] = context
        self._saver: StoreSaver | None = None
        if graph.checkpointer is None:
            graph.checkpointer = self._saver = StoreSaver(self)
        tools = [tool for tool, _ in tools_in(graph)]
        self._asking = guards_in(graph) | {tool.name: tool for tool in tools if asks(tool)}
        self._asked_about: set[str] = set()
        self._answers = Answers(graph)
        for tool in tools:
            observe(tool, self.tools, lambda: self.blocking)

    async def start(self) -> None:
        """Open the session, where it is not the graph's own checkpointer that has it."""
        if self._saver is not None:
            await super().start()

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take up what the saver had."""
        assert self._saver is not None, "nothing was read without it"
        self._saver.load(kept["saved"])

    async def turn(self, text: str) -> Any:
        """Go on with a run that did not end, then answer."""
        begun = await self._call("get_state", self._options["config"])
        # After a cancel only the message is sent, and LangGraph drops the rest of the turn (1.2.22,
        # pregel/_loop.py, `_first`: "discard any unfinished tasks from previous checkpoint").
        cancelled, self.was_cancelled = self.was_cancelled, False
        # `next` is empty as well where the last task of a step is done, and its step is not.
        if begun.tasks and not cancelled:
            asked = {"__interrupt__": begun.interrupts, **begun.values}
            await self._run(asked if begun.interrupts else None)
        state = await self._run({"messages": [{"role": "user", "content": text}]})
        if state.get("structured_response") is not None:
            return Reply(as_json(state["structured_response"]))
        reply = reply_of(state["messages"][-1])
        if self.streaming and isinstance(reply, Reply) and reply.finish_reason is None:
            # The last chunk of the model's has the reason, so whoever reads them misses it.
            return replace(reply, finish_reason=NO_REASON)
        return reply

    async def _run(self, given: Any) -> Any:
        state = given if "__interrupt__" in (given or ()) else await self._asked(given)
        while state.get("__interrupt__"):
            answers = {
                interrupt.id: await self._answer_to(interrupt, state)
                for interrupt in state["__interrupt__"]
            }
            state = await self._asked(Command(resume=answers))
        return state

    async def _asked(self, given: Any) -> Any:
        if not self.streaming:
            return await self._call("invoke", given, **self._options)
        modes, state = ["messages", "updates", "values"], dict[str, Any]()
        self._answers.begin()
        async for mode, part in each(
            self._named("stream")(given, stream_mode=modes, **self._options)
        ):
            if mode == "values":
                state = {**state, "__interrupt__": (), **part}
            for piece in self._answers.seen(mode, part):
                self.deliver(piece)
        return state

    def _named(self, name: str) -> Any:
        """Return the method that blocks, or the one for an event loop."""
        return getattr(self._graph, name if self.blocking else f"a{name}")

    async def _call(self, name: str, *args: Any, **named: Any) -> Any:
        return await there(self._named(name)(*args, **named))

    async def _answer_to(self, asked: Interrupt, state: Any) -> Any:
        """Return what the person says to an interrupt."""
        value = asked.value
        actions = value.get("action_requests") if isinstance(value, Mapping) else None
        if actions is not None:
            return await reviewed(self.approved, actions, value.get("review_configs", ()))
        call = waiting_call(state.get("messages", []), set(self._asking), self._asked_about)
        if call is None:
            return resumption(asked, None, await self.approved("interrupt", {"value": value}, None))
        why_not = await self.approved(call["name"], call["args"], call["id"])
        self._asked_about.add(call["id"])
        return resumption(asked, self._asking[call["name"]], why_not)
