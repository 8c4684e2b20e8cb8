"""A shipped reference gets a certificate, and a stranger with nothing but Python verifies it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.source_tree import PROJECT
from tests.cli.process import process

SUBJECT = "reference-extension"


def verified(certificate: Path, key: Path) -> subprocess.CompletedProcess[str]:
    """Verify in an interpreter of its own, with no environment but where Faultclock is."""
    return subprocess.run(
        [sys.executable, "-m", "faultclock.cli", "verify", str(certificate), "--key", str(key)],
        cwd=certificate.parent,
        env={"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_shipped_reference_is_certified_and_a_clean_process_verifies_it(tmp_path: Path) -> None:
    """By the set that is shipped; a byte that changes afterwards is named."""
    key, certificate = tmp_path / "team.key", tmp_path / "certificate"
    assert process(tmp_path, "keygen", "-o", str(key)).returncode == 0
    words = ("--model", "stud-cli", "--level", "core", "--key", str(key))
    words += ("-o", str(certificate), "--quiet")
    made = process(tmp_path, "certify", SUBJECT, *words)
    assert made.returncode == 0, made.stdout + made.stderr
    good = verified(certificate, Path(f"{key}.pub"))
    assert good.returncode == 0, good.stdout + good.stderr
    page = certificate / "report.html"
    page.write_bytes(page.read_bytes()[:-1])
    bad = verified(certificate, Path(f"{key}.pub"))
    assert bad.returncode == 1
    assert "report.html" in bad.stdout + bad.stderr
