"""The host evaluates expressions and calls handlers, as the script of the workflow says."""

from __future__ import annotations

import asyncio
import pickle
from inspect import iscoroutinefunction
from typing import Any

import pytest

from faultclock.fakes.ports.uses import UsesState
from faultclock.fakes.ports.workflow import FakeWorkflow, made_nodes
from faultclock.model.scenario.workflow_script import WorkflowScript
from tests.fakes.used_life import BOTH, UsedLife

CAUSES = ("syntax", "reference", "type", "memory", "stack", "result", "wall_clock")


class Sandboxed(Exception):
    """Stands for the port's exception."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


def sandbox(cause: str = "syntax", **rule: Any) -> dict[str, Any]:
    """Return a rule by which the sandbox fails."""
    then = {"kind": "sandbox", "cause": cause, "message": "bad token sk-0123456789abcdef"}
    return {"id": f"fails-{cause}".replace("_", "-"), "then": then, **rule}


def workflow(
    *rules: dict[str, Any], states: dict[str, UsesState] | None = None, **handler: Any
) -> Any:
    """Return a maker of a workflow: expression `rate` with `rules`, handler `store`, a tool."""
    script = WorkflowScript.model_validate(
        {
            "nodes": [
                {"id": "rate", "do": "expression", "value": [1, 2], "rules": list(rules)},
                {"id": "store", "do": "handler", "takes": "2s", **handler},
                {"id": "look", "do": "tool", "tool": "search"},
            ]
        }
    )
    kept = {node.id: UsesState() for node in made_nodes(script.nodes)} if states is None else states
    return lambda kernel, style, life: FakeWorkflow(script, kernel, style, kept, Sandboxed, life)


def rate(fake: Any) -> Any:
    """Evaluate the expression."""
    return fake.evaluate("rate")


def store(fake: Any) -> Any:
    """Call the handler."""
    return fake.handle("store")


@BOTH
def test_a_good_node_has_its_value_after_its_time(style: str) -> None:
    """Each node counts its own executions."""
    life = UsedLife(workflow(), style)
    first, handled, second = life.run(rate, store, rate)
    assert (first, handled, second) == ([1, 2], {"done": True}, [1, 2])
    assert first is not second
    good = {"ok": True, "error": None}
    assert life.facts() == [
        (0, "node.called", {"node": "rate", "n": 1, "do": "expression"}),
        (50, "node.replied", {"node": "rate", "n": 1, **good}),
        (50, "node.called", {"node": "store", "n": 1, "do": "handler"}),
        (2050, "node.replied", {"node": "store", "n": 1, **good}),
        (2050, "node.called", {"node": "rate", "n": 2, "do": "expression"}),
        (2100, "node.replied", {"node": "rate", "n": 2, **good}),
    ]


@BOTH
@pytest.mark.parametrize("cause", CAUSES)
def test_the_sandbox_fails_for_a_cause(cause: str, style: str) -> None:
    """With the port's own exception, and the whole message; the trace has no secret."""
    life = UsedLife(workflow(sandbox(cause, executions=1)), style)
    failed, good = life.run(rate, rate)
    assert isinstance(failed, Sandboxed)
    assert (failed.cause, str(failed)) == (cause, "bad token sk-0123456789abcdef")
    assert good == [1, 2]
    (_, _, fired), (_, _, replied) = life.facts()[1:3]
    assert (fired["fault_kind"], fired["of"], fired["n"]) == ("sandbox", "node rate", 1)
    assert replied["error"] == {
        "kind": "sandbox",
        "cause": cause,
        "message": "bad token <secret>",
    }


@BOTH
def test_a_handler_throws_what_nobody_expected(style: str) -> None:
    """It is no error of the sandbox, and has no cause."""
    thrown = {"id": "thrown", "then": {"kind": "exception", "message": "boom"}}
    life = UsedLife(workflow(rules=[thrown]), style)
    (failed,) = life.run(store)
    assert type(failed) is RuntimeError
    assert str(failed) == "boom"
    replied = life.facts()[-1][2]
    assert replied["error"] == {"kind": "exception", "cause": None, "message": "boom"}


@BOTH
@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda fake: fake.evaluate("store"), "no expression 'store'"),
        (lambda fake: fake.handle("rate"), "no handler 'rate'"),
        (lambda fake: fake.handle("look"), "no handler 'look'"),
        (lambda fake: fake.evaluate("nothing"), "no expression 'nothing'"),
    ],
)
def test_a_node_is_done_as_what_it_is(use: Any, words: str, style: str) -> None:
    """Anything else is the runtime's mistake, and no execution."""
    life = UsedLife(workflow(), style)
    (refused,) = life.run(use)
    assert isinstance(refused, LookupError)
    assert words in str(refused)
    assert life.facts() == []


def test_an_execution_whose_deadline_passed_stops() -> None:
    """It is code of the host's: what was begun has no reply."""
    life = UsedLife(workflow())
    (late,) = life.run(lambda fake: asyncio.wait_for(fake.handle("store"), 0.5))
    assert isinstance(late, TimeoutError)
    assert life.kinds() == [(0, "node.called")]


def test_the_numbers_go_on_over_the_lives() -> None:
    """And a rule that nobody met is told once, at the end."""
    states = {"rate": UsesState(), "store": UsesState()}
    rules = [sandbox("memory", executions=2), sandbox("stack", executions=7)]
    UsedLife(workflow(*rules, states=states)).run(rate)
    states = pickle.loads(pickle.dumps(states))
    later = UsedLife(workflow(*rules, states=states), number=2)
    (failed,) = later.run(rate)
    assert isinstance(failed, Sandboxed)
    later.fake.seal()
    unmet = [payload for _, kind, payload in later.facts() if kind == "fault.unmet"]
    assert unmet == [{"fault": "fails-stack", "optional": False, "of": "node rate"}]


def test_a_node_is_a_coroutine_function_for_an_async_subject() -> None:
    """Some runtimes ask which it is."""
    assert iscoroutinefunction(UsedLife(workflow()).fake.evaluate)
    assert not iscoroutinefunction(UsedLife(workflow(), "sync").fake.handle)
