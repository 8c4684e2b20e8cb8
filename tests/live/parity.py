"""Both halves of the parity check, and the table of what they agree on.

The simulated half runs first: it costs no time, and it tells how long the real half would take. A
cell that would take longer than LONGEST_S is named and left out, so that the whole check stays
short. `python -m tests.live.parity` prints the table for all clients that are installed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import catalog
from tests.live.real_subjects import live_traces
from tests.live.situations import SITUATIONS

#: A cell that takes longer in virtual time is not run in real time.
LONGEST_S = 4.0
#: Processes of subjects at once: the machine of a build server has two cores.
_AT_ONCE = 2
_NEVER = "never ended"
#: How much later each situation begins than the one before it.
_STAGGER_NS = 120 * MILLISECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a run came to.

    Attributes:
        outcome: `returned` and what, or `raised` and the class.
        attempts: each exchange: its status, and how it ended where that was not whole.
    """

    outcome: str
    attempts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One client in one situation, both ways.

    Attributes:
        simulated, real: None where it was not run that way.
        left_out: why it was not.
    """

    client: str
    situation: str
    simulated: Came | None = None
    real: Came | None = None
    left_out: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both ways came to the same, and to something: the provider was asked."""
        came = self.simulated
        if came is None or not came.attempts or came.outcome.startswith(_NEVER):
            return False
        return came == self.real


def clients() -> tuple[str, ...]:
    """Return the ids of the shipped clients that are provider adapters and installed here."""
    return tuple(
        entry.id
        for entry in catalog()
        if entry.kind == "client" and entry.role == "provider_adapter" and entry.available
    )


def came_of(trace: Trace) -> Came:
    """Return what the one call of `trace` came to."""
    statuses: dict[str, str] = {}
    ended: dict[str, str] = {}
    outcome = f"{_NEVER} ({trace.footer.ending}: {'; '.join(trace.footer.detail)})"
    for event in trace.events:
        payload = event.payload
        match event.kind:
            case "http.request":
                statuses[payload["exchange"]] = "no answer"
            case "http.response":
                statuses[payload["exchange"]] = str(payload["status"])
            case "http.exchange_ended":
                ended[payload["exchange"]] = payload["how"]
            case "call.returned":
                outcome = f"returned {payload['text']!r}"
            case "call.raised":
                outcome = f"raised {payload['chain'][0]['type']}"
    attempts = tuple(
        status if ended.get(exchange) == "complete" else f"{status} {ended.get(exchange, 'open')}"
        for exchange, status in statuses.items()
    )
    return Came(outcome=outcome, attempts=attempts)


def compare(ids: Iterable[str], situations: Sequence[Scenario] = SITUATIONS) -> tuple[Cell, ...]:
    """Run every client through every situation both ways and return the cells."""
    bindings = {id_: prepare(id_) for id_ in ids}
    situations = tuple(map(_staggered, range(len(situations)), situations))
    cells: list[Cell] = []
    asked: dict[str, list[tuple[Scenario, Came]]] = {}
    for id_, binding in bindings.items():
        for situation in situations:
            cell, simulated = _simulate(binding, situation)
            if simulated is None:
                cells.append(cell)
            else:
                asked.setdefault(id_, []).append((situation, simulated))
    real = asyncio.run(_all_for_real(bindings, asked))
    for id_, pairs in asked.items():
        for (situation, simulated), trace in zip(pairs, real[id_], strict=True):
            cells.append(
                Cell(
                    client=id_,
                    situation=_name(situation),
                    simulated=simulated,
                    real=came_of(trace),
                )
            )
    return tuple(cells)


def table(cells: Sequence[Cell]) -> str:
    """Return the cells as lines: situations down, clients across."""
    names = list(dict.fromkeys(_name(situation) for situation in SITUATIONS))
    across = list(dict.fromkeys(cell.client for cell in cells))
    by_place = {(cell.situation, cell.client): cell for cell in cells}
    width = max(map(len, names))
    lines = [f"{'':{width}}  {'  '.join(across)}"]
    for name in names:
        marks = (
            f"{_mark(by_place[name, client]):^{len(client)}}" if (name, client) in by_place else ""
            for client in across
        )
        lines.append(f"{name:{width}}  {'  '.join(marks)}".rstrip())
    compared = [cell for cell in cells if not cell.left_out]
    agreeing = sum(cell.agrees for cell in compared)
    lines.append(
        f"{agreeing} of {len(compared)} cells agree; {len(cells) - len(compared)} left out"
    )
    for cell in cells:
        if cell.left_out:
            lines.append(f"left out: {cell.client}, {cell.situation}: {cell.left_out}")
        elif not cell.agrees:
            lines.append(f"differs: {cell.client}, {cell.situation}:")
            lines += [f"  simulated {cell.simulated}", f"  real      {cell.real}"]
    return "\n".join(lines) + "\n"


def _simulate(binding: Binding, situation: Scenario) -> tuple[Cell, Came | None]:
    cell = Cell(client=binding.id, situation=_name(situation))
    reason = cannot_be_said(situation, binding)
    if reason is not None:
        return Cell(client=cell.client, situation=cell.situation, left_out=reason), None
    trace = run_one(situation, binding, 0, isolate=True)
    ends = [event.at_ns for event in trace.of_kind("call.returned", "call.raised")]
    (start,) = trace.of_kind("call.started")
    took_s = (max(ends, default=trace.footer.ended_at_ns) - start.at_ns) / SECOND_NS
    if took_s > LONGEST_S:
        reason = f"it takes {took_s:.1f} s"
        return Cell(client=cell.client, situation=cell.situation, left_out=reason), None
    return cell, came_of(trace)


async def _all_for_real(
    bindings: Mapping[str, Binding], asked: Mapping[str, list[tuple[Scenario, Came]]]
) -> dict[str, tuple[Trace, ...]]:
    room = asyncio.Semaphore(_AT_ONCE)

    async def of(id_: str) -> tuple[Trace, ...]:
        async with room:
            scenarios = [situation for situation, _ in asked[id_]]
            return await live_traces(scenarios, bindings[id_])

    traces = await asyncio.gather(*(of(id_) for id_ in asked))
    return dict(zip(asked, traces, strict=True))


def _staggered(number: int, situation: Scenario) -> Scenario:
    """Return the situation with a start of its own, in both worlds.

    To make a client costs some of them a fifth of a second of work. All at once, that would be
    longer than a deadline.
    """
    (task,) = situation.tasks
    later = task.model_copy(update={"at": number * _STAGGER_NS})
    return situation.model_copy(update={"tasks": (later,)})


def _name(situation: Scenario) -> str:
    return situation.id.partition("/")[2]


def _mark(cell: Cell) -> str:
    return "-" if cell.left_out else "agree" if cell.agrees else "DIFFER"


if __name__ == "__main__":
    sys.stdout.write(table(compare(sys.argv[1:] or clients())))
