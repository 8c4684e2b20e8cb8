"""Fake programs in a world: the lines that they write, how they end, and the facts about it."""

from __future__ import annotations

import asyncio
import pickle
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

import pytest

from faultclock.fakes.ports.programs import FakePrograms, ProgramsState
from faultclock.model.scenario.program_script import ProgramScript
from faultclock.model.secrets import SECRET
from faultclock.model.trace.events import EVENT_KINDS
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Ending, Limits
from faultclock.sim.kernel.recorder import Fact, Recorder, WatchedRecorder
from faultclock.sim.patches import installed
from faultclock.sim.world import World

MS = 1_000_000
PIPE = subprocess.PIPE
AGENT = {"name": "agent", "good": {"lines": [{"text": "done"}]}}
HANGS = {"id": "hangs", "then": {"lines": [{"text": "thinking"}], "hangs": True}}


@pytest.fixture(autouse=True, scope="module")
def _patched() -> Iterator[None]:
    with installed():
        yield


def agent(*rules: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a program named `agent`, as a file says it."""
    return {**AGENT, "rules": list(rules), **fields}


@dataclass
class Life:
    """One life: a world with programs in it."""

    scripts: list[dict[str, Any]]
    state: ProgramsState = field(default_factory=ProgramsState)
    number: int = 1
    limits: Limits | None = None
    recorder: Recorder | None = None

    def __post_init__(self) -> None:
        self.world = World(life=self.number, limits=self.limits, recorder=self.recorder)
        scripts = [ProgramScript.model_validate(script) for script in self.scripts]
        self.programs = FakePrograms(scripts, self.world.kernel, self.state, self.number)
        self.programs.mount(self.world)

    def run(self, subject: Callable[[], Any]) -> Ending:
        """Run `subject` as the call ask/1, and end the life."""

        def blocking() -> Any:
            CALL_ID.set("ask/1")
            return subject()

        async def asynchronous() -> Any:
            CALL_ID.set("ask/1")
            return await subject()

        ending = self.world.run(asynchronous if iscoroutinefunction(subject) else blocking)
        self.programs.end_life()
        return ending

    def value(self, subject: Callable[[], Any]) -> Any:
        """Return what `subject` returns; fail if it does not."""
        ending = self.run(subject)
        if ending.error is not None:
            raise ending.error
        assert ending.reason == "completed", ending
        return ending.value

    def facts(self, wanted: str = "") -> list[tuple[int, str, dict[str, Any]]]:
        """Return (milliseconds, kind, payload) of each fact about programs, or of one kind."""
        return [
            (at_ns // MS, kind, payload)
            for _, at_ns, actor, kind, payload in self.world.recorder.events
            if actor == "program" and wanted in ("", kind)
        ]

    def story(self) -> list[tuple[int, str]]:
        """Return (milliseconds, kind) of each fact about programs."""
        return [(at_ms, kind) for at_ms, kind, _ in self.facts()]


def starts(*argv: str) -> Callable[[], Any]:
    """Return a subject that runs a program to its end."""
    return lambda: subprocess.run(argv or ("agent",), capture_output=True, check=False)


# ------------------------------------------------------------------ facts


def test_a_good_execution_is_told_from_start_to_end() -> None:
    """Each fact says which call it was for, and in which life."""
    life = Life([AGENT])
    done = life.value(starts("agent", "-p", "go"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"done\n", b"")
    common = {"call": "ask/1", "life": 1}
    assert life.facts() == [
        (
            0,
            "program.started",
            {
                "program": "agent",
                "argv": ["agent", "-p", "go"],
                "run": "p1",
                "n": 1,
                "means": "",
                **common,
            },
        ),
        (20, "program.wrote", {"run": "p1", "stream": "stdout", "text": "done\n", **common}),
        (
            30,
            "program.ended",
            {"run": "p1", "program": "agent", "status": 0, "signal": None, "means": "", **common},
        ),
    ]


def test_the_facts_are_the_same_for_an_async_subject() -> None:
    """Who waits makes no difference to the program."""

    async def asynchronous() -> Any:
        process = await asyncio.create_subprocess_exec("agent", stdout=PIPE, stderr=PIPE)
        return await process.communicate()

    lives = Life([AGENT]), Life([AGENT])
    lives[0].value(starts())
    assert lives[1].value(asynchronous) == (b"done\n", b"")
    assert lives[0].facts() == lives[1].facts()


def test_lines_come_after_their_delays_on_their_streams() -> None:
    """A line without a newline is one half of a line."""
    lines = [
        {"text": '{"a": ', "newline": False, "after": "1s"},
        {"text": "hm", "stream": "stderr", "after": "0ms"},
        {"text": "1}", "after": "2s"},
    ]
    life = Life([agent(good={"lines": lines, "ends_after": "500ms", "status": 7})])
    done = life.value(starts())
    assert (done.returncode, done.stdout, done.stderr) == (7, b'{"a": 1}\n', b"hm\n")
    assert life.story() == [
        (0, "program.started"),
        (1_000, "program.wrote"),
        (1_000, "program.wrote"),
        (3_000, "program.wrote"),
        (3_500, "program.ended"),
    ]


def test_what_nobody_reads_is_written_all_the_same() -> None:
    """An inherited output is recorded and dropped."""
    life = Life([AGENT])
    life.value(lambda: subprocess.run(["agent"], check=True))
    assert [fact["text"] for _, _, fact in life.facts("program.wrote")] == ["done\n"]


def test_no_secret_and_no_long_text_gets_into_a_fact() -> None:
    """The subject reads all of it."""
    key = "sk-simulated-0123456789abcdef"
    life = Life([agent(good={"lines": [{"text": key}, {"text": "x" * 5_000}]})])
    done = life.value(starts("agent", f"--key={key}"))
    assert len(done.stdout) == len(key) + 5_002
    assert life.facts("program.started")[0][2]["argv"] == ["agent", f"--key={SECRET}"]
    texts = [fact["text"] for _, _, fact in life.facts("program.wrote")]
    assert texts == [f"{SECRET}\n", "x" * 1_999 + "…"]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_a_signal_from_elsewhere_ends_it_without_a_status(name: str) -> None:
    """Nobody of the run has sent it."""
    life = Life([agent(good={"signal": name})])
    assert life.value(starts()).returncode == -signal.Signals[name]
    assert life.facts("program.signalled") == []
    (_, _, ended) = life.facts("program.ended")[0]
    assert (ended["status"], ended["signal"]) == (None, name)


def test_every_fact_is_of_a_kind_that_a_trigger_may_name() -> None:
    """Also of those that are rare."""
    life = Life([agent(HANGS)])

    def subject() -> None:
        subprocess.Popen(["agent"])
        subprocess.Popen(["agent"]).kill()
        with pytest.raises(FileNotFoundError):
            subprocess.run(["other"], check=False)
        time.sleep(1)

    life.value(subject)
    kinds = {kind for _, kind, _ in life.facts()}
    assert {"program.missing", "program.left_running", "program.signalled"} < kinds <= EVENT_KINDS


# ------------------------------------------------------------------ signals of the subject


def test_sigterm_ends_it_where_it_stands() -> None:
    """The lines that were still to come never do; what it means stays."""
    good = {"lines": [{"text": "one"}, {"text": "two", "after": "1h"}], "means": "cut"}
    life = Life([agent(good=good)])

    def subject() -> list[Any]:
        popen = subprocess.Popen(["agent"], stdout=PIPE, text=True)
        time.sleep(1)
        popen.terminate()
        at_once = popen.poll()
        return [at_once, popen.communicate()[0], popen.returncode]

    assert life.value(subject) == [None, "one\n", -signal.SIGTERM]
    assert life.facts()[-2:] == [
        (
            1_000,
            "program.signalled",
            {"run": "p1", "signal": "SIGTERM", "by": "subject", "call": "ask/1", "life": 1},
        ),
        (
            1_000,
            "program.ended",
            {
                "run": "p1",
                "program": "agent",
                "status": None,
                "signal": "SIGTERM",
                "means": "cut",
                "call": "ask/1",
                "life": 1,
            },
        ),
    ]


def test_only_sigkill_ends_what_ignores_sigterm() -> None:
    """Every other signal is a fact, and nothing more."""
    life = Life([agent(good={"hangs": True, "ignores_sigterm": True})])

    def subject() -> list[int | None]:
        popen = subprocess.Popen(["agent"])
        popen.terminate()
        popen.send_signal(signal.SIGINT)
        time.sleep(60)
        alive = popen.poll()
        popen.kill()
        return [alive, popen.wait()]

    assert life.value(subject) == [None, -signal.SIGKILL]
    sent = [fact["signal"] for _, _, fact in life.facts("program.signalled")]
    assert sent == ["SIGTERM", "SIGINT", "SIGKILL"]


def test_the_first_deadly_signal_is_what_it_dies_of() -> None:
    """The second comes too late, although nobody was told yet."""
    life = Life([agent(HANGS)])

    def subject() -> int:
        popen = subprocess.Popen(["agent"])
        popen.terminate()
        popen.kill()
        return popen.wait()

    assert life.value(subject) == -signal.SIGTERM
    assert len(life.facts("program.ended")) == 1


def test_a_cancelled_task_leaves_its_program_running() -> None:
    """The trace shows it: it never ended."""
    life = Life([agent(HANGS)])

    async def works() -> None:
        process = await asyncio.create_subprocess_exec("agent", stdout=PIPE)
        await process.communicate()

    async def subject() -> None:
        task = asyncio.create_task(works())
        await asyncio.sleep(5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(5)

    life.value(subject)
    assert life.story()[-2:] == [(20, "program.wrote"), (10_000, "program.left_running")]
    assert life.facts()[-1][2] == {"run": "p1", "program": "agent", "call": "ask/1", "life": 1}


# ------------------------------------------------------------------ rules


def test_a_fault_fires_when_its_execution_begins() -> None:
    """From then on the program is another one, if only by its pace."""
    life = Life([agent({"id": "slow", "executions": "2", "then": {"ends_after": "1h"}})])
    life.value(starts())
    assert life.facts("fault.fired") == []
    life = Life([life.scripts[0]], life.state, 2)
    life.value(starts())
    assert life.story()[:2] == [(0, "program.started"), (0, "fault.fired")]
    assert life.facts("fault.fired")[0][2] == {
        "fault": "slow",
        "fault_kind": "output",
        "of": "program agent",
        "run": "p2",
        "call": "ask/1",
        "life": 2,
    }


def test_a_rule_that_is_no_fault_is_neither_fired_nor_unmet() -> None:
    """It says what the program does, and nobody has to meet it."""
    life = Life([agent({"id": "other", "fault": False, "arguments": ["x"], "then": {"status": 1}})])
    assert life.value(starts("agent", "x")).returncode == 1
    life.programs.seal()
    assert [kind for _, kind in life.story() if kind.startswith("fault.")] == []


def test_faults_that_nobody_met_are_told_at_the_end() -> None:
    """With the program that they are of."""
    rules = [{"id": "a", "then": {}}, {"id": "b", "then": {}, "optional": True}]
    life = Life([agent(*rules)])
    life.value(starts())
    life.programs.seal()
    assert [payload for _, _, payload in life.facts("fault.unmet")] == [
        {"fault": "b", "optional": True, "of": "program agent", "call": None, "life": 1}
    ]


def test_counts_and_rules_outlive_the_process() -> None:
    """As plain data, through a pickle."""
    script = agent({"id": "second", "executions": "2", "then": {"status": 9}})
    first = Life([script])
    assert first.value(starts()).returncode == 0
    state = pickle.loads(pickle.dumps(first.state))
    second = Life([script], state, 2)
    assert second.value(starts()).returncode == 9
    third = Life([script], pickle.loads(pickle.dumps(second.state)), 3)
    third.value(starts())
    third.programs.seal()
    assert third.facts("fault.unmet") == []
    assert third.facts("program.started")[0][2]["run"] == "p3"


@pytest.mark.parametrize("kind", ["program.started", "program.wrote", "program.ended"])
def test_a_crash_at_any_fact_leaves_one_execution_behind(kind: str) -> None:
    """What the killed code still wants to start on its way out is never counted."""

    def watch(fact: Fact) -> None:
        if fact[3] == kind:
            life.world.kernel.crash()

    def subject() -> None:
        try:
            with subprocess.Popen(["agent"], stdout=PIPE) as popen:
                popen.communicate()
        finally:
            subprocess.run(["agent"], check=False)

    life = Life([AGENT], recorder=WatchedRecorder(watch))
    assert life.world.run(subject).reason == "crashed"
    assert life.state.counts.runs == 1
    assert life.story()[-1][1] == kind


# ------------------------------------------------------------------ programs that are not there


def test_a_program_that_is_not_there_is_missing() -> None:
    """By the name that was asked for."""
    life = Life([AGENT])

    def subject() -> str:
        with pytest.raises(FileNotFoundError) as raised:
            subprocess.run(["bin/other", "-v"], check=False)
        return str(raised.value.filename)

    assert life.value(subject) == "bin/other"
    assert life.facts() == [
        (
            0,
            "program.missing",
            {
                "program": "other",
                "argv": ["bin/other", "-v"],
                "n": 1,
                "call": "ask/1",
                "life": 1,
            },
        )
    ]


def test_a_rule_may_take_a_program_away() -> None:
    """For as long as it says."""
    life = Life([agent({"id": "gone", "executions": "1", "then": {"missing": True}})])

    def subject() -> int:
        with pytest.raises(FileNotFoundError):
            subprocess.run(["agent"], check=False)
        return subprocess.run(["agent"], check=False).returncode

    assert life.value(subject) == 0
    assert [kind for _, kind in life.story()[:3]] == [
        "program.missing",
        "fault.fired",
        "program.started",
    ]
    assert life.facts("fault.fired")[0][2]["fault_kind"] == "missing"
    assert life.facts("program.started")[0][2]["n"] == 2


def test_looking_for_a_missing_program_is_how_one_finds_out() -> None:
    """`which` counts as an execution then, and as nothing where it finds the program."""
    life = Life([agent({"id": "gone", "executions": "1", "then": {"missing": True}})])
    assert life.value(lambda: [shutil.which("agent") for _ in range(2)]) == [
        None,
        "/usr/local/bin/agent",
    ]
    assert [kind for _, kind in life.story()] == ["program.missing", "fault.fired"]
    assert life.facts("program.missing")[0][2]["argv"] == ["agent"]


def test_looking_for_what_nobody_knows_is_no_fact() -> None:
    """Programs look around for what they can do without."""
    life = Life([AGENT])
    assert life.value(lambda: shutil.which("other")) is None
    assert life.facts() == []


def test_a_shell_says_itself_that_there_is_no_such_program() -> None:
    """It ends with 127, and the fact is the same."""
    life = Life([AGENT])
    done = life.value(
        lambda: subprocess.run("other -v", shell=True, capture_output=True, check=False)
    )
    assert (done.returncode, done.stderr) == (127, b"/bin/sh: 1: other: not found\n")
    assert [kind for _, kind in life.story()] == ["program.missing"]


def test_without_programs_starting_one_is_refused() -> None:
    """As in every world that nobody has put programs into."""
    ending = Life([]).run(starts())
    assert ending.reason == "escape"
    assert ending.detail[0].startswith("subprocess.Popen of 'agent' at ")


def test_starting_without_end_ends_the_run() -> None:
    """Nothing waits, so only the facts could tell."""
    life = Life([agent({"id": "gone", "then": {"missing": True}})], limits=Limits(events_max=500))

    def subject() -> None:
        while True:
            try:
                subprocess.run(["agent"], check=False)
            except FileNotFoundError:
                continue

    assert life.run(subject).reason == "event_limit"
