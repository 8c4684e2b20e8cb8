"""What the model can learn of a tool call, in whatever shape it is told."""

from __future__ import annotations

import pytest

from tests.oracle.common_model import found, verdict
from tests.oracle.turn_builder import TurnBuilder

PAGE = ({"name": "ls", "value": {"files": ["a.txt", "b.txt"]}},)


def failing(content: str) -> TurnBuilder:
    """Return a turn in which a tool fails, and the model is told `content`."""
    built = TurnBuilder(tools=PAGE).turn().wants("c1 ls").runs("c1", "ToolTerminal/NotFound")
    return built.tells("c1", content).says().ends()


@pytest.mark.parametrize(
    "content",
    [
        "Error: no such file",
        '{"error": "no such file"}',
        '{"value": null, "error": {"code": "NotFound"}}',
        "the tool failed",
        '{"isError": true}',
    ],
)
def test_any_words_of_a_failure_are_good(content: str) -> None:
    """No shape is asked for."""
    assert verdict(failing(content), "tools.failure-told") == "PASS"


@pytest.mark.parametrize(
    ("content", "observed"),
    [
        ("", "the result says nothing"),
        ("null", "the result says nothing"),
        ('{"value": null}', "the result says nothing"),
        ("{}", "the result says nothing"),
        ("Done", "the result says that all is well"),
        ("Observation:\nok", "the result says that all is well"),
        ('{"files":["a.txt","b.txt"]}', "the result is the one of a success"),
        ('{"value": {"files": ["a.txt", "b.txt"]}}', "the result is the one of a success"),
    ],
)
def test_what_can_only_be_read_as_a_success_is_found(content: str, observed: str) -> None:
    """The model goes on as if it had worked."""
    assert found(failing(content), "tools.failure-told").observed.startswith(observed)


def test_a_call_that_never_ran_has_failed_as_well() -> None:
    """There is no tool of that name."""
    built = TurnBuilder(tools=PAGE).turn().wants("c1 lsx").tells("c1", "null").says().ends()
    assert verdict(built, "tools.failure-told") == "FAIL"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"value": {"files": ["a.txt", "b.txt"]}}', "PASS"),
        ("files: a.txt, b.txt", "PASS"),
        ("Two entries, the first is a.txt", "PASS"),
        ("Error: another call failed", "FAIL"),
    ],
)
def test_a_result_reaches_the_model_in_any_rendering(content: str, said: str) -> None:
    """Something of what the tool returned is in it."""
    built = TurnBuilder(tools=PAGE).turn().wants("c1 ls")
    built.replies(built.calls("c1"), "c1", given={"files": ["a.txt", "b.txt"]})
    assert verdict(built.tells("c1", content).says().ends(), "tools.result-kept") == said


def test_what_is_executed_after_the_request_is_not_held_against_it() -> None:
    """The model was told of the first execution, which failed."""
    built = failing("Error: no such file").after("5s").runs("c1")
    assert verdict(built, "tools.failure-told") == "PASS"
    assert verdict(built, "tools.result-kept") == "NOT_APPLICABLE"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Error: the service refused", "PASS"),
        ("Error: the service refused sk-simulated-0123456789abcdef0123", "WARN"),
        ("Error at /srv/agent/run.py", "PASS"),
    ],
)
def test_a_key_in_a_failed_result_is_found(content: str, said: str) -> None:
    """A path is no secret: it tells the model where to look."""
    assert verdict(failing(content), "tools.secrets") == said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("written", "PASS"),
        ("written, Authorization: Bearer sk-simulated-0123456789abcdef0123", "FAIL"),
    ],
)
@pytest.mark.parametrize("errors", [(), ({"item": "a.txt", "message": "gone"},)])
def test_a_key_in_a_good_result_is_found(
    content: str, said: str, errors: tuple[dict[str, str], ...]
) -> None:
    """A message to the model is one, also that of a call that did a part of its work."""
    built = TurnBuilder().turn().wants("c1 ls")
    built.replies(built.calls("c1"), "c1", given=content, errors=errors)
    built.tells("c1", content).says().ends()
    assert verdict(built, "tools.secrets") == said
    assert found(built, "tools.secrets").requirement in (None, "COMMON-SECRET-01")
