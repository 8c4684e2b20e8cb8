"""An error inside an answer of status 200 is known by its code and type: model and program agree.

The programs are the references, whose tables are their own; a word that only one of the two knows
would fail clients that are right, or pass clients that are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faultclock.agents import afk, matrix_errors, relavium_run
from faultclock.load.error_model import load_error_model
from faultclock.oracle.wire.signals import Signal, classify
from faultclock.subjects import stud
from faultclock.subjects.stud import AttemptError

IN_A_BODY = {"error_body", "stream_error"}

#: What a reference makes of a failed attempt, as its model names it.
PROGRAMS: dict[str, Callable[[AttemptError], Any]] = {
    "stud-cli": stud.classify,
    "afk": afk.of_attempt,
    "relavium": lambda seen: ("llm", relavium_run.kind_of(seen)),
    "error-matrix": matrix_errors.wire_pair,
}
#: What only some providers say, as the status that it stands for.
OF_PROVIDERS = {
    ("server_is_overloaded", "service_unavailable_error"): 503,
    ("server_is_overloaded", None): 503,
    ("slow_down", None): 503,
    ("1300", "rate_limited"): 429,
    (None, "rate_limited"): 429,
    (None, "ThrottlingException"): 429,
    (None, "InternalServerException"): 500,
    (None, "ServiceUnavailableException"): 503,
}


def _words(model: str) -> list[tuple[str | None, str | None]]:
    rules = [
        rule.when for rule in load_error_model(model).signals if IN_A_BODY & {*rule.when.kinds}
    ]
    codes = {code for when in rules for code in when.error_codes}
    types = {type_ for when in rules for type_ in when.error_types}
    return [*((code, None) for code in sorted(codes)), *((None, it) for it in sorted(types))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_model_and_reference_know_the_same_words(name: str) -> None:
    """Each word that a model lists, alone in an error object."""
    model = load_error_model(name)
    words = _words(name)
    assert len(words) >= 20
    differ = {}
    for code, type_ in words:
        by_model = classify(model, Signal(kind="stream_error", error_code=code, error_type=type_))
        by_program = PROGRAMS[name](
            AttemptError("stream_error", "no", status=200, provider_code=code, provider_type=type_)
        )
        if by_model.pair != by_program:
            differ[code, type_] = (by_model.pair, by_program)
    assert differ == {}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("words", OF_PROVIDERS)
def test_what_a_provider_says_is_what_its_status_is(
    words: tuple[str | None, str | None], name: str
) -> None:
    """A whole answer would have that status; inside of one its error object stands for it."""
    model = load_error_model(name)
    code, type_ = words
    inside = classify(model, Signal(kind="stream_error", error_code=code, error_type=type_))
    whole = classify(model, Signal(kind="http_error", status=OF_PROVIDERS[words]))
    assert (inside.pair, inside.disposition) == (whole.pair, whole.disposition)
