"""What the wheel promises: its types are there for a person who checks strictly."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
USER = '''
"""Code of a person who checks strictly."""

from faultclock import (
    ProviderRequest, Reply, RunResult, ToolCall, ToolRequest, ToolResult, TypedError,
    extension, provider_adapter, runtime, session_store, tool,
)
from faultclock.pytest_plugin import BoundSubject, Played, Scenarios, ScriptedProvider, Simulation
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import Surroundings


@provider_adapter
async def bare(request: ProviderRequest) -> str:
    return str(request.messages[0]["content"])


@provider_adapter(id="mine", streams=False, tools=False, declares=("errors",), dialect="ollama")
def adapter(request: ProviderRequest) -> Reply:
    return Reply("text", (ToolCall("name", "{}"),))


class Agent:
    def __init__(self, surroundings: Surroundings) -> None:
        self.tools = {item.contract.name: item for item in surroundings.tools}

    async def run_turn(self, text: str) -> RunResult:
        found = await self.tools["a"].execute({}, call_id="1")
        return RunResult(text=str(found.value), state="completed")


agent = runtime(id="agent", streams="always", approvals=False, sessions=False, cancels=False)(Agent)
bound: tuple[Binding, ...] = (bare, adapter, agent)


@tool(id="weather", input_schema={"type": "object"}, fixtures={"valid": {"city": "Ulm"}})
def weather(call: ToolRequest) -> ToolResult:
    if call.signal.cancelled:
        raise TypedError("Cancellation", "ToolCancelled", "stopped")
    return ToolResult(value=call.arguments)


def test_plays(scenario: Scenarios, subject: BoundSubject) -> None:
    played: Played = scenario("rate-limits/retry-after-integer").play()
    assert played.findings == ()


def test_asks(sim: Simulation, fake_provider: ScriptedProvider, subject: BoundSubject) -> None:
    assert sim.run(subject.ask) is not None

'''
WRONG = """
from faultclock import ProviderRequest, provider_adapter

@provider_adapter(streams="sometimes")
def adapter(request: ProviderRequest) -> str:
    return request.message
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment in which the wheel is unpacked, and not this checkout."""
    folder = tmp_path_factory.mktemp("typed")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=PROJECT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", symlinks=True)
    here = Path(sysconfig.get_path("purelib"))
    site = folder / "env" / here.relative_to(sys.prefix)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # What it depends on is found where it is; a .pth in that folder, such as ours, is not read.
    (site / "dependencies.pth").write_text(f"{here}\n")
    return folder / "env/bin/python"


def checked(folder: Path, python: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Check a module of a person's own, strictly, against what is installed."""
    (folder / "mine.py").write_text(text)
    words = ["--strict", "--config-file", os.devnull, "--python-executable", str(python)]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *words, "--cache-dir", str(python.parents[2]), "mine.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_a_module_that_uses_the_public_names_is_clean(tmp_path: Path, installed: Path) -> None:
    """Nothing of the package is `Any` to a person who checks strictly."""
    done = checked(tmp_path, installed, USER)
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stdout


def test_what_is_wrong_in_a_module_is_found(tmp_path: Path, installed: Path) -> None:
    """The types are read: an option and an attribute that do not exist are errors."""
    done = checked(tmp_path, installed, WRONG)
    assert done.returncode == 1
    assert '"sometimes"' in done.stdout or "streams" in done.stdout
    assert 'has no attribute "message"' in done.stdout
