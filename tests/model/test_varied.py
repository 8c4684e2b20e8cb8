"""What a tape makes of a scenario that says what may vary."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.fault import ConnectRefused
from faultclock.model.scenario.faults_stop import never_settles, settled
from faultclock.model.scenario.removable import rules_of
from faultclock.model.scenario.rule import AttemptRange
from faultclock.model.scenario.scenario import (
    Scenario,
    scenario_digest,
    scenario_of,
    written_scenario,
)
from faultclock.model.scenario.varied import (
    NowhereError,
    choices_at,
    choices_in_words,
    varied,
    varied_data,
    written_at,
)
from faultclock.model.scenario.vary import Vary
from faultclock.model.tape import BLANK, Tape

LIMITED = {
    "id": "limited",
    "when": {"attempts": 1},
    "then": {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"},
}
VALUES: dict[str, Any] = {
    "provider.latency": {"from": "5ms", "to": "250ms"},
    "provider.faults.limited.when.attempts": {"from": 1, "to": 6},
    "provider.faults.limited.then": {"any_of": [{"kind": "connect_refused"}]},
    "tasks.ask.copies": {"any_of": [2, 5]},
}


def scenario(**changes: Any) -> Scenario:
    """Return a scenario with one fault that may vary."""
    data: dict[str, Any] = {
        "id": "tests/varied",
        "title": "T",
        "why": "W",
        "tasks": [{"id": "ask"}],
        "provider": {"faults": [LIMITED]},
        "vary": {"values": VALUES, "may_lack": ["limited"]},
    }
    return scenario_of({**data, **changes})


def tape(**choices: int) -> Tape:
    """Return a tape that chooses by the last part of a stream's path."""
    streams = {choice.stream.rpartition(".")[2]: choice.stream for choice in choices_at(scenario())}
    streams["lacks"] = "lacks/limited"
    return Tape.of({streams[name]: {0: value} for name, value in choices.items()})


def test_a_blank_tape_gives_what_is_written() -> None:
    """And nobody sees that it could have been otherwise."""
    plain = scenario(vary=None)
    assert varied(scenario(), BLANK) == plain
    assert scenario_digest(varied(scenario(), BLANK)) == scenario_digest(plain)
    assert varied(plain, BLANK) is plain


def test_a_value_of_a_range_is_counted_from_its_start() -> None:
    """Durations in nanoseconds, numbers as they are."""
    made = varied(scenario(), tape(latency=1, attempts=6))
    assert made.provider.latency == 5 * MILLISECOND_NS
    assert made.provider.faults[0].when.attempts == AttemptRange(first=6, last=6)
    last = varied(scenario(), tape(latency=1 + 245 * MILLISECOND_NS))
    assert last.provider.latency == 250 * MILLISECOND_NS


def test_a_value_of_a_list_is_counted_from_its_first() -> None:
    """Whatever a file could hold there, a whole fault as well as a number."""
    made = varied(scenario(), tape(copies=2, then=1))
    assert made.tasks[0].copies == 5
    assert isinstance(made.provider.faults[0].then, ConnectRefused)
    assert made.vary is None


def test_zero_is_what_is_written() -> None:
    """So a tape may say it, and a shorter one need not."""
    assert varied(scenario(), tape(latency=0, lacks=0)) == scenario(vary=None)


def test_a_rule_may_be_lacking() -> None:
    """It is gone, whatever else was chosen for it."""
    assert varied(scenario(), tape(lacks=1, attempts=3)).provider.faults == ()


def test_what_holds_others_is_changed_before_them() -> None:
    """The order of the declaration decides nothing."""
    values = {
        "provider.faults.limited.then.status": {"any_of": [503]},
        "provider.faults.limited.then": {"any_of": [{**LIMITED["then"], "status": 500}]},  # type: ignore[dict-item]
    }
    both = Tape.of({f"vary/{path}": {0: 1} for path in values})
    data = varied_data(scenario(vary={"values": values}), both)
    assert data["provider"]["faults"][0]["then"]["status"] == 503


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"vary/provider.jitter": {0: 1}}, "declares no such"),
        ({"lacks/other": {0: 1}}, "declares no such"),
        ({"vary/tasks.ask.copies": {0: 3}}, "which has 2"),
        ({"vary/tasks.ask.copies": {0: 1, 1: 1}}, "more than once"),
        ({"vary/tasks.ask.copies": {1: 1}}, "more than once"),
    ],
)
def test_what_is_not_declared_is_refused(choices: dict[str, dict[int, int]], told: str) -> None:
    """With a sentence that says which."""
    with pytest.raises(ValueError, match=told):
        varied(scenario(), Tape.of(choices))


def test_choices_that_make_no_scenario_together_are_refused() -> None:
    """Each of them alone is fine."""
    path = "provider.faults.limited.when"
    vary = {
        "values": {
            f"{path}.from_time": {"from": "0s", "to": "9s"},
            f"{path}.until_time": {"from": "1s", "to": "9s"},
        }
    }
    late = {f"vary/{path}.from_time": {0: 1 + 9 * SECOND_NS}}
    early = {f"vary/{path}.until_time": {0: 1}}
    varied(scenario(vary=vary), Tape.of(late))
    varied(scenario(vary=vary), Tape.of(early))
    with pytest.raises(ValueError, match=r"from_time = 9s, .*until_time = 1s: .*never fire"):
        varied(scenario(vary=vary), Tape.of({**late, **early}))


def test_a_fault_that_is_moved_behind_the_end_of_all_faults_is_refused() -> None:
    """It could never fire."""
    path = "provider.faults.limited.when.from_time"
    vary = {"values": {path: {"from": "0s", "to": "20s"}}}
    made = scenario(vary=vary, settle={"faults_end": "10s"})
    with pytest.raises(ValueError, match="begins at 20s, and faults end at 10s"):
        varied(made, Tape.of({f"vary/{path}": {0: 1 + 20 * SECOND_NS}}))


def test_what_shapes_the_run_is_passed_over() -> None:
    """It is for the world, and not for the scenario."""
    assert varied(scenario(), Tape.of({"schedule/1/timers": {3: 1}})) == scenario(vary=None)


def test_all_that_may_be_drawn_is_named() -> None:
    """In the order of the file, with how many there are."""
    told = [(item.path, item.kind, item.count, item.bounds) for item in choices_at(scenario())]
    assert told == [
        (
            "provider.latency",
            "span",
            245 * MILLISECOND_NS + 1,
            (5 * MILLISECOND_NS, 250 * MILLISECOND_NS),
        ),
        ("provider.faults.limited.when.attempts", "span", 6, (1, 6)),
        ("provider.faults.limited.then", "any_of", 1, None),
        ("tasks.ask.copies", "any_of", 2, None),
        ("limited", "lacks", 1, None),
    ]
    assert choices_at(scenario(vary=None)) == ()


def test_choices_are_told_in_words() -> None:
    """As a person would write them."""
    chosen = tape(latency=1 + 245 * MILLISECOND_NS, copies=1, then=1, lacks=1)
    assert choices_in_words(scenario(), chosen) == (
        "provider.latency = 250ms",
        'provider.faults.limited.then = {"kind": "connect_refused"}',
        "tasks.ask.copies = 2",
        "without limited",
    )


def test_lists_are_walked_by_id_name_or_number() -> None:
    """Whatever names the element."""
    made = scenario(
        role="runtime",
        vary=None,
        tools=[{"name": "write", "rules": [{"id": "r", "then": {"fault": {"kind": "hang"}}}]}],
        crashes=[{"id": "kill", "on": {"seq": 7}}],
    )
    assert written_at(made, "tools.write.rules.r.then.fault") == (
        *("tools", 0, "rules", 0, "then", "fault"),
    )
    assert written_at(made, "crashes.kill.on.seq") == ("crashes", 0, "on", "seq")
    assert written_at(made, "tasks.0.copies") == ("tasks", 0, "copies")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("provider.latenci", "latenci"),
        ("provider.faults.other.when", "other"),
        ("provider.overload.percent", "percent"),
        ("provider.faults.limited.when.attempts.first", "first"),
        ("", ""),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_there(path: str, name: str) -> None:
    """So that the next thing to say can be what was meant."""
    with pytest.raises(NowhereError) as told:
        written_at(scenario(), path)
    assert told.value.name == name
    assert name not in told.value.known


@pytest.mark.parametrize("path", ["seed", "id", "settle", "tasks.ask.id", "matrix.axes"])
def test_what_a_scenario_is_known_by_may_not_vary(path: str) -> None:
    """It would be another one."""
    with pytest.raises(ValueError, match="may not vary"):
        written_at(scenario(), path)


def test_every_kind_of_rule_may_be_lacking() -> None:
    """Those of which there is a list, and those of which there is one."""
    provider = {
        "faults": [LIMITED],
        "limits": {"requests": {"per_minute": 3}},
        "overload": {"percent": 5},
    }
    made = scenario(
        role="runtime",
        provider=provider,
        tools=[{"name": "write", "rules": [{"id": "r", "then": {"fault": {"kind": "hang"}}}]}],
        crashes=[{"id": "kill", "on": {"seq": 7}}],
        cancels=[{"id": "stop", "when": {"at": "1s"}, "scope": "turn"}],
        vary=None,
    )
    known = rules_of(made)
    assert set(known) == {"limited", "requests-per-minute", "overload", "r", "kill", "stop"}
    lacking = made.model_copy(update={"vary": Vary(may_lack=known)})
    bare = varied(lacking, Tape.of({f"lacks/{name}": {0: 1} for name in known}))
    assert rules_of(bare) == ()
    assert bare.provider.limits is None
    one = varied(lacking, Tape.of({"lacks/kill": {0: 1}}))
    assert rules_of(one) == tuple(name for name in known if name != "kill")


@given(
    latency=st.integers(0, 245 * MILLISECOND_NS + 1),
    attempts=st.integers(0, 6),
    copies=st.integers(0, 2),
    lacks=st.integers(0, 1),
)
def test_what_comes_out_is_a_scenario_that_a_file_could_hold(
    latency: int, attempts: int, copies: int, lacks: int
) -> None:
    """It is written and read back as the same one, and the same tape gives the same one."""
    chosen = tape(latency=latency, attempts=attempts, copies=copies, lacks=lacks)
    made = varied(scenario(), chosen)
    assert written_scenario(made.model_dump(mode="json", by_alias=True)) == made
    assert varied(scenario(), chosen) == made


def test_it_is_fast_enough_to_be_done_for_each_run() -> None:
    """The best of several takes far less than a run does."""
    made, chosen = scenario(), tape(latency=7, attempts=3, copies=1)
    best_s = min(_timed_s(made, chosen) for _ in range(20))
    assert best_s < 0.003


def _timed_s(made: Scenario, chosen: Tape) -> float:
    begun_s = time.perf_counter()
    varied(made, chosen)
    return time.perf_counter() - begun_s


# The end of the faults.


def test_faults_end_when_the_scenario_settles() -> None:
    """What ends earlier stays, what begins later is left out, and overload ends, too."""
    faults = [
        {**LIMITED, "id": "open"},
        {**LIMITED, "id": "early", "when": {"until_time": "2s"}},
        {**LIMITED, "id": "late", "when": {"until_time": "1h"}},
        {**LIMITED, "id": "never", "when": {"from_time": "11s"}},
    ]
    provider = {"faults": faults, "overload": {"percent": 5}}
    made = settled(scenario(vary=None, settle={"faults_end": "10s"}, provider=provider))
    ends = {rule.id: rule.when.until_time for rule in made.provider.faults}
    assert ends == {"open": 10 * SECOND_NS, "early": 2 * SECOND_NS, "late": 10 * SECOND_NS}
    assert made.provider.overload is not None
    assert made.provider.overload.until_time == 10 * SECOND_NS
    assert settled(made) is made


def test_what_never_settles_is_named() -> None:
    """A fault and an overload that begin too late, and a quota that stays used up."""
    provider = {
        "faults": [{**LIMITED, "when": {"from_time": "10s"}}],
        "overload": {"percent": 5, "from_time": "11s"},
        "limits": {"quota": {"requests": 3}},
    }
    made = scenario(vary=None, settle={"faults_end": "10s"}, provider=provider)
    assert [location[1] for location, _ in never_settles(made)] == ["faults", "overload", "limits"]
    assert list(never_settles(made.model_copy(update={"settle": None}))) == []


def test_without_a_settle_nothing_ends() -> None:
    """It is the same scenario."""
    made = scenario()
    assert settled(made) is made
