"""A runtime is given everything that a scenario puts around it, and what becomes of it is told."""

from __future__ import annotations

import inspect
import pickle
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest

from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.run.execute import execute
from faultclock.run.host import RecordingHost
from faultclock.run.suite import run_one
from faultclock.run.surroundings import Fakes, FakesState
from faultclock.run.timeline import timeline
from faultclock.sim.world import World
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import (
    Archive,
    Hook,
    Limits,
    Node,
    NodeRetryRule,
    Policy,
    ProviderTarget,
    Queue,
    SandboxError,
    Surroundings,
    TelemetrySink,
    Workflow,
)
from tests.run.workflow_runtime import blocking_workflow_runtime, workflow_runtime

BOTH = pytest.mark.parametrize(
    "subject", [workflow_runtime, blocking_workflow_runtime], ids=lambda binding: binding.id
)
REFUSED = {"kind": "http_error", "status": 401, "error": "invalid_api_key"}
WHOLE: dict[str, Any] = {
    "id": "tests/whole",
    "title": "Whole",
    "why": "For a test.",
    "role": "runtime",
    "provider": {"faults": [{"id": "key", "when": {"attempts": "every"}, "then": REFUSED}]},
    "fallbacks": [
        {"id": "second", "attempts_max": 2, "reply": "From the second."},
        {"id": "third", "host": "llm.third.dev", "model": "third-mini"},
    ],
    "attempts_per_provider": 3,
    "tools": [
        {"name": "remove", "policy": "deny", "idempotent": False},
        {"name": "research", "agent": True, "required": False, "policy": "allow"},
    ],
    "programs": [
        {"name": "codex"},
        {"name": "pytest", "good": {"status": 1}},
        {"name": "absent", "good": {"missing": True}},
    ],
    "workflow": {
        "iterations_max": 2,
        "nodes": [
            {"id": "ask", "do": "agent", "prompt": "Write it.", "role": "coder"},
            {
                "id": "rate",
                "do": "expression",
                "retry": {"attempts_max": 2, "retry_on": ["sandbox_timeout"]},
                "rules": [{"id": "stack", "then": {"kind": "sandbox", "cause": "stack"}}],
            },
            {
                "id": "keep",
                "do": "handler",
                "timeout": "3s",
                "retry": {
                    "attempts_max": 3,
                    "backoff": {"kind": "exponential", "base": "500ms", "factor": 3, "cap": "9s"},
                },
                "rules": [{"id": "thrown", "then": {"kind": "exception"}}],
            },
            {"id": "remove", "do": "tool", "tool": "remove", "arguments": {"path": "a"}},
            {"id": "look", "do": "tool", "tool": "research", "needs": ["ask"]},
            {"id": "code", "do": "program", "argv": ["codex", "exec"]},
            {"id": "test", "do": "command", "argv": ["pytest", "-q"], "role": "tester"},
            {"id": "gone", "do": "command", "argv": ["absent"]},
        ],
    },
    "hooks": [
        {"id": "audit", "slot": "pre_tool"},
        {"id": "broken", "slot": "post_model", "rules": [{"id": "hook-down"}]},
    ],
    "telemetry": {"rules": [{"id": "sink-down"}]},
    "queue": {"rules": [{"id": "queue-down"}]},
    "session": {
        "policies": {"llm": "degrade"},
        "join": "quorum",
        "quorum": 2,
        "denials_max": 4,
        "budgets": {"cost_max_usd": "0.25", "usd_per_million_tokens": 500},
    },
    "tasks": [{"id": "do"}],
}


def whole(**changes: Any) -> Scenario:
    """Return the scenario with everything in it, changed as asked."""
    return scenario_of(WHOLE | changes)


def given(
    *, style: Literal["async", "sync"] = "async", life: int = 1, **changes: Any
) -> Surroundings:
    """Return what a runtime is given in one life."""
    scenario, world = whole(**changes), World(life=life)
    fakes = Fakes(scenario, world, style, FakesState.initial(scenario), seed=0)
    return fakes.surroundings(RecordingHost(world.kernel), resume=life > 1, folder=Path())


# ---------------------------------------------------------------------- what is given


def test_scripts_become_what_the_ports_say() -> None:
    """Money as it is, and nothing of what the fakes will do."""
    around = given()
    assert around.fallbacks == (
        ProviderTarget(
            id="second",
            base_url="https://second.example.com/v1",
            model="fallback-mini",
            attempts_max=2,
        ),
        ProviderTarget(
            id="third", base_url="https://llm.third.dev/v1", model="third-mini", attempts_max=1
        ),
    )
    assert around.attempts_per_provider == 3
    assert (around.policies, around.join, around.quorum) == ({"llm": "degrade"}, "quorum", 2)
    assert around.denials_max == 4
    assert around.limits == Limits(
        cost_max_usd=Decimal("0.25"), usd_per_million_tokens=Decimal(500)
    )
    remove, research = (tool.contract for tool in around.tools)
    assert (remove.idempotent, remove.required) == (False, True)
    assert (research.idempotent, research.required) == (True, False)


def test_nodes_become_the_ports_nodes() -> None:
    """In their order, with durations in seconds."""
    workflow = given().workflow
    assert workflow is not None
    assert workflow.iterations_max == 2
    nodes = {node.id: node for node in workflow.nodes}
    assert list(nodes) == ["ask", "rate", "keep", "remove", "look", "code", "test", "gone"]
    assert nodes["keep"] == Node(
        id="keep",
        do="handler",
        prompt="Do your part.",
        retry=NodeRetryRule(attempts_max=3, backoff="exponential", base_s=0.5, factor=3, cap_s=9.0),
        timeout_s=3.0,
    )
    assert nodes["rate"].retry == NodeRetryRule(attempts_max=2, retry_on=("sandbox_timeout",))
    assert (nodes["remove"].tool, nodes["remove"].arguments) == ("remove", {"path": "a"})
    assert (nodes["test"].argv, nodes["test"].role) == (("pytest", "-q"), "tester")
    assert nodes["look"].needs == ("ask",)


def test_what_a_scenario_has_not_is_not_there() -> None:
    """None, as the port says; an archive comes with a workflow."""
    bare = given(
        **{
            **dict.fromkeys(("workflow", "telemetry", "queue", "session")),
            **dict.fromkeys(("tools", "hooks", "fallbacks", "programs"), ()),
        },
    )
    assert (bare.workflow, bare.archive, bare.policy, bare.telemetry) == (None,) * 4
    assert (bare.queue, bare.hooks, bare.fallbacks) == (None, (), ())
    assert (bare.policies, bare.join, bare.quorum, bare.denials_max) == ({}, "", None, None)
    assert bare.limits == Limits()
    asked = given(tools=[{"name": "remove"}, {"name": "research"}])
    assert asked.policy is None
    assert asked.archive is not None


def test_a_tool_is_there_in_its_own_lives() -> None:
    """What an upgrade took away is gone after it."""
    tools = [{"name": "remove", "lives": [1]}, {"name": "research"}]
    names = [
        [tool.contract.name for tool in given(life=life, tools=tools).tools] for life in (1, 2)
    ]
    assert names == [["remove", "research"], ["research"]]


@pytest.mark.parametrize("style", ["async", "sync"])
def test_the_fakes_are_what_the_ports_ask_for(style: Literal["async", "sync"]) -> None:
    """By the names of each port, and coroutine functions where they have to be."""
    around = given(style=style)
    for port, thing in (
        (Workflow, around.workflow),
        (Archive, around.archive),
        (Policy, around.policy),
        (Hook, around.hooks[0]),
        (TelemetrySink, around.telemetry),
        (Queue, around.queue),
    ):
        names = [name for name in vars(port) if not name.startswith("_")]
        assert [name for name in names if not hasattr(thing, name)] == []
        for name in names:
            function = getattr(thing, name)
            if callable(function) and name != "decide":
                assert inspect.iscoroutinefunction(function) is (style == "async")


def test_what_the_fakes_remember_is_plain_data() -> None:
    """It goes from process to process, and the providers still share their numbers."""
    state = FakesState.initial(whole())
    copy = pickle.loads(pickle.dumps(state))
    assert copy == state
    assert set(copy.services.nodes) == {"rate", "keep"}
    assert set(copy.services.hooks) == {"audit", "broken"}
    assert copy.providers.fallbacks["second"].numbers is copy.providers.first.numbers


# ---------------------------------------------------------------------- what becomes of it


def declared(trace: Trace) -> dict[str, tuple[str, str | None]]:
    """Return what the runtime says failed: its type and its cause by its id."""
    fields = [event.payload["fields"] for event in trace.of_kind("declared.event")]
    return {item["id"]: (item["type"], item["cause"]) for item in fields if "cause" in item}


@BOTH
def test_a_runtime_meets_everything_that_is_around_it(subject: Binding) -> None:
    """And every fault is met, with the exception that its port names."""
    trace = execute(whole(), subject, 0)
    assert trace.footer.ending == "completed", trace.footer.detail
    assert not list(trace.of_kind("fault.unmet"))
    failed = declared(trace)
    assert failed == {
        "provider ": ("UnmappedProviderError", None),
        "broken": ("RuntimeError", None),
        "rate": (SandboxError.__name__, "stack"),
        "keep": ("RuntimeError", None),
        "gone": ("FileNotFoundError", None),
        "telemetry": ("ConnectionError", None),
        "queue": ("ConnectionError", None),
    }
    decided = [(e.payload["tool"], e.payload["decision"]) for e in trace.of_kind("policy.decided")]
    assert decided == [("remove", "deny"), ("research", "allow")]
    assert [e.payload["tool"] for e in trace.of_kind("tool.called")] == ["research"]
    (kept,) = trace.of_kind("archive.saved")
    assert kept.payload["json"] == {"status": "completed"}
    ended = [(e.payload["program"], e.payload["status"]) for e in trace.of_kind("program.ended")]
    assert ended == [("codex", 0), ("pytest", 1)]


@BOTH
def test_each_provider_is_asked_at_its_own_host(subject: Binding) -> None:
    """Only the facts of a fallback name one."""
    trace = execute(whole(), subject, 0)
    hosts = [event.payload["host"] for event in trace.of_kind("net.connect")]
    assert hosts == ["api.openai.com", "second.example.com", "llm.third.dev"]
    for kind in ("http.request", "http.response", "http.exchange_ended"):
        named = [
            (event.payload["exchange"], event.payload.get("provider"))
            for event in trace.of_kind(kind)
        ]
        assert named == [("x1", None), ("x2", "second"), ("x3", "third")]
    assert [e.payload["model"] for e in trace.of_kind("http.request")][1:] == [
        "fallback-mini",
        "third-mini",
    ]


@BOTH
def test_every_fact_has_its_life_and_a_text_for_a_person(subject: Binding) -> None:
    """The timeline says each in words of its own."""
    trace = execute(whole(), subject, 0)
    groups = Counter(event.kind.partition(".")[0] for event in trace.events)
    new = ("hook", "telemetry", "queue", "node", "policy", "archive", "program")
    assert all(groups[name] for name in new)
    for event in trace.events:
        if event.kind.partition(".")[0] in new:
            assert event.payload["life"] == 1
            assert event.payload["call"] == "do/1"
    marks, _ = timeline(trace, frozenset())
    for mark in marks:
        if mark.kind.partition(".")[0] in new:
            assert mark.text != mark.kind.replace(".", " ")


@BOTH
def test_what_is_counted_goes_on_in_a_fresh_process(subject: Binding) -> None:
    """Also in one that is isolated: a rule for the second use is met in the second life."""
    second = {"uses": 2, "id": "second-use"}
    scenario = whole(
        hooks=[{"id": "audit", "slot": "pre_tool", "rules": [second]}],
        tasks=[{"id": "do"}, {"id": "again", "do": "restart"}, {"id": "more"}],
    )
    trace = run_one(scenario, subject, 0, isolate=True)
    called = [(event.payload["n"], event.payload["life"]) for event in trace.of_kind("hook.called")]
    assert called == [(1, 1), (2, 2)]
    fired = [event.payload for event in trace.of_kind("fault.fired")]
    assert [(item["life"], item["n"]) for item in fired if item["fault"] == "second-use"] == [
        (2, 2)
    ]
    exchanges = [event.payload["exchange"] for event in trace.of_kind("http.request")]
    assert exchanges == [f"x{number}" for number in range(1, 7)]


@BOTH
@pytest.mark.parametrize(
    "kind",
    [
        *("hook.called", "hook.replied", "node.called", "node.replied", "policy.decided"),
        *("archive.saved", "telemetry.asked", "telemetry.answered", "queue.asked"),
        *("queue.answered", "program.started", "program.ended", "program.missing"),
    ],
)
def test_a_process_may_be_killed_at_each_of_these_facts(kind: str, subject: Binding) -> None:
    """Nothing of the dead process is recorded, and the fresh one does the whole again."""
    crash = {"id": "dead", "on": {"kind": kind}, "then": "again"}
    trace = execute(whole(crashes=[crash]), subject, 0)
    killed = next(trace.of_kind(kind)).seq
    after = [event.kind for event in trace.events[killed : killed + 4]]
    assert after == ["fault.fired", "process.crashed", "call.crashed", "process.started"]
    assert trace.footer.ending == "completed", trace.footer.detail
    saved = [event.payload["life"] for event in trace.of_kind("archive.saved")]
    assert saved[-1:] == [2]


@BOTH
def test_a_rule_that_nobody_met_spoils_the_run(subject: Binding) -> None:
    """Whosever it is."""
    never: dict[str, Any] = {"uses": 9}
    scenario = whole(
        hooks=[{"id": "audit", "slot": "pre_tool", "rules": [{**never, "id": "a"}]}],
        telemetry={"rules": [{**never, "id": "b"}]},
        queue={"rules": [{**never, "id": "c"}]},
        fallbacks=[
            {"id": "second", "faults": [{"id": "d", "when": {"attempts": 9}, "then": REFUSED}]}
        ],
    )
    trace = execute(scenario, subject, 0)
    unmet = [event.payload for event in trace.of_kind("fault.unmet")]
    assert [(item["fault"], item.get("of"), item.get("provider")) for item in unmet] == [
        ("d", None, "second"),
        ("a", "hook audit", None),
        ("b", "telemetry", None),
        ("c", "queue", None),
    ]
