"""What a function is called with: read off its parameters, or refused with what to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from faultclock.errors import SubjectError
from faultclock.run.host import RecordingHost
from faultclock.subjects.adopt_signature import wanted_by
from faultclock.subjects.ports import ProviderRequest

MESSAGES = [{"role": "user", "content": "Say hello."}]


class Ledger:
    """A ledger that keeps nothing."""

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Return that nothing was kept."""
        return 0


REQUEST = ProviderRequest(host=RecordingHost(Ledger()), messages=MESSAGES, model="gpt-4o-mini")


def given(function: Callable[..., Any], as_: Any = None) -> Any:
    """Return what `function`, which returns its arguments, is called with."""
    return wanted_by(function, "ask", as_).call(function, REQUEST)


def named(name: str, annotation: str = "") -> Callable[..., Any]:
    """Return a function with one parameter, which returns it."""
    said = f": {annotation}" if annotation else ""
    scope: dict[str, Any] = {}
    exec(f"def ask({name}{said}): return {name}", {"list": list, "str": str}, scope)
    function: Callable[..., Any] = scope["ask"]
    return function


@pytest.mark.parametrize(
    "name", ["prompt", "text", "question", "query", "input", "message", "user_input"]
)
def test_a_parameter_that_is_named_like_a_prompt_gets_the_prompt(name: str) -> None:
    """The words of the user alone."""
    assert given(named(name)) == "Say hello."
    assert wanted_by(named(name), "ask").because == f"its parameter is called {name!r}"


@pytest.mark.parametrize("name", ["messages", "history", "conversation"])
def test_a_parameter_that_is_named_like_messages_gets_messages(name: str) -> None:
    """A list of its own, which the function may change."""
    assert given(named(name)) == MESSAGES
    given(named(name))[0]["content"] = "changed"
    assert MESSAGES[0]["content"] == "Say hello."


@pytest.mark.parametrize(
    ("name", "annotation", "form"),
    [
        ("topic", "str", "prompt"),
        ("topic", "'str | None'", "prompt"),
        ("turns", "list", "messages"),
        ("turns", "'list[dict[str, str]]'", "messages"),
        ("turns", "list[dict]", "messages"),
        ("input", "'typing.List[Message]'", "messages"),
        ("messages", "str", "prompt"),
        ("request", "", "request"),
        ("request", "str", "prompt"),
        ("asked", "'ProviderRequest'", "request"),
    ],
)
def test_an_annotation_says_what_a_name_does_not(name: str, annotation: str, form: str) -> None:
    """Also where annotations are texts, and where they contradict the name."""
    assert wanted_by(named(name, annotation), "ask").form == form


def test_a_request_that_is_annotated_as_one_is_given_whole() -> None:
    """As an adapter that is bound by its decorator gets it."""

    def ask(given: ProviderRequest) -> Any:
        return given

    assert given(ask) is REQUEST


def test_one_parameter_that_says_nothing_is_taken_for_a_prompt_and_called_a_guess() -> None:
    """Most programs have that; a person has to be able to see that it was a guess."""
    wanted = wanted_by(named("q"), "ask")
    assert wanted.form == "prompt"
    assert wanted.because == "it has one parameter, 'q', and nothing says what that is: a guess"


def test_what_has_a_default_is_left_alone() -> None:
    """A function that needs nothing is called with nothing."""

    def main(prompt: str = "mine", *rest: Any, retries: int = 3, **more: Any) -> Any:
        return prompt, rest, retries, more

    assert given(main) == ("mine", (), 3, {})
    assert wanted_by(main, "main").because == "it has no parameter that must be given"


def test_settings_beside_the_prompt_are_those_of_the_request() -> None:
    """In the order of the function, keyword-only ones by their names."""

    def ask(model: str, prompt: str, *, stream: bool, api_key: str) -> Any:
        return model, prompt, stream, api_key

    assert given(ask) == ("gpt-4o-mini", "Say hello.", False, REQUEST.api_key)


def test_a_conversation_beside_a_prompt_has_not_begun() -> None:
    """The prompt would be said twice otherwise."""

    def chat(message: str, history: Sequence[Any]) -> Any:
        return message, history

    assert given(chat) == ("Say hello.", [])


def test_a_partial_and_a_method_are_called_with_the_rest() -> None:
    """What is given already is not asked for again."""

    class Bot:
        def ask(self, client: object, prompt: str) -> Any:
            return prompt

    assert given(partial(Bot().ask, object())) == "Say hello."


@pytest.mark.parametrize(
    ("as_", "value"), [("prompt", "Say hello."), ("messages", MESSAGES), ("request", REQUEST)]
)
def test_what_a_person_says_counts_more_than_a_name(as_: Any, value: Any) -> None:
    """Also for a parameter that has a default, and for one that takes any number."""
    assert given(named("prompt"), as_) == value
    assert given(lambda prompt="mine": prompt, as_) == value
    assert given(lambda *all_: all_[0], as_) == value


def test_a_builtin_without_a_signature_is_given_a_prompt() -> None:
    """Nothing else can be known of it."""
    assert wanted_by(vars, "vars").because == "its parameters cannot be read"


@pytest.mark.parametrize(
    ("function", "as_", "says"),
    [
        (lambda a, b: None, None, "what its parameters 'a' and 'b' are for is not known"),
        (lambda prompt, db: None, None, "what its parameter 'db' is for is not known"),
        (lambda prompt, query: None, None, "what its parameter 'query' is for is not known"),
        (lambda prompt, db: None, "prompt", "what its parameter 'db' is for is not known"),
        (lambda prompt: None, "nothing", "what its parameter 'prompt' is for is not known"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_to_write(
    function: Any, as_: Any, says: str
) -> None:
    """A wrong guess would be judged as if it were the person's code."""
    with pytest.raises(SubjectError, match="ask cannot be called") as refused:
        wanted_by(function, "ask", as_)
    assert says in refused.value.message
    assert "def ask(prompt)" in str(refused.value.hint)
    assert "--as prompt" in str(refused.value.hint)


def test_a_function_that_takes_nothing_cannot_be_given_a_prompt() -> None:
    """The hint says what it is."""
    with pytest.raises(SubjectError, match="takes nothing") as refused:
        wanted_by(lambda: None, "ask", "prompt")
    assert refused.value.hint == "write --as nothing"
