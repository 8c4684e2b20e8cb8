"""Programs in a world: Python's own API, and nothing real behind it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from faultclock.sim.kernel.context import CALL_ID
from tests.sim.program_lab import Lab
from tests.sim.running import facts, run

PIPE = subprocess.PIPE


# ------------------------------------------------------------------ time


def test_a_program_takes_virtual_time_only() -> None:
    """Three steps and an end, 10 ms apart."""
    lab = Lab()

    def subject() -> float:
        began = time.monotonic()
        subprocess.run(["mixed"], check=False)
        return round(time.monotonic() - began, 6)

    assert lab.value(subject) == 0.04


def test_a_deadline_is_met_to_the_nanosecond() -> None:
    """`timeout` of `run` kills the program and waits for its end."""
    lab = Lab()

    def subject() -> int:
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(["hangs"], timeout=30, check=False)
        return lab.world.kernel.now_ns

    assert lab.value(subject) == 30_000_000_000
    assert lab.children[0].returncode == -signal.SIGKILL


def test_who_waits_for_ever_for_a_program_that_hangs_is_a_deadlock() -> None:
    """The report names the program."""
    ending = Lab().run(lambda: subprocess.run(["hangs"], check=False))
    assert ending.reason == "deadlock"
    assert any("waits for the program 'hangs'" in line for line in ending.detail)


def test_polling_without_a_pause_ends() -> None:
    """Time passes for a thread that only looks."""
    lab = Lab()

    def subject() -> int | None:
        popen = subprocess.Popen(["silent"])
        while popen.poll() is None:
            pass
        return popen.returncode

    assert lab.value(subject) == 0


def test_threads_read_side_by_side() -> None:
    """Each output has its own reader, as in many a program; neither stops the other."""
    lab = Lab()

    def subject() -> dict[str, list[str]]:
        popen = subprocess.Popen(["mixed"], stdout=PIPE, stderr=PIPE, text=True)
        lines: dict[str, list[str]] = {"stdout": [], "stderr": []}

        def reads(name: str) -> None:
            lines[name] += list(getattr(popen, name))

        threads = [threading.Thread(target=reads, args=(name,)) for name in lines]
        for thread in threads:
            thread.start()
        popen.wait()
        for thread in threads:
            thread.join()
        return lines

    assert lab.value(subject) == {"stdout": ["one\n", "two\n"], "stderr": ["oops\n"]}


def test_two_threads_at_one_reader_take_turns() -> None:
    """A real lock inside of the reader must not stop the world."""
    lab = Lab()

    def subject() -> bytes:
        popen = subprocess.Popen(["mixed"], stdout=PIPE)
        assert popen.stdout is not None
        parts: list[bytes] = []
        other = threading.Thread(target=lambda: parts.append(popen.stdout.readline()))  # type: ignore[union-attr]
        other.start()
        parts.append(popen.stdout.read())
        other.join()
        return b"".join(parts)

    assert lab.value(subject) == b"one\ntwo\r\n"


def test_blocking_calls_in_a_coroutine_stop_its_loop() -> None:
    """Other tasks go on only afterwards, as with a real one."""
    lab = Lab()

    async def subject() -> list[str]:
        seen: list[str] = []

        async def other() -> None:
            await asyncio.sleep(0.001)
            seen.append("other")

        task = asyncio.create_task(other())
        await asyncio.sleep(0)
        subprocess.run(["mixed"], check=False)
        seen.append("ran")
        await task
        return seen

    assert lab.value(subject) == ["ran", "other"]


def test_equal_worlds_tell_equal_stories() -> None:
    """Process numbers, orders and instants are the same in each."""

    async def subject() -> list[Any]:
        started = [
            await asyncio.create_subprocess_exec(name, stdout=PIPE, stderr=PIPE)
            for name in ("mixed", "good", "crashes")
        ]
        told = await asyncio.gather(*(process.communicate() for process in started))
        return [[process.pid for process in started], told, asyncio.get_running_loop().time()]

    assert Lab().value(subject) == Lab().value(subject)


def test_a_later_life_has_other_process_numbers() -> None:
    """A number kept from an earlier process means nothing."""
    lab = Lab(life=2, start_ns=5)
    assert lab.value(lambda: subprocess.Popen(["good"]).pid) == 5_100_001


# ------------------------------------------------------------------ the ends of a pipe


def test_files_are_what_the_standard_library_opens() -> None:
    """Callers look at types."""
    lab = Lab()

    def subject() -> list[bool]:
        binary = subprocess.Popen(["good"], stdin=PIPE, stdout=PIPE)
        text = subprocess.Popen(["good"], stdin=PIPE, stdout=PIPE, text=True)
        raw = subprocess.Popen(["good"], stdin=PIPE, stdout=PIPE, bufsize=0)
        return [
            isinstance(binary.stdout, io.BufferedReader),
            isinstance(binary.stdin, io.BufferedWriter),
            isinstance(text.stdout, io.TextIOWrapper),
            isinstance(text.stdin, io.TextIOWrapper),
            isinstance(raw.stdout, io.RawIOBase),
            isinstance(raw.stdin, io.RawIOBase),
            binary.stderr is None,
        ]

    assert lab.value(subject) == [True] * 7


def test_text_is_utf_8_on_every_machine() -> None:
    """The locale decides nothing."""
    lab = Lab()

    def subject() -> str | None:
        popen = subprocess.Popen(["good"], stdout=PIPE, text=True)
        assert popen.stdout is not None
        return popen.stdout.encoding

    assert lab.value(subject) == "utf-8"


def test_what_a_program_writes_into_a_closed_pipe_is_lost() -> None:
    """It goes on, and ends as it would."""
    lab = Lab()

    def subject() -> int:
        popen = subprocess.Popen(["mixed"], stdout=PIPE)
        assert popen.stdout is not None
        popen.stdout.close()
        return popen.wait()

    assert lab.value(subject) == 3


def test_a_program_may_outlive_the_loop_that_started_it() -> None:
    """What it says then reaches nobody, and breaks nothing."""
    lab = Lab()

    def subject() -> int | None:
        async def starts() -> None:
            await asyncio.create_subprocess_exec("mixed", stdin=PIPE, stdout=PIPE)

        asyncio.run(starts())
        time.sleep(1)
        return lab.children[0].returncode

    assert lab.value(subject) == 3


def test_a_run_may_end_with_programs_that_still_run() -> None:
    """Neither a warning nor a signal comes of it."""
    lab = Lab()

    async def subject() -> str:
        await asyncio.create_subprocess_exec("hangs", stdout=PIPE, stdin=PIPE)
        subprocess.Popen(["hangs"], stdout=PIPE)
        return "done"

    assert lab.value(subject) == "done"
    assert [child.returncode for child in lab.children] == [None, None]


def test_cancelling_a_start_kills_what_was_started() -> None:
    """As asyncio does it: nobody would have a handle on it."""
    lab = Lab()

    async def subject() -> str:
        task = asyncio.create_task(asyncio.create_subprocess_exec("hangs", stdout=PIPE))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return "cancelled"

    assert lab.value(subject) == "cancelled"
    assert lab.children[0].returncode == -signal.SIGKILL


# ------------------------------------------------------------------ names and numbers


def test_programs_are_found_by_name() -> None:
    """What `which` returns can be started; what it does not find cannot."""
    lab = Lab()

    def subject() -> list[Any]:
        found = shutil.which("good")
        assert found is not None
        said = subprocess.check_output([found])
        return [found, said, shutil.which("cc"), shutil.which(b"good"), shutil.which("bin/good")]

    expected = ["/usr/local/bin/good", b"fine\n", None, b"/usr/local/bin/good", "bin/good"]
    assert lab.value(subject) == expected


def test_the_interpreter_is_called_python_everywhere() -> None:
    """Its real name differs between machines, and would be in the trace."""
    lab = Lab()

    def subject() -> None:
        with contextlib.suppress(FileNotFoundError):
            subprocess.run([sys.executable, "-m", "pytest"], check=False)

    lab.value(subject)
    assert lab.started == [("python", "-m", "pytest")]


def test_a_group_of_its_own_is_signalled_as_one() -> None:
    """A program in a new session leads a group, whose number is its own."""
    lab = Lab()

    def subject() -> list[Any]:
        leader = subprocess.Popen(["hangs"], start_new_session=True)
        other = subprocess.Popen(["hangs"])
        os.killpg(os.getpgid(leader.pid), signal.SIGTERM)
        own = os.getpgid(other.pid) == os.getpgrp()
        with pytest.raises(ProcessLookupError):
            os.killpg(other.pid, signal.SIGTERM)
        return [leader.wait(), other.poll(), own]

    assert lab.value(subject) == [-signal.SIGTERM, None, True]


def test_signal_zero_asks_whether_it_is_there() -> None:
    """It is until somebody was told of its end."""
    lab = Lab()

    def subject() -> list[str]:
        popen = subprocess.Popen(["good"])
        os.kill(popen.pid, 0)
        time.sleep(1)
        os.kill(popen.pid, 0)
        popen.wait()
        try:
            os.kill(popen.pid, 0)
        except ProcessLookupError:
            return ["gone"]
        return ["there"]

    assert lab.value(subject) == ["gone"]


def test_a_harmless_signal_ends_nothing_and_a_wrong_one_is_an_error() -> None:
    """SIGCHLD is ignored where nobody handles it."""
    lab = Lab()

    def subject() -> int:
        popen = subprocess.Popen(["good"])
        popen.send_signal(signal.SIGCHLD)
        with pytest.raises(OSError, match="Invalid argument"):
            popen.send_signal(999)
        return popen.wait()

    assert lab.value(subject) == 0


# ------------------------------------------------------------------ refusals


def _into_a_file(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        subprocess.Popen(["good"], stdout=log)


_REFUSED: dict[str, tuple[Any, str]] = {
    "a shell": (
        lambda _: subprocess.run("good | tee log", shell=True, check=False),
        "a shell command with '|' in it, where only plain words would do,",
    ),
    "code before exec": (
        lambda _: subprocess.Popen(["good"], preexec_fn=print),
        "subprocess.Popen with preexec_fn",
    ),
    "descriptors": (
        lambda _: subprocess.Popen(["good"], pass_fds=(5,)),
        "subprocess.Popen with pass_fds",
    ),
    "another user": (
        lambda _: subprocess.Popen(["good"], user=0),
        "subprocess.Popen with user",
    ),
    "a file": (_into_a_file, "the output of a simulated program into a file"),
    "a descriptor": (
        lambda _: subprocess.Popen(["good"], stdout=PIPE).stdout.fileno(),  # type: ignore[union-attr]
        "the descriptor of a simulated program's pipe",
    ),
    "stopping": (
        lambda _: subprocess.Popen(["good"]).send_signal(signal.SIGSTOP),
        "SIGSTOP to a simulated program",
    ),
    "waitpid": (
        lambda _: os.waitpid(subprocess.Popen(["good"]).pid, 0),
        "os.waitpid of a simulated program",
    ),
    "os.system": (lambda _: os.system("good"), "os.system"),
    "os.fork": (lambda _: os.fork(), "os.fork"),
    "os.posix_spawn": (lambda _: os.posix_spawn("good", ["good"], {}), "os.posix_spawn"),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_what_is_not_simulated_is_refused_by_name(name: str, tmp_path: Path) -> None:
    """The refusal stays even if the subject hides it, with the line that asked for it."""
    act, what = _REFUSED[name]
    lab = Lab()

    def subject() -> None:
        with contextlib.suppress(BaseException):
            act(tmp_path)

    assert lab.run(subject).reason == "escape"
    (fact,) = facts(lab.world, "leak")
    assert fact[1]["what"] == what
    assert fact[1]["site"].startswith("tests.sim.test_processes:")


_STARTS: dict[str, tuple[Any, str]] = {
    "run": (lambda: subprocess.run(["good"], check=False), "subprocess.Popen of 'good'"),
    "shell": (lambda: subprocess.run("good", shell=True, check=False), "subprocess.Popen of 'sh'"),
    "popen": (lambda: os.popen("good"), "subprocess.Popen of 'sh'"),
}


@pytest.mark.parametrize("name", _STARTS)
def test_without_programs_everything_is_refused_as_ever(name: str) -> None:
    """No process table, no process."""
    act, what = _STARTS[name]

    def subject() -> None:
        with contextlib.suppress(BaseException):
            act()

    world, ending = run(subject)
    assert ending.reason == "escape"
    assert [fact["what"] for _, fact in facts(world, "leak")] == [what]


@pytest.mark.parametrize("method", ["subprocess_shell", "connect_write_pipe"])
def test_without_programs_a_loop_refuses_them_too(method: str) -> None:
    """By the name of its method."""

    async def subject() -> None:
        with contextlib.suppress(BaseException):
            await getattr(asyncio.get_running_loop(), method)(None, None)

    world, ending = run(subject)
    assert ending.reason == "escape"
    assert world.kernel.leaks[0][0] == f"loop.{method}"


def test_importing_may_run_a_real_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing is the interpreter's business, in a world with programs as in any."""
    (tmp_path / "looks_about.py").write_text(
        "import shutil, subprocess\n"
        "FOUND = subprocess.run(['/bin/true']).returncode, shutil.which('sh')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def subject() -> Any:
        import looks_about  # type: ignore[import-not-found]

        return looks_about.FOUND

    status, found = Lab().value(subject)
    assert (status, Path(found).name) == (0, "sh")


def test_outside_of_a_run_programs_are_real() -> None:
    """The replacements look only at simulated threads."""
    assert subprocess.run(["/bin/sh", "-c", "exit 4"], check=False).returncode == 4
    assert shutil.which("sh") is not None
    os.kill(os.getpid(), 0)
    assert os.getpgid(0) == os.getpgrp()


def test_a_simulated_program_is_nobodys_outside_of_its_world() -> None:
    """Waiting for one would wait for ever."""
    kept: list[subprocess.Popen[bytes]] = []
    Lab().value(lambda: kept.append(subprocess.Popen(["hangs"])))
    assert kept[0].poll() is None
    with pytest.raises(BaseException, match="a program of another world"):
        kept[0].wait()


def test_a_call_id_survives_a_wait() -> None:
    """The context of who waits is its own again afterwards."""
    lab = Lab()

    async def subject() -> str | None:
        CALL_ID.set("ask/1")
        process = await asyncio.create_subprocess_exec("mixed", stdout=PIPE)
        await process.communicate()
        return CALL_ID.get()

    assert lab.value(subject) == "ask/1"


def test_a_program_that_outlives_the_interpreter_is_no_noise() -> None:
    """Python asks for each program that is left over after it has cleared our modules."""
    program = """
import subprocess, sys
from faultclock.sim.patches import install, processes
install()
subprocess.kept = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
sys.kept = [subprocess, processes]
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
