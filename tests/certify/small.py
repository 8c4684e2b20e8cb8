"""A certificate in half a second: of an adapter in a file, by a requirement set of two scenarios.

python -m tests.certify.small KEY ADAPTER DIR      makes one, in a process of its own
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from faultclock.certify.contents import DERIVED, SUMS, derived_files, sums_of
from faultclock.certify.envelope import canonical, sign
from faultclock.certify.keys import SigningKey, load_private_key
from faultclock.certify.making import Made, Request, certify, source_of
from faultclock.certify.watching import Watch
from faultclock.load.error_model import load_error_model
from faultclock.load.requirement_set import model_digest, requirement_digest
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.certificate import Statement
from faultclock.model.report.conformance import Hardening, RequirementSet, RoleSet, SetRequirement
from faultclock.run.prepare import hosted
from faultclock.run.suite import SuiteRequest, run_suite
from tests.certify.levels.freeze import facts_of

TODAY = date(2026, 11, 22)
SCENARIOS = ("provider-transient/bad-key", "rate-limits/retry-after-integer")
#: A subject of somebody's own, in a file: the reference under another name.
ADAPTER = """\
from dataclasses import replace

from faultclock.agents.adapter import reference

subject = replace(reference, id="mine")
"""


@cache
def small_set() -> RequirementSet:
    """Return what the reference is seen to keep in two scenarios."""
    model = load_error_model("stud-cli")
    items = find_scenarios(SCENARIOS)
    report = run_suite(
        SuiteRequest(
            scenarios=tuple(scenario for item in items for scenario in item.runnable),
            binding=hosted("reference"),
            subject_spec="reference",
            model=model,
        )
    )
    kept = {item.id for item in report.coverage if item.status == "tested"}
    role = RoleSet(
        reference="reference",
        requirements=tuple(
            SetRequirement(id=item.id, level=item.level, digest=requirement_digest(item))
            for item in model.requirements
            if item.id in kept
        ),
        scenarios=facts_of(items),
        hardening=Hardening(exploration_runs=2, exploration_seed=0, jitter_seeds=2),
    )
    return RequirementSet(
        model=model.id,
        model_revision=model.revision,
        revision=1,
        model_digest=model_digest(model),
        roles={"provider_adapter": role},
    )


@contextmanager
def frozen(set_: RequirementSet | None = None) -> Iterable[None]:  # type: ignore[misc]
    """Let the small set be the one that comes with Faultclock."""
    set_ = small_set() if set_ is None else set_
    with (
        patch("faultclock.certify.rejudging.load_requirement_set", lambda _: set_),
        patch("faultclock.certify.rejudging.set_ids", lambda: (set_.model,)),
        patch("faultclock.certify.rerunning.load_requirement_set", lambda _: set_),
    ):
        yield


def made_in(
    folder: Path,
    adapter: Path,
    key: SigningKey,
    level: str = "core",
    *,
    issued: date | None = None,
) -> Made:
    """Certify the subject in the file `adapter`."""
    spec = f"{adapter}:subject"
    requirements = small_set()
    with Watch() as watch:
        binding = hosted(spec)
        return certify(
            Request(
                binding=binding,
                subject_spec=spec,
                source=source_of(spec, binding, None),
                watch=watch,
                model=load_error_model("stud-cli"),
                requirements=requirements,
                level=level,  # type: ignore[arg-type]
                key=key,
                target=folder,
                issued=issued,
            )
        )


def resigned(
    root: Path,
    key: SigningKey,
    changes: dict[str, bytes | None],
    lie: Callable[[dict[str, Any]], None] = lambda _: None,
) -> None:
    """Change files (None: remove), and sign what is there now: a signer who signs lies.

    Args:
        lie: changes the statement, whose digests fit the files by then.
    """
    for name, content in changes.items():
        path = root / name
        path.unlink(missing_ok=True)
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    files = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    sums = {
        name: hashlib.sha256((root / name).read_bytes()).hexdigest()
        for name in files
        if name not in (*DERIVED, SUMS)
    }
    (root / SUMS).write_bytes(sums_of(sums))
    value = json.loads((root / "statement.json").read_bytes())
    digests = {**sums, SUMS: hashlib.sha256(sums_of(sums)).hexdigest()}
    for item in value["predicate"]["configuration"]:
        if item["name"] in digests:
            item["digest"]["sha256"] = digests[item["name"]]
        if item["name"] == SUMS:
            item["annotations"]["files"] = len(sums)
    lie(value)
    signed = sign(canonical(value), key)
    for name, content in derived_files(signed, Statement.model_validate(value)).items():
        (root / name).write_bytes(content)


def main(words: list[str]) -> None:
    """Make one certificate, as another process makes it."""
    key, adapter, folder = words
    made_in(Path(folder), Path(adapter), load_private_key(key, today=TODAY))


if __name__ == "__main__":
    main(sys.argv[1:])
