"""The pytest file of a failure: red as long as the failure is there, green once it is mended.

It starts the command line in a process of its own and reads its JSON report. Both are interfaces
that stay; and a simulated world has to be there before the subject's modules are imported, which
in the process of a test is too late.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from faultclock.model.report.finding import Finding

_NO_NAME = re.compile(r"[^a-z0-9]+")

_TEMPLATE = '''\
"""One failure that exploring found: this fails as long as it is there.

It needs Faultclock, and the scenario beside this file. A file that OPTIONS name is looked for from
the folder in which pytest is started, then from each folder above this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCENARIO = Path(__file__).with_name({scenario!a})
#: The check that fails, and the requirement of the model that it judges.
FAILURE = {failure!a}
OPTIONS = {options}
#: Those of them that are files, and the folder that they are seen from.
FILES: list[str] = {files}
FOLDERS = (Path.cwd(), *Path(__file__).resolve().parents)
START = next((at for at in FOLDERS if all((at / file).is_file() for file in FILES)), FOLDERS[0])


def test_{name}() -> None:
    """The subject does in this scenario what the error model says."""
    command = [sys.executable, "-m", "faultclock.cli", "run", str(SCENARIO.resolve()), *OPTIONS]
    done = subprocess.run(
        [*command, "--json", "-", "--quiet"],
        cwd=START,
        capture_output=True,
        text=True,
        check=False,
    )
    # 0: it conforms; 1: something fails; 3: something proves nothing.
    assert done.returncode in (0, 1, 3) and done.stdout, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    failing = [
        f"{{finding['check']}}: expected {{finding['expected']}}, observed {{finding['observed']}}"
        for finding in run["findings"]
        if finding["verdict"] == "FAIL" and [finding["check"], finding["requirement"]] == FAILURE
    ]
    assert not failing, "\\n".join([*failing, "Look at it with: " + run["replay"]])
    # Nothing failed because nothing happened would be no better.
    assert run["ending"] == "completed", run["ending_detail"]
    judged = [item for item in run["findings"] if item["requirement"] and item["judged"]]
    assert judged, "the run proves nothing: no requirement of the model was judged"
    # A subject that is right need not meet every fault, but it has to do what it was asked for.
    idle = [
        f"{{item['check']}}: {{item['observed']}}"
        for item in run["findings"]
        if item["check"].startswith("evidence.") and item["check"] != "evidence.faults-met"
        if item["verdict"] == "INCONCLUSIVE"
    ]
    assert not idle, "\\n".join(["the run proves nothing:", *idle])
'''


_SEARCH = '''\
"""One exception that a search found: this fails as long as the subject raises it.

It needs Faultclock, and the scenario beside this file. A file that OPTIONS name is looked for from
the folder in which pytest is started, then from each folder above this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCENARIO = Path(__file__).with_name({scenario!a})
OPTIONS = {options}
#: Those of them that are files, and the folder that they are seen from.
FILES: list[str] = {files}
FOLDERS = (Path.cwd(), *Path(__file__).resolve().parents)
START = next((at for at in FOLDERS if all((at / file).is_file() for file in FILES)), FOLDERS[0])


def test_{name}() -> None:
    """The subject does not raise the exception in this scenario."""
    command = [sys.executable, "-m", "faultclock.cli", "explore", str(SCENARIO.resolve()), *OPTIONS]
    done = subprocess.run(
        [*command, "--runs", "1", "--no-shrink", "--json", "-", "--quiet"],
        cwd=START,
        capture_output=True,
        text=True,
        check=False,
    )
    # 0: it does not raise it; 1: it does; 3: the run proves nothing.
    assert done.returncode in (0, 1, 3) and done.stdout, done.stderr
    found = json.loads(done.stdout)
    raised = [group["finding"]["observed"] for group in found["groups"]]
    assert not raised, "\\n".join(raised)
    assert done.returncode == 0, "the run proves nothing: " + done.stderr
'''


def pytest_text(
    scenario_file: str,
    finding: Finding,
    *,
    subject: str,
    model: str,
    readings: Mapping[str, str],
    raises: str = "",
) -> str:
    """Return the text of a pytest file.

    Args:
        scenario_file: name of the scenario's file in the same folder.
        finding: the failure, as the smallest run shows it.
        subject: as the command line names it.
        model: the same.
        readings: interpretation switches that were chosen.
        raises: the exception that was searched for; empty: none was.
    """
    options = ["--subject", subject, "--model", model]
    if raises:
        options += ["--raises", raises]
    for switch, option in sorted(readings.items()):
        options += ["--reading", f"{switch}={option}"]
    lines = "".join(f"    {option!a},\n" for option in options)
    named = (subject.rpartition(":")[0], model)
    template, name = _TEMPLATE, f"{_NO_NAME.sub('_', finding.check.lower()).strip('_')}_holds"
    if raises:
        template, name = _SEARCH, "the_exception_is_not_raised"
    return template.format(
        files=ascii([name for name in named if Path(name).suffix in (".py", ".yaml", ".yml")]),
        scenario=scenario_file,
        failure=[finding.check, finding.requirement],
        options=f"[\n{lines}]",
        name=name,
    )
