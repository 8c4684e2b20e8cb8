"""What a subject declares that it never does: with a decorator, or after the name of a target."""

from __future__ import annotations

import pytest

from faultclock.errors import SubjectError
from faultclock.subjects.abilities import ABILITY_WORDS, Abilities, false_claims, with_word
from faultclock.subjects.adopt import adopt
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.said import said_of


def ask(request: object) -> str:
    """Answer."""
    return "Hello."


class Agent:
    """An agent that answers."""

    def __init__(self, surroundings: object) -> None: ...

    def run_turn(self, text: str) -> str:
        """Answer."""
        return "Hello."


def test_a_decorator_declares_what_is_never_done() -> None:
    """Everything that is not declared is done."""
    assert provider_adapter(ask).abilities == Abilities()
    assert provider_adapter(streams=False)(ask).abilities == Abilities(streams="never")
    assert provider_adapter(streams="always")(ask).abilities == Abilities(streams="always")
    small = runtime(approvals=False, sessions=False, cancels=False)(Agent).abilities
    assert small == Abilities(approvals=False, sessions=False, cancels=False)


def test_what_an_option_cannot_mean_is_refused_with_what_it_takes() -> None:
    """A typing error must not leave scenarios out."""
    with pytest.raises(SubjectError) as caught:
        provider_adapter(streams="never")(ask)
    assert caught.value.hint == "one of: False, True, 'always'"
    with pytest.raises(SubjectError, match="tools is 0"):
        provider_adapter(tools=0)(ask)  # type: ignore[call-overload]
    with pytest.raises(SubjectError, match="no option 'approvals'") as caught:
        provider_adapter(approvals=False)(ask)  # type: ignore[call-overload]
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("streams, tools")
    with pytest.raises(SubjectError, match="no option 'streams'"):
        tool(streams=False)(ask)  # type: ignore[call-overload]


def test_a_word_after_the_name_declares_the_same() -> None:
    """Every command understands it, and the target keeps the word for those that come later."""
    adopted = adopt("reference@no-streams,openai-chat,no-tools")
    assert adopted.binding.abilities == Abilities(streams="never", tools=False)
    assert adopted.binding.dialects == ("openai-chat",)
    assert adopted.spec == "reference@openai-chat,no-streams,no-tools"
    with pytest.raises(SubjectError, match="'no-approvals' says nothing about a provider adapter"):
        adopt("reference@no-approvals")


def test_what_an_option_says_beats_the_words_and_keeps_the_others() -> None:
    """A command with --dialect names the target so that the next one understands it, too."""
    assert said_of("a.py:ask") == "a.py:ask"
    found = said_of("a.py:ask@openai-chat,no-streams", as_="prompt", dialect="ollama")
    assert found == "a.py:ask@prompt,ollama,no-streams"


@pytest.mark.parametrize("word", ABILITY_WORDS)
def test_each_word_is_what_the_missing_ability_is_written_as(word: str) -> None:
    """What `init` writes is read back as what was seen."""
    assert with_word(Abilities(), word).words("runtime") == (word,)


@pytest.mark.parametrize(
    ("said", "seen", "option"),
    [
        (Abilities(streams="never"), Abilities(), "streams=False"),
        (Abilities(streams="never"), Abilities(streams="always"), "streams=False"),
        (Abilities(streams="always"), Abilities(streams="never"), 'streams="always"'),
        (Abilities(tools=False), Abilities(), "tools=False"),
        (Abilities(approvals=False), Abilities(), "approvals=False"),
        (Abilities(sessions=False), Abilities(), "sessions=False"),
        (Abilities(history=False), Abilities(), "history=False"),
        (Abilities(cancels=False), Abilities(), "cancels=False"),
    ],
)
def test_a_declaration_is_false_where_a_run_shows_the_ability(
    said: Abilities, seen: Abilities, option: str
) -> None:
    """What is declared and not shown is no contradiction."""
    assert [claim for claim, _ in false_claims(said, seen)] == [option]
    assert list(false_claims(said, said)) == []
    assert list(false_claims(Abilities(), said)) == []
