"""A subject is loaded and called in a process of its own, and this one sees results alone."""

from __future__ import annotations

import gc
import os
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

import pytest

from faultclock.errors import InputError, InternalError, SubjectError
from faultclock.load.scenario import find_scenarios
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.doctor.probe import probe
from faultclock.run.prepare import hosted, hosted_target, prepare
from faultclock.run.process.hosting import Host, HostedBinding, LostError, make_run, where_loaded
from faultclock.run.process.second_process import Aside
from faultclock.run.run_request import RunRequest
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding

_SUBJECT = """
import json, os, sys, urllib.request
from faultclock import provider_adapter
sys.modules["a_mark_of_the_subject"] = sys
@provider_adapter
def subject(request):
    {body}
"""


def _scenario() -> Scenario:
    return find_scenarios(("rate-limits/retry-after-integer",))[0].scenario


def _file(folder: Path, body: str) -> str:
    file = folder / "client.py"
    file.write_text(_SUBJECT.format(body=body))
    return f"{file}:subject"


def test_a_hosted_run_is_the_run_of_this_process() -> None:
    """The trace is the same, byte for byte."""
    here, there = prepare("reference"), hosted("reference")
    made = [run_one(_scenario(), binding, 3, isolate=True) for binding in (here, there)]
    assert made[0] == made[1]


def test_the_subject_is_not_loaded_here(tmp_path: Path) -> None:
    """None of its modules is among ours."""
    binding = hosted(_file(tmp_path, "return 'hello'"))
    assert binding.role == "provider_adapter"
    assert "a_mark_of_the_subject" not in sys.modules


def test_everything_that_is_known_of_a_binding_comes_over() -> None:
    """What stays there is what can be called."""
    here, there = prepare("reference-runtime"), hosted("reference-runtime")
    callable_ = {"function", "open", "classify", "contract"}
    names = {item.name for item in fields(Binding)} - callable_
    assert {name: getattr(there, name) for name in names} == {
        name: getattr(here, name) for name in names
    }


def test_the_state_that_an_extension_keeps_comes_over() -> None:
    """Its contract stays there, and which scenarios fit depends on it."""
    assert hosted("reference-extension").state_slot == prepare("reference-extension").state_slot
    assert prepare("reference-extension").state_slot is not None


def test_a_run_with_an_event_that_there_is_not_proves_nothing(tmp_path: Path) -> None:
    """The catalogue of events is that of this process."""
    body = """from faultclock.sim.kernel.recorder import Recorder
    import gc
    for item in gc.get_objects():
        if isinstance(item, Recorder):
            item.record("subject", "all.is.well")
    return 'hello'"""
    trace = run_one(_scenario(), hosted(_file(tmp_path, body)), 1, isolate=True)
    assert trace.footer.ending == "harness_error"
    assert "no kind of event 'all.is.well'" in trace.footer.detail[0]


def test_a_hosted_subject_cannot_be_called_here() -> None:
    """That would be a bug of ours."""
    with pytest.raises(InternalError, match="has not loaded it"):
        hosted("reference")(None)


@pytest.mark.parametrize(
    ("body", "limit_s", "ending", "said"),
    [
        ("os._exit(3)", 10, "harness_error", "exit code 3"),
        ("while True: pass", 0.2, "watchdog", "no end after 0.2 s"),
        ("bytearray(1 << 30)", 10, "watchdog", "--memory-limit"),
    ],
)
def test_what_a_run_does_to_its_process_is_said(
    tmp_path: Path, body: str, limit_s: float, ending: str, said: str
) -> None:
    """The run proves nothing, and the next one is made as if nothing had been."""
    # What hangs does so in the call that warms it, too: that has a part of this limit.
    target = hosted_target(_file(tmp_path, body), wall_limit_s=2, memory_limit_bytes=1 << 29)
    for _ in range(2):
        trace = run_one(_scenario(), target.binding, 1, isolate=True, wall_limit_s=limit_s)
        assert trace.footer.ending == ending
        assert any(said in line for line in trace.footer.detail), trace.footer.detail


def test_a_subject_that_needs_too_much_memory_is_told_so(tmp_path: Path) -> None:
    """It does end: more time is no help."""
    target = hosted_target(_file(tmp_path, "bytearray(1 << 30)"), memory_limit_bytes=1 << 29)
    probed = probe(target.binding)
    assert "more memory" in probed.why_not
    assert "--memory-limit" in probed.what_to_do


def test_a_session_that_hangs_is_ended(tmp_path: Path) -> None:
    """A subject that is bound with `inline` shares its process with the session."""
    body = "while True: pass"
    text = _SUBJECT.format(body=body).replace("@provider_adapter", "@provider_adapter(inline=True)")
    (tmp_path / "client.py").write_text(text)
    host = Host()
    binding = hosted_target(f"{tmp_path}/client.py:subject", host=host, wall_limit_s=0.5).binding
    asked = RunRequest(scenario=_scenario(), seed=1, isolate=False, wall_limit_s=0.1)
    made = make_run(binding, asked)
    assert (made.ending, made.facts) == ("watchdog", [])


def test_what_is_raised_over_there_is_raised_here() -> None:
    """With the message and the hint that it has."""
    binding = hosted("reference")
    with pytest.raises(InputError, match="this is wrong") as found:
        where_loaded(binding, str, _refuses)
    assert found.value.hint == "that is right"


def _refuses(binding: Binding) -> str:
    raise InputError("this is wrong", hint="that is right")


@pytest.mark.parametrize("kind", ["a value of another kind", "a bug", "an exit"])
def test_what_is_no_result_is_lost(kind: str) -> None:
    """The schema of what is accepted is that of the caller."""
    binding = hosted("reference")
    with pytest.raises(LostError):
        where_loaded(binding, int, _misbehaves, kind)
    assert where_loaded(binding, int, _number) == 7


def _misbehaves(binding: Binding, kind: str) -> object:
    if kind == "a bug":
        raise KeyError(binding.id)
    if kind == "an exit":
        os._exit(0)
    return "seven"


def _number(binding: Binding) -> int:
    return 7


def test_what_is_wrong_in_a_binding_is_named(tmp_path: Path) -> None:
    """A title that is no text stands in no report."""
    (tmp_path / "mine.py").write_text(
        "from faultclock import provider_adapter\n\n"
        "@provider_adapter(title=5)\ndef subject(request):\n    return ''\n"
    )
    with pytest.raises(SubjectError, match=r"Expected `str`, got `int`.*title"):
        hosted_target(f"{tmp_path}/mine.py:subject")


def test_a_session_keeps_nothing_of_what_was_done_in_it() -> None:
    """Inline runs share its process, and there may be a million of them."""
    binding = hosted("reference")
    kept = max(where_loaded(binding, int, _left_behind) for _ in range(50))
    assert kept < 10 * gc.get_threshold()[0]


class _Cycle:
    """Refers to itself, as a world does."""

    made: ClassVar[WeakSet[_Cycle]] = WeakSet()

    def __init__(self) -> None:
        self.itself = self
        self.made.add(self)


def _left_behind(binding: Binding) -> int:
    """Leave cycles behind, and return how many there are."""
    for _ in range(gc.get_threshold()[0]):
        _Cycle()
    return len(_Cycle.made)


def test_second_runs_have_a_session_of_their_own() -> None:
    """What one process has left behind is not known in the other."""
    binding = hosted("reference")
    here = where_loaded(binding, int, _process)
    assert where_loaded(binding, int, _process) == here
    with Aside(lambda: where_loaded(binding, int, _process)) as aside:
        assert aside() != here


def _process(binding: Binding) -> int:
    return os.getpid()


def test_what_is_printed_while_it_is_loaded_is_kept(tmp_path: Path) -> None:
    """It does not reach the terminal between the lines of a report."""
    file = tmp_path / "client.py"
    file.write_text("print('one')\nimport os\nos.write(2, b'two')\nask = lambda prompt: prompt")
    host = Host()
    with pytest.raises(SubjectError):
        hosted_target(f"{file}:other", host=host)
    assert host.printed() == ("one", "two")


@pytest.mark.parametrize("kind", ["os._exit(0)", "import os; os.kill(os.getpid(), 9)"])
def test_a_subject_that_ends_its_process_when_it_is_loaded_is_refused(
    tmp_path: Path, kind: str
) -> None:
    """With a sentence, not with its exit code."""
    file = tmp_path / "client.py"
    file.write_text(f"import os\n{kind}\n")
    with pytest.raises(SubjectError, match="it ended the process in which it was being loaded"):
        hosted(f"{file}:subject")


def test_a_host_ends_when_it_is_let_go() -> None:
    """No process is left behind."""
    binding = hosted("reference")
    assert isinstance(binding, HostedBinding)
    process = where_loaded(binding, int, _parent)
    os.kill(process, 0)
    del binding
    gc.collect()
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
    raise AssertionError("it is still there")


def _parent(binding: Binding) -> int:
    return os.getppid()
