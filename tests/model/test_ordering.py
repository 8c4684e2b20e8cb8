"""The ordering language as a file spells it: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from faultclock.errors import SourceError
from faultclock.load.error_model import load_error_model
from faultclock.model.error_model import error_model
from faultclock.model.error_model.event_sets import EventPattern, resolved
from faultclock.model.error_model.ordering import OrderingRule, Scope, event_refs, unknown_event

A, B = {"kinds": ["a"]}, {"kinds": ["b"]}
ON_OFF: dict[str, Any] = {
    "states": ["off", "on"],
    "start": "off",
    "moves": [{"from": "off", "event": A, "to": "on"}, {"from": "on", "event": B, "to": "off"}],
}
NAMES = {
    "Started": EventPattern(kinds=("declared.event",), where={"name": "Started"}),
    "Ended": EventPattern(kinds=("declared.event",), where={"name": "Ended"}),
}
MODEL = """\
id: mine
title: Mine
revision: "1"
source: {title: T, system: S, document: D, read_on: "2026-01-01"}
events:
  ToolInvocationStarted: {kinds: [declared.event], where: {name: ToolInvocationStarted}}
ordering:
  - id: one
    pattern: existence
    event: ToolInvocationStarted
    says: It starts.
    requirement: R-1
requirements:
  - {id: R-1, level: MUST, place: p, sentence: s, checks: [ordering.one]}
"""


def rule(pattern: str, **changes: Any) -> OrderingRule:
    """Return a rule that is complete but for what its pattern needs."""
    values = {"id": "r", "pattern": pattern, "says": "It.", "requirement": "X-1"}
    return OrderingRule.model_validate(values | changes)


def load(path: Path, text: str) -> error_model.ErrorModel:
    """Return the model that a file with `text` holds."""
    path.write_text(text, "utf-8")
    return load_error_model(str(path))


def test_the_language_is_found_where_error_models_are() -> None:
    """Who reads an error model needs no second module."""
    assert error_model.EventPattern is EventPattern
    assert error_model.OrderingRule is OrderingRule
    assert error_model.Scope is Scope


@pytest.mark.parametrize(
    ("pattern", "changes", "words"),
    [
        ("absence", {}, "absence needs `event`"),
        ("absence", {"event": A, "other": B}, "absence knows no `other`"),
        ("precedence", {"event": A}, "precedence needs `other`"),
        ("response", {"event": A, "other": B, "among": A}, "response knows no `among`"),
        ("last", {"event": A}, "last needs `among`"),
        ("universality", {"event": A}, "universality needs `among`"),
        ("sequence", {"event": A}, "sequence knows no `event`"),
        ("sequence", {}, "sequence needs `steps`"),
        ("sequence", {"steps": [A]}, "one step has no order"),
        ("existence", {"event": A, "within": "1s"}, "existence knows no `within`: it goes"),
        (
            "response",
            {"event": A, "other": B, "within": "1s", "no_sooner": "2s"},
            "no_sooner is longer than within",
        ),
        ("absence", {"event": A, "per": []}, "write null"),
        ("absence", {"event": A, "scope": {"lives": "later"}}, "lives: later needs `after`"),
        ("absence", {"event": A, "same": ["x"]}, "absence knows no `same`"),
        ("sequence", {"steps": [A, B], "same": {"x": "y"}}, "same is a list of fields"),
        (
            "response",
            {"event": A, "other": B, "same": ["target"], "optional": ["targt"]},
            "no field 'targt' to be optional: write target",
        ),
        ("at_most", {"event": A}, "at_most needs `limit`"),
        ("at_most", {"event": A, "limit": -1}, "greater than or equal to 0"),
        ("at_most", {"event": A, "limit": "most"}, "write scope.after"),
        ("response", {"event": A, "other": B, "limit": 1}, "goes with at_most"),
        ("automaton", {"states": ["x"], "start": "x"}, "automaton needs `moves`"),
        ("automaton", {**ON_OFF, "start": "of"}, "no state 'of': write off"),
        ("automaton", {**ON_OFF, "ends": ["onn"]}, "no state 'onn': write on"),
        ("automaton", {**ON_OFF, "states": ["off", "on", "x"]}, "leads to the state 'x'"),
        ("automaton", {**ON_OFF, "event": A}, "automaton knows no `event`"),
        ("absence", {"event": A, "moves": ON_OFF["moves"]}, "it goes with automaton"),
        ("absence", {"event": {}}, "exactly one of kinds and event"),
        ("absence", {"event": {"kinds": ["a"], "event": "Started"}}, "exactly one of kinds"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(
    pattern: str, changes: dict[str, Any], words: str
) -> None:
    """Each refusal says what is missing, or what is too much."""
    with pytest.raises(ValidationError, match=words):
        rule(pattern, **changes)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("5", "'5' is not a duration"),
        (5, "5 is not a duration"),
        ("scenario.tols.x.timeout", "no 'tols' in scenario.tols.x.timeout: write tools"),
        ("scenario.tools.{tool}.timeut", "no 'timeut' in .*: write timeout"),
        ("scenario.session.budgets.steps_max", "steps_max' is no duration"),
        ("scenario.session.budgets", "budgets' is no duration"),
        ("network.latency", "'network.round_trip' and nothing else"),
        ("fields.{tool}", "goes with a path of the scenario"),
        ({"of": "wait", "defalt": "5s"}, "defalt"),
        ({"default": "5s"}, "of"),
    ],
)
def test_a_bound_that_leads_nowhere_is_refused(bound: object, words: str) -> None:
    """A path of the scenario is followed when the rule is read."""
    with pytest.raises(ValidationError, match=words):
        rule("response", event=A, other=B, within=bound)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("scenario.session.budgets.wall_time", "wall_time' is no number"),
        ("network.round_trip", "of the network"),
        (
            {"of": "scenario.session.budgets.steps_max", "default": -1},
            "greater than or equal to 0",
        ),
    ],
)
def test_a_count_is_no_time(limit: object, words: str) -> None:
    """A limit counts events."""
    with pytest.raises(ValidationError, match=words):
        rule("at_most", event=A, limit=limit)


def test_a_bound_keeps_the_form_that_it_was_written_in() -> None:
    """A duration is a number of nanoseconds; a path is looked up for each event."""
    tested = rule("response", event=A, other=B, within="5s", no_sooner={"of": "w", "plus": "-1ms"})
    assert tested.within == 5_000_000_000
    dumped = tested.model_dump(mode="json")
    assert dumped["within"] == "5s"
    assert dumped["no_sooner"] == {"of": "w", "default": None, "plus": "-1ms"}


def test_a_name_stands_for_its_pattern_and_can_be_narrowed() -> None:
    """The source document's name stays what people read."""
    narrowed = EventPattern(event="Started", where={"fields.tool": ("ls", "rm")}, has=("call",))
    ((plain, pattern),) = resolved("Started", NAMES)
    assert (plain, pattern) == ("Started", NAMES["Started"])
    (first, (name, pattern)) = resolved(("Ended", narrowed), NAMES)
    assert first[0] == "Ended"
    assert name == "Started {tool: ls or rm}"
    assert pattern.kinds == ("declared.event",)
    assert pattern.where == {"name": "Started", "fields.tool": ("ls", "rm")}
    assert pattern.has == ("call",)
    assert resolved(None, NAMES) == ()


def test_an_unnamed_pattern_is_called_by_its_kinds_and_conditions() -> None:
    """Values are written as the file spells them."""
    pattern = EventPattern(kinds=("a", "b"), where={"ok": True, "n": None}, like={"s": "x*"})
    ((name, _),) = resolved(pattern, NAMES)
    assert name == "a or b {ok: true, n: null, s: x*}"


def test_every_place_for_events_is_looked_at() -> None:
    """A name that is wrong anywhere in a rule is found."""
    places: dict[str, Any] = {
        "pattern": "response",
        "event": "Started",
        "other": ["Ended"],
        "scope": {"after": {"event": "Started"}, "before": "Ended"},
        "when": "Started",
        "unless": A,
    }
    complete = rule(**places)
    assert len(list(event_refs(complete))) == 6
    assert unknown_event(complete, NAMES) is None
    for place, value in (
        ("event", "Startd"),
        ("other", ["Ended", {"event": "Startd"}]),
        ("scope", {"after": "Startd"}),
        ("when", "Startd"),
        ("unless", "Startd"),
    ):
        problem = unknown_event(rule(**places | {place: value}), NAMES)
        assert problem is not None
        assert "there is no event 'Startd'" in problem
        assert "did you mean `Started`?" in problem
    steps = rule("sequence", steps=["Started", "Startd"])
    assert unknown_event(steps, NAMES) is not None
    moves = [ON_OFF["moves"][0], {"from": "on", "event": "Startd", "to": "off"}]
    assert unknown_event(rule("automaton", **ON_OFF | {"moves": moves}), NAMES) is not None


def test_a_file_may_use_its_own_names(tmp_path: Path) -> None:
    """The model keeps the rule as it was written."""
    model = load(tmp_path / "mine.yaml", MODEL)
    assert model.ordering[0].event == "ToolInvocationStarted"


def test_an_unknown_name_is_met_at_its_place_with_a_near_one(tmp_path: Path) -> None:
    """Line and column of the wrong word, and the word that was meant."""
    text = MODEL.replace("event: ToolInvocationStarted", "event: ToolInvocationStart")
    with pytest.raises(SourceError) as caught:
        load(tmp_path / "mine.yaml", text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (10, 12)
    assert problem.message == "one: there is no event 'ToolInvocationStart'"
    assert problem.hint is not None
    assert "did you mean `ToolInvocationStarted`?" in problem.hint


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("pattern: existence", "pattern: existance", "did you mean `existence`?"),
        ("    event: ToolInvocationStarted", "    event: {kindz: [a]}", "unknown key `kindz`"),
        ("    event: ToolInvocationStarted", "    event: 7", "`event` should be"),
        ("{kinds: [declared.event], where", "{event: Other, where", "not of another name"),
        ("requirement: R-1\n", "requirement: R-1\n    within: 5s\n", "goes with precedence"),
        (
            "existence\n",
            "response\n    other: {kinds: [tool.called]}\n    within: {off: x}\n",
            "unknown key `off`",
        ),
        (
            "existence\n",
            "at_most\n    limit: scenario.session.budgts.x\n",
            "mine.yaml:10:12: the scenario has no 'budgts' in scenario.session.budgts.x",
        ),
        (
            "existence\n",
            "response\n    other: {kinds: [tool.called]}\n    within: 5 seconds\n",
            "mine.yaml:11:13: '5 seconds' is not a duration",
        ),
        (
            "existence\n    event: ToolInvocationStarted\n",
            "automaton\n    states: [off]\n    start: off\n"
            "    moves: [{fro: off, event: ToolInvocationStarted}]\n",
            "did you mean `from`?",
        ),
        (
            "existence\n    event: ToolInvocationStarted\n",
            "automaton\n    states: [idle, busy]\n    start: idle\n"
            "    moves: [{from: idle, event: ToolInvocationStarted, to: bsy}]\n",
            "mine.yaml:12:60: one: there is no state 'bsy'",
        ),
        (
            "    event: ToolInvocationStarted\n",
            "    event: {kinds: [tool.called], where: {tol: ls}}\n",
            "one: no tool.called has a field 'tol'\n  write tool",
        ),
        (
            "    event: ToolInvocationStarted\n",
            "    event: {event: ToolInvocationStarted, has: [field.tool]}\n",
            "no declared.event has a field 'field.tool'\n  write fields",
        ),
        ("{name: ToolInvocationStarted}", "{nam: x}", "'nam'\n  write name"),
        (
            "    event: ToolInvocationStarted\n",
            "    event: {kinds: [tool.caled]}\n",
            "one: there are no events of the kind 'tool.caled'\n  write tool.called",
        ),
        (
            "    event: ToolInvocationStarted\n",
            "    event: {kinds: [failure.seen], where: {clas: x}}\n",
            "no failure.seen has a field 'clas'\n  write class",
        ),
        (
            "    event: ToolInvocationStarted\n",
            "    event: {kinds: [tool.called, tool.run], where: {tol: x}}\n",
            "no tool.called or tool.run has a field 'tol'\n  write tool",
        ),
        (
            "existence\n    event: ToolInvocationStarted\n",
            "absence\n    scope: {after: {kinds: [call.started]}}\n    per: task\n"
            "    event: {kinds: [tool.called]}\n",
            "no tool.called has a field 'task'",
        ),
        (
            "    event: ToolInvocationStarted\n",
            f"    event: {{kinds: [tool.replied], has: [errors.{'9' * 5000}.class]}}\n",
            "write errors",
        ),
        (
            "{name: ToolInvocationStarted}",
            "{nope.first: x}",
            "ToolInvocationStarted: no declared.event has a field 'nope.first'",
        ),
        ("requirement: R-1\n", "requirement: R-1\n    per: cal\n", "'cal'\n  write call"),
        ("requirement: R-1\n", "requirement: R-1\n    per: [call, nod]\n", "'nod'\n  write node"),
        ("existence\n", "increasing\n    by: seqq\n", "has a field 'seqq'"),
        (
            "existence\n",
            "response\n    other: {kinds: [tool.called]}\n    same: {cal: call}\n",
            "no tool.called has a field 'cal'\n  write call",
        ),
        (
            "existence\n",
            "response\n    other: {kinds: [tool.called]}\n    within: timeout\n",
            "has a field 'timeout'",
        ),
        ("requirement: R-1\n", "requirement: R-1\n    needs: audits\n", "`audit`"),
        ("    event: Tool", "    role: runtime\n    event: Tool", "did you mean `roles`?"),
        ("requirement: R-1\n", "requirement: R-1\n    roles: [runtme]\n", "`runtime`"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    """Whoever writes a rule is told what would be right."""
    with pytest.raises(SourceError) as caught:
        load(tmp_path / "mine.yaml", MODEL.replace(old, new, 1))
    assert words in str(caught.value)


def test_a_rule_may_correlate_by_a_field_of_what_is_derived(tmp_path: Path) -> None:
    """The oracle derives events with fields that no event of a trace has."""
    rule_ = "existence\n    event: {kinds: [failure.seen]}\n    per: layer\n"
    text = MODEL.replace("existence\n    event: ToolInvocationStarted\n", rule_)
    assert load(tmp_path / "mine.yaml", text).ordering[0].keys == ("layer",)


def test_two_rules_need_two_ids(tmp_path: Path) -> None:
    """The id of a rule is the id of its check."""
    again = MODEL.partition("ordering:\n")[2].partition("requirements:")[0]
    with pytest.raises(SourceError, match="two ordering rules have the id 'one'"):
        load(tmp_path / "mine.yaml", MODEL.replace("requirements:", f"{again}requirements:"))


@pytest.mark.parametrize("given", [{"requirement": ()}, {"rules": "audit.attempts"}])
def test_a_rule_names_sentences_in_one_of_two_ways(given: dict[str, Any]) -> None:
    """Without any it would judge nothing, and with both it would not be clear what."""
    with pytest.raises(ValidationError, match="exactly one of requirement and rules"):
        rule("absence", event=A, **given)


def test_a_name_of_rules_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With the nearest one."""
    text = MODEL.replace("    requirement: R-1\n", "    rules: audit.attemps\n")
    text = text.replace("ordering:\n", "rules: {audit.attempts: R-1}\nordering:\n")
    with pytest.raises(SourceError, match="nothing named 'audit"):
        load(tmp_path / "mine.yaml", text)
