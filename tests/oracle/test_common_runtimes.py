"""What `common` leaves to a runtime, and what it does not: no class, no code, no order."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.harm import Harm
from tests.oracle.common_model import common, found, verdict
from tests.oracle.trace_builder import link
from tests.oracle.turn_builder import TurnBuilder, value

CANCELS = [{"id": "stop", "when": {"at": "1s"}, "scope": "turn"}]


def cancelled(after: str) -> TurnBuilder:
    """Return a turn whose tool is stopped some time after the turn was cancelled."""
    built = TurnBuilder(cancels=CANCELS).turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after("1s").cancels("turn").after(after).stops(execution, "c1")
    return built


@pytest.mark.parametrize("error", [(), ("Any/Error",)])
def test_a_cancelled_turn_may_end_as_it_likes(error: tuple[str, ...]) -> None:
    """With an error or with what it has, as long as it ends within a second."""
    assert verdict(cancelled("500ms").ends(*error), "cancel.outcome") == "PASS"


def test_a_cancelled_turn_that_ends_late_is_found() -> None:
    """The person has pressed Escape, and waits."""
    finding = found(cancelled("5s").ends(), "cancel.outcome")
    assert (finding.requirement, finding.verdict.value) == ("COMMON-CANCEL-02", "FAIL")


def test_a_cancelled_turn_that_never_ends_is_a_hang() -> None:
    """It is another sentence than one that ends late, and a worse one."""
    finding = found(
        TurnBuilder(cancels=CANCELS).turn().cancels("turn").after("9s"), "cancel.outcome"
    )
    requirement = common().requirement(finding.requirement or "")
    assert (requirement.id, requirement.harm) == ("COMMON-CANCEL-05", Harm.HANG)


def test_what_begins_after_a_cancel_is_found() -> None:
    """The turn had ended in time; what it had planned was still done."""
    built = cancelled("500ms").ends().after("5s")
    built.call = "ask/1"
    built.runs("c2")
    assert found(built, "cancel.outcome").requirement == "COMMON-CANCEL-03"


def test_a_request_after_a_cancel_is_told_as_one() -> None:
    """Not as a tool that has run, and not by the name of an event."""
    built = cancelled("500ms").ends().after("5s")
    built.ask(built.connect("ask/1"), "ask/1")
    finding = found(built, "cancel.outcome")
    assert finding.requirement == "COMMON-CANCEL-04"
    assert finding.observed.startswith("a request to the model was sent 5.5")
    assert finding.observed.endswith("s after the turn was cancelled")


def test_a_sibling_may_be_stopped_with_a_cancelled_tool() -> None:
    """Whether the cancel of one tool ends the others, runtimes differ on."""
    built = TurnBuilder(cancels=CANCELS).turn().wants("c1 ls", "c2 ls")
    first, second = built.calls("c1"), built.calls("c2")
    built.after("1s").cancels("tool", "c1").stops(first, "c1")
    built.stops(second, "c2")
    assert verdict(built.says().ends(), "cancel.outcome") == "PASS"


@pytest.mark.parametrize(
    ("told", "said"),
    [(("c1", "c2"), "PASS"), (("c2", "c1"), "PASS"), (("c1",), "FAIL"), (("c1",) * 2, "FAIL")],
)
def test_each_call_has_one_result_in_any_order(told: tuple[str, ...], said: str) -> None:
    """Providers ask for a result of each call, and for no order."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls").runs("c1").runs("c2")
    for tool_call in told:
        built.tells(tool_call, value())
    assert verdict(built.says().ends(), "tools.paired") == said


@pytest.mark.parametrize(
    ("failure", "said"), [("ToolTerminal/NotFound", "WARN"), (None, "NOT_APPLICABLE")]
)
def test_a_failed_tool_does_not_end_the_turn(failure: str | None, said: str) -> None:
    """A tool that went well and a turn that failed are another matter."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", failure).ends("Any/Error")
    assert verdict(built, "turns.go-on") == said


def test_a_denial_may_end_the_turn() -> None:
    """Some runtimes stop where a person says no, and wait to be told what to do instead."""
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").answers("r1", "denied")
    assert verdict(built.ends("Any/Error"), "turns.go-on") == "NOT_APPLICABLE"


@pytest.mark.parametrize(
    ("saves", "said"), [(True, "PASS"), (False, "NOT_APPLICABLE")], ids=["saves", "in memory"]
)
def test_a_runtime_need_not_save_sessions(saves: bool, said: str) -> None:
    """One that does has to wait for the store."""
    built = TurnBuilder(store={"rules": []}).turn().says()
    if saves:
        built.stores()
    assert verdict(built.ends(), "turns.saved") == said


@pytest.mark.parametrize(("ends", "said"), [("empty", "NOT_APPLICABLE"), (None, "WARN")])
def test_of_an_answer_that_says_nothing_nothing_can_be_lost(ends: str | None, said: str) -> None:
    """A runtime that saved the question only has saved all that there was."""
    built = TurnBuilder(store={"rules": []}).turn().stores().says()
    (ended,) = [event for event in built.events if event.kind == "http.exchange_ended"]
    ended.payload["ends"] = ends  # type: ignore[index]
    assert verdict(built.ends(), "turns.saved") == said


def test_a_turn_that_goes_on_and_on_is_not_said_to_hang() -> None:
    """That no limit was met in the time of a run does not show that there is none."""
    built = TurnBuilder().turn()
    for number in range(3):
        built.wants(f"c{number} ls").runs(f"c{number}")
    seen = found(built, "calls.end", "virtual_time_limit")
    assert (seen.requirement, seen.verdict.value) == ("COMMON-END-04", "WARN")
    assert "the model asked for tools 3 times, and no limit ended the turn in" in seen.observed
    assert "no limit ended the turn" in seen.observed
    assert verdict(built.says().ends(), "calls.end") == "PASS"


@pytest.mark.parametrize(("agents", "said"), [(1, "WARN"), (2, "INCONCLUSIVE")])
def test_of_agents_that_are_tools_each_has_its_own_limit(agents: int, said: str) -> None:
    """Their requests are not those of the turn, whose own limit may be far away."""
    built = TurnBuilder().turn()
    for outer in range(agents):
        built.wants(f"o{outer} ls")
        asked = list(built.messages)
        built.messages[:] = [{"role": "user", "content_sha256": "1" * 64}]
        for inner in range(3):
            call = f"i{outer}{inner}"
            built.wants(f"{call} ls").runs(call).tells(call, value())
        built.messages[:] = asked
        built.tells(f"o{outer}", "Error: it made three turns at most")
    seen = found(built, "calls.end", "virtual_time_limit")
    assert seen.verdict.value == said
    assert ("a limit ended an agent that is a tool" in seen.observed) is (agents > 1)


def test_a_turn_whose_last_request_is_not_answered_waits_for_that() -> None:
    """And not for a model that asks for tools for ever."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1")
    built.ask(built.connect(), "ask/1")
    seen = found(built, "calls.end", "deadlock")
    assert (seen.requirement, seen.verdict.value) == ("COMMON-END-01", "FAIL")
    assert seen.observed.startswith("the call waits for an answer that never comes")


@pytest.mark.parametrize(
    ("kind", "became"),
    [
        ("ToolTerminal/NotFound", "a call of ls failed, and the turn ended with Any/Error"),
        ("", "the model asked for rm_all, which does not exist, and the turn ended with Any/Error"),
    ],
)
def test_what_ended_a_turn_is_said_in_words(kind: str, became: str) -> None:
    """Both are of the same requirement, and mended in two places."""
    built = TurnBuilder().turn()
    built = built.wants("c1 ls").runs("c1", kind) if kind else built.wants("c1 rm_all")
    assert found(built.ends("Any/Error"), "turns.go-on").observed == became


@pytest.mark.parametrize(
    ("kept", "said"), [("here", "FAIL"), ("elsewhere", "FAIL"), ("nowhere", "NOT_APPLICABLE")]
)
def test_a_resumed_session_holds_what_was_said(kept: str, said: str) -> None:
    """One that is read and forgets, in our store or its own; what reads none resumes nothing."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().says().stores().ends()
    built.begins("more/1").crashes()
    del built.messages[1 if kept == "elsewhere" else 0 :]
    built.opens(resume=True).begins("more/2")
    if kept == "here":
        built.stores("read")
    assert verdict(built.says("Anew.").ends(), "resume.history") == said


@pytest.mark.parametrize(
    ("kept", "said"), [("here", "FAIL"), ("elsewhere", "FAIL"), ("nowhere", "PASS")]
)
def test_an_effect_from_before_a_crash_is_not_repeated(kept: str, said: str) -> None:
    """By a runtime that goes on with the session, and forgets what it had done in it."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().stores().wants("c1 ls")
    built.happens(built.calls("c1"), "c1")
    built.crashes()
    del built.messages[1 if kept == "elsewhere" else 0 :]
    built.opens(resume=True).begins("ask/2")
    if kept == "here":
        built.stores("read")
    built.wants("c2 ls")
    execution = built.calls("c2")
    built.happens(execution, "c2")
    built.replies(execution, "c2")
    assert verdict(built.tells("c2", value()).says().ends(), "tools.effects") == said


@pytest.mark.parametrize(
    ("since", "call", "said"),
    [
        ((), "c1", "FAIL"),
        (("denied",), "c1", "FAIL"),
        (("approved",), "c1", "PASS"),
        (("approved",), "c9", "FAIL"),
    ],
    ids=["nobody", "a no", "a yes", "a yes to another call"],
)
def test_what_a_person_has_approved_again_since_the_crash_is_done_again(
    since: tuple[str, ...], call: str, said: str
) -> None:
    """The yes from before the crash was for the first time only."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().wants("c1 rm").stores().shows("r1").answers("r1")
    built.happens(built.calls("c1", "rm"), "c1", "rm")
    built.crashes().opens(resume=True).begins("ask/2").stores("read")
    for answer in since:
        built.shows("r1", call).answers("r1", answer, call)
    built.runs("c1", tool="rm")
    built.happens("t2", "c1", "rm")
    assert verdict(built.tells("c1", value()).says().ends(), "tools.effects") == said


def test_a_yes_that_comes_after_the_repetition_is_none_to_it() -> None:
    """The person is asked since, and the tool does not wait for the answer."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().wants("c1 rm").stores().shows("r1").answers("r1")
    built.happens(built.calls("c1", "rm"), "c1", "rm")
    built.crashes().opens(resume=True).begins("ask/2").stores("read")
    built.shows("r1").runs("c1", tool="rm")
    built.happens("t2", "c1", "rm")
    built.after("1s").answers("r1")
    assert verdict(built.tells("c1", value()).says().ends(), "tools.effects") == "FAIL"


def _resumed(*, sends: bool, earlier: bool = False) -> TurnBuilder:
    """Return a session that is read in a second life, in which an agent declares no history."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().says().stores().ends()
    built.begins("more/1").crashes()
    if not sends:
        subject = built.header.subject.model_copy(update={"lacks": ("no-history",)})
        built.header = built.header.model_copy(update={"subject": subject})
    built.messages.clear()
    built.opens(resume=True).begins("more/2").stores("read")
    if earlier:
        built.messages.insert(0, {"role": "user", "content": "Once more."})
    return built.says("Anew.").ends()


def test_a_guardrail_before_a_resumed_turn_has_no_history_to_lose() -> None:
    """It has other instructions, and sees the new message alone."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().says().stores().ends()
    built.begins("more/1").crashes()
    built.opens(resume=True).begins("more/2").stores("read")
    whole = list(built.messages)
    built.messages[:] = [{"role": "system", "content_sha256": "0" * 64}, whole[-1]]
    built.says("No.")
    built.messages[:] = whole
    assert verdict(built.says("Anew.").ends(text="Anew."), "resume.history") == "PASS"


@pytest.mark.parametrize(("sends", "said"), [(True, "FAIL"), (False, "PASS")])
def test_an_effect_is_no_repetition_for_an_agent_that_sends_no_history(
    sends: bool, said: str
) -> None:
    """Each of its turns begins anew, so the model that asks again is asked something new."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().wants("c1 rm").stores()
    built.happens(built.calls("c1", "rm"), "c1", "rm")
    if not sends:
        subject = built.header.subject.model_copy(update={"lacks": ("no-history",)})
        built.header = built.header.model_copy(update={"subject": subject})
    built.crashes().messages.clear()
    built.opens(resume=True).begins("ask/2").stores("read").wants("c2 rm")
    built.happens(built.calls("c2", "rm"), "c2", "rm")
    assert verdict(built.tells("c2", value()).says().ends(), "tools.effects") == said


@pytest.mark.parametrize(
    ("stores", "said"), [(True, "INCONCLUSIVE"), (False, "PASS")], ids=["stores", "in memory"]
)
def test_of_a_turn_that_the_store_has_nothing_of_it_is_said_that_it_is_lost(
    stores: bool, said: str
) -> None:
    """Its message is lost, too, so the agent repeats nothing by itself; who asks again does."""
    crashes = [{"id": "killed", "at": "10s"}]
    built = TurnBuilder(crashes=crashes).turn().wants("c1 rm")
    built.happens(built.calls("c1", "rm"), "c1", "rm")
    built.crashes().messages.clear()
    built.opens(resume=True).begins("ask/2")
    if stores:
        built.stores("read")
    built.wants("c2 rm")
    built.happens(built.calls("c2", "rm"), "c2", "rm")
    built.tells("c2", value()).says()
    if stores:
        built.stores()
    finding = found(built.ends(), "tools.effects")
    assert finding.verdict.value == said
    assert finding.observed.startswith("the crash loses the whole turn") is stores


@pytest.mark.parametrize(("sends", "said"), [(True, "FAIL"), (False, "NOT_APPLICABLE")])
def test_an_agent_that_sends_no_history_loses_none(sends: bool, said: str) -> None:
    """What it stores is there for something else."""
    assert verdict(_resumed(sends=sends), "resume.history") == said


@pytest.mark.parametrize("earlier", [True, False])
def test_an_agent_that_sends_a_history_all_the_same_proves_nothing(earlier: bool) -> None:
    """What was left out because of its declaration was left out wrongly."""
    said = found(_resumed(sends=False, earlier=earlier), "evidence.exercised").observed
    assert ("it sent an earlier message of the user" in said) is earlier


@pytest.mark.parametrize(
    ("knows", "said"), [(False, "FAIL"), (True, "PASS")], ids=["begins anew", "goes on"]
)
def test_an_effect_is_not_repeated_by_a_turn_that_begins_anew(knows: bool, said: str) -> None:
    """The model may ask for the same again where it knows what became of the first."""
    built = TurnBuilder().turn().wants("c1 ls")
    first = built.calls("c1")
    built.happens(first, "c1")
    built.replies(first, "c1")
    built.tells("c1", value())
    built.fails(429).after("2s")
    if not knows:
        del built.messages[1:]
    built.wants("c2 ls")
    again = built.calls("c2")
    built.happens(again, "c2")
    built.replies(again, "c2")
    assert verdict(built.tells("c2", value()).says().ends(), "tools.effects") == said


def test_a_turn_that_begins_anew_may_do_again_what_a_person_says_yes_to_again() -> None:
    """The yes is for the second time."""
    built = TurnBuilder().turn().wants("c1 rm")
    built.happens(built.calls("c1", "rm"), "c1", "rm")
    built.tells("c1", value())
    built.fails(429).after("2s")
    del built.messages[1:]
    built.wants("c2 rm").shows("r2", "c2").answers("r2", "approved", "c2")
    built.happens(built.calls("c2", "rm"), "c2", "rm")
    assert verdict(built.tells("c2", value()).says().ends(), "tools.effects") == "PASS"


def test_a_turn_that_begins_anew_at_another_time_of_day_is_found_all_the_same() -> None:
    """Its first message differs, and says nothing of what was done."""
    built = TurnBuilder().turn().wants("c1 ls")
    built.happens(built.calls("c1"), "c1")
    built.tells("c1", value())
    built.fails(429).after("2s")
    built.messages[:] = [{**built.messages[0], "content_sha256": "0" * 64}]
    built.wants("c2 ls")
    built.happens(built.calls("c2"), "c2")
    assert verdict(built.tells("c2", value()).says().ends(), "tools.effects") == "FAIL"


def test_one_answer_may_ask_for_the_same_twice() -> None:
    """Neither call could know of the other."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    for call in ("c1", "c2"):
        built.happens(built.calls(call), call)
        built.tells(call, value())
    assert verdict(built.says().ends(), "tools.effects") == "PASS"


def test_a_request_that_says_more_may_say_what_was_done() -> None:
    """In words that nobody else can read."""
    built = TurnBuilder().turn().wants("c1 ls")
    built.happens(built.calls("c1"), "c1")
    built.messages[:] = [built.messages[0], {"role": "user", "content_sha256": "1" * 64}]
    built.wants("c2 ls")
    built.happens(built.calls("c2"), "c2")
    assert verdict(built.tells("c2", value()).says().ends(), "tools.effects") == "PASS"


def test_what_a_summary_says_of_an_effect_is_not_known() -> None:
    """Another answer came in between, and the turn goes on with what that says."""
    built = TurnBuilder().turn().wants("c1 ls")
    built.happens(built.calls("c1"), "c1")
    built.messages[:] = [{"role": "user", "content_sha256": "1" * 64}]
    built.says("A summary.")
    built.messages[:] = [{"role": "user", "content_sha256": "2" * 64}]
    built.wants("c2 ls")
    built.happens(built.calls("c2"), "c2")
    assert verdict(built.tells("c2", value()).says().ends(), "tools.effects") == "PASS"


@pytest.mark.parametrize("dated", [False, True], ids=["same", "at another time of day"])
@pytest.mark.parametrize(("told", "said"), [(True, "PASS"), (False, "FAIL")])
def test_an_agent_that_is_a_tool_has_a_conversation_of_its_own(
    told: bool, said: str, dated: bool
) -> None:
    """Its requests need no results of the one that called it, which needs them when it goes on."""
    built = TurnBuilder().turn()
    asked = list(built.messages)
    built.wants("c1 ls")
    outer = list(built.messages) if told else asked
    built.messages[:] = [{"role": "user", "content_sha256": "1" * 64}]
    if not (dated and not told):
        built.wants("c2 ls").runs("c2").tells("c2", value()).says()
    built.messages[:] = outer
    if dated:
        built.messages[0] = {**outer[0], "content_sha256": "2" * 64}
    if told:
        built.tells("c1", value())
    assert verdict(built.says().ends(), "tools.paired") == said


@pytest.mark.parametrize(("executions", "said"), [(2, "PASS"), (3, "FAIL")])
def test_two_agents_that_ask_the_same_at_once_have_an_effect_each(
    executions: int, said: str
) -> None:
    """The simulated model may give both the same id; of three effects one is too many."""
    built = TurnBuilder().turn()
    built.will_want("c1 ls")
    connections, exchanges = [built.connect(), built.connect()], []
    for number, connection in enumerate(connections):
        built.messages[:] = [{"role": "user", "content_sha256": str(number) * 64}]
        exchanges.append(built.ask(connection))
    for connection, exchange in zip(connections, exchanges, strict=True):
        built.answer(connection, exchange)
        built.end_exchange(connection, exchange, "complete", finish_reason="tool_calls")
        built.deliver(connection)
    for _ in range(executions):
        built.happens(built.calls("c1"), "c1")
    built.messages[:] = [{"role": "user", "content_sha256": "2" * 64}]
    assert verdict(built.says().ends(), "tools.effects") == said


def test_an_id_that_is_given_again_later_takes_no_effect_off_the_one_before() -> None:
    """The first call was never made, and the second one was made twice."""
    built = TurnBuilder().turn().wants("c1 ls").tells("c1", value())
    built.wants("c1 ls")
    for _ in range(2):
        built.happens(built.calls("c1"), "c1")
    assert verdict(built.tells("c1", value()).says().ends(), "tools.effects") == "FAIL"


def test_what_an_agent_that_is_a_tool_leaves_open_is_over() -> None:
    """Its conversation ends with an error, and that of its caller goes on."""
    built = TurnBuilder().turn().wants("c1 ls")
    outer = list(built.messages)
    built.messages[:] = [{"role": "user", "content_sha256": "1" * 64}]
    built.wants("c2 ls").runs("c2")
    built.messages[:] = outer
    built.tells("c1", value())
    assert verdict(built.says().ends(), "tools.paired") == "PASS"


@pytest.mark.parametrize(
    ("words", "said"), [("the tool failed: no: <secret>", "PASS"), ("<secret> was refused", "FAIL")]
)
def test_a_runtime_may_quote_the_exception_of_a_tool_that_it_raises(words: str, said: str) -> None:
    """The key stands in the tool's words; another one is the runtime's own."""
    built = TurnBuilder().turn().wants("c1 ls")
    facts = {"execution": built.calls("c1"), "tool": "ls", "tool_call": "c1", "type": "OSError"}
    built.event("tool", "tool.raised", call="ask/1", seen=True, **facts)
    outer = {**link(None), "type": "framework.UserError", "message": words}
    cause = {**link(None, how="cause"), "type": "builtins.OSError", "message": "no: <secret>"}
    if said == "FAIL":
        cause["message"] = "no"
    built.raises(outer, cause, call="ask/1")
    assert verdict(built, "errors.secrets") == said


@pytest.mark.parametrize(("kind", "said"), [("RuntimeError", "PASS"), ("KeyError", "FAIL")])
def test_the_words_of_a_tools_own_exception_are_the_tools(kind: str, said: str) -> None:
    """One that leaves the turn as it was; what the runtime raises by itself is its own."""
    built = TurnBuilder().turn().wants("c1 ls")
    execution = built.calls("c1")
    facts = {"execution": execution, "tool": "ls", "tool_call": "c1", "type": "RuntimeError"}
    built.event("tool", "tool.raised", call="ask/1", seen=True, **facts)
    leaving = {**link("Any/Error"), "type": f"builtins.{kind}", "message": "no: <secret>"}
    built.raises(leaving, call="ask/1")
    assert verdict(built, "errors.secrets") == said


def test_a_tool_that_a_workflow_asks_for_needs_no_call_of_a_model() -> None:
    """There is none: the workflow says what runs."""
    nodes = [{"id": "fetch", "do": "tool", "tool": "ls"}]
    built = TurnBuilder(workflow={"nodes": nodes}).turn().runs("fetch").ends()
    assert verdict(built, "tools.asked-for") == "NOT_APPLICABLE"
