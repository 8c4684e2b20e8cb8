"""Which scenarios a census runs: shipped ones by name, a user's own by file or folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.cli.census_selection import selected
from faultclock.errors import InputError, UnknownNameError
from faultclock.load.scenario import shipped_scenarios
from faultclock.profile.census_clients import FAMILIES

LIMITED = "rate-limits/retry-after-integer"


def own(folder: Path, name: str, *, of: str = LIMITED, id_: str = "") -> Path:
    """Write a copy of a shipped scenario with an id of its own."""
    lines = Path(shipped_scenarios()[of]).read_text().splitlines()
    made = [f"id: {id_ or f'mine/{name}'}" if line.startswith("id:") else line for line in lines]
    path = folder / f"{name}.yaml"
    path.write_text("\n".join(made) + "\n")
    return path


def test_a_family_an_id_and_streams_select_shipped_scenarios() -> None:
    """Streams are found in every family, and each scenario is there once."""
    assert {item.family for item in selected(("rate-limits",), "common")} == {"rate-limits"}
    assert [item.id for item in selected((LIMITED, LIMITED), "common")] == [LIMITED]
    streams = selected(("streams",), "stud-cli")
    assert streams
    assert all(any(task.stream for task in item.tasks) for item in streams)
    everything = selected(FAMILIES, "stud-cli")
    assert {item.id for item in streams} <= {item.id for item in everything}
    assert {item.role for item in everything} == {"provider_adapter"}


def test_a_users_own_file_and_folder_are_selected(tmp_path: Path) -> None:
    """Beside shipped scenarios, as `run` takes them."""
    file = own(tmp_path, "first")
    own(tmp_path, "second")
    assert [item.id for item in selected((str(file),), "common")] == ["mine/first"]
    both = selected((LIMITED, str(tmp_path)), "common")
    assert [item.id for item in both] == ["mine/first", "mine/second", LIMITED]


def test_a_folder_may_hold_scenarios_for_other_roles(tmp_path: Path) -> None:
    """They are left out; alone, such a file is refused with the reason."""
    own(tmp_path, "adapter")
    agent = own(tmp_path, "agent", of="tools/unknown-tool")
    assert [item.id for item in selected((str(tmp_path),), "common")] == ["mine/adapter"]
    with pytest.raises(InputError, match="because it holds scenarios for runtime"):
        selected((str(agent),), "common")


def test_one_id_from_two_files_is_refused(tmp_path: Path) -> None:
    """A census could not say which of them it shows."""
    first = own(tmp_path, "first", id_="mine/same")
    second = own(tmp_path, "second", id_="mine/same")
    with pytest.raises(InputError, match="two scenarios have the id 'mine/same'"):
        selected((str(first), str(second)), "common")


def test_an_unknown_name_is_refused() -> None:
    """With what it may have been."""
    with pytest.raises(UnknownNameError, match="rate-limit"):
        selected(("rate-limit",), "common")
