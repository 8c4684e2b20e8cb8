"""A cancel ends what it is for, by name and promptly, and leaves the rest alone."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.oracle.judge import judge
from tests.oracle.common_model import common
from tests.oracle.planted_turns import STAGED
from tests.oracle.turn_builder import TurnBuilder, error, value

CANCELS = [{"id": "stop", "when": {"at": "1s"}, "scope": "turn"}]
TURN, TOOL = "Cancellation/TurnCancelled", "Cancellation/ToolCancelled"


def failed(model: ErrorModel, built: TurnBuilder, check: str = "cancel.outcome") -> list[str]:
    """Return what a check finds wrong."""
    own = (item for item in judge(model, built.build()).findings if item.check == check)
    return [item.observed for item in own if item.verdict is Verdict.FAIL]


def running(**scenario: object) -> tuple[TurnBuilder, str]:
    """Return a turn in which a tool runs, and its execution."""
    built = TurnBuilder(cancels=CANCELS, **scenario).turn().wants("c1 ls", "c2 ls")  # type: ignore[arg-type]
    return built, built.calls("c1")


@pytest.mark.parametrize(
    ("scope", "pair", "observed"),
    [
        ("turn", TURN, []),
        ("session", "Cancellation/SessionCancelled", []),
        ("session", TURN, [f"it ended with {TURN}"]),
        (
            "turn",
            "ToolTransient/ExecutionTimeout",
            ["it ended with ToolTransient/ExecutionTimeout"],
        ),
    ],
)
def test_each_scope_ends_with_its_own_code(
    model: ErrorModel, scope: str, pair: str, observed: list[str]
) -> None:
    """The documents have one for each."""
    built, execution = running()
    built.after("1s").cancels(scope).stops(execution, "c1")
    assert failed(model, built.ends(pair)) == observed


def test_a_turn_that_goes_on_is_found(model: ErrorModel) -> None:
    """It returned as if there had been no cancel."""
    built, execution = running()
    built.after("1s").cancels("turn").replies(execution, "c1")
    built.tells("c1", value()).tells("c2", value()).says()
    assert failed(model, built.ends()) == ["it returned, as if nothing had been said"]


def test_a_turn_that_ends_late_is_found(model: ErrorModel) -> None:
    """Within a second, and the network's latency on top."""
    built, execution = running()
    built.after("1s").cancels("turn").after("3s").stops(execution, "c1")
    assert failed(model, built.ends(TURN)) == ["the turn ended only 3s after the cancel"]


def test_what_the_turn_started_is_stopped_with_it(model: ErrorModel) -> None:
    """A tool, and a dialog."""
    built, execution = running()
    built.after("1s").cancels("turn").ends(TURN).after("9s").replies(execution, "c1")
    assert failed(model, built) == ["ls (c1) went on"]
    built = TurnBuilder(cancels=CANCELS).turn().wants("c1 rm").shows("r1").after("1s")
    assert failed(model, built.cancels("turn").ends(TURN)) == ["the request r1 stayed open"]


def test_a_stage_is_cancelled_as_its_turn(model: ErrorModel) -> None:
    """Only while it runs."""
    built = TurnBuilder(session=STAGED, cancels=CANCELS).turn().staged("check_gate", "proceed")
    built.fails(429, call="ask/1").after("1s").cancels("stage", "a")
    assert failed(model, built.ends("Cancellation/StageCancelled")) == [
        "it ended with Cancellation/StageCancelled"
    ]


def test_a_cancel_that_meets_nothing_is_not_judged(model: ErrorModel) -> None:
    """The turn had its answer, and only saving was left."""
    built = TurnBuilder(cancels=CANCELS).turn().says().cancels("turn").after("5ms").ends()
    assert failed(model, built) == []


@pytest.mark.parametrize(
    ("what", "observed"),
    [
        ("stops", []),
        ("goes on", ["it went on"]),
        ("sideways", ["it was stopped, too"]),
        ("up", [f"it ended with {TURN}"]),
    ],
)
def test_a_cancel_of_one_tool_reaches_that_one_alone(
    model: ErrorModel, what: str, observed: list[str]
) -> None:
    """Its siblings go on, and so does the turn."""
    built, first = running()
    second = built.calls("c2")
    built.after("1s").cancels("tool", "c1")
    if what != "goes on":
        built.stops(first, "c1")
    if what == "sideways":
        built.stops(second, "c2")
    built.after("2s")
    if what == "goes on":
        built.replies(first, "c1")
    if what != "sideways":
        built.replies(second, "c2")
    if what == "up":
        assert failed(model, built.ends(TURN)) == observed
        return
    built.tells("c1", error(TOOL)).tells("c2", value()).says()
    assert failed(model, built.ends()) == observed


def test_a_tool_that_cannot_be_stopped_is_not_the_runtimes_fault(model: ErrorModel) -> None:
    """Its contract says that it goes on."""
    built, execution = running(tools=({"name": "ls", "on_cancel": "goes_on"},))
    built.after("1s").cancels("turn").ends(TURN).after("9s").replies(execution, "c1")
    assert failed(model, built) == []


def test_a_tools_cancel_is_in_the_audit_trail(model: ErrorModel) -> None:
    """Nothing is raised that would show it otherwise."""
    for said in (True, False):
        built, execution = running(declares=("audit",))
        built.after("1s").cancels("tool", "c1").stops(execution, "c1")
        if said:
            built.audits_event("Cancellation", scope="tool", code="ToolCancelled")
        built.tells("c1", error(TOOL)).tells("c2", value()).says().ends()
        assert failed(model, built, "cancel.audited") == ([] if said else ["it has nothing of it"])


#: A second, and the network's way there and back.
DUE_NS = 1_020_000_000


@pytest.mark.parametrize(
    ("late_ns", "observed"), [(0, []), (1, ["the turn ended only 1.02s after the cancel"])]
)
def test_a_turn_ends_within_a_second_and_a_round_trip(
    model: ErrorModel, late_ns: int, observed: list[str]
) -> None:
    """To the nanosecond."""
    built, execution = running()
    built.after("1s").cancels("turn").stops(execution, "c1")
    built.now_ns += DUE_NS + late_ns
    assert failed(model, built.ends(TURN)) == observed


@pytest.mark.parametrize(("late_ns", "observed"), [(0, []), (1, ["ls (c1) went on"])])
def test_a_tool_of_a_cancelled_turn_ends_in_the_time_of_the_turn(
    model: ErrorModel, late_ns: int, observed: list[str]
) -> None:
    """One that came to its own end by then needed no stop."""
    built, execution = running()
    built.after("1s").cancels("turn").ends(TURN)
    built.now_ns += DUE_NS + late_ns
    built.replies(execution, "c1")
    assert failed(model, built) == observed


@pytest.mark.parametrize(("late_ns", "observed"), [(0, []), (1, ["it went on"])])
def test_a_tool_that_is_cancelled_alone_ends_within_a_second(
    model: ErrorModel, late_ns: int, observed: list[str]
) -> None:
    """It needs no network for that."""
    built, execution = running()
    built.after("1s").cancels("tool", "c1")
    built.now_ns += 1_000_000_000 + late_ns
    built.replies(execution, "c1")
    built.tells("c1", error(TOOL)).tells("c2", error(TOOL)).says()
    assert failed(model, built.ends()) == observed


def test_a_request_that_a_cancel_finds_open_is_taken_off_in_time(model: ErrorModel) -> None:
    """One that was over before, or was shown after it, is no matter of the cancel."""
    for off_ns, observed in ((DUE_NS, []), (DUE_NS + 1, ["the request r1 stayed open"])):
        built = TurnBuilder(cancels=CANCELS).turn().wants("c1 rm").shows("r1").after("1s")
        built.cancels("turn").ends(TURN)
        built.now_ns += off_ns
        assert failed(model, built.dismisses("r1")) == observed
    over = TurnBuilder(cancels=CANCELS).turn().wants("c1 rm").shows("r1").after("1s")
    over.answers("r1", "denied").after("1s").cancels("turn").ends(TURN)
    assert failed(model, over) == []


def test_only_the_first_of_several_cancels_counts(model: ErrorModel) -> None:
    """To cancel again changes nothing."""
    built, execution = running()
    built.after("1s").cancels("turn").stops(execution, "c1")
    built.after("500ms").event(
        "harness", "cancel.requested", cancel="stop", scope="turn", target=None, n=2, call=None
    )
    built.after("1s")
    assert len(failed(model, built.ends(TURN))) == 1


def test_a_turn_that_had_its_answer_may_take_its_time_to_save(model: ErrorModel) -> None:
    """Where the store was asked for it; without that it ends in time like any other."""
    saving = TurnBuilder(cancels=CANCELS).turn().says().cancels("turn").after("5s").stores().ends()
    assert failed(model, saving) == []
    idle = TurnBuilder(cancels=CANCELS).turn().says().cancels("turn").after("5s").ends()
    assert failed(model, idle) == ["it returned, as if nothing had been said"]
    wanting = TurnBuilder(cancels=CANCELS).turn().wants("c1 ls").cancels("turn").after("1ms")
    assert failed(model, wanting.ends()) == ["it returned, as if nothing had been said"]


def test_a_turn_that_ends_at_the_instant_of_the_cancel_may_not_have_seen_it(
    model: ErrorModel,
) -> None:
    """Where something else arrived in that instant, that may be why it ended."""
    arrived = TurnBuilder(cancels=CANCELS).turn().wants("c1 ls").cancels("turn").ends()
    assert failed(model, arrived) == []
    quiet = TurnBuilder(cancels=CANCELS).turn().wants("c1 ls").after("1s").cancels("turn").ends()
    assert failed(model, quiet) == ["it returned, as if nothing had been said"]


def test_a_cancel_meets_the_turns_that_run_in_its_process(model: ErrorModel) -> None:
    """Neither one that is over nor one that begins later nor that of a process that died."""
    over = TurnBuilder(cancels=CANCELS).turn().says().ends().after("1s").cancels("turn")
    assert failed(model, over) == []
    later = TurnBuilder(cancels=CANCELS).opens().cancels("turn").begins("ask/1").says().ends()
    assert failed(model, later) == []
    died = TurnBuilder(cancels=CANCELS).turn().crashes().cancels("turn")
    assert failed(model, died) == []
    open_ = TurnBuilder(cancels=CANCELS).turn().cancels("turn").after("9s")
    assert "the turn never ended after its cancel" in failed(model, open_)


def test_a_sibling_that_was_stopped_for_its_own_reason_was_not_cancelled(
    model: ErrorModel,
) -> None:
    """Its time was over, or another cancel was for it."""
    for why in ("timeout", "own cancel", "none"):
        built, first = running(tools=({"name": "ls", "timeout": "10s"},))
        second = built.calls("c2")
        built.after("9500ms").cancels("tool", "c1").stops(first, "c1")
        if why == "own cancel":
            built.cancels("tool", "c2", cancel="other")
        built.after("500ms" if why == "timeout" else "100ms").stops(second, "c2")
        built.tells("c1", error(TOOL)).tells("c2", error(TOOL)).says().ends()
        assert failed(model, built) == (["it was stopped, too"] if why == "none" else [])


@pytest.mark.parametrize(("late_ns", "count"), [(0, 0), (1, 1)])
def test_nothing_new_begins_after_the_time_of_a_cancelled_turn(late_ns: int, count: int) -> None:
    """The common demands forbid it for what begins from then on."""
    built, execution = running()
    built.after("1s").cancels("turn").stops(execution, "c1")
    built.now_ns += DUE_NS + late_ns
    built.calls("c2")
    observed = failed(common(), built.ends(TURN))
    assert observed.count("a tool was run 1.02s after the turn was cancelled") == count
