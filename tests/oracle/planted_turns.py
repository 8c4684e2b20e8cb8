"""For each check of whole turns: a trace with one wrong behaviour, and one as it should be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultclock.model.trace.trace import Trace
from tests.oracle.trace_builder import sha256
from tests.oracle.turn_builder import TurnBuilder, error, value

BUSY = "ToolTransient/ResourceBusy"
FORBIDDEN = "ToolTerminal/Forbidden"
DENIED = "ToolTerminal/ApprovalDenied"
DOWN = "Session/StoreUnavailable"
CANCELLED = "Cancellation/TurnCancelled"
#: A contract: three executions, 1 s and 2 s apart.
RETRY = {"attempts_max": 3, "backoff": {"kind": "exponential", "base": "1s"}}
RETRYING = ({"name": "ls", "retry": RETRY, "timeout": "10s"},)
STAGE = {"id": "a", "retry": {"attempts_max": 2, "backoff": {"kind": "fixed", "base": "3s"}}}
STAGED = {"entry_stage": "a", "stages": [STAGE]}
STORED = {"sessionId": "s1", "storeId": "local", "mode": "ask", "messages": []}
STORED |= {"createdAt": 1, "updatedAt": 1}


def _remembered(arguments: str) -> Trace:
    built = TurnBuilder(declares=("audit",)).turn().wants('c1 rm {"path": "a"}')
    built.shows("r1").after("2s").answers("r1")
    built.audits_event("Approval", decision="approve", source="user", tool_call="c1")
    execution = built.calls("c1", "rm", path="a")
    built.after("1s").replies(execution, "c1", tool="rm")
    built.tells("c1", value()).wants(f"c2 rm {arguments}")
    built.audits_event("Approval", decision="approve", source="cache", tool_call="c2")
    execution = built.calls("c2", "rm", path=arguments[10:11])
    built.after("1s").replies(execution, "c2", tool="rm")
    return built.tells("c2", value()).says().ends().build()


def _answered_twice(refused: str) -> Trace:
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").after("2s").answers("r1")
    built.runs("c1", tool="rm").after("1s").answers("r1", "denied", refused=refused)
    return built.tells("c1", value()).says().ends().build()


def _two_approvals(*order: str) -> Trace:
    built = TurnBuilder().turn().wants("c1 rm", "c2 rm")
    for request in order:
        built.shows(request, request.replace("r", "c")).after("2s")
        built.answers(request, tool_call=request.replace("r", "c"))
    first, second = built.calls("c1", "rm"), built.calls("c2", "rm")
    built.after("1s").replies(first, "c1", tool="rm")
    built.replies(second, "c2", tool="rm")
    return built.tells("c1", value()).tells("c2", value()).says().ends().build()


def _unanswered(ends_after: str) -> Trace:
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").after(ends_after).dismisses("r1")
    return built.tells("c1", error(DENIED, reason="timeout")).says().ends().build()


def _forgotten(*, told: bool) -> Trace:
    built = TurnBuilder(tasks=({"id": "ask"}, {"id": "next"}), store={"initial": STORED})
    built.turn().wants("c1 ls")
    execution = built.calls("c1")
    built.happens(execution, "c1")
    built.replies(execution, "c1")
    built.crashes().opens(resume=True)
    if told:
        built.tells("c1", value())
    else:
        built.messages.clear()
    built.begins("next/1", prompt="Go on.").wants("c2 ls")
    execution = built.calls("c2")
    built.happens(execution, "c2")
    built.replies(execution, "c2")
    return built.tells("c2", value()).says().stores().ends().build()


def _redone(tools: tuple[dict[str, Any], ...], *waits: str, pair: str = BUSY) -> Trace:
    """Let a tool fail once before each wait, and be good at last."""
    built = TurnBuilder(tools=tools).turn().wants("c1 ls")
    for wait in waits:
        built.runs("c1", pair).after(wait)
    return built.runs("c1").tells("c1", value()).says().ends().build()


def _used_up(*waits: str) -> Trace:
    built = TurnBuilder(tools=RETRYING).turn().wants("c1 ls").runs("c1", BUSY)
    for wait in waits:
        built.after(wait).runs("c1", BUSY)
    return built.tells("c1", error(BUSY)).says().ends().build()


def _given_up(after: str) -> Trace:
    built = TurnBuilder(tools=({"name": "ls", "timeout": "10s"},)).turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after(after).stops(execution, "c1")
    return built.tells("c1", error("ToolTransient/ExecutionTimeout")).says().ends().build()


def _two_tools(*, side_by_side: bool) -> Trace:
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    if side_by_side:
        first, second = built.calls("c1"), built.calls("c2")
        built.after("1s").replies(first, "c1")
        built.replies(second, "c2")
    else:
        built.runs("c1", takes="1s").runs("c2", takes="1s")
    return built.tells("c1", value()).tells("c2", value()).says().ends().build()


def _shaped(*, executed: bool) -> Trace:
    schema = {"type": "object", "required": ["path"]}
    built = TurnBuilder(tools=({"name": "ls", "input_schema": schema},)).turn().wants("c1 ls {}")
    if executed:
        built.runs("c1").tells("c1", value())
    else:
        built.tells("c1", error("ToolTerminal/InputInvalid"))
    return built.says().ends().build()


def _results(*order: str) -> Trace:
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    first, second = built.calls("c1"), built.calls("c2")
    built.after("1s").replies(first, "c1")
    built.replies(second, "c2")
    for tool_call in order:
        built.tells(tool_call, value())
    return built.says().ends().build()


def _told(content: str, pair: str | None = FORBIDDEN) -> Trace:
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", pair)
    return built.tells("c1", content).says().ends().build()


def _extensions(*chain: str) -> Trace:
    extensions = [{"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}]
    built = TurnBuilder(session={"extensions": extensions}).opens(*chain)
    built.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
    return built.build()


def _failing_extension(pair: str) -> Trace:
    extension = {"id": "a", "fails_in": ["init"]}
    built = TurnBuilder(declares=("audit",), session={"extensions": [extension]})
    built.event("harness", "process.started", resume=False, call=None)
    built.begins("start/1", "start")
    built.event(
        "extension",
        "extension.phase",
        extension="a",
        phase="init",
        ok=False,
        how="failed",
        call="start/1",
    )
    return built.audits(pair, 1).ends().begins("ask/1").says().ends().build()


def _resumed(*chain: str) -> Trace:
    stored = {**STORED, "storeId": "elsewhere"}
    built = TurnBuilder(session={"resume": True}, store={"initial": stored})
    built.event("harness", "process.started", resume=True, call=None)
    built.begins("start/1", "start").stores("read").ends(*chain)
    if chain:
        built.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
        return built.build()
    return built.begins("ask/1").says().stores().ends().build()


def _remembers(*, history: bool) -> Trace:
    built = TurnBuilder(tasks=({"id": "ask"}, {"id": "again", "do": "restart"}, {"id": "next"}))
    built.turn().says().stores().ends().begins("again/1", "restart").ends()
    built.life = 2
    built.event("harness", "process.started", resume=True, call=None)
    built.begins("start/2", "start").stores("read").ends()
    if not history:
        built.messages.clear()
    return (
        built.begins("next/1", prompt="And now?")
        .says("Hello again.")
        .stores()
        .ends(text="Hello again.")
        .build()
    )


def _store_fails(*waits: str, chain: tuple[str, ...] = (DOWN,)) -> Trace:
    built = TurnBuilder().turn().says().stores("write", DOWN)
    for wait in waits:
        built.after(wait).stores("write", DOWN)
    return built.ends(*chain).build()


def _store_recovers(wait: str) -> Trace:
    built = TurnBuilder().turn().says().stores("write", DOWN)
    return built.after(wait).stores("write").ends().build()


def _stages(attempts: int, wait: str = "3s") -> Trace:
    built = TurnBuilder(session=STAGED).turn()
    for attempt in range(1, attempts + 1):
        built.staged("check_gate", "proceed", attempt).says()
        built.staged("assess", "retry", attempt)
        built.after(wait if attempt < attempts else "0s")
        del built.messages[1:]
    built.staged("next", "abort-workflow", attempts)
    return built.ends("ExtensionHost/StageFailed").build()


def _left(*, follows: bool) -> Trace:
    session = {"entry_stage": "a", "stages": [{"id": "a", "next": "b"}, {"id": "b"}]}
    built = TurnBuilder(session=session).turn().staged("check_gate", "proceed").says()
    built.staged("assess", "ok").staged("next", "stage b")
    if follows:
        built.staged("check_gate", "proceed", stage="b").says()
        built.staged("assess", "ok", stage="b").staged("next", "end", stage="b")
    return built.ends().build()


def _cancelled(*chain: str) -> Trace:
    cancel = {"id": "stop", "when": {"at": "1s"}, "scope": "turn"}
    built = TurnBuilder(cancels=[cancel]).turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after("1s").cancels("turn").stops(execution, "c1")
    return built.ends(*chain).build()


def _cancel_audited(*pairs: str) -> Trace:
    cancel = {"id": "stop", "when": {"at": "1s"}, "scope": "turn"}
    built = TurnBuilder(declares=("audit",), cancels=[cancel]).turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after("1s").cancels("turn").stops(execution, "c1")
    built.audits_event("Cancellation", scope="turn", code="TurnCancelled")
    for pair in pairs:
        built.audits(pair)
    return built.ends(CANCELLED).build()


def _bounded(*chain: str) -> Trace:
    built = TurnBuilder(session={"budgets": {"steps_max": 1}}).turn().wants("c1 ls")
    return built.runs("c1").ends(*chain).build()


def _tool_audited(attempt: int | None) -> Trace:
    built = TurnBuilder(declares=("audit",)).turn().wants("c1 ls").runs("c1", FORBIDDEN)
    return built.audits(FORBIDDEN, attempt).tells("c1", error(FORBIDDEN)).says().ends().build()


def _exchange_audited(*, audited: bool) -> Trace:
    built = TurnBuilder(declares=("audit",)).turn().wants("c1 rm").shows("r1").after("2s")
    built.answers("r1", "denied")
    if audited:
        built.audits_event("InteractionExchange", request="r1", status="rejected")
    return built.tells("c1", error(DENIED, reason="no")).says().ends().build()


def _asked_for(path: str) -> Trace:
    built = TurnBuilder().turn().wants('c1 ls {"path": "a"}')
    execution = built.calls("c1", path=path)
    built.after("1s").replies(execution, "c1")
    return built.tells("c1", value()).says().ends().build()


def _after_a_failure(*, goes_on: bool) -> Trace:
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", FORBIDDEN)
    if not goes_on:
        return built.ends(FORBIDDEN).build()
    return built.tells("c1", error(FORBIDDEN)).says().ends().build()


def _two_turns(*, apart: bool) -> Trace:
    tasks = ({"id": "ask"}, {"id": "next", "waits": False})
    built = TurnBuilder(tasks=tasks).turn()
    built.begins("next/1", prompt="And this?")
    built.messages.pop()
    built.call = "ask/1"
    built.wants("c1 ls").runs("c1").tells("c1", value())
    if apart:
        built.says().ends()
    later, mine = "next/1", list(built.messages)
    if not apart:
        built.messages.clear()
    built.call = later
    built.messages.append({"role": "user", "content_sha256": sha256("And this?")})
    built.says("Hello, too.").ends(text="Hello, too.")
    if not apart:
        built.call, built.messages = "ask/1", mine
        built.says().ends()
    return built.build()


def _two_turns_in_a_row(*, forgets: bool) -> Trace:
    built = TurnBuilder(tasks=({"id": "ask"}, {"id": "next"})).turn().says().ends()
    if forgets:
        built.messages.clear()
    return (
        built.begins("next/1", prompt="And now?")
        .says("Hello again.")
        .ends(text="Hello again.")
        .build()
    )


def _saved(*, first: bool) -> Trace:
    built = TurnBuilder(store={}).turn().says()
    return (built.stores().ends() if first else built.ends().stores()).build()


def _walks(*, lets_go: bool) -> Trace:
    built = TurnBuilder(session={"extensions": [{"id": "a"}]})
    built.event("harness", "process.started", resume=False, call=None)
    built.begins("start/1", "start").phase("a", "init", "activate").ends()
    built.begins("ask/1").says().ends().begins("close/1", "close")
    return built.phase("a", *(("deactivate", "dispose") if lets_go else ())).ends().build()


def _slot(version: int | None) -> Trace:
    session = {"resume": True, "extensions": [{"id": "a", "slot_version": 2}]}
    built = TurnBuilder(session=session, store={"initial": STORED, "slots": {"a": {"version": 2}}})
    built.event("harness", "process.started", resume=True, call=None)
    built.begins("start/1", "start").stores("read").phase("a", "init", "activate")
    if version is not None:
        built.event("extension", "extension.slot_delivered", extension="a", version=version)
    return built.ends().begins("ask/1").says().stores().ends().build()


ALREADY = "Session/InteractionAlreadyAnswered"
MISMATCH = "Session/ResumeMismatch"

#: Check id to a trace that fails it, and nothing else, and a trace that passes it.
TURNS: dict[str, tuple[Callable[[], Trace], Callable[[], Trace]]] = {
    "approvals.respected": (
        lambda: _remembered('{"path": "b"}'),
        lambda: _remembered('{"path": "a"}'),
    ),
    "approvals.once": (
        lambda: _answered_twice("Session/TooLate"),
        lambda: _answered_twice(ALREADY),
    ),
    "approvals.order": (
        lambda: _two_approvals("r2", "r1"),
        lambda: _two_approvals("r1", "r2"),
    ),
    "approvals.deadline": (lambda: _unanswered("60s"), lambda: _unanswered("120s")),
    "tools.effects": (lambda: _forgotten(told=False), lambda: _forgotten(told=True)),
    "tools.disposition": (
        lambda: _redone(RETRYING, "1s", pair=FORBIDDEN),
        lambda: _redone(RETRYING, "1s"),
    ),
    "tools.attempts": (lambda: _used_up("1s"), lambda: _used_up("1s", "2s")),
    "tools.wait": (
        lambda: _redone(RETRYING, "1s", "1s"),
        lambda: _redone(RETRYING, "1s", "2s"),
    ),
    "tools.deadline": (lambda: _given_up("9s"), lambda: _given_up("10s")),
    "tools.concurrent": (
        lambda: _two_tools(side_by_side=False),
        lambda: _two_tools(side_by_side=True),
    ),
    "tools.validated": (lambda: _shaped(executed=True), lambda: _shaped(executed=False)),
    "tools.paired": (lambda: _results("c2", "c1"), lambda: _results("c1", "c2")),
    "tools.told": (lambda: _told("it failed"), lambda: _told(error(FORBIDDEN))),
    "tools.asked-for": (lambda: _asked_for("b"), lambda: _asked_for("a")),
    "turns.go-on": (
        lambda: _after_a_failure(goes_on=False),
        lambda: _after_a_failure(goes_on=True),
    ),
    "turns.apart": (lambda: _two_turns(apart=False), lambda: _two_turns(apart=True)),
    "turns.history": (
        lambda: _two_turns_in_a_row(forgets=True),
        lambda: _two_turns_in_a_row(forgets=False),
    ),
    "turns.saved": (lambda: _saved(first=False), lambda: _saved(first=True)),
    "extensions.walked": (lambda: _walks(lets_go=False), lambda: _walks(lets_go=True)),
    "resume.slots": (lambda: _slot(None), lambda: _slot(2)),
    "extensions.resolved": (
        lambda: _extensions("ExtensionHost/LifecycleFailure"),
        lambda: _extensions("ExtensionHost/DependencyCycle"),
    ),
    "extensions.failure": (
        lambda: _failing_extension("ExtensionHost/Unknown"),
        lambda: _failing_extension("ExtensionHost/LifecycleFailure"),
    ),
    "resume.decision": (lambda: _resumed(), lambda: _resumed(MISMATCH)),
    "resume.history": (lambda: _remembers(history=False), lambda: _remembers(history=True)),
    "store.disposition": (lambda: _store_fails(), lambda: _store_fails("2s", "4s")),
    "store.attempts": (lambda: _store_fails("2s"), lambda: _store_fails("2s", "4s")),
    "store.wait": (lambda: _store_recovers("1s"), lambda: _store_recovers("2s")),
    "stages.attempts": (lambda: _stages(3), lambda: _stages(2)),
    "stages.wait": (lambda: _stages(2, "1s"), lambda: _stages(2)),
    "stages.next": (lambda: _left(follows=False), lambda: _left(follows=True)),
    "cancel.outcome": (
        lambda: _cancelled("Cancellation/ToolCancelled"),
        lambda: _cancelled(CANCELLED),
    ),
    "cancel.audited": (
        lambda: _cancel_audited("ExtensionHost/TurnFailed"),
        lambda: _cancel_audited(),
    ),
    "budgets.kept": (lambda: _bounded(), lambda: _bounded("ExtensionHost/LoopBoundExceeded")),
    "audit.attempts": (lambda: _tool_audited(None), lambda: _tool_audited(1)),
    "audit.interactions": (
        lambda: _exchange_audited(audited=False),
        lambda: _exchange_audited(audited=True),
    ),
}
