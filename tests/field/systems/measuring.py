"""What is measured of a real system: by `common`, by its own model, and by its document."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from faultclock.load.error_model import load_error_model
from faultclock.load.foreign.log import foreign_trace
from faultclock.load.foreign.map import load_foreign_map
from faultclock.oracle.judge import Judge
from tests.field.systems import kode_rows, stud_rows
from tests.field.systems.building import HERE, Missing, System
from tests.field.systems.stories import Row, Told, on_its_node, tell

MEASURED = HERE / "measured"
ROWS: dict[str, tuple[Row, ...]] = {"kode": kode_rows.ROWS, "stud": stud_rows.ROWS}
#: The error model of a system's document, which is also the map of its log.
MODELS = {"kode": "kode-sdk", "stud": "stud-cli"}

#: Verdicts of a requirement that does not hold: of a MUST, and of a SHOULD.
_BROKEN = ("FAIL", "WARN")
#: What was observed, of which requirement, and whether that is a MUST.
_Broken = tuple[str, str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """A place at which a system is asked as a client.

    Attributes:
        command: of `faultclock`, but for the target.
    """

    title: str
    target: str
    command: tuple[str, ...]


def _checked(title: str, target: str, dialect: str) -> Seam:
    return Seam(title=title, target=target, command=("check", "--dialect", dialect))


def _ran(title: str, target: str, model: str) -> Seam:
    """Return a seam whose runs take seconds each: the scenarios about limits alone."""
    return Seam(title=title, target=target, command=("run", "rate-limits", "--model", model))


SEAMS: dict[str, tuple[Seam, ...]] = {
    "kode": (
        _checked("`AnthropicProvider.complete`", "kode.mjs#complete", "anthropic-messages"),
        _checked("`AnthropicProvider.stream`", "kode.mjs#stream", "anthropic-messages"),
        _checked("the agent, `agent.chat`", "kode.mjs#chat", "anthropic-messages"),
    ),
    "stud": (
        _checked(
            "the provider `openai-compatible`", "providers.mjs#openaiCompatible", "openai-chat"
        ),
        _checked(
            "the provider `anthropic`", "providers.mjs#anthropicMessages", "anthropic-messages"
        ),
        _ran("the program, `--headless`, by `common`", "stud.mjs#session@openai-chat", "common"),
        _ran(
            "the program, `--headless`, by `stud-cli`", "stud.mjs#session@openai-chat", "stud-cli"
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the runs of one seam, or the logs of one system, came to.

    Attributes:
        runs: how many were made, without those that were made a second time.
        problems: causes that `check` tells apart, or requirements that are broken: what is
            observed, its requirement, in how many runs, whether it breaks a MUST.
        escapes: runs that reached for what is not simulated.
        differ: runs that were not the same twice.
    """

    title: str
    command: str
    runs: int
    verdicts: dict[str, int]
    problems: tuple[tuple[str, str, int, bool], ...]
    escapes: int
    differ: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One system, measured.

    Attributes:
        rows: sentence to verdict.
        stories: runs that were made for these.
    """

    system: str
    versions: dict[str, str]
    on: str
    seams: tuple[Judged, ...]
    log: Judged
    rows: dict[str, str]
    stories: int

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Return what was measured before."""
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        seams = tuple(_judged(item) for item in data.pop("seams"))
        return cls(**{**data, "log": _judged(data["log"])}, seams=seams)

    def written(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def measure(system: System, *, on: date, jobs: int) -> Measured:
    """Make all runs of a system that is built here."""
    versions: dict[str, str] = json.loads((system.folder / "built.json").read_text("utf-8"))
    rows = ROWS[system.id]
    told = tell(system, rows)
    verdicts = {row.says: told.verdict(row) for row in rows}
    with on_its_node(system):
        node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
        seams = tuple(_asked(system, seam, jobs) for seam in SEAMS[system.id])
    return Measured(
        system=system.id,
        versions={**versions, "node": node.stdout.strip().lstrip("v")},
        on=on.isoformat(),
        seams=seams,
        log=logs(system, told),
        rows=verdicts,
        stories=sum(map(len, told.by_run.values())),
    )


def logs(system: System, told: Told) -> Judged:
    """Judge what a system logs by its own model, through the map of its log."""
    started_s = time.perf_counter()
    map_, model = load_foreign_map(MODELS[system.id]), load_error_model(MODELS[system.id])
    judge, verdicts, broken = Judge(model), Counter[str](), list[_Broken]()
    stories = [it for each in told.by_run.values() for it in each if it.said.get("events")]
    for story in stories:
        lines = "".join(json.dumps(item) + "\n" for item in story.said["events"])
        judgement = judge.judge(foreign_trace(lines.encode(), system.id, map_, complete=True))
        found = [(it.observed, it.requirement, it.verdict.value) for it in judgement.findings]
        broken += (once := _once(found))
        verdicts["FAIL" if any(serious for *_, serious in once) else "PASS"] += 1
    return Judged(
        title=f"its log, by `{model.id}`",
        command=f"faultclock judge LOG --map {model.id} --complete",
        runs=len(stories),
        verdicts=dict(sorted(verdicts.items())),
        problems=_counted(broken),
        escapes=sum(it.escaped for each in told.by_run.values() for it in each),
        differ=0,
        seconds=round(time.perf_counter() - started_s, 1),
    )


def _asked(system: System, seam: Seam, jobs: int) -> Judged:
    target = f".venv/systems/{system.id}/{seam.target}"
    name, *options = seam.command
    is_check = name == "check"
    words = [name, *((target,) if is_check else ()), *options]
    words += [] if is_check else ["--subject", target]
    sys.stderr.write(f"==> faultclock {' '.join(words)}\n")
    started_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answer.json")
        call = [str(Path(sys.prefix, "bin", "faultclock")), *words, "--quiet", "--jobs", str(jobs)]
        done = subprocess.run([*call, "--json", str(file)], capture_output=True, check=False)
        if not file.exists():
            raise Missing(f"faultclock {' '.join(words)}: {done.stderr.decode()}")
        answer: dict[str, Any] = json.loads(file.read_text("utf-8"))
    report = answer["report"] if is_check else answer
    said = (
        (_shortened(it["title"]), it["requirement"], it["serious"], it["runs"])
        for it in answer.get("problems", ())
    )
    problems = tuple((title, id_, runs, serious) for title, id_, serious, runs in said)
    broken = [
        one
        for run in report["runs"]
        for one in _once(
            (it["observed"], it["requirement"], it["verdict"]) for it in run["findings"]
        )
    ]
    checks = [it["check"] for run in report["runs"] for it in run["findings"]]
    return Judged(
        title=seam.title,
        command=f"faultclock {' '.join(words)}",
        runs=len(report["runs"]),
        verdicts=dict(sorted(report["totals"].items())),
        problems=problems if is_check else _counted(broken),
        escapes=sum(run["ending"] == "escape" for run in report["runs"]),
        differ=checks.count("evidence.repeatable"),
        seconds=round(time.perf_counter() - started_s, 1),
    )


def _once(findings: Iterable[tuple[str, str | None, str]]) -> list[_Broken]:
    """Return of each requirement that a run breaks the first finding, the serious ones first."""
    broken = [(said, id_ or "", it == "FAIL") for said, id_, it in findings if it in _BROKEN]
    first = {id_: (said, id_, serious) for said, id_, serious in reversed(_sorted(broken))}
    return list(first.values())


def _sorted(broken: list[_Broken]) -> list[_Broken]:
    return sorted(broken, key=lambda it: not it[2])


def _counted(found: list[_Broken]) -> tuple[tuple[str, str, int, bool], ...]:
    """Return each requirement once, with what was observed of it first; the frequent ones first."""
    times = Counter(id_ for _, id_, _ in found)
    first = {id_: (said, serious) for said, id_, serious in reversed(_sorted(found))}
    all_ = ((_shortened(said), id_, times[id_], it) for id_, (said, it) in first.items())
    return tuple(sorted(all_, key=lambda it: (not it[3], -it[2], it[1])))


def _shortened(said: str) -> str:
    return " ".join(said.partition("; ")[0].split())


def _judged(data: dict[str, Any]) -> Judged:
    problems = tuple((said, id_, runs, serious) for said, id_, runs, serious in data["problems"])
    return Judged(**{**data, "problems": problems})
