"""The right inputs that are then changed: our own fixtures, and what commands make of them once.

Everything is made by the commands themselves, in children of this process.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from faultclock.certify.keys import SigningKey, load_private_key, make_keys
from faultclock.load.report import load_report
from faultclock.load.resources import fixtures_root, scenarios_root
from faultclock.model.report.finding import Report
from faultclock.sim.patches import installed
from tests.architecture.source_tree import PROJECT
from tests.certify.small import ADAPTER, TODAY, made_in
from tests.hostile.trial import Trial, tried

#: Subject to scenarios whose traces hold, together, nearly every kind of event.
_RUNS: dict[str, tuple[str, ...]] = {
    "reference": ("rate-limits/retry-after-absent", "provider-transient/stream-stalls"),
    "mini-ignores-retry-after": ("rate-limits/retry-after-integer",),
    "mini-leaks-secret-to-user": ("provider-transient/context-length-exceeded",),
    "reference-runtime": (
        *("approvals/*denied*", "cancellation/*tool*", "state-machine", "extension-lifecycle"),
        *("resume-drift/crash-in-each-write", "tools/one-of-three-fails"),
    ),
    "reference-afk": ("afk/queue-refuses-twice", "afk/falls-back", "afk/policy-denies"),
    "reference-relavium": ("relavium/gate-is-approved", "relavium/handler-throws"),
    "reference-kode-sdk": ("kode-sdk/hook-fails-pre-tool", "kode-sdk/every-type-at-once"),
    "reference-error-matrix": ("error-matrix/coder-ignores-sigterm", "error-matrix/tests-fail*"),
    "reference-tool": ("tool-contract",),
    "reference-extension": ("extension-contract",),
    "reference-store": ("session-store-contract/torn*", "session-store-contract/manifest-*"),
}
_EXPLORING = ["--workers", "1", "--inline", "--no-shrink"]
_DAY = ["--reason", "see issue 1", "--owner", "team", "--expires", "2030-01-31"]


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Where they are, below one folder.

    Attributes:
        key: signs certificates.
    """

    folder: Path
    key: SigningKey

    @cached_property
    def traces(self) -> tuple[Path, ...]:
        """Traces of ours."""
        golden = sorted((fixtures_root() / "golden-traces").glob("*.jsonl"))
        return (*golden, *sorted((self.folder / "traces").rglob("*.jsonl")))

    @cached_property
    def scenarios(self) -> tuple[Path, ...]:
        """Files of scenarios."""
        return tuple(sorted(scenarios_root().rglob("*.yaml")))

    @cached_property
    def models(self) -> tuple[Path, ...]:
        """Files of error models."""
        return tuple(sorted((PROJECT / "harness/faultclock/error_models").glob("*.yaml")))

    @cached_property
    def maps(self) -> tuple[Path, ...]:
        """Files of maps, each of which has logs in a folder of its name."""
        return tuple(sorted((PROJECT / "harness/faultclock/foreign_maps").glob("*.yaml")))

    def logs(self, map_: str) -> tuple[Path, ...]:
        """Logs that a map reads."""
        return tuple(sorted((fixtures_root() / "foreign-logs" / map_).glob("*.jsonl")))

    @cached_property
    def report(self) -> Report:
        """A report with failures in it."""
        report = load_report(self.folder / "report.json")
        assert isinstance(report, Report)
        return report

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of runs."""
        return tuple(run.token for run in self.report.runs if run.token)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """Ids of findings, of those that have one."""
        found = (item for run in self.report.runs for item in run.findings)
        return tuple(item.id for item in found if item.id)


def made_samples(folder: Path, *, few: bool = False) -> Samples:
    """Make all samples in a folder that is new or holds them.

    Args:
        few: no traces beside the golden ones.

    Raises:
        AssertionError: a command failed to make one.
    """
    if not (folder / "key").exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_keys(folder / "key")
        subjects = () if few else tuple(_RUNS)
        makers = (*map(_traces, subjects), _reports, _history, _certificate)
        trials = (
            Trial(number=number, kind="sample", make=partial(make, folder))
            for number, make in enumerate(makers)
        )
        for end in tried(trials, folder / "making", jobs=2, limit_s=300.0):
            assert end.code in (0, 1, 3), f"{end.command}: {end.output}"
        shutil.rmtree(folder / "making")
    return Samples(folder=folder, key=load_private_key(folder / "key", today=TODAY))


def _traces(subject: str) -> Callable[[Path, Path], list[list[str]]]:
    def make(folder: Path, _: Path) -> list[list[str]]:
        named = [*_RUNS[subject], "--subject", subject, "--inline", "--quiet"]
        return [["run", *named, "--trace-dir", str(folder / "traces" / subject)]]

    return make


def _reports(folder: Path, _: Path) -> list[list[str]]:
    run = ["run", "rate-limits/retry-after-[ai]*", "--subject", "mini-ignores-retry-after"]
    run += ["--model", "stud-cli", "--inline", "--quiet", "--json"]
    report = str(folder / "report.json")
    parts = [[*run, str(folder / f"part-{n}.json"), "--shard", f"{n}/2"] for n in (1, 2)]
    baseline = ["baseline", "update", str(folder / "known.yaml"), report, *_DAY]
    client = str(fixtures_root() / "clients/ordinary.py:ask")
    check = ["check", client, "--quiet", "--json", str(folder / "checkup.json")]
    some = ["--scenario", "rate-limits/retry-after-integer", "--jobs", "1", "--quiet"]
    census = ["census", "requests-retry", *some, "--json", str(folder / "census.json")]
    return [*parts, [*run, report], baseline, check, census]


def _history(folder: Path, _: Path) -> list[list[str]]:
    kept = ["--history", str(folder / "history.sqlite"), "--quiet"]
    some = ["rate-limits/retry-after-integer", "--model", "stud-cli", *kept]
    subjects = ("mini-ignores-retry-after", "reference", "mini-ignores-retry-after")
    runs = [["run", *some, "--inline", "--subject", subject] for subject in subjects]
    explored = ["explore", *some, "--subject", "reference", "--runs", "2", *_EXPLORING]
    return [*runs, explored]


def _certificate(folder: Path, _: Path) -> list[list[str]]:
    adapter = folder / "adapter.py"
    adapter.write_text(ADAPTER)
    key = load_private_key(folder / "key", today=TODAY)
    with installed():
        made = made_in(folder / "certificate", adapter, key)
    assert made.appraisal.is_reached, made.appraisal.objections
    return []
