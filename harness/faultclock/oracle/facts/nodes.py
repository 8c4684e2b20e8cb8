"""Which node of a workflow the subject was at: seen from what it did, never from what it says.

An expression and a handler are called by name, a program and a command are known by how their
command line begins, a tool by its name and arguments, and an agent by the prompt in the request.
Where that fits several nodes, it is the one that the work had come to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from faultclock.model.scenario.workflow_script import NodeScript
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once


class NodeAct(Struct, frozen=True, kw_only=True):
    """One act of the subject for a node.

    Attributes:
        begins: whether the node begins by it, rather than going on.
    """

    node: NodeScript
    call: str
    event: TraceEvent
    begins: bool


class _Seen(Struct, frozen=True, kw_only=True):
    """An act, and the nodes that it may be for.

    Attributes:
        length: messages in the request to the model; None for anything else.
        prompts: whether the last one of them is the prompt of such a node.
        last_word: whether the model's answer was good and asked for no tool.
    """

    call: str
    event: TraceEvent
    fitting: tuple[NodeScript, ...]
    length: int | None = None
    prompts: bool = False
    last_word: bool = False


@once
def node_acts_of(history: History) -> tuple[NodeAct, ...]:
    """Return the acts for nodes in order; none without a workflow."""
    nodes = history.world.nodes
    seen = [*_acts(history, nodes), *_requests(history, nodes)] if nodes else []
    return tuple(_placed(sorted(seen, key=lambda act: act.event.seq), nodes))


def node_at(history: History, event: TraceEvent) -> NodeScript | None:
    """Return the node that the act `event` was for; None for none."""
    return next((act.node for act in node_acts_of(history) if act.event.seq == event.seq), None)


def acts_at(history: History, node: NodeScript, call: str | None) -> tuple[TraceEvent, ...]:
    """Return the acts for a node in a call, in order."""
    return tuple(
        act.event for act in node_acts_of(history) if act.node.id == node.id and act.call == call
    )


def argv_of(event: TraceEvent) -> tuple[str, ...]:
    """Return the command line of a started or missing program."""
    return tuple(str(item) for item in event.argv)


def _acts(history: History, nodes: Sequence[NodeScript]) -> Iterator[_Seen]:
    asked = {
        execution.called.seq
        for tool_call in history.tool_calls
        for execution in tool_call.executions
    }
    for event in history.of("node.called", "program.started", "program.missing", "tool.called"):
        if event.seq in asked:
            continue
        fitting = tuple(node for node in nodes if _fits(node, event))
        if fitting and event.call is not None:
            yield _Seen(call=str(event.call), event=event, fitting=fitting)


def _fits(node: NodeScript, event: TraceEvent) -> bool:
    if event.kind == "node.called":
        return node.id == event.node
    if event.kind == "tool.called":
        return node.tool is not None and (
            node.tool == event.tool and node.arguments == event.arguments
        )
    if not node.argv:
        return False
    # A prompt or a file may have been added to what the node says, and a folder to the name.
    given, length = argv_of(event), len(node.argv)
    named = (str(event.program), *given[1:])
    if event.kind == "program.missing" and node.argv[: len(named)] == named:
        # A look for a program before it is started asks for its name alone.
        return True
    return node.argv in (given[:length], named[:length])


def _requests(history: History, nodes: Sequence[NodeScript]) -> Iterator[_Seen]:
    agents = tuple(node for node in nodes if node.do == "agent")
    if not agents:
        return
    for call in history.calls:
        for request in call.requests:
            asked = next((item.asked for item in request.attempts if item.asked is not None), None)
            fitting, prompts = _prompted(agents, asked)
            for attempt in request.attempts:
                yield _Seen(
                    call=call.id,
                    event=attempt.start,
                    fitting=fitting,
                    length=0 if asked is None else len((attempt.asked or asked).messages),
                    prompts=prompts,
                    last_word=attempt.outcome == "ok" and not attempt.tool_calls,
                )


def _prompted(
    agents: tuple[NodeScript, ...], asked: TraceEvent | None
) -> tuple[tuple[NodeScript, ...], bool]:
    """Return the agents whose prompt is the newest one in a request, and whether it is its end."""
    messages = () if asked is None else asked.messages
    newest_first = [message.get("content_sha256") for message in reversed(messages)]
    for place, said in enumerate(newest_first):
        fitting = tuple(node for node in agents if _digest(node.prompt) == said)
        if fitting:
            return fitting, place == 0
    return agents, False


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _placed(seen: Sequence[_Seen], nodes: Sequence[NodeScript]) -> Iterator[NodeAct]:
    place = {node.id: index for index, node in enumerate(nodes)}
    last: dict[str, tuple[_Seen, NodeScript]] = {}
    first: dict[tuple[str, str], int] = {}
    for act in seen:
        before = last.get(act.call)
        node = _one_of(act, before, place)
        begins = True
        if act.length is not None:
            # A conversation that is no longer than at its beginning begins anew.
            begins = act.prompts or act.length <= first.setdefault((act.call, node.id), act.length)
        last[act.call] = (act, node)
        yield NodeAct(node=node, call=act.call, event=act.event, begins=begins)


def _one_of(
    act: _Seen, before: tuple[_Seen, NodeScript] | None, place: Mapping[str, int]
) -> NodeScript:
    if len(act.fitting) == 1 or before is None:
        return act.fitting[0]
    earlier, current = before
    later = next((node for node in act.fitting if place[node.id] > place[current.id]), None)
    if current not in act.fitting:
        return later or act.fitting[0]
    over = earlier.last_word and (act.length or 0) <= (earlier.length or 0)
    # The same again is the same node again, before it is another one's.
    return later if over and later is not None else current
