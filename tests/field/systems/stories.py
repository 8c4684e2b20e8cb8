"""What a real system says of itself in a situation, and the sentences of its document about it.

Each situation is met twice, over a near network and a far one. A sentence holds or not in both, or
its row says that it does not stand still.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from faultclock.load.scenario import find_scenarios
from faultclock.run.prepare import prepare_target
from faultclock.run.suite import run_one
from tests.field.systems.building import HERE, Missing, System, node_folder

#: The API that a system's agent speaks.
DIALECTS = {"kode": "anthropic-messages", "stud": "openai-chat"}
_NETWORKS = ("near", "far")


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One run, as the system itself tells it.

    Attributes:
        requests: how often its model was asked.
        ended: with which error the process ended itself; empty: it lived.
        said: what the export of its module returned.
        escaped: whether it reached for what is not simulated.
    """

    requests: int
    ended: str
    said: Mapping[str, Any]
    escaped: bool

    def events(self, type_: str) -> list[Mapping[str, Any]]:
        """Return the events of one type, each without its envelope."""
        inner = (item.get("event", item) for item in self.said.get("events", ()))
        return [item for item in inner if item["type"] == type_]

    def told(self) -> Mapping[str, Any]:
        """Return the last result of a tool that the model of KODE reads, or nothing."""
        results = self.said.get("told", ())
        found: Mapping[str, Any] = results[-1]["content"] if results else {}
        return found

    def answer(self) -> str:
        """Return the last result of a tool that the model of stud-cli read."""
        messages = self.events("ProviderRequest")[-1]["payload"]["messages"]
        return str(messages[-1]["content"][0]["content"])

    def failure(self) -> tuple[str | None, str | None]:
        """Return class and code with which a turn of stud-cli failed."""
        for event in self.events("TurnError"):
            return event["payload"].get("class"), event["payload"].get("code")
        return None, None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A sentence of a document, and whether it holds.

    Attributes:
        runs: the situations, each `export situation`.
        holds: whether it does in the stories of these, in their order.
        read: what the source alone says, where no run shows it.
        why: what there is to know, with the place in the source.
    """

    says: str
    why: str = ""
    runs: tuple[str, ...] = ()
    holds: Callable[..., bool] | None = None
    read: str = "not observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All stories of a system: situation to one for each network."""

    by_run: Mapping[str, Sequence[Story]] = field(default_factory=dict)

    def verdict(self, row: Row) -> str:
        """Return `holds`, `deviates`, or what the source alone says."""
        if row.holds is None:
            return row.read
        found = {
            row.holds(*stories)
            for stories in zip(*(self.by_run[it] for it in row.runs), strict=True)
        }
        return "does not stand still" if len(found) > 1 else "holds" if found.pop() else "deviates"


def tell(system: System, rows: Iterable[Row], *, only: Iterable[str] = ()) -> Told:
    """Make the runs that the rows need.

    Args:
        only: these alone.
    """
    names = tuple(only) or tuple(dict.fromkeys(name for row in rows for name in row.runs))
    with on_its_node(system):
        return Told(by_run={name: [_story(system, name, it) for it in _NETWORKS] for name in names})


@contextmanager
def on_its_node(system: System) -> Iterator[None]:
    """Have a Node that is new enough found first."""
    folder, before = node_folder(system), os.environ["PATH"]
    if folder is not None:
        os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


def reproduced(system: System, run: str) -> str:
    """Return the command that makes a run again."""
    export, _, situation = run.partition(" ")
    return (
        f"faultclock run tests/field/systems/{system.id}/scenario.yaml \\\n"
        f"  --variant 'network=near, it={situation}' \\\n"
        f"  --subject .venv/systems/{system.id}/{system.id}.mjs#{export}@{DIALECTS[system.id]}"
    )


def _story(system: System, run: str, network: str) -> Story:
    export, _, situation = run.partition(" ")
    scenario = _variants(system.id)[f"network={network}, it={situation}"]
    subject = f"{system.module}#{export}@{DIALECTS[system.id]}"
    trace = run_one(scenario, prepare_target(subject).binding, 0, isolate=True)
    if trace.footer.ending == "watchdog":
        raise Missing(f"{run}: no end in real time, maybe since the machine is too busy")
    returned = next(iter(trace.of_kind("call.returned")), None)
    raised = next(iter(trace.of_kind("call.raised")), None)
    return Story(
        requests=sum(1 for _ in trace.of_kind("http.request")),
        ended="" if raised is None else str(raised.payload["chain"][0]["type"]),
        said={} if returned is None else json.loads(returned.payload["text"]),
        escaped=trace.footer.ending == "escape",
    )


@cache
def _variants(system: str) -> dict[str | None, Any]:
    (found,) = find_scenarios((str(HERE / system / "scenario.yaml"),))
    return {scenario.variant: scenario for scenario in found.runnable}
