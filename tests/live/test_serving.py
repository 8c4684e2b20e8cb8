"""Serving for real: one listening socket, one program, and what is known in the end.

These few tests and the parity check beside them are all that opens sockets here and lets real
time pass: that a program of another process finds the provider can be shown in no other way.
"""

from __future__ import annotations

import io
import os
import signal
import socket
import sys
import threading
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.live.servable import program_binding
from faultclock.live.serving import Serving, Where, serve
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from tests.live.programs import ASK, command
from tests.live.wires import post, scenario

_LIMITED = {
    "when": {"attempts": 1},
    "then": {
        "kind": "http_error",
        "status": 429,
        "error": "rate_limit_exceeded",
        "headers": {"retry-after": "0.1"},
    },
}


def _serving(served: Scenario, **more: object) -> Serving:
    return Serving(
        scenario=served,
        binding=program_binding("program", "openai-chat"),
        seed=0,
        **more,  # type: ignore[arg-type]
    )


def _ends(trace: Trace) -> list[dict[str, object]]:
    return [dict(event.payload) for event in trace.of_kind("call.left")]


def test_a_program_is_served_to_its_end() -> None:
    """It finds the provider, is refused once, waits, and is answered; its exit code is kept."""
    trace = serve(_serving(scenario(_LIMITED), command=command(ASK)))
    statuses = [event.payload["status"] for event in trace.of_kind("http.response")]
    assert statuses == [429, 200]
    assert _ends(trace) == [{"call": "ask/1", "exit_code": 0, "signal": None}]
    assert list(trace.of_kind("fault.unmet")) == []
    limited, _ = trace.of_kind("net.delivered")
    _, again = trace.of_kind("net.connect")
    assert again.at_ns - limited.at_ns >= 100_000_000
    assert trace.footer.ending == "completed"


def test_a_program_that_is_killed_has_no_exit_code() -> None:
    """The signal is named, and nothing is said of what it would have done."""
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    trace = serve(_serving(scenario(), command=command(program)))
    assert _ends(trace) == [{"call": "ask/1", "exit_code": None, "signal": "SIGKILL"}]


def test_who_interrupts_the_serving_ends_the_program_and_has_the_trace() -> None:
    """What happened until then is sealed."""

    def interrupt(_: Where) -> None:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()

    program = "import time; time.sleep(60)"
    trace = serve(_serving(scenario(), command=command(program), on_ready=interrupt))
    (end,) = _ends(trace)
    # A program that had not even started yet is ended by the signal itself.
    assert end["signal"] == "SIGINT" or end["exit_code"] not in (None, 0)
    assert trace.footer.ending == "completed"


def test_a_program_that_cannot_start_is_told_by_name() -> None:
    """Before anything is judged."""
    with pytest.raises(InputError, match="no-such-program: cannot be started"):
        serve(_serving(scenario(), command=("no-such-program",)))


def test_a_port_that_is_taken_is_told_by_number() -> None:
    """With what to do instead."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1:{port} cannot be listened at"):
            serve(_serving(scenario(), port=port))


def test_serving_once_ends_with_the_first_good_answer() -> None:
    """Whoever asked has it whole."""
    answers: list[bytes] = []
    threads: list[threading.Thread] = []

    def ask(where: Where) -> None:
        request = urllib.request.Request(
            f"{where.by_call['ask/1']}/chat/completions",
            post().partition(b"\r\n\r\n")[2],
            {"authorization": "Bearer sk-simulated-1", "content-type": "application/json"},
        )

        def run() -> None:
            with urllib.request.urlopen(request, timeout=5) as answer:
                answers.append(answer.read())

        threads.append(threading.Thread(target=run))
        threads[0].start()

    trace = serve(_serving(scenario(), once=True, on_ready=ask))
    threads[0].join()
    assert b"Hello from the simulated provider." in answers[0]
    assert _ends(trace) == [{"call": "ask/1", "exit_code": None, "signal": None}]


def test_what_a_program_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    """It has the program's standard output, and may never close it; what was printed is kept."""
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    left = "import subprocess, sys; subprocess.Popen(['cat', sys.argv[1]])\n"
    program = (sys.executable, "-S", "-c", left + ASK, str(alive))
    sink = io.BytesIO()
    try:
        trace = serve(_serving(scenario(), command=program, replies=True, output=sink))
    finally:
        # Whoever reads a pipe ends when its last writer does.
        os.close(os.open(alive, os.O_WRONLY))
    (end,) = trace.of_kind("call.returned")
    assert sink.getvalue().decode() == f"{end.payload['text']}\n"
