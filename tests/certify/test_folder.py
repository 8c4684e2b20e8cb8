"""A certificate that is not finished leaves nothing behind, however its process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faultclock.certify.folder import Draft

#: Begins a draft, forks a child that ends like any worker, and waits to be ended.
BEGIN = """
import os, signal, sys, time
from pathlib import Path
from faultclock.certify.folder import Draft
with Draft(Path(sys.argv[1])) as draft:
    draft.write("traces/one.jsonl", b"{}")
    child = os.fork()
    if not child:
        os.kill(os.getpid(), signal.SIGTERM)
        os._exit(3)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGTERM
    print("begun", flush=True)
    while True:
        time.sleep(0.05)
"""


@contextmanager
def begun(target: Path) -> Iterator[subprocess.Popen[str]]:
    """Have another process in the midst of a certificate."""
    command = [sys.executable, "-c", BEGIN, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "begun\n"
            yield other
        finally:
            other.kill()


def drafts(folder: Path) -> list[str]:
    """Return what lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_asked_to_end_removes_its_draft(
    tmp_path: Path, number: signal.Signals
) -> None:
    """At once, and the exit code says which signal it was; a child of it removes nothing."""
    with begun(tmp_path / "certificate") as other:
        assert len(drafts(tmp_path)) == 1
        assert (tmp_path / drafts(tmp_path)[0] / "traces/one.jsonl").exists()
        other.send_signal(number)
        assert other.wait() == 128 + number
    assert drafts(tmp_path) == []


def test_the_next_certificate_removes_the_draft_of_a_killed_one(tmp_path: Path) -> None:
    """Nothing else does: a killed process can do nothing more."""
    with begun(tmp_path / "certificate") as other:
        other.kill()
        other.wait()
    assert len(drafts(tmp_path)) == 1
    with Draft(tmp_path / "certificate") as draft:
        draft.write("a", b"a")
        assert drafts(tmp_path) == [f".certificate.{os.getpid()}.tmp"]
    assert drafts(tmp_path) == []


def test_the_draft_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    """Both finish, if they may; so is what only has such a name."""
    strange = (".certificate.notes.tmp", ".certificate.99999999999999999999.tmp", ".other.1.tmp")
    for name in strange:
        (tmp_path / name).mkdir()
    with begun(tmp_path / "certificate") as other:
        with Draft(tmp_path / "certificate") as draft:
            draft.write("a", b"a")
            draft.finish()
        assert f".certificate.{other.pid}.tmp" in drafts(tmp_path)
    assert (tmp_path / "certificate" / "a").read_bytes() == b"a"


def test_a_lock_counts_where_the_process_cannot_be_seen(tmp_path: Path) -> None:
    """A process of another container has a number that no process here has."""
    with begun(tmp_path / "certificate") as other:
        unseen = tmp_path / ".certificate.4194305.tmp"
        (tmp_path / f".certificate.{other.pid}.tmp").rename(unseen)
        with Draft(tmp_path / "certificate"):
            assert unseen.exists()
    with Draft(tmp_path / "certificate"):
        assert not unseen.exists()


def test_signals_are_as_before_when_it_is_over(tmp_path: Path) -> None:
    """Who uses a draft in a process of their own finds their handlers again."""
    before = signal.getsignal(signal.SIGTERM)
    with Draft(tmp_path / "certificate"):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
