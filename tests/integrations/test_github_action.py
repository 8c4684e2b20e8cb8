"""The GitHub action: valid, free of injection, and its shell steps do what they say."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import PROJECT
from tests.integrations.shell_steps import ADAPTER, Server, shipped, violations
from tests.render.ci_formats import junit_errors, report_errors, sarif_errors

#: As the runner starts a step whose shell is bash.
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
ACTION = shipped("action.yml")
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
RUN = STEPS["Run Faultclock"]


def environment(server: Server, **inputs: str) -> dict[str, str]:
    """Return the environment of the run step for these inputs; others have their defaults."""
    values = {name: str(item.get("default", "")) for name, item in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    given = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text)
        for name, text in RUN["env"].items()
    }
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary.md"}
    return given | {name: str(server.tools / file) for name, file in files.items()}


def outputs(server: Server) -> dict[str, str]:
    """Return what the step put out."""
    lines = (server.tools / "output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def run(server: Server, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the run step."""
    return server.run(RUN["run"], BASH, environment(server, **inputs))


def test_it_is_valid_by_the_schema_of_actions() -> None:
    """As GitHub reads it; it wants a shell for each script."""
    assert violations("--builtin-schema vendor.github-actions", file="action.yml") == ""


def test_no_input_is_ever_part_of_a_script() -> None:
    """What a caller gives may come from a pull request: it is a variable, never a command."""
    scripts = [step for step in STEPS.values() if "run" in step]
    assert len(scripts) == 2
    for step in scripts:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


def test_every_input_and_output_is_used() -> None:
    """One that does nothing would be a promise."""
    text = (PROJECT / "action.yml").read_text("utf-8")
    for name in ACTION["inputs"]:
        assert f"inputs.{name} " in text, name
    written = set(re.findall(r"(\w+)=\w+\.\w+", RUN["run"])) | {"exit-code"}
    assert set(ACTION["outputs"]) == written


def test_its_scripts_are_bash() -> None:
    """Read by bash itself, without running them."""
    for step in STEPS.values():
        if "run" in step:
            done = subprocess.run(
                ["bash", "-n"], input=step["run"], text=True, capture_output=True, check=False
            )
            assert done.stderr == ""


@pytest.mark.parametrize(
    ("extras", "asked"),
    [("", "/a checkout"), ("openai,anthropic", "/a checkout[openai,anthropic]")],
)
def test_it_installs_what_the_action_was_checked_out_with(
    server: Server, extras: str, asked: str
) -> None:
    """So that the version of the action is that of Faultclock."""
    server.offer_recorder("python")
    given = {"FAULTCLOCK_SOURCE": "/a checkout", "FAULTCLOCK_EXTRAS": extras}
    assert server.run(STEPS["Install Faultclock"]["run"], BASH, given).returncode == 0
    assert server.recorded == ["-m", "pip", "install", "--quiet", asked]


def test_a_subject_that_fails_is_told_in_each_place(server: Server) -> None:
    """The whole step, with the real command: exit code, annotations, summary and files."""
    server.offer_faultclock()
    done = run(
        server,
        subject="my_adapter.py:subject",
        scenarios="rate-limits/retry-after-integer\n",
        args="--seeds\n1\n",
    )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines
    # The line that fell over the error body.
    assert all(line.startswith("::error file=my_adapter.py,line=14,title=") for line in lines)
    told = outputs(server)
    assert told.pop("exit-code") == "1"
    assert sorted(told) == ["html", "json", "junit", "sarif"]
    texts = {name: (server.folder / path).read_text("utf-8") for name, path in told.items()}
    assert sarif_errors(texts["sarif"]) == []
    assert junit_errors(texts["junit"]) == []
    assert report_errors(texts["json"]) == []
    (result, *_) = json.loads(texts["sarif"])["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my_adapter.py"
    assert place["region"]["startLine"] == 1 + ADAPTER[: ADAPTER.index('answer["choices"]')].count(
        "\n"
    )
    summary = (server.tools / "summary.md").read_text("utf-8")
    assert "does not conform" in summary
    for text in (*texts.values(), summary, done.stdout):
        assert str(server.folder) not in text


@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_exit_code_is_that_of_the_run(server: Server, code: int) -> None:
    """And the places of the reports are told also where it fails."""
    server.offer_recorder("faultclock", code)
    assert run(server, working_directory="packages/agent", output="out").returncode == code
    assert outputs(server) == {
        "exit-code": str(code),
        "html": "packages/agent/out/report.html",
        "json": "packages/agent/out/report.json",
        "junit": "packages/agent/out/junit.xml",
        "sarif": "packages/agent/out/report.sarif",
    }


@pytest.mark.parametrize("code", [2, 70])
def test_where_nothing_was_judged_no_report_is_promised(server: Server, code: int) -> None:
    """Nothing would be uploaded, and the log says why."""
    server.offer_recorder("faultclock", code)
    done = run(server)
    assert done.returncode == code
    assert outputs(server) == {"exit-code": str(code)}
    assert done.stdout.startswith("::error title=Faultclock::")


def test_what_is_not_given_is_left_to_the_configuration(server: Server) -> None:
    """An empty word would be a subject of that name."""
    server.offer_recorder("faultclock")
    run(server)
    assert server.recorded == [
        "run",
        "--html=faultclock-reports/report.html",
        "--json=faultclock-reports/report.json",
        "--junit=faultclock-reports/junit.xml",
        "--sarif=faultclock-reports/report.sarif",
        "--github-annotations=-",
        f"--github-summary={server.tools / 'summary.md'}",
        "--",
    ]


HOSTILE = "$(touch made) `touch made`; touch made 'x' \"y\" * && touch made"


@pytest.mark.parametrize("name", ["subject", "scenarios", "model", "baseline", "args", "output"])
def test_an_input_is_one_word_whatever_it_holds(server: Server, name: str) -> None:
    """Nothing of it is expanded, split or run."""
    server.offer_recorder("faultclock")
    run(server, **{name: HOSTILE})
    words = server.recorded
    alone = [HOSTILE, f"--{name}={HOSTILE}", f"--html={HOSTILE}/report.html"]
    assert sum(words.count(word) for word in alone) == 1
    made: list[Path] = [*server.folder.rglob("made"), *server.tools.rglob("made")]
    assert made == []


def test_scenarios_and_options_are_one_a_line(server: Server) -> None:
    """Blank lines and the ends of lines of other systems are no words."""
    server.offer_recorder("faultclock")
    run(server, scenarios="rate-limits\r\n\nmy file.yaml\n-x", args="--seeds\n2")
    end = server.recorded.index("--")
    assert server.recorded[end - 2 :] == ["--seeds", "2", "--", "rate-limits", "my file.yaml", "-x"]


def test_the_upload_waits_for_a_file_and_for_consent() -> None:
    """It needs a permission that not every workflow gives, and runs also after a failure."""
    step: dict[str, Any] = STEPS["Upload to code scanning"]
    for part in ("always()", "inputs.upload == 'true'", "steps.run.outputs.sarif != ''"):
        assert part in step["if"]
