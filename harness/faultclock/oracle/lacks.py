"""What a binding declares that its subject never does, and a run in which it does that.

A declaration leaves scenarios out. A healthy run confirms it before; what a subject does only after
a failure shows here, and then nothing that the declaration left out was left out rightly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from faultclock.model.trace import Trace, TraceEvent
from faultclock.oracle.check import Violation
from faultclock.oracle.history import History

__all__ = ["contradicted"]

_Shows = Callable[[Trace], Iterator[TraceEvent]]


def contradicted(history: History) -> Iterator[Violation]:
    """Yield each declaration that the run contradicts, with the first event that does."""
    for word in history.trace.header.subject.lacks:
        what, shows = _SHOWN_BY.get(word, ("", _nothing))
        event = next(shows(history.trace), None)
        if event is not None:
            call = event.call
            yield Violation(
                requirement=None,
                call=None if call is None else str(call),
                expected=f"what is declared with {word} never happens",
                observed=f"{what}, so scenarios were left out wrongly",
                events=(event.seq,),
                hint=f"Take {word} away, or what it stands for out of the decorator.",
                inconclusive=True,
            )


def _nothing(trace: Trace) -> Iterator[TraceEvent]:
    del trace
    return iter(())


def _requests(*, stream: bool) -> _Shows:
    return lambda trace: (
        event for event in trace.of_kind("http.request") if event.stream is stream
    )


def _tools(trace: Trace) -> Iterator[TraceEvent]:
    yield from trace.of_kind("tool.called")
    yield from (event for event in trace.of_kind("http.request") if event.tools)
    yield from (event for event in trace.of_kind("call.returned") if event.tool_calls)


def _approvals(trace: Trace) -> Iterator[TraceEvent]:
    return (event for event in trace.of_kind("interaction.shown") if event.tool)


#: What shows that a declaration is false, by its word.
_SHOWN_BY: Mapping[str, tuple[str, _Shows]] = {
    "no-streams": ("it asked for a stream", _requests(stream=True)),
    "only-streams": ("it asked for an answer in one piece", _requests(stream=False)),
    "no-tools": ("it offered a tool to the model, or called one", _tools),
    "no-approvals": ("it asked a person before a tool", _approvals),
    "no-sessions": ("it stored its session", lambda trace: trace.of_kind("store.asked")),
}
