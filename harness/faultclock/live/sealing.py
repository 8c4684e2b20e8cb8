"""Facts in real time, made into a trace: put in the order of their times, and numbered anew."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from faultclock.live.kernel import LiveKernel
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import EndingReason, Trace, TraceEvent
from faultclock.run.execute import seal, trace_header
from faultclock.sim.kernel.recorder import Fact
from faultclock.subjects.binding import Binding


def sealed_live(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    kernel: LiveKernel,
    *,
    elsewhere: Iterable[Fact] = (),
    ending: EndingReason = "completed",
    detail: tuple[str, ...] = (),
) -> Trace:
    """Return the trace of what `kernel` recorded, in real time.

    Args:
        elsewhere: facts that another process recorded, by the same clock.
    """
    header = trace_header(scenario, binding, seed).model_copy(
        update={"time_base": "wall", "epoch_ns": kernel.epoch_ns}
    )
    # The sort is stable: what was recorded for one instant stays in its order.
    facts = sorted(chain(elsewhere, kernel.facts), key=lambda fact: fact[1])
    events = tuple(
        TraceEvent(number, at_ns, actor, kind, payload)
        for number, (_, at_ns, actor, kind, payload) in enumerate(facts, start=1)
    )
    ended_at_ns = max(kernel.now_ns, events[-1].at_ns if events else 0)
    return seal(header, events, ending, detail, ended_at_ns)
