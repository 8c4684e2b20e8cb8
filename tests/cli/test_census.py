"""`census` as a person meets it: files, a table, every gap by name, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import jsonschema
import pytest

from faultclock.load.scenario import shipped_scenarios
from faultclock.load.schema import schema_of
from tests.cli.command_line import faultclock
from tests.cli.process import process as of_faultclock

STREAMS = (
    *("--family", "provider-transient/stream-ends-without-finish"),
    *("--family", "rate-limits/limit-opens-the-stream"),
)
ADAPTER = """\
import http.client
import json

from faultclock import provider_adapter


@provider_adapter
def subject(request):
    '''One attempt, without any retry.'''
    connection = http.client.HTTPSConnection("api.openai.com")
    headers = {"content-type": "application/json", "authorization": "Bearer key"}
    body = {"model": request.model, "messages": list(request.messages)}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    return json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]
"""


def process(folder: Path, *words: str) -> CompletedProcess[str]:
    """Run `faultclock census` in a process of its own."""
    return of_faultclock(folder, "census", *words)


def test_a_census_is_written_as_json_and_as_a_page(tmp_path: Path) -> None:
    """Clients side by side; that they fail a model does not make the census fail."""
    done = process(tmp_path, "aiohttp", "requests-retry", *STREAMS, "-o", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    census = json.loads((tmp_path / "out/census.json").read_text())
    jsonschema.validate(census, json.loads(schema_of("census")))
    assert [client["id"] for client in census["clients"]] == ["aiohttp", "requests-retry"]
    page = (tmp_path / "out/census.html").read_text()
    assert "What 2 clients do in the same 2 scenarios" in page
    assert done.stdout.startswith("What each client returns, in calls")
    assert "What each client does when a stream breaks off" in done.stdout
    assert "written: out/census.json" in done.stdout
    assert "written: out/census-CLIENT.html for 2 clients" in done.stdout
    for client in ("aiohttp", "requests-retry"):
        assert f'href="census-{client}.html"' in page
        assert (
            f"What {client} does in 2 scenarios"
            in (tmp_path / f"out/census-{client}.html").read_text()
        )
    assert done.stderr == ""


def test_a_single_page_holds_its_clients(tmp_path: Path) -> None:
    """Without a folder nothing lies beside it, so each client is a section that can be linked."""
    done = process(tmp_path, "aiohttp", *STREAMS, "--html", "one.html", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'id="client-aiohttp"' in (tmp_path / "one.html").read_text()
    assert [path.name for path in tmp_path.glob("*.html")] == ["one.html"]


def test_a_users_own_scenarios_are_run_and_their_waits_are_shown(tmp_path: Path) -> None:
    """In the terminal, on the page and in the JSON."""
    shipped = Path(shipped_scenarios()["rate-limits/retry-after-integer"]).read_text()
    (tmp_path / "own").mkdir()
    renamed = shipped.replace("id: rate-limits/retry-after-integer", "id: own/asked-to-wait")
    (tmp_path / "own/asked-to-wait.yaml").write_text(renamed)
    done = process(tmp_path, "openai-async", "--scenario", "own", "-o", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "answered in full, 2 attempts, waits 7 s: openai-async" in done.stdout
    census = json.loads((tmp_path / "out/census.json").read_text())
    assert census["scenarios"][0]["id"] == "own/asked-to-wait"
    assert census["clients"][0]["tally"]["wait_longest_ns"] == 7_000_000_000
    assert "waits 7 s" in (tmp_path / "out/census.html").read_text()


def test_the_same_census_is_the_same_bytes(tmp_path: Path) -> None:
    """In another process, with other jobs."""
    for name, jobs in (("one.json", "1"), ("two.json", "3")):
        process(tmp_path, "stamina", *STREAMS, "--json", name, "--jobs", jobs, "-q")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_standard_output_can_take_the_json(tmp_path: Path) -> None:
    """Then the words for people go elsewhere, and what a client prints goes nowhere."""
    done = process(tmp_path, "stamina", *STREAMS, "--json", "-")
    assert [client["id"] for client in json.loads(done.stdout)["clients"]] == ["stamina"]
    assert "1 client in" in done.stderr
    assert "stamina.retry_scheduled" not in done.stderr


def test_an_adapter_of_ones_own_stands_beside_the_clients(tmp_path: Path) -> None:
    """By the place of its file."""
    (tmp_path / "mine.py").write_text(ADAPTER)
    done = process(tmp_path, "mine.py:subject", "aiohttp", *STREAMS, "--json", "census.json")
    assert done.returncode == 0, done.stdout + done.stderr
    census = json.loads((tmp_path / "census.json").read_text())
    assert [client["id"] for client in census["clients"]] == ["mine:subject", "aiohttp"]


def test_a_census_of_another_environment_is_set_beside_this_one(tmp_path: Path) -> None:
    """For libraries that cannot be installed together."""
    process(tmp_path, "aiohttp", *STREAMS, "--json", "first.json", "-q")
    added = ("--add", "first.json", "--json", "both.json", "-q")
    assert process(tmp_path, "stamina", *STREAMS, *added).returncode == 0
    both = json.loads((tmp_path / "both.json").read_text())
    assert [client["id"] for client in both["clients"]] == ["stamina", "aiohttp"]
    other = process(tmp_path, "stamina", "--family", "rate-limits", *added)
    assert other.returncode == 2
    assert "the censuses differ in their families" in other.stderr


def test_a_client_that_cannot_be_loaded_is_named_and_exits_with_3(tmp_path: Path) -> None:
    """The others are run; none is left out in silence."""
    (tmp_path / "broken.py").write_text("raise OSError('no disk')\n")
    done = process(tmp_path, "broken.py:subject", "aiohttp", *STREAMS)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "broken.py:subject: it cannot be loaded: " in done.stdout
    assert "importing it raised OSError: no disk" in done.stdout
    assert "1 client in" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("aiohtp",), "unknown client 'aiohtp'\n  did you mean 'aiohttp'?"),
        (("reference",), "unknown client 'reference'"),
        (("nowhere.py:subject",), "nowhere.py: there is no such file"),
        (("--scenario", "rate-limit"), "did you mean 'rate-limits'"),
        (("--scenario", "tools"), "tools: a census has nothing to run there"),
        (("--scenario", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
        (("nowhere.yaml",), "--scenario nowhere.yaml"),
        (("--json", "x", "--html", "x"), "written to one place"),
        (("--add", "nowhere.json"), "nowhere.json: there is no such file"),
        (("--model", "nobody"), "unknown error model 'nobody'"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(words: tuple[str, ...], said: str) -> None:
    """With what to write instead."""
    result = faultclock("census", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_named_client_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install: it was asked for."""
    monkeypatch.setattr("faultclock.subjects.registry.missing", lambda needs: needs)
    result = faultclock("census", "aiohttp")
    assert result.exit_code == 2
    assert "client 'aiohttp' needs aiohttp, which is not installed" in result.stderr
    assert "pip install 'faultclock[aiohttp]'" in result.stderr


def test_a_census_without_clients_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one must not look as if all were well."""
    monkeypatch.setattr("faultclock.subjects.registry.missing", lambda needs: needs)
    result = faultclock("census")
    assert result.exit_code == 2
    assert "no client is installed" in result.stderr
