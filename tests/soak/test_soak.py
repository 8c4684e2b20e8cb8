"""The soak finds what differs between two interpreters, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faultclock.model.report.token import coordinates_of
from faultclock.subjects.registry import catalog
from tests.soak.__main__ import soak
from tests.soak.plan import ROUNDS, subjects_of

PROJECT = Path(__file__).parents[2]
#: Its words come in the order of a set, which is that of the hash seed.
UNSTEADY = """\
import http.client, json
from faultclock import provider_adapter

@provider_adapter(id="by-hash")
def subject(request):
    words = " ".join({"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"})
    connection = http.client.HTTPSConnection("api.openai.com")
    body = {"model": request.model, "messages": [{"role": "user", "content": words}]}
    headers = {"content-type": "application/json", "authorization": "Bearer key"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    return str(json.loads(connection.getresponse().read())["choices"][0]["message"]["content"])
"""


def test_only_what_depends_on_the_interpreter_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """References do not, whatever is due at once; a subject that asks for a hash does."""
    file = tmp_path / "own.py"
    file.write_text(UNSTEADY, "utf-8")
    subjects = ("reference", "reference-runtime", "reference-store", f"{file}:subject")
    tally = soak(24, 0, subjects, tmp_path)
    said = capsys.readouterr().out
    told = [line for line in said.splitlines() if line.startswith("run ")]
    assert tally.done == 24
    assert len(told) == len(tally.differing) > 0
    assert all(f"{file}:subject " in line for line in told)
    assert "payload.body_sha256: first " in said
    (token, *_) = [line.split()[1] for line in said.splitlines() if "token: " in line]
    assert coordinates_of(token).subject == f"{file}:subject"
    first, second = (tmp_path / f"run-{tally.differing[0]}.{n}.jsonl" for n in ("first", "second"))
    assert first.read_text("utf-8") != second.read_text("utf-8")
    assert "24 of 24 double runs in " in said


def test_one_that_is_interrupted_says_how_far_it_came(tmp_path: Path) -> None:
    """And leaves nothing running."""
    words = ["-m", "tests.soak", "500", "--subject", "reference", "-o", str(tmp_path)]
    running = subprocess.Popen(
        [sys.executable, *words],
        cwd=PROJECT,
        env=dict(os.environ, PYTHONPATH=str(PROJECT)),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert "500 double runs" in running.stdout.readline()
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert "stopped: " in said
    assert " of 500 double runs in " in said
    assert running.returncode == 130


def test_every_subject_that_is_installed_has_its_round() -> None:
    """And each reference is in all of them, so that it meets many hash seeds."""
    rounds = [subjects_of(number) for number in range(ROUNDS)]
    known = [entry for entry in catalog() if entry.available]
    assert set().union(*rounds) == {entry.id for entry in known}
    references = {entry.id for entry in known if entry.kind == "reference"}
    assert all(references <= set(ids) for ids in rounds)
