"""The shipped scenarios as a set: complete, mutual, honest about where they come from."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, get_args

from faultclock.load.payloads import load_payloads
from faultclock.load.resources import scenarios_root
from faultclock.load.scenario import load_scenario, shipped_scenarios
from faultclock.load.schema import schema_of
from faultclock.model.scenario.fault import (
    Fault,
    FaultRule,
    HttpDate,
    HttpError,
    OkWithErrorBody,
    StreamError,
)
from faultclock.model.scenario.interaction_script import InteractionKind, InteractorAnswer
from faultclock.model.scenario.mishap import CancelScope
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.store_script import StoreFault
from faultclock.model.scenario.tool_script import ToolFault
from tests.each import for_each
from tests.warm.listing import all_scenarios

#: Family to the least number of scenarios that it needs to say something.
FAMILIES = {
    "rate-limits": 30,
    "provider-transient": 30,
    "provider-limits": 16,
    "approvals": 16,
    "resume-drift": 14,
    "tools": 12,
    "cancellation": 6,
    "session-store": 5,
    "state-machine": 6,
    "audit": 4,
    "extension-lifecycle": 5,
    "tool-contract": 12,
    "extension-contract": 10,
    "session-store-contract": 10,
    "exploration": 6,
    "shared": 18,
    "common": 20,
    "mcp": 4,
    "relavium": 40,
    "afk": 50,
    "kode-sdk": 40,
    "error-matrix": 40,
}
#: The schema lies so many folders above a file.
MODELINE = "# yaml-language-server: $schema={}scenario.schema.json"
#: Scenarios in which nothing goes wrong, so that a subject that never works cannot hide.
HEALTHY = {
    "afk/good-run",
    "cancellation/two-turns-at-once",
    "mcp/a-call-goes-well",
    "provider-transient/healthy-call",
    "provider-transient/healthy-tool-call",
    "provider-transient/stream-short-but-whole",
    "rate-limits/answer-that-looks-like-an-error",
    "shared/good-turn",
    "tool-contract/slow-but-good",
    "tool-contract/valid-input",
}
#: `owner/repository#number`, or a document and a place in it.
_ISSUE = re.compile(r"[\w.-]+/[\w.-]+#\d+")

PLACES = shipped_scenarios()
IDS = sorted(PLACES)


@cache
def _shipped() -> dict[str, Scenario]:
    return {id_: load_scenario(path) for id_, path in PLACES.items()}


@cache
def _runnable() -> dict[str, tuple[Scenario, ...]]:
    return {item.scenario.id: item.runnable for item in all_scenarios()}


def _rules() -> list[FaultRule]:
    return [rule for scenario in _shipped().values() for rule in scenario.provider.faults]


def test_every_family_is_shipped_and_large_enough() -> None:
    """A verdict over a handful of situations would say little."""
    counts = Counter(scenario.family for scenario in _shipped().values())
    assert counts.keys() == FAMILIES.keys()
    assert {family: count for family, count in counts.items() if count < FAMILIES[family]} == {}


def test_every_family_is_explained_beside_the_scenarios() -> None:
    """Whoever looks for a place for a new one reads what each is about."""
    table = (scenarios_root() / "README.md").read_text("utf-8")
    assert [family for family in FAMILIES if f"`{family}`" not in table] == []


@for_each(IDS)
def test_a_file_loads_and_its_id_is_its_place(id_: str) -> None:
    """An id that is typed on the command line leads to the file by looking."""
    assert _shipped()[id_].id == id_


@for_each(IDS)
def test_a_file_begins_with_the_line_that_editors_read(id_: str) -> None:
    """Completion and hints work in a checkout without any set-up."""
    text = Path(PLACES[id_]).read_text("utf-8")
    assert text.splitlines()[0] == MODELINE.format("../" * id_.count("/"))


def test_the_schema_beside_them_is_the_models() -> None:
    """A stale schema is written again by `faultclock schema scenario`."""
    assert (scenarios_root() / "scenario.schema.json").read_text("utf-8") == schema_of("scenario")


@for_each(IDS)
def test_a_scenario_says_why_and_where_it_comes_from(id_: str) -> None:
    """A failing scenario is read by somebody who has to decide whether it matters."""
    scenario = _shipped()[id_]
    assert len(scenario.why) >= 120, "a `why` of a shipped scenario has 120 characters or more"
    assert scenario.why.endswith((".", "?", "!"))
    assert scenario.title not in scenario.why
    assert scenario.origin is not None, "a shipped scenario has an `origin`"
    assert _ISSUE.search(scenario.origin) or " " in scenario.origin


def test_every_why_and_every_title_is_its_own() -> None:
    """Copied reasons are no reasons."""
    scenarios = _shipped().values()
    assert len({scenario.why for scenario in scenarios}) == len(scenarios)
    assert len({scenario.title for scenario in scenarios}) == len(scenarios)


@for_each(IDS)
def test_a_pair_points_back(id_: str) -> None:
    """Whoever reads a defect finds its opposite, from either side."""
    pair = _shipped()[id_].pair
    if pair is not None:
        assert pair != id_
        assert pair in _shipped(), f"its pair {pair} is no shipped scenario"
        assert _shipped()[pair].pair == id_, f"{pair} does not name it as its `pair`"


def test_most_scenarios_have_their_opposite() -> None:
    """A subject that always retries, or never does, passes one half of each pair at most."""
    paired = [scenario for scenario in _shipped().values() if scenario.pair is not None]
    assert len(paired) * 4 >= len(IDS) * 3


def test_every_kind_of_fault_is_used() -> None:
    """A fault that no scenario plants is one that nobody has tried."""
    union = get_args(get_args(Fault)[0])
    kinds = {get_args(member.model_fields["kind"].annotation)[0] for member in union}
    assert {rule.then.kind for rule in _rules()} == kinds


def _kinds(union: Any) -> set[str]:
    return {
        get_args(member.model_fields["kind"].annotation)[0]
        for member in get_args(get_args(union)[0])
    }


def test_everything_that_can_befall_an_agent_is_used() -> None:
    """What a tool replies, a person answers and a store does; what is asked, killed, cancelled."""
    runs = [scenario for item in all_scenarios() for scenario in item.runnable]
    tools = [rule.then for run in runs for tool in run.world.tools for rule in tool.rules]
    assert {outcome.fault.kind for outcome in tools} == _kinds(ToolFault)
    assert {outcome.effect for outcome in tools} == {"none", "committed", "late"}
    people = [rule for run in runs for person in run.world.interactors for rule in person.rules]
    assert {rule.then.kind for rule in people} == _kinds(InteractorAnswer)
    stores = [rule for run in runs if run.world.store is not None for rule in run.world.store.rules]
    assert {rule.then.kind for rule in stores} == _kinds(StoreFault)
    asked = {task.question.kind for run in runs for task in run.tasks if task.question}
    # An Approve and a Confirm are mostly asked by the runtime itself, about a tool.
    assert asked >= set(get_args(InteractionKind)) - {"Approve", "Confirm"}
    assert {cancel.scope for run in runs for cancel in run.cancel_rules} == set(
        get_args(CancelScope)
    )
    for moment in ("at", "on", "write"):
        assert any(getattr(crash, moment) is not None for run in runs for crash in run.crash_rules)


def test_every_condition_of_a_trigger_is_used() -> None:
    """Attempts, scope, task, stream and time windows each decide somewhere."""
    used = set().union(*(rule.when.model_fields_set for rule in _rules()))
    assert used >= {"attempts", "scope", "task", "stream", "until_time"}


def test_every_form_of_retry_after_is_there() -> None:
    """The header comes as a number, a fraction, a date, as nonsense and not at all."""
    values = [
        rule.then.headers.get("retry-after")
        for rule in _rules()
        if isinstance(rule.then, HttpError) and rule.then.status == 429
    ]
    texts = {value for value in values if isinstance(value, str)}
    dates = [value.http_date for value in values if isinstance(value, HttpDate)]
    assert {"7", "1.5", "-5", "0", "", "3600"} <= texts
    assert any(re.search("[a-z]", text) for text in texts)
    assert min(dates) < 0 < max(dates)
    assert None in values


@for_each(IDS)
def test_every_error_that_is_named_has_a_payload(id_: str) -> None:
    """A name that no fixture holds would only show when the fault fires."""
    for scenario in _runnable()[id_]:
        known = {
            *load_payloads(scenario.provider.dialect or DEFAULT_DIALECT),
            *scenario.provider.payloads,
        }
        named = {rule.error for rule in scenario.provider.refusals} | {
            rule.then.error
            for rule in scenario.provider.faults
            if isinstance(rule.then, (HttpError, OkWithErrorBody, StreamError))
        }
        # An answer without a body has no payload.
        assert named - {None} <= known, scenario.variant


@for_each(IDS)
def test_something_goes_wrong_unless_the_scenario_is_about_health(id_: str) -> None:
    """No scenario passes because its faults were forgotten, and none of them is optional.

    Of a matrix, each cell: its faults may stand there alone.
    """
    for scenario in _runnable()[id_]:
        faults, refusals = scenario.provider.faults, scenario.provider.refusals
        assert not any(rule.optional for rule in faults)
        # Of two limits one may be there to be left alone.
        assert not refusals or not all(rule.optional for rule in refusals)
        planned = faults or refusals or scenario.provider.pace is not None
        goes_wrong = bool(planned) or _agent_plans(scenario)
        assert goes_wrong is (id_ not in HEALTHY), scenario.variant


def test_everything_that_a_provider_remembers_is_used() -> None:
    """Buckets, quotas, penalties, overload, and each shape that a delay can have."""
    scripts = [scenario.provider for scenario in _shipped().values()]
    limits = [script.limits for script in scripts if script.limits is not None]
    overloads = [script.overload for script in scripts if script.overload is not None]
    paces = [script.pace for script in scripts if script.pace is not None]
    assert {item.per for item in limits} == {"key", "provider"}
    for name in ("requests", "tokens", "quota", "early_penalty"):
        assert any(getattr(item, name) for item in limits), name
    for name in ("at_once", "percent", "tells_when", "until_time"):
        assert any(getattr(item, name) for item in overloads), name
    delays = [delay for pace in paces for delay in (pace.first_token, pace.token) if delay]
    assert {delay.kind for delay in delays} >= {"uniform", "lognormal", "pareto"}
    assert any(pace.tokens_per_second for pace in paces)
    assert any(task.key for scenario in _shipped().values() for task in scenario.tasks)


def _agent_plans(scenario: Scenario) -> bool:
    """Whether anything but the provider is scripted: a world that is there to be answered."""
    if scenario.role == "provider_adapter":
        return bool(scenario.cancel_rules)
    if any(service.faults for service in scenario.services):
        return True
    # Of a server, a tool only says that it is there.
    tools = tuple(tool for tool in scenario.world.tools if tool.service is None or tool.rules)
    changed = {"services": (), **({"tools": tools} if scenario.world.tools else {})}
    dumped = scenario.model_copy(update=changed).model_dump(mode="json")
    scripted = dumped.keys() & (scenario.SPARSE - {"models"})
    asked = (task.do not in ("call", "turn") or task.arguments for task in scenario.tasks)
    return bool(scripted) or any(asked)


@for_each(IDS)
def test_faults_inside_a_stream_are_planted_where_there_is_a_stream(id_: str) -> None:
    """A stream error in a plain answer could never be met."""
    scenario = _shipped()[id_]
    if scenario.role == "runtime":
        # Whether it asks for a stream is its own affair; a fault that is not met spoils the pass.
        return
    streamed = {task.id for task in scenario.tasks if task.stream}
    for rule in scenario.provider.faults:
        if isinstance(rule.then, StreamError) or getattr(rule.then, "after_chunks", None):
            assert rule.when.task in streamed if rule.when.task else streamed
