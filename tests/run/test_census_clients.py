"""A census of real clients: each in a process of its own, equal bytes, and every gap by name."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from faultclock.errors import InternalError
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.census import Absent, Census, ClientCensus
from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.profile import census_clients
from faultclock.profile.census_clients import (
    FAMILIES,
    CensusRequest,
    fits,
    is_real_client,
    take_census,
)
from faultclock.render.census import census_page
from faultclock.subjects.registry import SubjectEntry, catalog
from tests.render.test_census import without_assets
from tests.render.test_html_text import HtmlExtension

FEW = (
    "provider-transient/healthy-call",
    "provider-transient/stream-ends-without-finish",
    "provider-transient/stream-stalls",
    "rate-limits/quota-on-both-paths",
    "rate-limits/retry-after-integer",
)


@cache
def shipped() -> tuple[Scenario, ...]:
    """Return every scenario that comes with us."""
    return tuple(scenario for item in find_scenarios() for scenario in item.runnable)


def few(*ids: str) -> tuple[Scenario, ...]:
    """Return the scenarios of these ids."""
    return tuple(scenario for scenario in shipped() if scenario.id in ids)


def entry(id_: str) -> SubjectEntry:
    """Return the entry of a shipped subject, or one of a person's own."""
    own = SubjectEntry(id=id_, title=id_, kind="client")
    return next((item for item in catalog() if item.id == id_), own)


def taken(*ids: str, scenarios: tuple[Scenario, ...] | None = None, **options: Any) -> Census:
    """Take a census of these clients."""
    request = CensusRequest(
        families=FAMILIES,
        scenarios=few(*FEW) if scenarios is None else scenarios,
        model=load_error_model("stud-cli"),
        jobs=options.pop("jobs", 1),
    )
    return take_census(request, [entry(id_) for id_ in ids], **options)


def without_versions(census: Census) -> Census:
    """Return a census without what differs between installations that behave alike."""

    def plain(client: ClientCensus) -> ClientCensus:
        named = dict.fromkeys(client.distributions, "…")
        # How many checks there are is no matter of the clients.
        runs = tuple(run.model_copy(update={"findings": {}}) for run in client.runs)
        return client.model_copy(update={"distributions": named, "python": "…", "runs": runs})

    clients = tuple(plain(client) for client in census.clients)
    return census.model_copy(update={"clients": clients, "faultclock": "…"})


def subject(folder: Path, body: str) -> str:
    """Write an adapter and return how to name it."""
    path = folder / "adapter.py"
    path.write_text(f"from faultclock import provider_adapter\n{body}")
    return f"{path}:subject"


class ConductSnapshot(JSONSnapshotExtension):
    """A census as JSON that a person can compare line by line."""


def test_two_clients_are_as_recorded(snapshot: SnapshotAssertion) -> None:
    """An SDK beside a plain HTTP client, as data and as a page."""
    census = without_versions(taken("openai-async", "requests-retry"))
    assert census.model_dump(mode="json") == snapshot(extension_class=ConductSnapshot)
    assert without_assets(census_page(census)) == snapshot(extension_class=HtmlExtension)


def test_more_jobs_give_equal_bytes() -> None:
    """Whatever finishes first."""
    one = taken("stamina", "aiohttp")
    assert taken("stamina", "aiohttp", jobs=3).model_dump_json() == one.model_dump_json()


def test_nothing_of_a_client_stays_in_this_process() -> None:
    """Neither its libraries nor the simulation's patches."""
    here = set(sys.modules)
    taken("aiohttp", scenarios=few(FEW[0]))
    assert "faultclock.subjects.clients.aiohttp_client" not in set(sys.modules) - here


def test_every_run_is_told_as_it_ends() -> None:
    """For a progress bar."""
    told: list[tuple[str, str]] = []
    taken("aiohttp", "requests-retry", on_run=lambda *run: told.append(run))
    assert told == [(client, id_) for client in ("aiohttp", "requests-retry") for id_ in FEW]


def test_what_is_not_installed_is_told_by_name() -> None:
    """With what to install; it is no failure."""
    missing = SubjectEntry(
        id="x-sdk", title="X", kind="client", needs=("x", "y"), extra="x", available=False
    )
    request = CensusRequest(
        families=FAMILIES, scenarios=few(FEW[0]), model=load_error_model("stud-cli")
    )
    census = take_census(request, [missing])
    reason = "not installed: it needs x and y (pip install 'faultclock[x]')"
    assert census.absent == (Absent(id="x-sdk", title="X", reason=reason),)
    assert census.proves_all


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import no_such_library\n", "it imports 'no_such_library', which is not installed"),
        ("raise OSError('no disk')\n", "importing it raised OSError: no disk"),
        ("@provider_adapter(distributions=('no-such',))\ndef subject(request): ...", "no-such"),
    ],
)
def test_a_client_that_cannot_be_loaded_is_told_by_name(
    tmp_path: Path, body: str, reason: str
) -> None:
    """With the reason, and it counts against the census; no path of this machine is in it."""
    (absent,) = taken(subject(tmp_path, body), scenarios=few(FEW[0])).absent
    assert absent.installed
    assert reason in absent.reason
    assert str(tmp_path) not in absent.reason


def test_an_agent_is_no_client() -> None:
    """A census is of what asks a provider."""
    (absent,) = taken("reference-runtime", scenarios=few(FEW[0])).absent
    assert "it is a runtime" in absent.reason


def test_a_scenario_that_the_dialect_has_no_words_for_is_told_by_name() -> None:
    """And the others are run."""
    changed = shipped_with_an_unknown_error()
    (client,) = taken("aiohttp", scenarios=(*few(FEW[0]), changed)).clients
    assert [run.scenario for run in client.runs] == [FEW[0]]
    ((what, reason),) = [(item.what, item.reason) for item in client.inexpressible]
    assert what == changed.id
    assert "no_such_error" in reason


def shipped_with_an_unknown_error() -> Scenario:
    """Return a scenario whose fault names an error that no provider has."""
    fault = {"id": "odd", "then": {"kind": "http_error", "status": 500, "error": "no_such_error"}}
    return scenario_of(
        {"id": "tests/odd", "title": "Odd", "why": "For a test.", "provider": {"faults": [fault]}}
    )


def test_a_client_that_reaches_for_something_real_proves_nothing(tmp_path: Path) -> None:
    """By name, with the place."""
    body = """\
import subprocess


@provider_adapter
def subject(request):
    subprocess.run(["true"])
    return "Hello"
"""
    census = taken(subject(tmp_path, body), scenarios=few(FEW[0]))
    assert not census.proves_all
    ((run,),) = [client.runs for client in census.clients]
    assert run.trouble


def test_a_process_that_dies_is_our_bug_and_is_quoted(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With what it said last. No client can do that: it is loaded in another process."""

    def dies(spec: str) -> NoReturn:
        os.write(1, b"I die\n")
        os._exit(7)

    monkeypatch.setattr(census_clients, "hosted", dies)
    with pytest.raises(InternalError, match="exit code 7 and no result") as caught:
        taken("aiohttp", scenarios=few(FEW[0]))
    assert "I die" in str(caught.value)
    assert "I die" not in capfd.readouterr().out


def test_a_client_that_ends_its_process_is_told_by_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The others are run; what clients print is not mixed into a table."""
    dying = subject(tmp_path, "import os\nprint('I die', flush=True)\nos._exit(7)\n")
    census = taken(dying, "aiohttp", scenarios=few(FEW[0]))
    (absent,) = census.absent
    assert "it ended the process in which it was being loaded" in absent.reason
    assert [client.id for client in census.clients] == ["aiohttp"]
    assert "I die" not in "".join(capfd.readouterr())


def test_a_census_is_taken_in_scenarios_for_clients_of_the_model() -> None:
    """A scenario for another role never fits, one for another model only where no model counts."""
    (adapter,) = few(FEW[0])
    assert fits(adapter, "stud-cli")
    assert not fits(scenario_of({**adapter.model_dump(mode="json"), "role": "runtime"}), "stud-cli")
    own = adapter.model_copy(update={"models": ("other",)})
    assert fits(own, "other")
    assert not fits(own, "stud-cli")
    assert fits(own, None)


def test_real_clients_are_libraries_that_ask_a_provider() -> None:
    """Neither references nor miniatures nor agents."""
    ids = {item.id for item in catalog() if is_real_client(item)}
    assert {"openai-async", "aiohttp", "stamina-sync"} <= ids
    assert not ids & {"reference", "openai-agent"}
