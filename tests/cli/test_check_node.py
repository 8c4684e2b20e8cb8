"""`faultclock check app.mjs`: the page of docs/node.md, as a new user has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.process import process
from tests.docs.page import read_page
from tests.node.modules import folder_with, needs_packages

pytestmark = needs_packages


#: The client, the agent and the runtime of the page.
CLIENT, AGENT, RUNTIME = (
    block.text for block in read_page("docs/node.md").blocks if block.language == "js"
)


def test_the_ten_lines_of_the_page_have_a_problem_at_their_own_line(tmp_path: Path) -> None:
    """The worst problem names the line that reads an answer that is none."""
    folder = folder_with(tmp_path, app=CLIENT)
    only = ("common/no-answer-in-a-good-status", "rate-limits/retry-after-integer")
    given = [word for name in only for word in ("--only", name)]
    done = process(folder, "check", "app.mjs", *given, "--quiet", "--brief")
    assert done.returncode == 1, done.stderr
    said = " ".join(done.stdout.split())
    assert "app.mjs: an async function of a prompt that speaks openai-chat" in said
    assert "at app.mjs:10 return answer.choices[0].message.content;" in said
    assert "left the simulation" not in said


def test_the_agent_of_the_page_is_checked_with_its_own_tool(tmp_path: Path) -> None:
    """A denied call is not made, and what breaks a demand comes with the option that mends it."""
    folder = folder_with(tmp_path, agent=AGENT)
    only = ("shared/approval-denied", "shared/tool-unknown")
    given = [word for name in only for word in ("--only", name)]
    done = process(folder, "check", "agent.mjs", *given, "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "agent.mjs: a whole agent (OpenAI Agents SDK for Node) that speaks" in said
    assert "its own tools are write_note, send_mail (needs a yes)" in said
    assert "1 problem" in said
    assert "toolNotFoundBehavior" in said
    assert "left the simulation" not in said


def test_the_runtime_of_the_page_is_wrong_in_the_ways_that_the_doctor_says(tmp_path: Path) -> None:
    """It asks nobody, loses errors and remembers nothing; the scenarios say why that matters."""
    folder = folder_with(tmp_path, runtime=RUNTIME)
    doctor = process(folder, "doctor", "runtime.mjs")
    assert doctor.returncode == 1, doctor.stderr
    said = " ".join(doctor.stdout.split())
    assert "runtime:Agent: an agent runtime (Agent as it is) that speaks openai-chat" in said
    assert "tried: a tool: it is called, and the model gets its result" in said
    assert "✗ tried: a tool that fails" in said
    assert "it asks no person before it calls a tool that needs a yes" in said
    given = ("approvals/*deni*", "tools/sub*", "--subject", "runtime.mjs")
    done = process(folder, "run", *given, "--quiet", "--json", "-")
    assert done.returncode == 1, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert {run["ending"] for run in runs} == {"completed"}
    broken = {
        it["requirement"] for run in runs for it in run["findings"] if it["verdict"] == "FAIL"
    }
    assert "COMMON-CONSENT-01" in broken


@pytest.mark.parametrize("target", ["app.mjs#ask", "app.mjs"])
def test_a_run_names_a_module_as_its_subject(tmp_path: Path, target: str) -> None:
    """A scenario that asks for nothing but patience is passed."""
    text = (Path(__file__).parents[1] / "node" / "openai.mjs").read_text(encoding="utf-8")
    given = ("run", "rate-limits/retry-after-integer", "--subject", target, "--model", "common")
    done = process(folder_with(tmp_path, app=text), *given, "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 run, 1 pass" in done.stdout
