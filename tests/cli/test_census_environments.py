"""`census --env` runs clients where they are installed, and names what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from faultclock.subjects.node.clients import NODE_CLIENTS, node_clients
from tests.cli.command_line import faultclock
from tests.cli.process import process
from tests.node.modules import PACKAGES, needs_packages

SCENARIO = ("--scenario", "rate-limits/retry-after-integer", "-q")


@pytest.fixture
def node_folder(tmp_path: Path) -> Path:
    """Return a folder as npm leaves it, with the name of one package and no code."""
    package = tmp_path / "web/node_modules/openai"
    package.mkdir(parents=True)
    (package / "package.json").write_text("{}")
    return tmp_path / "web"


def test_a_census_is_taken_by_each_python(tmp_path: Path) -> None:
    """One table has them all, and a census that was taken before is added."""
    clients = ("--env", f"one={sys.executable}", "--env", f"two={sys.executable}", "aiohttp")
    done = process(tmp_path, "census", *clients, *SCENARIO, "--json", "census.json")
    assert done.returncode == 0, done.stderr
    census = json.loads((tmp_path / "census.json").read_text())
    ids = [(item["id"], item["environment"]) for item in census["clients"]]
    assert ids == [("aiohttp@one", "one"), ("aiohttp@two", "two")]
    assert census["clients"][0]["runs"] == census["clients"][1]["runs"]
    compared = process(tmp_path, "drift", "census.json@one", "census.json@two")
    assert (compared.returncode, compared.stderr) == (0, "")
    assert "0 cells of 1 changed" in compared.stdout


@needs_packages
def test_clients_for_node_stand_beside_those_of_python(tmp_path: Path) -> None:
    """The same vendor's two SDKs side by side, each with its versions."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web/node_modules").symlink_to(PACKAGES)
    words = ("--env", f"py={sys.executable}", "--env", "node=web", "openai-sync", "openai-node")
    done = process(tmp_path, "census", *words, *SCENARIO[:2], "--json", "census.json")
    assert done.returncode == 0, done.stderr
    assert "openai-node@node: node " in done.stdout
    census = json.loads((tmp_path / "census.json").read_text())
    assert [item["id"] for item in census["clients"]] == ["openai-sync@py", "openai-node@node"]
    assert [item["tally"]["wait_longest_ns"] for item in census["clients"]] == [7_000_000_000] * 2
    assert str(tmp_path) not in (tmp_path / "census.json").read_text()


@needs_packages
def test_every_client_for_node_answers_when_nothing_goes_wrong(tmp_path: Path) -> None:
    """A text and a tool call, plain and streamed; what a client is not bound for is listed."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web/node_modules").symlink_to(PACKAGES)
    healthy = ("stream-short-but-whole", "healthy-tool-call")
    words = [word for name in healthy for word in ("--scenario", f"provider-transient/{name}")]
    done = process(tmp_path, "census", "--env", "n=web", *words, "--json", "census.json", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    census = json.loads((tmp_path / "census.json").read_text())
    assert {item["id"] for item in census["clients"]} == {f"{id_}@n" for id_ in NODE_CLIENTS}
    for client in census["clients"]:
        calls = [call for run in client["runs"] for call in run["calls"]]
        assert {call["answer"] for call in calls} == {"whole"}, client["id"]
        lacks_tools = client["id"].startswith("ai-sdk")
        assert [item["what"] for item in client["inexpressible"]] == (
            ["provider-transient/healthy-tool-call"] if lacks_tools else []
        )


def test_a_client_whose_package_is_missing_is_named(node_folder: Path) -> None:
    """With what to install; nothing is written into the folder."""
    with node_clients(node_folder) as entries:
        assert {entry.id for entry in entries if entry.available} == {"openai-node"}
    assert [path.name for path in node_folder.iterdir()] == ["node_modules"]
    done = faultclock("census", "anthropic-node", "--env", f"node={node_folder}", *SCENARIO)
    assert done.exit_code == 2
    assert "client 'anthropic-node' needs @anthropic-ai/sdk, which is not there" in done.stderr


def test_the_census_of_another_python_that_fails_is_refused(tmp_path: Path) -> None:
    """Its own message comes first."""
    env = ("--env", f"one={sys.executable}")
    done = process(tmp_path, "census", f"{tmp_path / 'none.py'}:ask", *env, *SCENARIO)
    assert done.returncode == 2
    assert "none.py: there is no such file" in done.stderr
    assert "--env one: the census there ended with exit code 2" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--env", "old"), "--env old: this is not NAME=PLACE"),
        (("--env", "o d=x"), "this is not NAME=PLACE"),
        (("--env", "old=nowhere"), "--env old: there is no program nowhere"),
        (("--env", "a={node}", "--env", "a={node}"), "two environments are called a"),
        (("aiohttp", "--env", "a={node}"), "none of the clients that you named is for Node"),
        (
            ("aiohttp", "openai-node", "--env", "a={node}"),
            "no environment can have aiohttp\n  add --env py=bin/python",
        ),
        (("openai-nod", "--env", "a={node}"), "did you mean 'openai-node'"),
        (("openai-node",), "openai-node is a client for Node, and needs an environment"),
        (("app.mjs#ask", "--env", "a={node}"), "app.mjs#ask has its packages beside itself"),
        (("nowhere.mjs#ask",), "nowhere.mjs: there is no such file"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(
    node_folder: Path, words: tuple[str, ...], said: str
) -> None:
    """With what to write instead."""
    filled = (word.format(node=node_folder) for word in words)
    done = faultclock("census", *filled, *SCENARIO)
    assert done.exit_code == 2
    assert said in done.stderr
