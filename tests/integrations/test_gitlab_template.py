"""The GitLab template: valid, and its script does what it says in any POSIX shell."""

from __future__ import annotations

import subprocess

import pytest

from tests.integrations.shell_steps import Server, shipped, violations
from tests.render.ci_formats import code_quality_errors, junit_errors, report_errors

#: As the runner does where the image has no bash.
SH = ("sh", "-e")
JOB = shipped("integrations/gitlab.yml")[".faultclock"]
HOSTILE = "$(touch made) `touch made`; touch made 'x' \"y\" * && touch made"


def run(server: Server, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the job with these variables; others have their defaults."""
    server.offer_recorder("python")
    given = {f"FAULTCLOCK_{name.upper()}": value for name, value in variables.items()}
    return server.run("\n".join(JOB["script"]), SH, {**JOB["variables"], **given})


def test_it_is_valid_by_the_schema_of_gitlab_ci() -> None:
    """As GitLab reads it."""
    schema = "--builtin-schema vendor.gitlab-ci --data-transform gitlab-ci"
    assert violations(schema, file="integrations/gitlab.yml") == ""


def test_a_subject_that_fails_leaves_what_the_job_keeps(server: Server) -> None:
    """The whole script, with the real command: exit code, tests and code quality."""
    server.offer_faultclock()
    done = run(
        server,
        subject="my_adapter.py:subject",
        scenarios="rate-limits/retry-after-integer",
        args="--seeds\n1",
    )
    assert done.returncode == 1, done.stderr
    reports = JOB["artifacts"]["reports"]
    assert junit_errors((server.folder / reports["junit"]).read_text("utf-8")) == []
    quality = (server.folder / reports["codequality"]).read_text("utf-8")
    assert code_quality_errors(quality) == []
    assert '"path": "my_adapter.py"' in quality
    assert report_errors((server.folder / "faultclock/report.json").read_text("utf-8")) == []


def test_it_installs_the_package_that_is_named(server: Server) -> None:
    """One word, so that an extra or an address can be given."""
    server.offer_recorder("faultclock")
    run(server, package="faultclock[openai] @ file:///a b")
    assert server.recorded[:5] == [
        "-m",
        "pip",
        "install",
        "--quiet",
        "faultclock[openai] @ file:///a b",
    ]


def test_what_is_not_given_is_left_to_the_configuration(server: Server) -> None:
    """An empty word would be a subject of that name."""
    server.offer_recorder("faultclock")
    assert run(server).returncode == 0
    assert server.recorded[5:] == [
        "run",
        "--html=faultclock/report.html",
        "--json=faultclock/report.json",
        "--junit=faultclock/junit.xml",
        "--gitlab=faultclock/code-quality.json",
        "--",
    ]


@pytest.mark.parametrize("name", ["subject", "scenarios", "model", "baseline", "args"])
def test_a_variable_is_one_word_whatever_it_holds(server: Server, name: str) -> None:
    """Nothing of it is expanded or run, and only ends of lines split it."""
    server.offer_recorder("faultclock")
    run(server, **{name: HOSTILE})
    assert server.recorded.count(HOSTILE) + server.recorded.count(f"--{name}={HOSTILE}") == 1
    assert not [*server.folder.rglob("made"), *server.tools.rglob("made")]


def test_the_files_that_the_job_keeps_are_those_that_it_writes() -> None:
    """Also after a failure, which is when somebody looks."""
    script = "\n".join(JOB["script"])
    for path in JOB["artifacts"]["reports"].values():
        assert f"={path}" in script
    assert JOB["artifacts"]["when"] == "always"
    assert JOB["artifacts"]["paths"] == ["faultclock/"]
