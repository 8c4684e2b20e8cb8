"""What a file says of the world around a runtime is what a trace says of it, and back again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultclock.load.scenario import checked_scenario
from faultclock.load.yaml_file import parse_document
from faultclock.model.scenario.scenario import scenario_digest, scenario_of

IDS = st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=12)
DURATIONS = st.builds("{}{}".format, st.integers(0, 999), st.sampled_from(["ms", "s", "m"]))
RANGES = st.one_of(
    st.just("every"),
    st.integers(1, 9),
    st.builds("{}+".format, st.integers(1, 9)),
    st.builds(lambda first, more: f"{first}-{first + more}", st.integers(1, 9), st.integers(0, 9)),
)


def some(always: dict[str, Any], /, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Return mappings with all of the required keys and some of the others."""
    return st.fixed_dictionaries(always, optional=optional)


SERVICE_RULE = some(
    {"id": st.just("?")},
    uses=RANGES,
    then=st.sampled_from(["raises", "hangs"]),
    message=TEXTS,
    optional=st.booleans(),
)
OUTCOME = some(
    {},
    lines=st.lists(
        some(
            {"text": TEXTS},
            stream=st.sampled_from(["stdout", "stderr"]),
            after=DURATIONS,
            newline=st.booleans(),
        ),
        max_size=2,
    ),
    status=st.integers(0, 255),
    signal=st.sampled_from(["", "SIGKILL"]),
    hangs=st.booleans(),
    missing=st.booleans(),
    means=st.sampled_from(["", "cut", "auth", "quota"]),
).filter(lambda outcome: not (outcome.get("status") and outcome.get("signal")))
BACKOFF = some(
    {"kind": st.sampled_from(["fixed", "linear", "exponential"]), "base": st.just("100ms")},
    factor=st.integers(1, 4),
    cap=st.just("9s"),
)
SANDBOX = some(
    {
        "kind": st.just("sandbox"),
        "cause": st.sampled_from(["syntax", "reference", "memory", "wall_clock"]),
    },
    message=TEXTS,
)
THROWN = some({"kind": st.just("exception")}, message=TEXTS)
_COMMON: dict[str, Any] = {
    "role": st.sampled_from(["", "coder", "reviewer", "tester", "discussion"]),
    "prompt": TEXTS,
    "output_schema": st.just({"type": "object"}),
    "strict": st.booleans(),
    "idempotent": st.booleans(),
    "timeout": DURATIONS,
    "takes": DURATIONS,
    "value": st.one_of(st.none(), st.integers(0, 9), st.lists(TEXTS, max_size=2)),
    "retry": some(
        {"attempts_max": st.integers(1, 5)}, backoff=BACKOFF, retry_on=st.lists(TEXTS, max_size=2)
    ),
}


def _rules(then: Any) -> Any:
    return st.lists(
        some({"id": st.just("?"), "then": then}, executions=RANGES, optional=st.booleans()),
        max_size=2,
    )


NODE = st.one_of(
    some({"id": st.just("?"), "do": st.just("agent")}, **_COMMON),
    some({"id": st.just("?"), "do": st.just("tool"), "tool": st.just("look")}, **_COMMON),
    some(
        {"id": st.just("?"), "do": st.just("expression")},
        rules=_rules(st.one_of(SANDBOX, THROWN)),
        **_COMMON,
    ),
    some({"id": st.just("?"), "do": st.just("handler")}, rules=_rules(THROWN), **_COMMON),
    some(
        {
            "id": st.just("?"),
            "do": st.sampled_from(["program", "command"]),
            "argv": st.just(["codex", "exec"]),
        },
        **_COMMON,
    ),
)
SECTIONS = some(
    {
        "tools": st.lists(
            some(
                {"name": st.just("look"), "agent": st.just(True)},
                required=st.booleans(),
                idempotent=st.booleans(),
                policy=st.sampled_from(["", "allow", "deny"]),
            ),
            min_size=1,
            max_size=1,
        ),
        "programs": st.lists(
            some({"name": st.just("codex")}, good=OUTCOME), min_size=1, max_size=1
        ),
    },
    models=st.lists(IDS, unique=True, max_size=3),
    fallbacks=st.lists(
        some(
            {"id": IDS},
            reply=TEXTS.filter(bool),
            attempts_max=st.integers(1, 9),
            think_time=DURATIONS,
        ),
        unique_by=lambda item: item["id"],
        max_size=3,
    ),
    attempts_per_provider=st.integers(1, 9),
    workflow=some(
        {"nodes": st.lists(NODE, min_size=1, max_size=4)}, iterations_max=st.integers(1, 9)
    ),
    hooks=st.lists(
        some(
            {"id": IDS, "slot": st.sampled_from(["pre_tool", "post_model"])},
            takes=DURATIONS,
            rules=st.lists(SERVICE_RULE, max_size=2),
        ),
        unique_by=lambda item: item["id"],
        max_size=2,
    ),
    telemetry=some({}, takes=DURATIONS, rules=st.lists(SERVICE_RULE, max_size=2)),
    queue=some({}, takes=DURATIONS, rules=st.lists(SERVICE_RULE, max_size=2)),
    session=some(
        {},
        policies=st.dictionaries(
            st.sampled_from(["llm", "tool", "subagent"]), st.sampled_from(["fail", "degrade"])
        ),
        denials_max=st.integers(1, 9),
        budgets=some(
            {},
            cost_max_usd=st.decimals("0.01", "99", places=2).map(str),
            usd_per_million_tokens=st.integers(1, 10_000),
        ),
    ),
)


def numbered(sections: Any, count: list[int]) -> Any:
    """Give each `?` an id of its own, so that no two rules or nodes have the same."""
    if isinstance(sections, dict):
        return {key: numbered(value, count) for key, value in sections.items()}
    if isinstance(sections, list):
        return [numbered(item, count) for item in sections]
    if sections == "?":
        count[0] += 1
        return f"id-{count[0]}"
    return sections


@given(SECTIONS)
def test_a_world_is_the_same_in_a_file_and_in_a_trace(sections: dict[str, Any]) -> None:
    """YAML, scenario, JSON, scenario: nothing is lost on the way, and nothing is added."""
    # Texts of a single "?" would be taken for ids, and YAML has all of JSON's syntax.
    head = {"id": "mine/world", "title": "A title", "why": "A reason.", "role": "runtime"}
    text = json.dumps({**head, **numbered(sections, [0])}, ensure_ascii=False)
    scenario = checked_scenario(parse_document(text.encode(), "world.yaml"))
    written = scenario.model_dump(mode="json")
    again = scenario_of(json.loads(json.dumps(written)))
    assert again == scenario
    assert again.model_dump(mode="json") == written
    assert scenario_digest(again) == scenario_digest(scenario)
