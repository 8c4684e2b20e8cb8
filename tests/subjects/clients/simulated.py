"""A shipped client in the simulated world: what it did with a provider that fails as told."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one

_prepared = cache(prepare)
#: What a client can know of a failure by, and what it does next.
_KNOWN = frozenset({"net.delivered", "net.eof", "net.reset", "net.connect_failed"})
_ACTS = frozenset({"net.resolve", "net.connect", "net.sent"})


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one call.

    Attributes:
        attempts: requests that reached the provider.
        waits_s: from the end of each failed answer to the client's next act.
        text: None where the call raised.
        tool_calls: name and arguments (JSON text) of each.
        raised: type and message of the exception, the outermost first, then its causes.
    """

    attempts: int
    waits_s: tuple[float, ...]
    text: str | None
    tool_calls: tuple[tuple[str, str], ...]
    raised: tuple[tuple[str, str], ...]


def error(status: int, name: str, **headers: str) -> dict[str, Any]:
    """Return an error answer, as a scenario says it."""
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return {"kind": "http_error", "status": status, "error": name, "headers": named}


def play(subject: str, *faults: dict[str, Any], stream: bool = False, **provider: Any) -> Done:
    """Let the client ask once; its first attempt meets the first fault, and so on.

    Args:
        subject: id of a shipped one.
        stream: whether it streams the answer.
        provider: more of the scenario's provider, such as `reply`.
    """
    return _done(recorded(subject, *faults, stream=stream, **provider))


def recorded(subject: str, *faults: dict[str, Any], stream: bool = False, **provider: Any) -> Trace:
    """Do what `play` does, and return the whole trace of it."""
    rules = [
        {"id": f"fault-{number}", "when": {"attempts": number}, "then": then}
        for number, then in enumerate(faults, 1)
    ]
    scenario = scenario_of(
        {
            "id": "tests/client",
            "title": "A client",
            "why": "For a test.",
            "tasks": [{"id": "ask", "stream": stream}],
            "provider": {"faults": rules, **provider},
            "limits": {"virtual_time": "100d"},
        }
    )
    # What a library is warned of inside its run is not what this suite makes an error of.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_one(scenario, _prepared(subject), 0, isolate=True)


def _done(trace: Trace) -> Done:
    assert trace.footer.ending == "completed", trace.footer
    assert not list(trace.of_kind("leak")), "everything that the client did is simulated"
    returned = next(trace.of_kind("call.returned"), None)
    raised = next(trace.of_kind("call.raised"), None)
    tool_calls = returned.payload["tool_calls"] if returned is not None else ()
    return Done(
        attempts=sum(1 for _ in trace.of_kind("http.request")),
        waits_s=tuple(_waits_s(trace.events)),
        text=None if returned is None else returned.payload["text"],
        tool_calls=tuple((call["name"], call["arguments"]) for call in tool_calls),
        raised=()
        if raised is None
        else tuple((part["type"], part["message"]) for part in raised.payload["chain"]),
    )


def _waits_s(events: tuple[TraceEvent, ...]) -> list[float]:
    waits: list[float] = []
    known = acted = 0
    asked = False
    for event in events:
        if event.kind in _KNOWN:
            known, acted = event.at_ns, 0
        elif event.kind in _ACTS:
            acted = acted or event.at_ns
        elif event.kind == "http.request":
            if asked:
                waits.append((acted - known) / 1e9)
            asked = True
    return waits
