"""`faultclock record`, from the command line, with real clients and a provider on a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import vcr
import yaml
from click.testing import Result

from faultclock.cli.import_ import dialect_or_none
from faultclock.cli.record import _slug
from faultclock.load.scenario import checked_scenario
from faultclock.load.yaml_file import parse_document
from faultclock.model.trace.trace import Trace
from faultclock.recordings.importing import import_recording
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.cli.command_line import faultclock
from tests.live.recorded import CHUNK_MS, KEY, PERSON, PROGRAM, THINK_MS, python, served

MS = 1_000_000
#: Exchanges that are streams, and by which client.
_STREAMS = {"streamed": "httpx2", "asked": "aiohttp", "plain": "http.client"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What came of one recording of all clients."""

    folder: Path
    result: Result
    told: dict[str, dict[str, Any]]
    tape: dict[str, Any]
    report: dict[str, Any]

    @property
    def cassette(self) -> Path:
        """The file that vcrpy reads."""
        return self.folder / "clients.cassette"

    @property
    def scenario(self) -> Path:
        """The file that we read."""
        return self.folder / "clients.yaml"

    def of(self, task: str) -> list[dict[str, Any]]:
        """Return the exchanges of one task, in their order."""
        found = [*self.tape["interactions"], *self.tape["faultclock"]["without_response"]]
        mine = [item for item in found if f"/call/{task}-1/" in item["request"]["uri"]]
        return sorted(mine, key=lambda item: item["recorded"]["started_ns"])


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """One recording of every client, which takes a few seconds, because the clients are large."""
    folder = tmp_path_factory.mktemp("recorded")
    out = folder / "out"
    words = ("-o", str(out), "--name", "clients", "--dialect", "openai-chat")
    with served() as provider, pytest.MonkeyPatch.context() as patch:
        for name, value in {**provider.variables, "EXIT_CODE": "7"}.items():
            patch.setenv(name, value)
        printed = folder / "printed"
        program = f"import sys; sys.stdout = open({str(printed)!r}, 'w')\n{PROGRAM}"
        report = str(out / "report.json")
        result = faultclock("record", *words, "--json", report, "--", *python(folder, program))
        assert result.exit_code == 0, result.output
        lines = [json.loads(line) for line in printed.read_text("utf-8").splitlines()]
        yield Recorded(
            folder=out,
            result=result,
            told={line["task"]: line for line in lines},
            tape=yaml.safe_load((out / "clients.cassette").read_text("utf-8")),
            report=json.loads((out / "report.json").read_text("utf-8")),
        )


def test_every_exchange_of_every_client_and_child_is_there(clients: Recorded) -> None:
    """Also those that no answer came to, which vcrpy alone would not have told."""
    assert {task: len(clients.of(task)) for task in ("limited", "streamed", "asked", "plain")} == {
        "limited": 2,
        "streamed": 1,
        "asked": 1,
        "plain": 1,
    }
    assert {task: len(clients.of(task)) for task in ("raw", "child", "cut", "reset")} == {
        "raw": 1,
        "child": 1,
        "cut": 1,
        "reset": 1,
    }
    assert clients.report["exchanges"] == 13
    assert clients.report["without_response"] == 5
    assert clients.report["processes"] == 2
    failures = [
        item["recorded"]["failure"] for item in clients.tape["faultclock"]["without_response"]
    ]
    assert failures == ["reset", *["connect_refused"] * 4]


def test_a_request_that_could_not_be_sent_is_there_in_full(clients: Recorded) -> None:
    """Its body tells which call it is an attempt of; over https it was never even begun."""
    without = clients.tape["faultclock"]["without_response"]
    unheard = [item["request"] for item in without if "/unheard/" in item["request"]["uri"]]
    assert [request["uri"].partition(":")[0] for request in unheard] == ["http", "https"]
    for request in unheard:
        assert json.loads(request["body"])["model"] == "gpt-4o-mini"
        assert request["headers"]["authorization"] == ["Bearer key_scrubbed1"]


def test_what_the_program_did_is_told_and_is_not_our_exit_code(clients: Recorded) -> None:
    """A recording of a program that failed is a good recording."""
    assert "exited with 7" in clients.result.stderr
    assert clients.report["program"]["exit_code"] == 7
    assert clients.result.stdout == ""


@pytest.mark.parametrize("task", _STREAMS)
def test_each_piece_of_a_stream_has_its_instant(clients: Recorded, task: str) -> None:
    """The instants grow, and no piece came before the provider sent it, in all three families."""
    (item,) = clients.of(task)
    told = item["recorded"]
    assert told["client"] == _STREAMS[task]
    instants = [at_ns for at_ns, _ in told["chunks"]]
    # "Hello from the provider that is recorded." is eight pieces, one opens and one ends them; on a
    # busy machine, two of them may arrive together.
    assert 5 <= len(instants) <= 10
    assert instants == sorted(set(instants))
    assert sum(size for _, size in told["chunks"]) > 2_000
    sent_ns = told["started_ns"] + (THINK_MS - 1) * MS
    assert sent_ns <= told["head_ns"] <= instants[0]
    for number, at_ns in enumerate(instants):
        assert at_ns >= sent_ns + number * CHUNK_MS * MS
    assert told["ended_ns"] >= instants[-1] >= sent_ns + 9 * CHUNK_MS * MS


@pytest.mark.parametrize("task", _STREAMS)
def test_a_stream_stays_one_for_the_program(clients: Recorded, task: str) -> None:
    """Where vcrpy would have read it to its end first, the pieces come as they were sent."""
    assert clients.told[task]["took_s"] >= 2 * CHUNK_MS / 1_000


def test_the_clients_got_what_they_get_without_a_recorder(clients: Recorded) -> None:
    """Answers, errors and their classes are those of the real thing."""
    hello = "Hello from the provider that is recorded."
    assert [clients.told[task]["text"] for task in ("limited", "streamed", "raw")] == [hello] * 3
    assert clients.told["asked"]["text"].endswith("data: [DONE]\n\n")
    assert clients.told["plain"]["text"].endswith("data: [DONE]\n\n")
    broken = {task: clients.told[task]["error"] for task in ("reset", "cut", "refused")}
    assert set(broken.values()) == {"APIConnectionError"}


def test_nothing_secret_is_written(clients: Recorded) -> None:
    """Neither the key nor what a prompt says, in no file; and nothing else was left behind."""
    files = sorted(path for path in clients.folder.rglob("*") if path.is_file())
    assert [path.name for path in files] == ["clients.cassette", "clients.yaml", "report.json"]
    for path in files:
        text = path.read_text("utf-8")
        assert KEY not in text
        assert PERSON not in text
        assert "Hello from" not in text


def test_vcrpy_replays_the_cassette_through_real_clients(clients: Recorded) -> None:
    """It looks at nothing that we add, and serves each recorded answer again."""
    uri = {task: clients.of(task)[0]["request"]["uri"] for task in ("limited", "raw", "streamed")}
    asked = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Anything"}]}
    recorder = vcr.VCR(record_mode="none")
    with recorder.use_cassette(str(clients.cassette), match_on=["method", "path"]) as cassette:
        assert len(cassette) == 8
        assert httpx2.post(uri["raw"], json=asked).json()["choices"][0]["finish_reason"] == "stop"
        # No wait between the two: the recorded Retry-After is a tenth of a second.
        for task, stream in (("limited", False), ("streamed", True)):
            base_url = uri[task].removesuffix("/chat/completions")
            client = openai.OpenAI(api_key="none", base_url=base_url)
            answer: Any = client.chat.completions.create(**asked, stream=stream)  # type: ignore[call-overload]
            last = list(answer)[-1] if stream else answer
            assert last.choices[0].finish_reason == "stop"
        assert cassette.play_count == 4


def test_the_scenario_comes_out_as_it_went_in(clients: Recorded) -> None:
    """The same client under simulation makes the same attempts and comes to the same end."""
    scenario = checked_scenario(parse_document(clients.scenario.read_bytes(), "clients.yaml"))
    # The one that nobody heard was made over http and over https.
    assert len(scenario.tasks) == len({*clients.told, "child"}) + 1 == 11
    trace = run_one(scenario, prepare("openai-async"), 0, isolate=False)
    attempts = _attempts(trace)
    limited = [item["response"]["status"]["code"] for item in clients.of("limited")]
    assert attempts["call-1/1"] == limited == [429, 200]
    for number in range(2, 7):
        assert attempts[f"call-{number}/1"] == [200]
    returned = {event.payload["call"] for event in trace.of_kind("call.returned")}
    raised = {
        event.payload["call"]: event.payload["chain"][0]["type"]
        for event in trace.of_kind("call.raised")
    }
    assert returned == {f"call-{number}/1" for number in range(1, 7)}
    # The recorded clients gave up sooner than this one does by default; what they met is the same.
    assert attempts["call-7/1"] == [None] * 3
    assert set(raised) == {f"call-{number}/1" for number in range(7, 12)}
    assert set(raised.values()) <= {"APIConnectionError", "openai.APIConnectionError"}


def test_the_scenario_has_the_recorded_pace(clients: Recorded) -> None:
    """Its figures are the medians of what was measured, not those of Date headers."""
    scenario = checked_scenario(parse_document(clients.scenario.read_bytes(), "clients.yaml"))
    provider = scenario.provider
    assert THINK_MS - 2 <= provider.think_time / MS <= THINK_MS + 60
    assert CHUNK_MS - 1 <= provider.chunk_interval / MS <= CHUNK_MS + 20
    starts = [task.at for task in scenario.tasks]
    assert starts == sorted(starts)
    assert starts[1] >= 100 * MS


def test_importing_the_cassette_gives_the_same_scenario(clients: Recorded) -> None:
    """The cassette alone is enough: nothing is known that does not stand in it."""
    again = import_recording(
        clients.cassette.read_bytes(),
        str(clients.cassette),
        family="recorded",
        dialects=dialect_or_none,
        # What is recorded is named by its program; what is imported, by its digest as well.
        slug=clients.scenario.stem,
    )
    (written,) = again.scenarios
    assert written.text == clients.scenario.read_text("utf-8")


def test_files_that_are_there_are_refused_before_the_program_runs(clients: Recorded) -> None:
    """A program may do what cannot be done twice."""
    mark = clients.folder.parent / "has-run"
    program = python(clients.folder.parent, f"open({str(mark)!r}, 'w')", "clients.py")
    before = clients.scenario.read_bytes()
    result = faultclock("record", "-o", str(clients.folder), "--", *program)
    assert result.exit_code == 2
    assert "there already" in result.stderr
    assert not mark.exists()
    assert clients.scenario.read_bytes() == before


# ---------------------------------------------------------------------- without any provider


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("python agent.py --x", "agent"),
        ("/usr/bin/python3.11 -X dev -W error -u some/My_Agent.py", "my-agent"),
        ("python -m package.module run", "package"),
        ("python -c pass", "python"),
        ("python", "python"),
        ("/usr/bin/pytest tests", "pytest"),
    ],
)
def test_files_are_named_after_the_program(program: str, name: str) -> None:
    """After the script or module, and not after Python."""
    assert _slug(None, tuple(program.split())) == name


def test_what_is_no_python_is_told(tmp_path: Path) -> None:
    """Nothing is written, and the way that works for it is named."""
    result = faultclock("record", "--", "true")
    assert result.exit_code == 2
    assert "no Python program" in result.stderr
    assert "faultclock serve" in result.stderr
    assert not list(tmp_path.rglob("*.cassette"))


def test_a_program_that_asks_nobody_is_told(tmp_path: Path) -> None:
    """Python it was, and there was nothing to record."""
    result = faultclock("record", "--", *python(tmp_path, "import json"))
    assert result.exit_code == 2
    assert "made no request" in result.stderr


def test_a_program_that_is_not_there_is_told() -> None:
    """As by any shell."""
    result = faultclock("record", "--", "no-such-program-anywhere")
    assert result.exit_code == 2
    assert "cannot be started" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", "Not A Name"), "--name not-a-name"),
        (("--dialect", "no-such-api"), "no-such-api"),
        (("-o", "scenarios/Not Good"), "ids of scenarios"),
    ],
)
def test_wrong_words_are_told_before_the_program_runs(words: tuple[str, ...], said: str) -> None:
    """With what would be right."""
    result = faultclock("record", *words, "--", "no-such-program-anywhere")
    assert result.exit_code == 2
    assert said in result.stderr


#: Asks, has a child that dies in the middle of its second request, and interrupts the recorder.
_KILLED = """
import json, os, signal, socket, subprocess, sys, threading, time, urllib.request
url = os.environ["URL"]
head = {"content-type": "application/json", "authorization": "Bearer k-1"}
data = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
def ask(url):
    urllib.request.urlopen(urllib.request.Request(url, data, head)).read()
ask(url)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"])
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(30)
silent = socket.create_server(("127.0.0.1", 0))
slow = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/chat/completions"
threading.Thread(target=lambda: (silent.accept(), os.kill(os.getpid(), 9))).start()
ask(slow)
"""


def test_what_was_over_survives_kill_and_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that is killed loses its open request; an interrupted recording is written."""
    with served() as provider:
        monkeypatch.setenv("URL", f"{provider.by_call['raw/1']}/chat/completions")
        result = faultclock("record", "-o", "out", "--", *python(tmp_path, _KILLED))
    assert result.exit_code == 130, result.output
    assert "interrupted" in result.stderr
    tape = yaml.safe_load((tmp_path / "out" / "program.cassette").read_text("utf-8"))
    assert len(tape["interactions"]) == 2
    keys = {item["request"]["headers"]["Authorization"][0] for item in tape["interactions"]}
    assert keys == {"key_scrubbed1"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "program.cassette",
        "program.yaml",
    ]


def test_a_python_without_vcrpy_is_told_and_other_start_code_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program runs to its end as if nobody had wanted to record it."""
    hidden = tmp_path / "hidden"
    (hidden / "vcr").mkdir(parents=True)
    raising = "raise ModuleNotFoundError(\"No module named 'vcr'\", name='vcr')\n"
    (hidden / "vcr" / "__init__.py").write_text(raising, encoding="utf-8")
    (hidden / "sitecustomize.py").write_text("import builtins; builtins.before = 1\n", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(hidden))
    done = tmp_path / "done"
    program = f"""
import sys, urllib.request
open({str(done)!r}, "w").write(str(before) + str([p for p in sys.path if "record" in p]))
"""
    result = faultclock("record", "--", *python(tmp_path, program))
    assert result.exit_code == 2
    assert "no vcrpy" in result.stderr
    assert "pip install" in result.stderr
    assert done.read_text("utf-8") == "1[]"


def test_the_program_keeps_its_own_streams(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What it prints goes where it would have gone, and what we say goes to standard error."""
    program = "import sys; print('its output'); print('its error', file=sys.stderr); sys.exit(3)"
    result = faultclock("record", "--", *python(tmp_path, program))
    assert result.exit_code == 2
    said = capfd.readouterr()
    assert (said.out, said.err) == ("its output\n", "its error\n")
    assert "exited with 3" in result.stderr


def _attempts(trace: Trace) -> dict[str, list[int | None]]:
    """Return the status of each attempt of each call; None where no answer came."""
    statuses: dict[str, list[str]] = {}
    answers = {
        event.payload["exchange"]: event.payload["status"]
        for event in trace.of_kind("http.response")
    }
    for event in trace.of_kind("http.request"):
        statuses.setdefault(event.payload["call"], []).append(event.payload["exchange"])
    return {call: [answers.get(one) for one in ids] for call, ids in statuses.items()}
