"""The timeline of a whole agent: lanes, approval windows, crash walls."""

from __future__ import annotations

import re
from typing import Any

from faultclock.model.report.finding import EventMark, RunReport
from faultclock.model.trace.events import EVENTS, describe
from faultclock.model.trace.trace import TraceEvent
from faultclock.render.agent import AgentTimeline, draw_agent
from faultclock.render.html_text import html_report
from tests.render import sample_report
from tests.render.sample_agent import agent_run
from tests.render.sample_story import MS


def _drawn(run: RunReport) -> AgentTimeline:
    drawing = draw_agent(run)
    assert drawing is not None
    return drawing


def test_each_side_of_the_world_has_its_lane() -> None:
    """Who did something is seen at once."""
    names = [lane.name for lane in _drawn(agent_run()).lanes]
    assert names == ["calls", "provider", "tools", "person", "store", "harness"]


def test_a_crash_is_a_wall_where_everything_of_that_life_ends() -> None:
    """The tool that was running is cut off at the wall, and so is the call."""
    drawing = _drawn(agent_run())
    (wall,) = drawing.walls
    cut = [span for span in drawing.spans if span.key == "cut"]
    assert {span.lane for span in cut} == {"calls", "tools"}
    assert all(abs(span.x + span.width - wall.x) < 0.2 for span in cut)


def test_an_approval_is_a_window_that_ends_with_the_answer_and_shows_its_deadline() -> None:
    """The person had until the deadline and answered earlier."""
    drawing = _drawn(agent_run())
    (window,) = [span for span in drawing.spans if span.lane == "person"]
    assert window.key == "good"
    assert window.deadline is not None
    assert window.deadline > window.x + window.width


def _with(*facts: tuple[int, str, dict[str, Any]]) -> RunReport:
    """Return the sample run with more facts in its first life."""
    run = agent_run()
    more = [
        EventMark(
            seq=1_000 + number,
            at_ns=at_ms * MS,
            lane="hook" if kind == "fault.fired" else EVENTS[kind].actors[0],
            kind=kind,
            text=describe(TraceEvent(1_000 + number, at_ms * MS, "x", kind, payload)),
            payload=payload,
        )
        for number, (at_ms, kind, payload) in enumerate(facts)
    ]
    return run.model_copy(update={"timeline": (*run.timeline, *more)})


def test_nodes_programs_and_services_have_lanes_of_their_own() -> None:
    """Each lasts from its first fact to its last, and is good or failed."""
    hook: dict[str, Any] = {"hook": "audit", "slot": "pre_tool", "n": 1}
    node: dict[str, Any] = {"node": "rate", "n": 1}
    item: dict[str, Any] = {"item": "turn-1", "n": 1}
    span: dict[str, Any] = {"name": "turn", "n": 1}
    program: dict[str, Any] = {"program": "codex", "run": "p1"}
    wrong = {"ok": False, "error": {"kind": "sandbox", "cause": "stack", "message": "deep"}}
    drawing = _drawn(
        _with(
            (400, "node.called", {**node, "do": "expression"}),
            (450, "node.replied", {**node, **wrong}),
            (500, "hook.called", hook),
            (510, "telemetry.asked", span),
            (520, "queue.asked", item),
            (600, "hook.replied", {**hook, "ok": True, "error": None}),
            (610, "telemetry.answered", {**span, "ok": True, "error": None}),
            (700, "program.started", {**program, "argv": ["codex"], "n": 1, "means": ""}),
            (900, "program.ended", {**program, "status": 2, "signal": None, "means": "auth"}),
            (950, "fault.fired", {"fault": "f", "fault_kind": "raises", "of": "hook audit"}),
            (960, "program.missing", {"program": "pytest", "argv": ["pytest"], "n": 1}),
            (970, "policy.decided", {"tool": "write_file", "tool_call": "c", "decision": "deny"}),
        )
    )
    lanes = [lane.name for lane in drawing.lanes]
    assert lanes == [
        *("calls", "nodes", "provider", "tools", "programs", "person", "store", "services"),
        "harness",
    ]
    looks = {(span.lane, span.key) for span in drawing.spans}
    assert {("nodes", "failed"), ("programs", "failed"), ("services", "good")} <= looks
    never = [span.says for span in drawing.spans if span.lane == "services" and span.key != "good"]
    assert len(never) == 1
    assert "turn-1 is pushed to the queue" in never[0]


def test_a_window_that_nobody_closes_stays_open() -> None:
    """A request that is never answered is drawn to the end, and looks unfinished."""
    run = agent_run()
    marks = tuple(mark for mark in run.timeline if mark.kind != "interaction.answered")
    (window,) = [
        span
        for span in _drawn(run.model_copy(update={"timeline": marks})).spans
        if span.lane == "person"
    ]
    assert window.key == "cut"
    assert "no answer came" in window.says


def test_everything_is_drawn_inside_the_picture() -> None:
    """No span, mark or wall leaves the drawing, and spans of one lane never overlap."""
    drawing = _drawn(agent_run())
    assert all(span.x > 0 and span.x + span.width < drawing.width for span in drawing.spans)
    assert all(span.y > 0 and span.y + span.height < drawing.base for span in drawing.spans)
    assert all(0 < mark.y < drawing.base for mark in drawing.marks)


def test_a_run_of_an_adapter_is_no_agent() -> None:
    """The other drawings stay as they are."""
    assert draw_agent(sample_report.sdk_schedule()) is None


def test_the_orders_stand_side_by_side_and_the_first_difference_is_marked() -> None:
    """Expected and observed are read line by line until they part."""
    report = sample_report.sdk_report().model_copy(update={"runs": (agent_run(),)})
    page = html_report(report)
    assert "Expected order" in page
    (parting,) = re.findall(r'<tr class="parting">.*?</tr>', page, re.DOTALL)
    assert "no further tool.called" in parting
    assert "t2 write_file is called" in parting
