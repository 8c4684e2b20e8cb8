"""Scenarios of a session store: what may be asked, and what may go wrong."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from faultclock.model.scenario.disk_script import DiskScript
from faultclock.model.scenario.scenario import Scenario, scenario_of


def _scenario(**changes: Any) -> Scenario:
    values: dict[str, Any] = {
        "id": "tests/store",
        "title": "A store",
        "why": "For a test.",
        "role": "session_store",
        "tasks": [{"id": "look", "do": "read"}],
    }
    return scenario_of(values | changes)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"do": "call"}, "a store knows no 'call'"),
        ({"do": "write"}, "exactly one of revision and manifest"),
        ({"do": "write", "arguments": {"revision": 1, "manifest": {}}}, "exactly one of"),
        ({"do": "append"}, "append needs entry"),
        ({"do": "read_slot"}, "read_slot needs owner"),
        ({"do": "read", "arguments": {"sesion": "x"}}, "sesion"),
        ({"do": "read", "copies": 2}, "one thing at a time"),
    ],
    ids=range(7),
)
def test_a_task_that_no_store_can_do_is_refused(task: dict[str, Any], said: str) -> None:
    """A typo in a scenario is told when it is read, and names the task."""
    with pytest.raises(ValidationError, match=said):
        _scenario(tasks=[{"id": "look", **task}])


@pytest.mark.parametrize("role", ["provider_adapter", "runtime", "tool", "extension"])
def test_a_subject_of_any_role_may_have_a_disk(role: str) -> None:
    """Without one, nothing of it is written, so older scenarios keep their digests."""
    task = {"id": "ask"}
    assert _scenario(role=role, disk={}, tasks=[task]).disk == DiskScript()
    assert "disk" not in _scenario(role=role, tasks=[task]).model_dump(mode="json")


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../b", "a//b", "."])
def test_a_file_at_the_start_lies_below_the_folder(name: str) -> None:
    """Nothing of the machine can be meant."""
    with pytest.raises(ValidationError, match="is no name below the folder"):
        _scenario(disk={"files": {name: "text"}})


def test_a_lost_sync_befalls_only_a_sync() -> None:
    """A rule that could never fire is a mistake."""
    rule = {"id": "liar", "when": {"act": "write"}, "then": {"kind": "lost_fsync"}}
    with pytest.raises(ValidationError, match="only an fsync"):
        _scenario(disk={"rules": [rule]})


def test_rules_of_the_disk_share_their_names_with_all_others() -> None:
    """A report names a rule by its id alone."""
    rule = {"id": "power", "then": {"kind": "io_error"}}
    with pytest.raises(ValidationError, match="two rules have the same name"):
        _scenario(disk={"rules": [rule]}, crashes=[{"id": "power", "at": "1s"}])


def test_a_disk_with_all_defaults_is_read_back_as_it_was_written() -> None:
    """The scenario in a trace is the scenario that was run."""
    scenario = _scenario(disk={"file_system": "posix", "edits": [{"before_life": 2}]})
    assert scenario_of(scenario.model_dump(mode="json")) == scenario
    assert "disk" not in _scenario().model_dump(mode="json")
