"""Simulated programs behave as real ones do: each behaviour is looked at in both worlds.

The real programs are one-line scripts, and the only real time is what they take to start.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.sim.program_lab import Named, real, simulated

PIPE = subprocess.PIPE
#: Real seconds that a real program gets to write its first lines before it is timed out.
_PATIENCE_S = 1.0

_BEHAVIOURS: dict[str, Callable[[Named], Any]] = {}


def _behaviour(function: Callable[[Named], Any]) -> Callable[[Named], Any]:
    _BEHAVIOURS[function.__name__.removeprefix("_")] = function
    return function


@pytest.mark.parametrize("name", _BEHAVIOURS)
def test_a_simulated_program_behaves_as_a_real_one(name: str) -> None:
    """What a caller sees is the same."""
    behaviour = _BEHAVIOURS[name]
    assert simulated(behaviour) == real(behaviour)


# ------------------------------------------------------------------ blocking


@_behaviour
def _run_captures_bytes(named: Named) -> Any:
    done = subprocess.run(named("mixed"), capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@_behaviour
def _run_captures_text(named: Named) -> Any:
    done = subprocess.run(named("mixed"), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@_behaviour
def _run_drops_what_nobody_wants(named: Named) -> Any:
    done = subprocess.run(
        named("good"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return done.returncode, done.stdout, done.stderr


@_behaviour
def _run_hands_input_over(named: Named) -> Any:
    done = subprocess.run(named("good"), input="hello", stdout=PIPE, text=True, check=True)
    return done.stdout


@_behaviour
def _another_encoding(named: Named) -> Any:
    return subprocess.check_output(named("latin"), encoding="latin-1")


@_behaviour
def _a_status_is_an_error_where_it_is_checked(named: Named) -> Any:
    with pytest.raises(subprocess.CalledProcessError) as raised:
        subprocess.check_output(named("mixed"), stderr=PIPE)
    error = raised.value
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.check_call(named("mixed"), stdout=PIPE, stderr=PIPE)
    return error.returncode, error.output, error.stderr, subprocess.call(named("silent"))


@_behaviour
def _a_signal_is_a_negative_status(named: Named) -> Any:
    with pytest.raises(subprocess.CalledProcessError) as raised:
        subprocess.run(named("crashes"), capture_output=True, check=True)
    return raised.value.returncode, raised.value.output, "SIGSEGV" in str(raised.value)


@_behaviour
def _both_outputs_in_one(named: Named) -> Any:
    return subprocess.run(named("mixed"), stdout=PIPE, stderr=subprocess.STDOUT, check=False).stdout


@_behaviour
def _lines_one_by_one(named: Named) -> Any:
    with subprocess.Popen(named("mixed"), stdout=PIPE, stderr=PIPE, text=True, bufsize=1) as popen:
        assert popen.stdout is not None
        assert popen.stderr is not None
        lines = [popen.stdout.readline(), *popen.stdout, popen.stdout.readline()]
        errors = popen.stderr.read()
    return lines, errors, popen.returncode, popen.poll(), popen.stdout.closed


@_behaviour
def _bytes_piece_by_piece(named: Named) -> Any:
    popen = subprocess.Popen(named("mixed"), stdout=PIPE, stderr=PIPE)
    assert popen.stdout is not None
    pieces = [popen.stdout.read(2), popen.stdout.readline(), popen.stdout.read()]
    popen.communicate()
    return pieces


@_behaviour
def _pieces_without_a_buffer(named: Named) -> Any:
    with subprocess.Popen(named("hangs"), stdout=PIPE, bufsize=0) as popen:
        assert popen.stdout is not None
        pieces = [popen.stdout.read(4), popen.stdout.read(100)]
        popen.kill()
        return pieces, popen.stdout.read(), popen.wait()


@_behaviour
def _a_large_output(named: Named) -> Any:
    return len(subprocess.check_output(named("large")))


@_behaviour
def _no_such_program(named: Named) -> Any:
    with pytest.raises(FileNotFoundError) as raised:
        subprocess.Popen(named("no-such-program"), stdout=PIPE)
    error = raised.value
    return error.errno, error.filename, str(error)


@_behaviour
def _no_such_program_for_a_shell(named: Named) -> Any:
    done = subprocess.run(
        "no-such-program -x", shell=True, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, "not found" in done.stderr


@_behaviour
def _wrong_arguments(named: Named) -> Any:
    with pytest.raises(subprocess.SubprocessError) as disagree:
        subprocess.Popen(named("good"), text=True, universal_newlines=False)
    with pytest.raises(TypeError) as no_number:
        subprocess.Popen(named("good"), bufsize="large")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="capture_output") as both:
        subprocess.run(named("good"), capture_output=True, stdout=PIPE, check=False)
    with pytest.raises(IndexError):
        subprocess.Popen([])
    return str(disagree.value), str(no_number.value), str(both.value)


@_behaviour
def _a_deadline_carries_what_was_written(named: Named) -> Any:
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        subprocess.run(
            named("hangs"), capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    error = raised.value
    return error.timeout, error.output, error.stderr


@_behaviour
def _after_a_deadline_nothing_is_lost(named: Named) -> Any:
    popen = subprocess.Popen(named("hangs"), stdout=PIPE, stderr=PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        popen.communicate(timeout=_PATIENCE_S)
    still = popen.poll()
    with pytest.raises(ValueError, match="input"):
        popen.communicate("too late", timeout=1)
    popen.kill()
    return still, popen.communicate(), popen.returncode


@_behaviour
def _waiting_has_a_deadline_too(named: Named) -> Any:
    popen = subprocess.Popen(named("hangs"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        popen.wait(timeout=0.01)
    popen.terminate()
    return raised.value.timeout, popen.wait(), popen.wait(timeout=1), popen.terminate()


@_behaviour
def _some_signals_can_be_ignored(named: Named) -> Any:
    with subprocess.Popen(named("stubborn"), stdout=PIPE) as popen:
        assert popen.stdout is not None
        popen.stdout.readline()
        popen.terminate()
        popen.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            popen.wait(timeout=0.05)
        popen.kill()
    return popen.returncode


@_behaviour
def _who_was_waited_for_is_gone(named: Named) -> Any:
    popen = subprocess.Popen(named("silent"))
    popen.wait()
    popen.kill()
    with pytest.raises(ProcessLookupError) as raised:
        os.kill(popen.pid, signal.SIGKILL)
    return popen.returncode, str(raised.value)


@_behaviour
def _nobody_reads_any_more(named: Named) -> Any:
    popen = subprocess.Popen(named("silent"), stdin=PIPE)
    assert popen.stdin is not None
    popen.wait()
    popen.stdin.write(b"too late")
    with pytest.raises(BrokenPipeError) as raised:
        popen.stdin.flush()
    with contextlib.suppress(BrokenPipeError):
        popen.stdin.close()
    return raised.value.errno, popen.returncode


@_behaviour
def _input_for_who_has_ended_is_no_error(named: Named) -> Any:
    popen = subprocess.Popen(named("good"), stdin=PIPE, stdout=PIPE, stderr=PIPE)
    popen.wait()
    return popen.communicate(b"too late", timeout=5)


@_behaviour
def _a_closed_end_cannot_be_used(named: Named) -> Any:
    popen = subprocess.Popen(named("silent"), stdin=PIPE, stdout=PIPE, bufsize=0)
    assert popen.stdin is not None
    assert popen.stdout is not None
    popen.stdin.close()
    popen.stdout.close()
    with pytest.raises(ValueError, match="closed file"):
        popen.stdin.write(b"x")
    with pytest.raises(ValueError, match="closed file"):
        popen.stdout.read(1)
    return popen.wait()


@_behaviour
def _a_shell_runs_plain_words(named: Named) -> Any:
    """With a program that is called the same here and there."""
    command = "good" if named("good") == ["good"] else "printf 'fine\\n'"
    with os.popen(command) as out:
        said = out.read()
    return said, subprocess.getoutput(command), subprocess.check_output(command, shell=True)


# ------------------------------------------------------------------ asynchronous


@_behaviour
async def _communicating(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(*named("mixed"), stdout=PIPE, stderr=PIPE)
    return await process.communicate(), process.returncode, await process.wait()


@_behaviour
async def _communicating_with_input(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(*named("good"), stdin=PIPE, stdout=PIPE)
    return await process.communicate(b"hello"), process.returncode


@_behaviour
async def _streams_line_by_line(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(
        *named("mixed"), stdout=PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    lines = [line async for line in process.stdout]
    return lines, process.stdout.at_eof(), await process.wait(), process.stderr


@_behaviour
async def _a_stream_with_a_small_limit(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(*named("large"), stdout=PIPE, limit=1_000)
    assert process.stdout is not None
    first = await process.stdout.readexactly(100_000)
    await asyncio.sleep(0.01)
    return len(first), len(await process.stdout.read()), await process.wait()


@_behaviour
async def _a_cancelled_wait_leaves_it_running(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(*named("hangs"), stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    line = await process.stdout.readline()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(process.wait(), 0.05)
    running = process.returncode
    process.kill()
    return line, running, await process.wait(), process.returncode


@_behaviour
async def _a_cancelled_conversation_leaves_it_running(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(*named("hangs"), stdout=PIPE, stderr=PIPE)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(process.communicate(), 0.05)
    running = process.returncode
    process.send_signal(signal.SIGTERM)
    return running, await process.wait()


@_behaviour
async def _no_such_program_asynchronously(named: Named) -> Any:
    with pytest.raises(FileNotFoundError) as raised:
        await asyncio.create_subprocess_exec(*named("no-such-program"), stdout=PIPE)
    return raised.value.filename


@_behaviour
async def _a_signal_for_who_has_ended(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(*named("silent"))
    await process.wait()
    # Python 3.14 says nothing while the transport is not yet closed.
    may_pass = sys.version_info >= (3, 14)
    with contextlib.suppress(ProcessLookupError) if may_pass else pytest.raises(ProcessLookupError):
        process.kill()
    return process.returncode


@_behaviour
async def _a_shell_asynchronously(named: Named) -> Any:
    process = await asyncio.create_subprocess_shell("no-such-program", stdout=PIPE, stderr=PIPE)
    _, errors = await process.communicate()
    return process.returncode, b"not found" in errors


@_behaviour
async def _input_is_closed_in_order(named: Named) -> Any:
    process = await asyncio.create_subprocess_exec(*named("stubborn"), stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdout.readline()
    process.stdin.writelines([b"a", b"b"])
    await process.stdin.drain()
    can = process.stdin.can_write_eof()
    process.stdin.write_eof()
    process.stdin.close()
    await process.stdin.wait_closed()
    closing = process.stdin.is_closing()
    process.kill()
    return can, closing, await process.wait()
