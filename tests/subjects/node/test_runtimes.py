"""Runtimes of one's own in Node: what they are given, how they are judged, and what each breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import SubjectError
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from faultclock.run.prepare import prepare
from faultclock.run.replay import replay
from faultclock.subjects.adopt import adopt
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import load_subject
from tests.node.modules import CLIENTS, folder_with, needs_node, needs_packages
from tests.subjects.frameworks.agents import (
    ELSEWHERE,
    agent,
    bytes_are_equal,
    kinds,
    played,
    played_by,
)

pytestmark = needs_node
#: Its module, and that of those which are wrong.
RIGHT, MODULES = "Runtime", ("runtime", "wrong-runtimes")
#: Situations in which the runtime that is right holds all that `common` demands.
HELD = (
    "approvals/answered-twice",
    "approvals/cancel-while-open",
    "approvals/crash-while-open",
    "approvals/unanswered-is-denied-after-two-minutes",
    "cancellation/during-backoff",
    "cancellation/mid-stream",
    "cancellation/one-tool-of-two",
    "common/agents/one-of-two-acts-and-fails",
    "common/agents/killed-between-two-effects",
    "resume-drift/effect-is-not-repeated",
    "session-store/unavailable-twice",
    "tools/hangs-for-ever",
    "tools/one-of-three-fails",
    "shared/tool-unknown",
)
#: A runtime that is wrong, where that shows, and the requirement that it breaks.
MISTAKES = (
    ("Unasked", "shared/approval-denied", "COMMON-CONSENT-01"),
    ("Acting", "shared/approval-denied", "COMMON-CONSENT-01"),
    ("Unchecked", "tools/arguments-do-not-fit", "COMMON-INPUT-01"),
    ("Boasting", "tools/not-found-is-told", "COMMON-RESULT-03"),
    ("Unpaired", "resume-drift/effect-is-not-repeated", "COMMON-RESULT-02"),
    ("Fragile", "shared/tool-throws", "COMMON-RESULT-05"),
    ("Leaking", "tools/exception-with-a-path-and-a-key", "COMMON-SECRET-02"),
    ("Patient", "tools/hangs-for-ever", "COMMON-END-03"),
    ("Repeating", "resume-drift/effect-is-not-repeated", "COMMON-EFFECT-02"),
    ("Forgetful", "resume-drift/closed-session-is-resumed", "COMMON-STORED-01"),
    ("Unsaved", "resume-drift/closed-session-is-resumed", "COMMON-STORED-02"),
    ("Deaf", "shared/cancelled-in-a-tool", "COMMON-CANCEL-02"),
    ("Unaudited", "audit/decisions-before-acts", "STUD-APPR-04"),
    ("Belated", "audit/decisions-before-acts", "STUD-APPR-04"),
)


@pytest.fixture(scope="module", autouse=True)
def _modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the runtimes of `tests/node` beside the npm packages, each prepared and played once."""
    texts = {name: (CLIENTS / f"{name}.mjs").read_text("utf-8") for name in MODULES}
    folder = folder_with(tmp_path_factory.mktemp("runtimes"), **texts)
    right, wrong = (f"{folder / name}.mjs" for name in MODULES)
    ELSEWHERE[RIGHT] = f"{right}#{RIGHT}"
    ELSEWHERE.update({name: f"{wrong}#{name}" for name, _, _ in MISTAKES})
    yield
    # Each has a process that is started ahead.
    agent.cache_clear()
    played.cache_clear()


def broken(trace: Trace, model: str = "common") -> set[str | None]:
    """Return the requirements that a run breaks."""
    found = judge(load_error_model(model), trace).findings
    return {item.requirement for item in found if item.verdict in (Verdict.FAIL, Verdict.WARN)}


def made(tmp_path: Path, text: str, name: str = "make") -> Binding:
    """Return a runtime that a module has."""
    return prepare(f"{folder_with(tmp_path, app=text) / 'app.mjs'}#{name}@openai-chat")


# ---------------------------------------------------------------------- judged like Python's


@needs_packages
@pytest.mark.parametrize("scenario", HELD)
def test_a_runtime_that_is_right_holds(scenario: str) -> None:
    """As the reference of Python does, of which the same is demanded."""
    trace = played(RIGHT, scenario)
    assert trace.footer.ending == "completed"
    reference = played_by(load_subject("reference-runtime"), scenario)
    for one in (trace, reference):
        verdicts = {it.verdict for it in judge(load_error_model("common"), one).findings}
        assert verdicts <= {Verdict.PASS, Verdict.NOT_APPLICABLE}
        assert Verdict.PASS in verdicts


@needs_packages
@pytest.mark.parametrize(("name", "scenario", "requirement"), MISTAKES, ids=lambda it: str(it))
def test_each_mistake_is_found(name: str, scenario: str, requirement: str) -> None:
    """And the runtime without it breaks no such thing."""
    model = "stud-cli" if requirement.startswith("STUD") else "common"
    assert requirement in broken(played(name, scenario), model)
    assert requirement not in broken(played(RIGHT, scenario), model)


@needs_packages
def test_a_late_answer_is_refused_by_the_runtime() -> None:
    """What its callback throws reaches the person, with class and code."""
    trace = played(RIGHT, "approvals/answered-twice")
    first, second = (event.payload for event in trace.of_kind("interaction.answered"))
    assert first["accepted"]
    assert (second["accepted"], second["class"], second["code"]) == (
        False,
        "Session",
        "InteractionAlreadyAnswered",
    )


@needs_packages
def test_what_follows_an_answer_comes_after_it() -> None:
    """The answer of the person is a fact before what the runtime says and does about it."""
    trace = played(RIGHT, "approvals/timer-starts-with-the-execution")
    wanted = ("interaction.answered", "declared.audit_event", "tool.called")
    audited = ["declared.audit_event"] * 2
    assert kinds(trace, *wanted) == ["interaction.answered", *audited, "tool.called"]


@needs_packages
def test_fresh_processes_leave_equal_traces() -> None:
    """Over crashes, a resume and a stream that is cancelled."""
    bytes_are_equal(
        RIGHT, "approvals/crash-while-open", "cancellation/mid-stream", "resume-drift/no-snapshot"
    )


@needs_packages
def test_a_run_is_replayed_from_its_trace() -> None:
    """Byte for byte, over two lives."""
    assert replay(played(RIGHT, "approvals/crash-while-open"), agent(RIGHT)).identical


# ---------------------------------------------------------------------- what it is given

TOLD = """
export const make = surroundings => ({
  async runTurn(text) {
    const { tools: [tool], store, host, ...rest } = surroundings;
    const does = [tool, store, host].map(it => Object.keys(it).sort());
    return JSON.stringify({ ...rest, tool, does });
  },
});
"""


def test_the_surroundings_have_the_spelling_of_javascript(tmp_path: Path) -> None:
    """Seconds are milliseconds, names are in camel case, and ports have functions."""
    trace = played_by(made(tmp_path, TOLD), "approvals/shorter-deadline-by-configuration")
    said: dict[str, Any] = json.loads(list(trace.of_kind("call.returned"))[-1].payload["text"])
    assert (said["timeoutMs"], said["deadlinesMs"]) == (30_000, {"Approve": 10_000})
    assert (said["mode"], said["resume"], said["policy"]) == ("ask", False, None)
    assert said["limits"]["wallTimeMs"] is None
    assert said["tool"]["gated"] is True
    tool, store, host = said["does"]
    assert {"execute", "inputSchema", "timeoutMs"} <= set(tool)
    assert {"append", "read", "readJournal", "write", "writeSlot"} <= set(store)
    assert {"audit", "auditEvent", "event", "showUser", "tellModel"} <= set(host)
    assert "folder" not in said


SAID = """
export function make({ host }) {}
export class Agent {
  constructor(surroundings) { this.world = surroundings; }
  runTurn(text) {
    const { host } = this.world;
    host.audit({ errorClass: 'A', code: 'B', context: { n: 1n, m: 3 }, attempt: 2 });
    host.event('Begun', { errorClass: 'kept', n: 1 });
    host.showOperator('Look', { actions: ['retry'] });
    host.showOperator('Look', { actions: 3 });
    host.delivered('par');
    host.event();
    return { text: 'done', state: 'degraded', errorClass: 'A', code: 'B', finishReason: 'length' };
  }
}
"""


def test_what_it_says_of_itself_is_declared_in_order(tmp_path: Path) -> None:
    """Options come last, in an object; what cannot be understood says nothing."""
    trace = played_by(made(tmp_path, SAID, "Agent"), "shared/good-turn")
    audit, begun, look, piece, nothing = (
        event.payload for event in trace.events if event.kind.startswith("declared.")
    )
    record = {"class": "A", "code": "B", "context": "Object", "attempt": 2}
    assert audit["record"] == record
    assert (begun["name"], begun["fields"]) == ("Begun", {"errorClass": "kept", "n": 1})
    assert (look["message"], look["actions"], look["pill"]) == ("Look", ["retry"], None)
    assert piece["chars"] == 3
    assert nothing["name"] is None
    result = list(trace.of_kind("call.returned"))[-1].payload["result"]
    assert (result["state"], result["class"], result["code"]) == ("degraded", "A", "B")


REFUSED = """
export const make = surroundings => ({
  async runTurn(text) {
    const { store, interactors: [screen] } = surroundings;
    const said = [];
    const noted = act => act.catch(error => said.push(error.message));
    await noted(store.write('s', 'no object'));
    await noted(screen.show({ kind: 'Approve' }));
    return said.join('; ');
  },
});
"""


def test_what_a_port_refuses_is_an_error_at_its_line(tmp_path: Path) -> None:
    """Such as a question without an id, in the spelling that was used."""
    trace = played_by(made(tmp_path, REFUSED), "shared/approval-denied")
    said = list(trace.of_kind("call.returned"))[-1].payload["text"]
    assert said == (
        "the manifest must be a mapping, not a str; "
        "InteractionRequest: there is no id and no prompt and no deadlineMs"
    )


ASKED = """
export const make = surroundings => ({
  runTurn: async text => text,
  ask: async (kind, prompt, options, deadlineMs) =>
    ({ status: 'rejected', reason: [kind, options.join(), deadlineMs].join(' ') }),
});
"""


def test_a_question_of_an_extension_is_asked_by_the_runtime(tmp_path: Path) -> None:
    """It is asked with milliseconds, and its answer is one of the port."""
    trace = played_by(made(tmp_path, ASKED), "approvals/choice-among-three")
    answers = [
        it.payload["answer"] for it in trace.of_kind("call.returned") if "answer" in it.payload
    ]
    assert answers[0]["status"] == "rejected"
    assert answers[0]["reason"].startswith("Select ")


def test_a_runtime_without_a_turn_cannot_start(tmp_path: Path) -> None:
    """It is an outcome of its start, in words that say what is missing."""
    trace = played_by(
        made(tmp_path, "export const make = surroundings => ({});"), "shared/good-turn"
    )
    (link, *_) = next(trace.of_kind("call.raised")).payload["chain"]
    assert link["message"] == "it makes no object with runTurn(text)"


# ---------------------------------------------------------------------- what it is taken for


@pytest.mark.parametrize(
    "text",
    [
        "export class Agent { constructor(surroundings) {} runTurn() {} }",
        "class A { constructor(surroundings) {} }; export class Agent extends A { runTurn() {} }",
        "export async function Agent(surroundings) {}",
        "export const Agent = surroundings => null;",
    ],
)
def test_its_one_parameter_shows_a_runtime(tmp_path: Path, text: str) -> None:
    """A function or a class will do; it is the one export that can be asked."""
    found = adopt(str(folder_with(tmp_path, app=text) / "app.mjs"))
    assert (found.binding.role, found.binding.id) == ("runtime", "app:Agent")
    assert "surroundings" in found.taken_for.because
    assert found.taken_for.otherwise == "give that parameter another name"


def test_what_it_declares_is_what_a_decorator_takes(tmp_path: Path) -> None:
    """Its `faultclock` is read; what means nothing is refused with the place."""
    start = "export class Agent { constructor(surroundings) {} static faultclock ="
    file = folder_with(tmp_path, app=f"{start} {{ declares: ['errors'], cancels: false }} }}")
    binding = adopt(str(file / "app.mjs")).binding
    assert (binding.declares, binding.abilities.cancels) == (("errors",), False)
    for said, message in (
        ("{ stream: false }", "@runtime has no option 'stream'"),
        ("{ declares: ['error'] }", "declares has the unknown 'error'"),
        ("3", "its `faultclock` is no object"),
    ):
        folder_with(tmp_path, app=f"{start} {said} }}")
        with pytest.raises(SubjectError, match=message) as caught:
            adopt(str(file / "app.mjs"))
        assert caught.value.message.endswith(f"app.mjs#Agent: {message}")
