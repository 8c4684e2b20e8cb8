"""Censuses made by hand, for the tests of what is rendered of them."""

from __future__ import annotations

from typing import Any

from faultclock.model.report.census import (
    Absent,
    AttemptSeen,
    BrokenAnswer,
    CallConduct,
    Census,
    ClientCensus,
    Hindrance,
    ScenarioConduct,
    ScenarioEntry,
    WaitSeen,
    tally_of,
)

LIMITED, CUT = "rate-limits/retry-after-integer", "provider-transient/stream-cut-by-close"
SECOND_NS = 1_000_000_000
HOSTILE = "<img src=x onerror=alert(1)> {{7*7}} \x1b[31m \u202eabc `"


def call(
    *ended: str, outcome: str = "returned", waits_s: tuple[float, ...] = (), **more: Any
) -> CallConduct:
    """Return one call whose attempts ended like this; it returned the whole answer if it did."""
    waits = [round(wait * SECOND_NS) for wait in waits_s]
    asked = more.pop("asked", None)
    return CallConduct.model_validate(
        {
            "call": "ask/1",
            "stream": False,
            "attempts": tuple(AttemptSeen(ended=item) for item in ended),
            "waits": tuple(
                WaitSeen(after=index, ns=wait, text=f"{wait / SECOND_NS:g}s", asked=asked)
                for index, wait in enumerate(waits, 1)
            ),
            "outcome": outcome,
            "answer": "whole" if outcome == "returned" else None,
            **more,
        }
    )


def run(scenario: str, *calls: CallConduct, verdict: str = "PASS", **more: Any) -> ScenarioConduct:
    """Return what was done in one scenario."""
    return ScenarioConduct(scenario=scenario, seed=0, calls=calls, verdict=verdict, **more)


def client(id_: str, *runs: ScenarioConduct, **more: Any) -> ClientCensus:
    """Return one client."""
    return ClientCensus.model_validate(
        {
            "id": id_,
            "title": f"The client {id_}",
            "style": "async",
            "dialect": "openai-chat",
            "distributions": {id_: "1.2.3"},
            "python": "3.11.7",
            "runs": runs,
            "tally": tally_of(runs),
            **more,
        }
    )


def census(*clients: ClientCensus, absent: tuple[Absent, ...] = (), **more: Any) -> Census:
    """Return a census of two scenarios."""
    return Census.model_validate(
        {
            "faultclock": "0.1.0",
            "model": "stud-cli",
            "model_title": "stud-cli Error Model",
            "model_revision": "1",
            "families": ("rate-limits", "streams"),
            "scenarios": (
                ScenarioEntry(id=LIMITED, title="Retry-After in seconds", streams=False),
                ScenarioEntry(id=CUT, title="A stream that is closed", streams=True),
            ),
            "clients": clients,
            "absent": absent,
            **more,
        }
    )


def sample_census() -> Census:
    """Return one that has something in every part of the page."""
    patient = client(
        "patient",
        run(LIMITED, call("429 rate_limit_exceeded", "ok", waits_s=(7.0,), asked="7")),
        run(
            CUT,
            call(
                "the stream was cut off",
                "ok",
                waits_s=(0.5,),
                stream=True,
                broken=_broken("retried", "returned_whole"),
            ),
        ),
    )
    hasty = client(
        "hasty",
        run(
            LIMITED,
            *(
                call(
                    *["429 rate_limit_exceeded"] * 5,
                    outcome="raised",
                    waits_s=(1.0, 2.0, 2.5, 3.0),
                    asked="7",
                    call=f"ask/{copy}",
                    error="tenacity.RetryError",
                    causes=("httpx2.HTTPStatusError",),
                    message="RetryError[<Future at 0x…>]",
                )
                for copy in (1, 2)
            ),
            call("ok", call="other/1"),
            verdict="FAIL",
        ),
        run(
            CUT,
            call(
                "the stream was cut off",
                stream=True,
                answer="partial",
                broken=_broken("returned_partial"),
            ),
            verdict="FAIL",
        ),
        style="sync",
    )
    foreign = client(
        "foreign",
        run(LIMITED, leaks=("a real thread at lib.py:3",), verdict="INCONCLUSIVE"),
        inexpressible=(Hindrance(what=CUT, reason="its dialect has no error 'x'"),),
        cannot=("it keeps a process of its own, which the simulation does not host",),
        dialect="ollama-chat",
    )
    absent = Absent(id="missing", title="The client missing", reason="not installed: it needs x")
    return census(patient, hasty, foreign, absent=(absent,))


def empty_census() -> Census:
    """Return one without a client."""
    return census()


def hostile_census() -> Census:
    """Return one whose texts are markup and control characters."""
    raised = call(
        HOSTILE,
        outcome="raised",
        error=HOSTILE,
        causes=(HOSTILE,),
        message=HOSTILE,
        stream=True,
        broken=BrokenAnswer(kind="stream", how=HOSTILE, steps=("raised",), text=HOSTILE),
    )
    absent = Absent(id="missing", title=HOSTILE, reason=HOSTILE)
    odd = client("odd", run(CUT, raised), cannot=(HOSTILE,), title=HOSTILE)
    return census(odd, absent=(absent,))


def _broken(*steps: str) -> BrokenAnswer:
    return BrokenAnswer.model_validate(
        {
            "kind": "stream",
            "how": "the stream was cut off",
            "steps": steps,
            "text": ", ".join(steps),
        }
    )
