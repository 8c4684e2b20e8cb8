"""What clients of npm wait for, case by case, to the millisecond.

Each row is worked out by hand from the package's own source: `retryRequest` in `client.mjs` of
openai 6.49.0 and of @anthropic-ai/sdk 1.14.0, `getRetryDelayInMs` in ai 6.0.326.
@google/genai 2.32.0 and @mistralai/mistralai 2.7.0 do not retry unless they are told to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.trace.trace import Trace
from tests.node.modules import fixture, needs_packages
from tests.run.test_node import limited, refusal, run, world

pytestmark = needs_packages

#: What Node makes of a delay that is below 1 ms, above 2^31 - 1 ms, or no number.
_AT_ONCE = 1
#: The default waits of both Stainless SDKs for seed 1: 0.5 s and 1 s, less up to a quarter.
_OWN = [499, 754]
#: And of ai: 2 s, doubled.
_AI = [2_000, 4_000]
#: The date names whole seconds, and the clock of the first answer stands at 0.14 s.
_DATE = 19_860

#: Headers of the 429, then the two waits of openai, @anthropic-ai/sdk and ai.
CASES: dict[str, tuple[dict[str, Any], list[int], list[int], list[int]]] = {
    "seconds": ({"retry-after": "30"}, [30_000] * 2, [30_000] * 2, [30_000] * 2),
    "a fraction": ({"retry-after": "1.5"}, [1_500] * 2, [1_500] * 2, [1_500] * 2),
    "an hour": ({"retry-after": "3600"}, [3_600_000] * 2, [3_600_000] * 2, _AI),
    "a date": ({"retry-after": {"http_date": "+20s"}}, [_DATE] * 2, [_DATE] * 2, [_DATE] * 2),
    "a past date": ({"retry-after": {"http_date": "-20s"}}, [_AT_ONCE] * 2, _OWN, _AI),
    "milliseconds": ({"retry-after-ms": "750"}, [750] * 2, [750] * 2, [750] * 2),
    "both": ({"retry-after": "30", "retry-after-ms": "750"}, [750] * 2, [750] * 2, [750] * 2),
    "none": ({}, _OWN, _OWN, _AI),
    "empty": ({"retry-after": ""}, _OWN, _OWN, _AI),
    "garbage": ({"retry-after": "soon"}, [_AT_ONCE] * 2, _OWN, _AI),
    "negative": ({"retry-after": "-5"}, [_AT_ONCE] * 2, _OWN, _AI),
    "zero": ({"retry-after": "0"}, [_AT_ONCE] * 2, _OWN, [_AT_ONCE] * 2),
    "huge": ({"retry-after": "9999999999"}, [_AT_ONCE] * 2, _OWN, _AI),
    "no retry": ({"retry-after": "30", "x-should-retry": "false"}, [], [], [30_000] * 2),
}
CLIENTS = ("openai", "anthropic", "ai")


#: Between the calls of one process: more than any of them takes, and whole seconds.
_APART_H = 3


def waits_of(trace: Trace, calls: int = 1) -> list[list[float]]:
    """Return the waits of each call between an answer's last byte and what is sent next, in ms."""
    waits: list[list[float]] = [[] for _ in range(calls)]
    answered: int | None = None
    for event in trace.events:
        if event.kind == "call.started":
            answered = None
        elif event.kind == "net.delivered":
            answered = event.at_ns
        elif event.kind in ("net.sent", "net.connect") and answered is not None:
            of_call = waits[answered // (_APART_H * 3_600 * SECOND_NS)]
            of_call.append((event.at_ns - answered) / MILLISECOND_NS)
            answered = None
    return waits


def one_after_another(*headers: dict[str, Any]) -> Any:
    """Return a scenario of a call for each of these headers, which its first two answers have."""
    ids = [f"call-{number}" for number in range(len(headers))]
    faults = (
        {"when": {"task": id_, "attempts": "1-2"}, "then": refusal(of_call)}
        for id_, of_call in zip(ids, headers, strict=True)
    )
    tasks = [{"id": id_, "at": f"{_APART_H * number}h"} for number, id_ in enumerate(ids)]
    limits = {"virtual_time": f"{_APART_H * len(ids)}h"}
    return world(*faults, tasks=tasks, limits=limits)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_waits_as_its_source_says(tmp_path: Path, client: str) -> None:
    """Fourteen cases of headers; a wait is exact, since no real time is in it.

    A wait that the client draws is the first two of its process; all others are of one process.
    """
    subject = fixture(tmp_path, f"{client}.mjs")
    wanted = {case: given[1 + CLIENTS.index(client)] for case, given in CASES.items()}
    drawn = [case for case, waits in wanted.items() if waits == _OWN]
    together = [case for case in CASES if case not in drawn]
    seen: dict[str, list[float]] = {}
    for cases in (together, *([case] for case in drawn)):
        trace = run(subject, one_after_another(*(CASES[case][0] for case in cases)))
        seen |= zip(cases, waits_of(trace, len(cases)), strict=True)
    assert seen == wanted


@pytest.mark.parametrize("client", ["google-genai", "mistralai"])
def test_a_client_without_retries_asks_once(tmp_path: Path, client: str) -> None:
    """With their defaults, these two hand the first 429 to their caller."""
    trace = run(fixture(tmp_path, f"{client}.mjs"), limited({"retry-after": "30"}))
    assert len(list(trace.of_kind("http.request"))) == 1
    assert [event.kind for event in trace.events if event.kind.startswith("call.")] == [
        "call.started",
        "call.raised",
    ]
