"""The stud-cli model carries its whole document, and every reading of it loads."""

from __future__ import annotations

from typing import Literal

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.oracle.wire.signals import Signal, classify
from faultclock.subjects.stud import AttemptError
from faultclock.subjects.stud import classify as stud_classify

MODEL = load_error_model("stud-cli")

#: The document's table of codes, written out once more.
CODES = {
    "Validation": {"ShapeInvalid", "ContractVersionMismatch", "ConfigSchemaViolation"},
    "ProviderTransient": {"NetworkTimeout", "Provider5xx", "RateLimited"},
    "ProviderCapability": {"MissingStreaming", "MissingToolCalling", "ContextWindowTooSmall"},
    "ToolTransient": {"ExecutionTimeout", "ResourceBusy"},
    "ToolTerminal": {"InputInvalid", "OutputMalformed", "Forbidden", "NotFound"},
    "Session": {"ManifestDrift", "StoreUnavailable", "ResumeMismatch"},
    "Cancellation": {"SessionCancelled", "TurnCancelled", "ToolCancelled"},
    "ExtensionHost": {"LifecycleFailure", "DependencyCycle", "DependencyMissing"},
}


def test_it_has_every_class_and_code_and_both_further_rows() -> None:
    """Eight classes with codes; a State Machine's decision and a crash have a handler only."""
    found = {item.id: set(item.codes) for item in MODEL.classes}
    assert {name: codes for name, codes in found.items() if codes} == CODES
    assert {name for name, codes in found.items() if not codes} == {"StateMachineDecision", "Crash"}


@pytest.mark.parametrize(
    ("pair", "attempts", "kind", "base_s", "percent", "nominal_s"),
    [
        ("ProviderTransient/RateLimited", 6, "exponential", 5, 20, [5, 10, 20, 40, 80, 160]),
        ("ProviderTransient/Provider5xx", 3, "exponential", 1, 20, [1, 2, 4]),
        ("ProviderTransient/NetworkTimeout", 3, "exponential", 1, 20, [1, 2, 4]),
        ("Session/StoreUnavailable", 3, "linear", 2, 0, [2, 4, 6]),
    ],
)
def test_each_policy_is_the_one_of_the_document(
    pair: str, attempts: int, kind: str, base_s: int, percent: int, nominal_s: list[int]
) -> None:
    """Attempts, growth, jitter and every step of the schedule, in the document's own figures."""
    policy = MODEL.policy_for(*pair.split("/"))
    assert policy is not None
    assert (policy.attempts_max, policy.backoff.kind) == (attempts, kind)
    assert policy.backoff.base == base_s * 1_000_000_000
    assert policy.jitter.percent == percent
    steps = [policy.backoff.nominal_ns(number) for number in range(1, len(nominal_s) + 1)]
    assert steps == [seconds * 1_000_000_000 for seconds in nominal_s]


def test_tools_have_no_policy_of_the_core() -> None:
    """The document leaves theirs to the tool's contract."""
    assert MODEL.policy_for("ToolTransient", "ExecutionTimeout") is None


def test_a_sentence_stands_in_the_document_or_says_in_which_other_one() -> None:
    """What stands on another page is known by what cites it."""
    for requirement in MODEL.requirements:
        if requirement.document is None:
            assert requirement.place.startswith("Error Model › "), requirement.id
        else:
            assert requirement.document.startswith('wiki page "'), requirement.id
            assert requirement.wording == "paraphrased", requirement.id


def test_every_name_of_an_event_is_what_a_subject_declares_or_the_world_saw() -> None:
    """A name that begins like the system's own declares it under that very name."""
    for name, pattern in MODEL.events.items():
        if pattern.kinds[0].startswith("declared."):
            assert pattern.where == {"name": name}


def test_what_reaches_a_provider_adapter_is_classified_before_the_general_rule() -> None:
    """Rules are tried in order: none stands behind one that takes all it could match."""
    order = [rule.id for rule in MODEL.signals]
    for special, general in (
        ("context-window", "request-refused"),
        ("quota", "rate-limit"),
        ("quota-by-type", "rate-limit"),
        ("request-timeout", "request-refused"),
        ("try-again", "request-refused"),
        ("in-band-context-window", "in-band-refused-by-type"),
        ("in-band-quota", "in-band-refused-by-type"),
        ("in-band-refused", "in-band-unknown"),
    ):
        assert order.index(special) < order.index(general)


@pytest.mark.parametrize("kind", ["http_error", "error_body", "stream_error"])
@pytest.mark.parametrize(
    ("code", "type_"),
    [
        ("context_length_exceeded", "invalid_request_error"),
        (None, "TOO_MANY_TOKENS"),
        ("400", "too_many_prompt_tokens"),
    ],
    ids=["OpenAI", "Cohere", "Perplexity"],
)
def test_a_prompt_that_does_not_fit_is_the_context_window_in_any_words(
    kind: Literal["http_error", "error_body", "stream_error"], code: str | None, type_: str
) -> None:
    """As each provider says it, and as the reference reads it."""
    status = 400 if kind == "http_error" else None
    wanted = ("ProviderCapability", "ContextWindowTooSmall")
    signal = Signal(kind=kind, status=status, error_code=code, error_type=type_)
    seen = classify(load_error_model("stud-cli"), signal)
    assert (seen.pair, seen.disposition) == (wanted, "terminal")
    failure = AttemptError(kind, "no", status=status, provider_code=code, provider_type=type_)
    assert stud_classify(failure) == wanted
