"""The Relavium model carries its whole document, and every reading of it loads."""

from __future__ import annotations

from typing import Literal

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.oracle.wire.signals import Signal, classify

MODEL = load_error_model("relavium")

#: The document's two lists, written out once more: what may be retried, and what is fatal.
KINDS = {
    "rate_limit": "retry",
    "overloaded": "retry",
    "timeout": "retry",
    "transport": "retry",
    "auth": "terminal",
    "bad_request": "terminal",
    "content_filter": "terminal",
    "cancelled": "not_an_error",
    "unknown": "terminal",
}
#: The system's fourteen codes, and whether a runner may retry them.
CODES = {
    "validation": "terminal",
    "content_filter": "terminal",
    "provider_auth": "terminal",
    "provider_rate_limit": "retry",
    "provider_unavailable": "retry",
    "tool_denied": "terminal",
    "tool_failed": "retry",
    "tool_unavailable": "terminal",
    "budget_exceeded": "terminal",
    "run_timeout": "terminal",
    "turn_limit": "terminal",
    "cancelled": "not_an_error",
    "sandbox_error": "owner_decides",
    "internal": "terminal",
}


def _dispositions(class_id: str, model: ErrorModel = MODEL) -> dict[str, str]:
    (found,) = (item for item in model.classes if item.id == class_id)
    return {code: found.dispositions.get(code, found.disposition) for code in found.codes}


def test_it_has_every_kind_and_every_code_with_its_disposition() -> None:
    """Nine kinds of an adapter, fourteen codes of a run."""
    assert _dispositions("llm") == KINDS
    assert _dispositions("run") == CODES


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "rate_limit"),
        (529, "overloaded"),
        (408, "timeout"),
        (500, "overloaded"),
        (503, "overloaded"),
        (401, "auth"),
        (402, "auth"),
        (403, "auth"),
        (400, "bad_request"),
        (404, "bad_request"),
        (409, "bad_request"),
        (413, "bad_request"),
        (422, "bad_request"),
        (405, "unknown"),
    ],
)
def test_each_status_is_the_kind_that_the_document_has_for_it(status: int, kind: str) -> None:
    """Rate limits, 5xx and timeouts may be retried; 400, 401 and 403 are fatal; the rest is."""
    seen = classify(MODEL, Signal(kind="http_error", status=status))
    assert seen.pair == ("llm", kind)
    assert seen.disposition == KINDS[kind]


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("rate_limit_error", "rate_limit"),
        ("overloaded_error", "overloaded"),
        ("api_error", "overloaded"),
        ("timeout_error", "timeout"),
        ("authentication_error", "auth"),
        ("permission_error", "auth"),
        ("not_found_error", "bad_request"),
    ],
)
def test_the_type_of_an_error_object_goes_before_the_status(type_: str, kind: str) -> None:
    """Where a proxy gives a 400 to everything, what stands in the body is what it is."""
    seen = classify(MODEL, Signal(kind="http_error", status=418, error_type=type_))
    assert seen.pair == ("llm", kind)


def test_blocked_content_is_that_whatever_the_status() -> None:
    """A block has its own cause, also where it comes as a 400 or as a 500."""
    for status in (400, 500):
        signal = Signal(kind="http_error", status=status, error_code="content_policy_violation")
        assert classify(MODEL, signal).pair == ("llm", "content_filter")


def test_a_key_that_is_refused_is_auth_although_its_type_says_otherwise() -> None:
    """The document lists 401 and 403 by number."""
    signal = Signal(kind="http_error", status=401, error_type="invalid_request_error")
    assert classify(MODEL, signal).pair == ("llm", "auth")


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("type_", ["api_error", "overloaded_error", "rate_limit_error"])
def test_a_refused_key_is_auth_by_the_document_and_what_its_type_says_by_the_code(
    status: int, type_: str
) -> None:
    """The document and the system's code disagree, so it is a reading."""
    signal = Signal(kind="http_error", status=status, error_type=type_)
    assert classify(MODEL, signal).pair == ("llm", "auth")
    assert classify(MODEL, signal).disposition == "terminal"
    by_type = load_error_model("relavium", {"auth-status": "type"})
    other = "rate_limit" if type_ == "rate_limit_error" else "overloaded"
    assert classify(by_type, signal).pair == ("llm", other)
    plain = Signal(kind="http_error", status=status, error_type="invalid_request_error")
    assert classify(by_type, plain).pair == ("llm", "auth")


@pytest.mark.parametrize(
    ("causes", "disposition"),
    [
        (("wall_clock",), "retry"),
        (("syntax", "reference", "type", "memory", "stack", "result"), "terminal"),
    ],
)
def test_the_sandbox_splits_on_determinism(causes: tuple[str, ...], disposition: str) -> None:
    """Only what time has ended may pass on another try."""
    rules = [rule for rule in MODEL.signals if "sandbox_failed" in rule.when.kinds]
    for cause in causes:
        rule = next(item for item in rules if not item.when.causes or cause in item.when.causes)
        assert (rule.error_class, rule.code, rule.disposition) == (
            "run",
            "sandbox_error",
            disposition,
        )


def test_tools_split_on_policy_and_execution() -> None:
    """Denied is fatal, failed is the node's budget, absent is internal, aborted is cancelled."""
    by_kind = {
        kind: (rule.code, rule.disposition)
        for rule in reversed(MODEL.signals)
        for kind in rule.when.kinds
    }
    assert by_kind["tool_denied_by_policy"] == ("tool_denied", "terminal")
    assert by_kind["tool_denied_by_user"] == ("tool_denied", "terminal")
    assert by_kind["tool_exception"] == ("tool_failed", "retry")
    assert by_kind["tool_timeout"] == ("tool_failed", "retry")
    assert by_kind["tool_unavailable"] == ("internal", "terminal")
    assert by_kind["tool_cancelled"] == ("cancelled", "not_an_error")
    assert by_kind["handler_failed"] == ("internal", "terminal")
    assert by_kind["output_not_json"] == ("validation", "terminal")
    assert by_kind["output_schema_invalid"] == ("schema_violation", "not_an_error")


def test_the_chain_advances_on_what_may_be_retried_and_stops_on_the_rest() -> None:
    """And never once content was passed on; a rate limit parks its provider for 30 s."""
    chain = MODEL.chain
    assert chain is not None
    retryable = {f"llm/{kind}" for kind, disposition in KINDS.items() if disposition == "retry"}
    assert set(chain.advances_on) == retryable
    assert set(chain.stops_on) == {f"llm/{kind}" for kind in KINDS} - retryable
    assert chain.after_content == "never"
    assert chain.park == {"llm/rate_limit": 30_000_000_000}


def test_runners_retry_and_adapters_only_classify() -> None:
    """Two layers multiply, and there is no third."""
    assert MODEL.adapter_retries == "forbidden"
    assert MODEL.amplification is not None
    assert MODEL.amplification.layers == ("chain", "node")
    layers = {policy.id: (policy.layer, policy.attempts_from) for policy in MODEL.policies}
    assert layers["chain-entry"] == ("transport", "entry")
    nodes = {place for name, place in layers.items() if name.startswith("node-retry")}
    assert nodes == {("node", "node")}


def test_an_entry_waits_a_quarter_of_a_second_and_doubles_it() -> None:
    """Up to eight seconds, and without jitter."""
    policy = MODEL.policy_for("llm", "overloaded")
    assert policy is not None
    waits = [policy.backoff.nominal_ns(number) / 1e9 for number in range(1, 8)]
    assert waits == [0.25, 0.5, 1, 2, 4, 8, 8]
    assert policy.jitter.kind == "none"


def test_each_kind_ends_a_run_with_the_code_of_the_document() -> None:
    """What a run carries is not what an adapter says."""
    carried = {pair: rule.carries for rule in MODEL.consequences for pair in rule.applies_to}
    assert carried["llm/rate_limit"] == ("run/provider_rate_limit",)
    for kind in ("overloaded", "timeout", "transport"):
        assert carried[f"llm/{kind}"] == ("run/provider_unavailable",)
    assert carried["llm/auth"] == ("run/provider_auth",)
    assert carried["llm/bad_request"] == ("run/validation",)
    assert carried["llm/content_filter"] == ("run/content_filter",)
    assert carried["llm/unknown"] == ("run/internal",)
    for code in CODES.keys() - {"provider_auth", "provider_rate_limit", "provider_unavailable"}:
        if code != "content_filter":
            assert carried[f"run/{code}"] == (f"run/{code}",)


def test_each_limit_has_its_own_code() -> None:
    """Turns, money and time end a run under three names."""
    assert {rule.limit: rule.carries for rule in MODEL.limits} == {
        "steps": ("run/turn_limit",),
        "turns": ("run/turn_limit",),
        "cost": ("run/budget_exceeded",),
        "tokens": ("run/budget_exceeded",),
        "wall_time": ("run/run_timeout",),
    }
    assert {rule.states for rule in MODEL.limits} == {("failed",)}


def test_a_sentence_stands_in_a_section_of_the_document_or_on_another_page() -> None:
    """What stands elsewhere is given in other words."""
    sections = {
        "Error Handling",
        "Typed errors, never strings",
        "LlmError classification",
        "No silent catches",
        "User-facing vs internal errors",
        "Validation at boundaries",
    }
    for requirement in MODEL.requirements:
        if requirement.document is None:
            assert requirement.place.split(" › ")[0] in sections, requirement.id
            assert requirement.wording == "quoted", requirement.id
        else:
            assert requirement.wording == "paraphrased", requirement.id


def test_every_event_is_one_of_the_stream_and_is_spoken_of() -> None:
    """An event that no rule names would be there for show."""
    text = "\n".join(str(rule.model_dump()) for rule in MODEL.ordering)
    silent = {name for name in MODEL.events if name not in text}
    assert silent == {"agent:token"}


@pytest.mark.parametrize("kind", ["error_body", "stream_error"])
@pytest.mark.parametrize(
    ("code", "pair"),
    [
        ("server_error", "overloaded"),
        ("service_unavailable", "overloaded"),
        ("500", "overloaded"),
        ("503", "overloaded"),
        ("529", "overloaded"),
        ("429", "rate_limit"),
        ("401", "auth"),
        ("404", "bad_request"),
    ],
)
def test_where_there_is_no_status_the_code_stands_for_one(
    kind: Literal["error_body", "stream_error"], code: str, pair: str
) -> None:
    """In a 200 and inside a stream; no recorded answer has such a code, and providers do."""
    seen = classify(MODEL, Signal(kind=kind, error_code=code))
    assert seen.pair == ("llm", pair)
    assert seen.disposition == KINDS[pair]
