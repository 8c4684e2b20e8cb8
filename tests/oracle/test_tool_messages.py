"""What the model is told of a tool call is what became of it, and nothing of the insides."""

from __future__ import annotations

import json

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import BUSY, DENIED, FORBIDDEN, RETRYING
from tests.oracle.turn_builder import TurnBuilder, error, value

PATH = "cannot read /home/me/.config/key"
BAD_ITEM = {"item": "u2", "class": "ToolTransient", "code": "ExecutionTimeout"}


def told(model: ErrorModel, built: TurnBuilder, check: str = "tools.told") -> list[Finding]:
    """Return the findings of one check on a turn that goes on and ends well."""
    trace = built.says().ends().build()
    return [item for item in judge(model, trace).findings if item.check == check]


def failed(findings: list[Finding]) -> list[str]:
    """Return the requirements that are broken."""
    return [str(item.requirement) for item in findings if item.verdict is Verdict.FAIL]


@pytest.mark.parametrize(
    ("pair", "content", "broken"),
    [
        (FORBIDDEN, error(FORBIDDEN), []),
        (FORBIDDEN, json.dumps({"class": "ToolTerminal", "code": "Forbidden"}), []),
        (FORBIDDEN, error("ToolTerminal/NotFound"), ["STUD-CLASS-05"]),
        (FORBIDDEN, value(), ["STUD-CLASS-05"]),
        (FORBIDDEN, "no", ["STUD-CLASS-05"]),
        (FORBIDDEN, error(FORBIDDEN, hint=PATH), ["STUD-RULE-07"]),
        (FORBIDDEN, error(FORBIDDEN, key="sk-simulated-0123456789"), ["STUD-RULE-07"]),
        (FORBIDDEN, error(FORBIDDEN, why='  File "run.py", line 3'), ["STUD-RULE-07"]),
        (BUSY, error(FORBIDDEN), ["STUD-CLASS-04"]),
        (None, value(), []),
        (None, json.dumps({"done": True}), []),
        (None, value({"done": False}), ["STUD-TOOL-02"]),
        (None, error(FORBIDDEN), ["STUD-TOOL-02"]),
    ],
)
def test_a_reply_reaches_the_model_as_it_was(
    model: ErrorModel, pair: str | None, content: str, broken: list[str]
) -> None:
    """Class and code of a failure, the value of a good one."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", pair).tells("c1", content)
    assert failed(told(model, built)) == broken


@pytest.mark.parametrize(
    ("content", "good"),
    [
        (value(None, BAD_ITEM), True),
        (value(), False),
        (value(None, {**BAD_ITEM, "item": "u3"}), False),
        (json.dumps({"errors": [BAD_ITEM]}), False),
        (value(None, {**BAD_ITEM, "message": PATH}), False),
    ],
)
def test_a_partial_result_names_every_item_that_failed(
    model: ErrorModel, content: str, good: bool
) -> None:
    """Beside the value; it must not look like a whole success."""
    built = TurnBuilder().turn().wants("c1 ls")
    execution = built.calls("c1")
    built.replies(execution, "c1", errors=(BAD_ITEM,))
    assert bool(failed(told(model, built.tells("c1", content)))) is not good


@pytest.mark.parametrize(
    ("said", "content", "broken"),
    [
        ("denied", error(DENIED), []),
        ("denied", error(FORBIDDEN), ["STUD-APPR-05"]),
        (None, error(DENIED, reason="timeout"), []),
        (None, error(DENIED, reason="the user said no"), ["STUD-INT-01"]),
        (None, value(), ["STUD-TOOL-02"]),
    ],
)
def test_a_denial_is_a_typed_result_with_its_reason(
    model: ErrorModel, said: str | None, content: str, broken: list[str]
) -> None:
    """And who let the time pass is told so."""
    built = TurnBuilder().turn().wants("c1 rm").shows("r1")
    if said is None:
        built.after("120s").dismisses("r1")
    else:
        built.after("1s").answers("r1", said)
    assert failed(told(model, built.tells("c1", content))) == broken


@pytest.mark.parametrize(
    ("wanted", "content", "broken"),
    [
        ("c1 nothing", error("ToolTerminal/NotFound"), False),
        ("c1 nothing", error(FORBIDDEN), True),
        ("c1 ls [1]", error("ToolTerminal/InputInvalid"), False),
        ("c1 ls [1]", value(), True),
    ],
)
def test_what_no_tool_can_take_is_told_as_well(
    model: ErrorModel, wanted: str, content: str, broken: bool
) -> None:
    """A tool that is not there, and arguments that are no object."""
    built = TurnBuilder().turn().wants(wanted).tells("c1", content)
    assert bool(failed(told(model, built))) is broken


def test_an_exception_is_told_without_its_text(model: ErrorModel) -> None:
    """Any class and code will do; the text was for nobody."""
    built = TurnBuilder().turn().wants("c1 ls")
    execution = built.calls("c1")
    built.event("tool", "tool.raised", execution=execution, tool="ls", tool_call="c1", type="E")
    built.tells("c1", error("ToolTerminal/OutputMalformed", why=f"RuntimeError: {PATH}"))
    assert failed(told(model, built)) == ["STUD-RULE-07"]


def test_a_tool_that_was_cancelled_is_told_as_cancelled(model: ErrorModel) -> None:
    """One tool, not the turn."""
    built = TurnBuilder().turn().wants("c1 ls")
    execution = built.calls("c1")
    built.after("1s").cancels("tool", "ls").stops(execution, "c1")
    built.tells("c1", error("ToolTransient/ExecutionTimeout"))
    assert failed(told(model, built)) == ["STUD-CODE-07"]


@pytest.mark.parametrize(
    ("waited", "content", "broken"),
    [
        ("10s", error("ToolTransient/ExecutionTimeout"), []),
        ("10s", error(FORBIDDEN), ["STUD-CLASS-04"]),
        ("10s", value(), ["STUD-TOOL-02"]),
        # Why the turn went on before its time was up, nothing shows.
        ("9s", error(FORBIDDEN), []),
    ],
)
def test_a_tool_that_goes_on_unseen_has_timed_out_when_its_time_is_up(
    model: ErrorModel, waited: str, content: str, broken: list[str]
) -> None:
    """The runtime turns away from it, and the model gets the timeout."""
    built = TurnBuilder(tools=RETRYING).turn().wants("c1 ls")
    built.calls("c1")
    assert failed(told(model, built.after(waited).tells("c1", content))) == broken


@pytest.mark.parametrize(("content", "good"), [(error("Session/Sealed"), True), (value(), False)])
def test_a_call_that_a_crash_cut_off_is_no_success(
    model: ErrorModel, content: str, good: bool
) -> None:
    """Sealed, it says what is known: that it began."""
    tasks = ({"id": "ask"}, {"id": "next"})
    built = TurnBuilder(tasks=tasks).turn().wants("c1 ls")
    built.calls("c1")
    built.crashes().opens(resume=True).tells("c1", content).begins("next/1")
    assert bool(failed(told(model, built))) is not good


@pytest.mark.parametrize(
    ("given", "observed"),
    [
        (("c1",), "no result for a call of ls"),
        (("c2", "c1"), "the results came as c2, c1"),
        (("c1", "c1", "c2"), "c1 has a result that nothing asked for, or several"),
        (("c1", "c2", "c9"), "c9 has a result that nothing asked for, or several"),
    ],
)
def test_every_tool_call_has_one_result_in_its_place(
    model: ErrorModel, given: tuple[str, ...], observed: str
) -> None:
    """A provider refuses anything else, or takes one result for another."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    first, second = built.calls("c1"), built.calls("c2")
    built.replies(first, "c1")
    built.replies(second, "c2")
    for tool_call in given:
        built.tells(tool_call, value())
    (finding,) = told(model, built, "tools.paired")
    assert finding.observed == observed


def test_a_value_that_does_not_fit_is_not_handed_on(model: ErrorModel) -> None:
    """The schema of the contract is looked at, with the values that the script has."""
    malformed = {"kind": "output_malformed", "value": {"name": 1}}
    tool = {
        "name": "ls",
        "output_schema": {"type": "object", "required": ["done"]},
        "rules": [{"id": "bad", "then": {"fault": malformed}}],
    }
    for content, broken in (
        (value({"name": 1}), ["STUD-TOOL-04"]),
        (error("ToolTerminal/OutputMalformed"), []),
        (error(FORBIDDEN), ["STUD-TOOL-04"]),
    ):
        built = TurnBuilder(tools=(tool,)).turn().wants("c1 ls")
        execution = built.calls("c1")
        built.replies(execution, "c1", given={"name": 1})
        assert failed(told(model, built.tells("c1", content), "tools.validated")) == broken


@pytest.mark.parametrize(
    ("pair", "content", "broken"),
    [
        (None, value(), []),
        (None, value({"done": False}), ["STUD-TOOL-02"]),
        # In which shape a failure is told is what such a model's own rules of telling say.
        (FORBIDDEN, json.dumps({"ok": False, "error": "not allowed"}), []),
    ],
)
def test_a_model_without_classes_of_tool_calls_still_asks_for_the_value(
    model: ErrorModel, pair: str | None, content: str, broken: list[str]
) -> None:
    """Where it names the sentence that asks for it."""
    own = model.model_copy(update={"tool_calls": None})
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", pair).tells("c1", content)
    assert failed(told(own, built)) == broken


def test_a_model_that_says_nothing_of_tool_calls_judges_none(model: ErrorModel) -> None:
    """No sentence, no finding."""
    own = model.model_copy(update={"tool_calls": None, "rules": {}})
    built = TurnBuilder().turn().wants("c1 ls").runs("c1", None).tells("c1", value({"done": False}))
    assert {item.verdict for item in told(own, built)} == {Verdict.NOT_APPLICABLE}
