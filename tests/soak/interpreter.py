"""One of the interpreters of a soak: makes the runs that it is told, each in a process of its own.

It speaks JSON Lines with the one that started it, and keeps its traces until it is told that they
were the same elsewhere. What a subject prints goes to standard error.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import IO, Any

from faultclock.load.trace_file import write_trace
from faultclock.model.trace.trace import Trace
from faultclock.run.prepare import prepare
from faultclock.run.process.lifeline import end_with
from faultclock.run.suite import run_one
from tests.soak.plan import Drawn, Stock

#: Real seconds after which a run is ended: a busy machine must not look like a difference.
_WALL_LIMIT_S = 300.0
#: Of runs that may be made inline, each of so many is: in one of the two interpreters.
_INLINE = 3
#: Of the second interpreter: new objects before a collection, and how long a thread may run on.
_COLLECTS_AFTER, _SWITCHES_AFTER_S = 150, 0.000_05


def serve(words: IO[str], told: IO[str], *, second: bool) -> None:
    """Do what the lines of `words` say, until they end.

    Args:
        second: make subjects ready in reverse order, and some runs without isolation.
    """

    def tell(**facts: Any) -> None:
        told.write(json.dumps(facts) + "\n")
        told.flush()

    order: Callable[[Iterable[str]], Iterable[str]] = _reversed if second else list
    stock: Stock | None = None
    kept: dict[int, tuple[Drawn, Trace]] = {}
    seed = 0
    for line in words:
        asked = json.loads(line)
        if "subjects" in asked:
            seed = asked["seed"]
            stock = Stock(asked["subjects"], prepare, order)
            tell(ready=len(stock.bindings))
        elif "runs" in asked:
            assert stock is not None
            for number in asked["runs"]:
                drawn = stock.draw(number, seed)
                try:
                    trace = _made(stock, drawn, second=second)
                except BaseException as error:
                    # No run may raise, whatever the subject does.
                    tell(number=number, text=drawn.text, raised=repr(error))
                    traceback.print_exc()
                else:
                    kept[number] = (drawn, trace)
                    tell(number=number, **_facts(drawn, trace))
            tell(chunk=asked["chunk"])
        elif "same" in asked:
            for number in asked["same"]:
                kept.pop(number, None)
        elif "store" in asked:
            drawn, trace = kept.pop(asked["store"])
            write_trace(asked["path"], trace)
            tell(
                stored=asked["store"], coordinates=drawn.coordinates(trace).model_dump(mode="json")
            )


def _made(stock: Stock, drawn: Drawn, *, second: bool) -> Trace:
    binding = stock.bindings[drawn.subject]
    return run_one(
        drawn.played,
        binding,
        drawn.seed,
        isolate=not (binding.inline and second and drawn.number % _INLINE == 0),
        wall_limit_s=_WALL_LIMIT_S,
        chance=drawn.chance,
    )


def _facts(drawn: Drawn, trace: Trace) -> dict[str, Any]:
    footer = trace.footer
    return {
        "text": drawn.text,
        "digest": footer.digest,
        # What the digest leaves out.
        "ended": [footer.events, footer.ended_at_ns, footer.ending, list(footer.detail)],
        "kind": drawn.kind,
        "role": drawn.scenario.role,
        "order": drawn.chance.schedule.kind,
        "choices": trace.header.tape.length,
        "lives": 1 + sum(bool(event.payload.get("resume")) for event in _started(trace)),
    }


def _started(trace: Trace) -> Iterable[Any]:
    return trace.of_kind("process.started")


def _reversed(ids: Iterable[str]) -> Iterable[str]:
    return reversed(list(ids))


def main() -> None:
    """Serve the process that started this one."""
    end_with(int(sys.argv[1]))
    second = sys.argv[2] == "second"
    if second:
        # Collections come at other moments, and so do the turns of threads that wait for nobody.
        gc.set_threshold(_COLLECTS_AFTER)
        sys.setswitchinterval(_SWITCHES_AFTER_S)
    # The subjects' own output must not get between the lines.
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, told, second=second)


if __name__ == "__main__":
    main()
