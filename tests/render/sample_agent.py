"""A sample run of a whole agent, told by hand: an approval, a crash, a repeated effect."""

from __future__ import annotations

from typing import Any

from faultclock.model.report.finding import (
    AttemptMark,
    CallReport,
    EventMark,
    Finding,
    OrderStep,
    RunReport,
    Verdict,
)
from faultclock.model.trace.events import describe
from faultclock.model.trace.trace import TraceEvent
from tests.render.sample_story import MS, S

_FACTS: tuple[tuple[int, str, str, dict[str, Any]], ...] = (
    (0, "harness", "run.started", {}),
    (0, "harness", "process.started", {"life": 1, "resume": False}),
    (0, "harness", "call.started", {"call": "ask/1", "task": "ask"}),
    (
        300 * MS,
        "interactor",
        "interaction.shown",
        {
            "interactor": "terminal",
            "request": "r1",
            "interaction_kind": "Approve",
            "tool": "write_file",
            "tool_call": "call_1",
            "deadline_ns": 120 * S,
        },
    ),
    (
        2_300 * MS,
        "interactor",
        "interaction.answered",
        {
            "interactor": "terminal",
            "request": "r1",
            "answer": "approved",
            "accepted": True,
            "tool_call": "call_1",
        },
    ),
    (
        2_300 * MS,
        "tool",
        "tool.called",
        {"execution": "t1", "tool": "write_file", "tool_call": "call_1", "life": 1},
    ),
    (
        3 * S,
        "tool",
        "tool.effect",
        {
            "execution": "t1",
            "tool": "write_file",
            "tool_call": "call_1",
            "key": "ab",
            "count": 1,
            "life": 1,
        },
    ),
    (3 * S, "harness", "fault.fired", {"fault": "killed", "fault_kind": "crash", "of": "crash"}),
    (3 * S, "harness", "process.crashed", {"life": 1, "crash": "killed"}),
    (3 * S, "harness", "call.crashed", {"call": "ask/1", "life": 1}),
    (4 * S, "harness", "process.started", {"life": 2, "resume": True}),
    (4 * S, "harness", "call.started", {"call": "again/1", "task": "again"}),
    (
        4 * S,
        "store",
        "store.asked",
        {"op": "s1", "operation": "read", "session": "s1", "life": 2},
    ),
    (
        4 * S + 5 * MS,
        "store",
        "store.answered",
        {"op": "s1", "operation": "read", "session": "s1", "ok": True, "life": 2},
    ),
    (
        5 * S,
        "tool",
        "tool.called",
        {"execution": "t2", "tool": "write_file", "tool_call": "call_1", "life": 2},
    ),
    (
        6 * S,
        "tool",
        "tool.effect",
        {
            "execution": "t2",
            "tool": "write_file",
            "tool_call": "call_1",
            "key": "ab",
            "count": 2,
            "life": 2,
        },
    ),
    (
        6 * S,
        "tool",
        "tool.replied",
        {
            "execution": "t2",
            "tool": "write_file",
            "tool_call": "call_1",
            "ok": True,
            "partial": False,
            "errors": [],
        },
    ),
    (7 * S, "harness", "call.returned", {"call": "again/1"}),
)


def agent_run() -> RunReport:
    """Return the run: the tool was killed after its effect, and is run again on resume."""
    marks = tuple(
        EventMark(
            seq=number,
            at_ns=at_ns,
            lane=actor,
            kind=kind,
            text=describe(TraceEvent(number, at_ns, actor, kind, payload)),
            payload=payload,
        )
        for number, (at_ns, actor, kind, payload) in enumerate(_FACTS, 1)
    )
    attempt = AttemptMark(call="ask/1", number=1, started_ns=0, known_ns=250 * MS, ended="ok")
    return RunReport(
        scenario="resume-drift/effect-not-repeated",
        title="A tool is killed after its effect",
        why="Nobody wants the file written twice.",
        seed=0,
        verdict=Verdict.FAIL,
        ending="completed",
        virtual_ns=7 * S,
        trace_digest="0" * 64,
        replay="faultclock run resume-drift/effect-not-repeated --subject repeats-effects",
        findings=(
            Finding(
                check="tools.effects",
                verdict=Verdict.FAIL,
                expected="one effect",
                observed="2 effects",
                events=(7, 16),
                judged=1,
                order=(
                    OrderStep(expected="tool.called", observed="t1 write_file is called", seq=6),
                    OrderStep(
                        expected="no further tool.called",
                        observed="t2 write_file is called",
                        seq=15,
                        at_ns=5 * S,
                        agrees=False,
                    ),
                ),
            ),
        ),
        calls=(
            CallReport(
                call="ask/1",
                task="ask",
                started_ns=0,
                ended_ns=None,
                outcome="never ended",
                attempts=(attempt,),
            ),
            CallReport(
                call="again/1", task="again", started_ns=4 * S, ended_ns=7 * S, outcome="returned"
            ),
        ),
        timeline=marks,
    )
