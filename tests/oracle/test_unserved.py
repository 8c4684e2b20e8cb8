"""What was ready and never used: a run that shows nothing says so, unless the world saw why."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import EndingReason
from faultclock.oracle.judge import judge
from tests.oracle.common_model import common
from tests.oracle.tool_traces import ExtensionTrace, ToolTrace
from tests.oracle.trace_builder import REPLY, TraceBuilder
from tests.oracle.turn_builder import TurnBuilder, error, value


def said(built: TraceBuilder, ending: EndingReason = "completed") -> list[Finding]:
    """Return what a run is said to show nothing of."""
    findings = judge(common(), built.build(ending)).findings
    own = [item for item in findings if item.check == "evidence.exercised"]
    return [item for item in own if item.verdict is Verdict.INCONCLUSIVE]


def reasons(built: TraceBuilder, ending: EndingReason = "completed") -> list[str]:
    """Return the same in words."""
    return [item.reason for item in said(built, ending)]


# ------------------------------------------------------------------ the provider's own refusals


def refused(*answers: tuple[int, str], planned: bool = False, **error_: str) -> TraceBuilder:
    """Return a call whose requests are answered with a status each, at a target each."""
    built = TraceBuilder().start()
    for number, (status, target) in enumerate(answers):
        connection = built.asks_for(f"request {number}").connect()
        exchange = built.ask(connection)
        built.events[-1].payload.update(method="POST", target=target)  # type: ignore[attr-defined]
        if planned:
            built.event("provider", "fault.fired", fault="f", fault_kind="x", exchange=exchange)
        built.answer(connection, exchange, status=status, error=error_ or None)
        built.end_exchange(connection, exchange, "complete", finish_reason="stop", text=REPLY)
        built.deliver(connection)
        built.close(connection)
    return built.raises("A/B") if answers[-1][0] >= 400 else built.returns()


@pytest.mark.parametrize("status", [404, 405])
def test_a_path_that_the_provider_does_not_have_is_named(status: int) -> None:
    """The client may speak another API."""
    (finding,) = said(refused((status, "/v2/chat?key=k")))
    assert finding.reason == (
        f"POST /v2/chat is no path of the provider's API: it was answered with {status}"
    )
    assert "--dialect" in finding.hint
    assert len(finding.events) == 2


def test_a_path_is_named_beside_the_dialect_that_does_not_have_it() -> None:
    """It is the one that the scenario speaks."""
    built = refused((404, "/v2/chat"))
    provider = built.header.scenario.provider.model_copy(update={"dialect": "anthropic"})
    scenario = built.header.scenario.model_copy(update={"provider": provider})
    built.header = built.header.model_copy(update={"scenario": scenario})
    assert "is no path of anthropic" in reasons(built)[0]


@pytest.mark.parametrize(
    ("error_", "hint"),
    [
        ({"message": "no model", "code": "c", "type": "t"}, "The provider says: no model."),
        ({"code": "c", "type": "t"}, "The provider says: c."),
        ({"type": "t"}, "The provider says: t."),
        ({}, ""),
    ],
)
def test_a_refusal_that_no_fault_asked_for_is_shown_with_its_words(
    error_: dict[str, str], hint: str
) -> None:
    """The request was wrong, so the situation never came about."""
    (finding,) = said(refused((400, "/v1/chat"), **error_))
    assert finding.reason == (
        "POST /v1/chat was answered with 400, and no fault of the scenario did"
    )
    assert finding.hint == hint


def test_a_refusal_is_shown_once_for_each_path_and_status() -> None:
    """However often it was asked for."""
    built = refused((400, "/a"), (400, "/a?x=1"), (400, "/b"), (409, "/a"))
    assert len(said(built)) == 3


def test_a_refusal_by_a_fault_is_what_the_scenario_is_about() -> None:
    """Then the provider does as it was asked; and any other status is an answer."""
    assert said(refused((400, "/a"), planned=True)) == []
    assert said(refused((399, "/a"))) == []


# ------------------------------------------------------------------------------ answers in vain


def test_a_call_that_raises_after_a_good_answer_shows_nothing() -> None:
    """It is shown by the answer and the end."""
    built = TraceBuilder().start().good().raises("A/B")
    (finding,) = said(built)
    assert finding.reason == "the provider's answer was good, and the call raised"
    ended = next(item.seq for item in built.events if item.kind == "http.exchange_ended")
    assert finding.events == (ended, built.events[-1].seq)


def test_a_failure_after_the_answer_is_a_reason_to_raise() -> None:
    """One before it is none."""
    after = TraceBuilder().start().asks_for("{}").good()
    after.event("provider", "fault.fired", fault="f", fault_kind="x", exchange="x2")
    after.fails(500).raises("A/B")
    assert said(after) == []
    before = TraceBuilder().start().asks_for("{}")
    before.event("provider", "fault.fired", fault="f", fault_kind="x", exchange="x1")
    before.fails(500).wait("1s").good().raises("A/B")
    assert len(said(before)) == 1


@pytest.mark.parametrize(
    ("text", "is_made_up"),
    [
        ("Nothing of it.", True),
        ("A SIMULATED reply", False),
        ("from", False),
        ("my own", True),
        (REPLY + " And more.", False),
        ("hel", False),
        ("", False),
        (None, False),
    ],
)
def test_a_text_in_which_nothing_is_the_providers_shows_nothing(
    text: str | None, is_made_up: bool
) -> None:
    """A word of four letters in common is enough, or a part of the one in the other."""
    got = reasons(TraceBuilder().start().good().returns(text))
    assert got == (["it returned a text in which nothing is the provider's"] if is_made_up else [])


def test_any_scripted_answer_makes_a_text_the_providers() -> None:
    """Where a scenario has several, its usual answer is none of them."""
    provider = {"replies": [{"text": "Blue whales."}, {"text": "Green turtles."}]}
    for text, count in (("turtles!", 0), (REPLY, 1)):
        built = TraceBuilder(provider=provider).start().good("Green turtles.")
        assert len(said(built.returns(text))) == count


def test_an_answer_that_was_no_whole_one_may_be_thrown_away() -> None:
    """To raise is right then."""
    built = TraceBuilder().start().good()
    ended = next(item for item in built.events if item.kind == "http.exchange_ended")
    ended.payload["ends"] = "filtered"  # type: ignore[index]
    assert said(built.raises("A/B")) == []


def test_a_cancel_is_a_reason_for_anything() -> None:
    """The call was stopped from outside."""
    built = TraceBuilder().start().good()
    built.event(
        "harness", "cancel.requested", call="ask/1", calls=["ask/1"], scope="call", cancel="c"
    )
    assert said(built.raises("A/B")) == []


# ----------------------------------------------------------------------------------------- turns


def test_a_turn_that_ends_where_the_model_wants_tools_shows_nothing() -> None:
    """The tools are named."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 rm").ends()
    assert reasons(built) == [
        "it ended, and the model was never given a result of ls, rm",
    ]


def test_a_tool_that_the_turn_goes_on_without_shows_nothing() -> None:
    """Each one is named by itself."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls").runs("c1")
    built.tells("c1", value()).tells("c2", value()).says().ends()
    (finding,) = said(built)
    assert finding.reason == "it never was, and the model was asked again as if it had been"
    assert finding.expected == "the tool ls is called, as the model asked"


@pytest.mark.parametrize(("wanted", "may"), [("ls", True), ("rm", False)])
def test_an_agent_may_refuse_to_run_a_tool_again(wanted: str, may: bool) -> None:
    """It has a limit, and says so to the model."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1").tells("c1", value())
    built.wants(f"c2 {wanted}").tells("c2", value("not executed")).says().ends()
    assert (said(built) == []) is may


def test_an_agent_that_never_runs_a_tool_has_not_refused_to_do_so_again() -> None:
    """Each of two calls that came to nothing is missed."""
    built = TurnBuilder().turn().wants("c1 ls").tells("c1", value("not executed"))
    built.wants("c2 ls").tells("c2", value("not executed")).says().ends()
    assert len(said(built)) == 2


@pytest.mark.parametrize("why", ["unknown", "denied", "cancelled", "executed"])
def test_a_tool_that_could_not_run_is_not_missed(why: str) -> None:
    """The world saw why."""
    built = TurnBuilder().turn()
    built.wants("c1 lsx" if why == "unknown" else "c1 rm" if why == "denied" else "c1 ls")
    if why == "denied":
        built.shows("r1").after("1s").answers("r1", "denied")
    elif why == "executed":
        built.runs("c1")
    if why == "cancelled":
        built.cancels("turn").ends("Cancellation/TurnCancelled")
    else:
        told = value() if why == "executed" else error("ToolTerminal/Forbidden")
        built.tells("c1", told).says().ends()
    assert said(built) == []


def nodes(*done: str, **options: Any) -> TurnBuilder:
    """Return a turn of a workflow with two nodes, of which some were begun."""
    script = [{"id": "one", "do": "expression"}, {"id": "two", "do": "expression"}]
    built = TurnBuilder(workflow={"nodes": script}, **options).turn()
    for node in done:
        fact = {"node": node, "n": 1, "do": "expression", "call": "ask/1", "life": 1}
        built.event("harness", "node.called", **fact)
    return built


def test_a_turn_that_leaves_nodes_out_shows_nothing() -> None:
    """They are named; one that does them all shows what it is about."""
    (finding,) = said(nodes("one").ends())
    assert finding.reason == "it ended, and never began them"
    assert "two as well" in finding.expected
    assert said(nodes("one", "two").ends()) == []


def test_a_turn_that_does_nothing_at_all_is_said_once() -> None:
    """That it asked for nothing says it already."""
    assert reasons(nodes().ends()) == ["it ended without a single attempt, so nothing was shown"]


REPLIES = {"replies": [{"text": "First."}, {"text": "Second."}, {"text": "Third."}]}


def conversation(turns: int, *, forgets: bool = False, **options: Any) -> TurnBuilder:
    """Return turns of one conversation with three answers ready."""
    tasks = tuple(
        {"id": "ask" if number == 1 else f"ask{number}"} for number in range(1, turns + 1)
    )
    built = TurnBuilder(tasks=tasks, provider=REPLIES, **options).opens()
    for number, task in enumerate(tasks):
        if forgets:
            built.messages.clear()
        text = str(REPLIES["replies"][0 if forgets else number]["text"])
        built.begins(f"{task['id']}/1").says(text).ends(text=text)
    return built


def test_answers_that_no_request_came_to_show_nothing() -> None:
    """A client that forgets the conversation is given the first one again and again."""
    assert said(conversation(3)) == []
    assert reasons(conversation(3, forgets=True)) == [
        "2 of the 3 answers of the conversation were never asked for: no request held the answers"
        " before that"
    ]
    assert reasons(conversation(2)) == [
        "1 of the 3 answers of the conversation was never asked for: no request held the answers"
        " before that"
    ]


def test_answers_may_be_left_over_where_the_world_saw_why() -> None:
    """A crash, a fault of the store, a turn that was never asked, a cancel, or an error."""
    crashed = conversation(2)
    crashed.event("harness", "process.crashed", crash="killed", call=None)
    assert said(crashed) == []
    stored = conversation(2)
    stored.event("store", "fault.fired", fault="f", fault_kind="x", call="ask/1")
    assert said(stored) == []
    skipped = conversation(2)
    skipped.event("harness", "call.skipped", call="ask/2", task="ask", why="start/2 raised")
    assert said(skipped) == []


# ------------------------------------------------------------------------------------ other roles


def test_a_tool_that_leaves_its_service_alone_shows_nothing() -> None:
    """Where the scenario is about how the service answers."""
    for changed, count in (({"latency": 5_000_000}, 1), ({}, 0)):
        built = ToolTrace().begin()
        provider = built.header.scenario.provider.model_copy(update=changed)
        scenario = built.header.scenario.model_copy(update={"provider": provider})
        built.header = built.header.model_copy(update={"scenario": scenario})
        built.replies()
        got = reasons(built)
        assert got.count("it never was, so the situation never came about") == count


def test_a_tool_that_asks_its_service_or_could_not_shows_what_it_is_about() -> None:
    """A refused connection and a cancel are reasons."""
    for act in ("asks", "refused", "cancelled"):
        built = ToolTrace().begin()
        provider = built.header.scenario.provider.model_copy(update={"latency": 5_000_000})
        scenario = built.header.scenario.model_copy(update={"provider": provider})
        built.header = built.header.model_copy(update={"scenario": scenario})
        if act == "asks":
            built.item("/a")
        elif act == "refused":
            built.refused()
        else:
            built.event("harness", "cancel.requested", call="ask/1", scope="turn", cancel="c")
        built.replies()
        assert reasons(built) == []


def test_an_extension_without_a_slot_cannot_be_given_its_state() -> None:
    """Its contract declares none."""
    for contract, count in (({}, 1), ({"state_slot": {"type": "object"}}, 0)):
        built = ExtensionTrace()
        built.events[-1].payload["contract"].update(contract)
        assert len(said(built.phase("slot"))) == count
    assert said(ExtensionTrace().phase("activate")) == []


def test_a_call_that_asks_for_nothing_is_said_once() -> None:
    """That the provider was left alone is no more than that."""
    built = TraceBuilder(provider={"latency": "5ms"}).start().returns()
    assert reasons(built) == ["it ended without a single attempt, so nothing was shown"]


@pytest.mark.parametrize(
    ("said_", "count"), [("denied", 0), ("approved", 1), (None, 0)], ids=["no", "yes", "open"]
)
def test_a_turn_may_end_where_the_person_did_not_approve(said_: str | None, count: int) -> None:
    """With a yes it had to go on."""
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").after("1s")
    if said_ is not None:
        built.answers("r1", said_)
    assert len(said(built.ends())) == count


def test_a_request_to_the_person_about_something_earlier_is_no_reason() -> None:
    """It was answered before the model asked for another tool."""
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").after("1s").answers("r1", "denied")
    built.tells("c1", error("ToolTerminal/Forbidden")).wants("c2 ls").ends()
    assert reasons(built) == ["it ended, and the model was never given a result of ls"]


def test_a_turn_that_ends_well_on_a_call_that_cannot_be_made_shows_nothing() -> None:
    """With an error it says so; as if all was well it does not."""
    well = TurnBuilder().turn().wants("c1 lsx").ends()
    assert reasons(well) == ["it ended, and the model was never given a result of lsx"]
    assert said(TurnBuilder().turn().wants("c1 lsx").ends("ToolTerminal/NotFound")) == []
