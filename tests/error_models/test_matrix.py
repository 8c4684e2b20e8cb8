"""The Error Handling Matrix is carried whole: its tables are written out once more and compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from faultclock.fakes.dialects import dialect_named
from faultclock.load.error_model import load_error_model
from faultclock.model.duration import SECOND_NS
from faultclock.model.error_model.error_model import ErrorModel, SignalRule
from faultclock.model.error_model.failure_rules import Consequence, TellingRule, covers
from faultclock.oracle.wire.signals import Signal, classify

MODEL = load_error_model("error-matrix")
CURRENT = load_error_model("error-matrix", {"outcomes": "current"})

#: Row, the kind that it is seen by (with its cause and role), and the two outcomes.
ROWS = [
    ("NET", "program_cut", "", "reviewer", "review_schema_invalid", "provider_network_error"),
    ("NET", "program_cut", "", "tester", "provider_runtime_error", "provider_network_error"),
    ("TIME", "program_timeout", "", "reviewer", "review_schema_invalid", "provider_timeout"),
    ("TIME", "program_timeout", "", "tester", "tester_schema_invalid", "provider_timeout"),
    ("TIME", "program_timeout", "", "coder", "provider_runtime_error", "provider_timeout"),
    ("AUTH", "program_refused", "auth", "reviewer", "review_schema_invalid", "provider_auth_error"),
    ("AUTH", "program_refused", "auth", "coder", "provider_runtime_error", "provider_auth_error"),
    ("BIN", "program_missing", "", "coder", "provider_runtime_error", "provider_not_found"),
    ("REV", "output_not_json", "", "reviewer", "review_schema_invalid", "review_schema_invalid"),
    ("REV", "output_schema_invalid", "", "reviewer", *("review_schema_invalid",) * 2),
    ("TEST", "output_not_json", "", "tester", "tester_schema_invalid", "tester_schema_invalid"),
    ("CMD", "command_failed", "", "", "test_failed", "test_failed"),
    (
        *("PERM", "program_denial_loop", "", "coder"),
        *("provider_runtime_error", "provider_permission_denied"),
    ),
    ("CANCEL", "cancelled", "", "", "canceled", "canceled"),
]

#: Outcome to what the operator reads of it, as the document has it.
UX = {
    "provider_network_error": "网络断流，可重试",
    "provider_auth_error": "鉴权失败，检查 token",
    "review_schema_invalid": "评审输出格式错误",
    "tester_schema_invalid": "测试输出格式错误",
}
PILLS = {
    "schema invalid": {"stage/review_schema_invalid", "stage/tester_schema_invalid"},
    "network error": {"provider/provider_network_error"},
    "auth error": {"provider/provider_auth_error"},
    "canceled": {"run/canceled"},
}
ACTIONS = {"重试当前阶段", "切换 Provider 重试", "继续讨论"}
COLUMNS = [
    "Typical Signal",
    "Retry Policy",
    "Final Outcome (current)",
    "Recommended Outcome (target)",
    "Operator UX",
]


def _rule(model: ErrorModel, kind: str, cause: str, role: str) -> SignalRule:
    return next(
        rule
        for rule in model.signals
        if kind in rule.when.kinds
        and (not rule.when.causes or cause in rule.when.causes)
        and (not rule.when.roles or role in rule.when.roles)
        and not rule.when.where
    )


@pytest.mark.parametrize(("row", "kind", "cause", "role", "current", "target"), ROWS)
def test_each_row_has_its_current_and_its_target_outcome(
    row: str, kind: str, cause: str, role: str, current: str, target: str
) -> None:
    """By default the recommended one; under the other reading the one that was."""
    rule = _rule(MODEL, kind, cause, role)
    assert rule.code == target
    assert rule.requirement == f"MATRIX-{row}-01"
    assert _rule(CURRENT, kind, cause, role).code == current


@pytest.mark.parametrize("row", ["NET", "TIME", "AUTH", "BIN", "REV", "TEST", "CMD", "PERM"])
def test_each_row_is_five_requirements_one_for_each_cell(row: str) -> None:
    """A cell that is left out says that its neighbour is judged in its place."""
    cells = [MODEL.requirement(f"MATRIX-{row}-0{number}") for number in range(1, 6)]
    assert [cell.place.split(" › ")[2] for cell in cells] == COLUMNS
    assert [bool(cell.checks) for cell in cells] == [True, True, False, True, True]


@pytest.mark.parametrize(
    ("pair", "attempts"), [("provider/provider_network_error", 3), ("provider/provider_timeout", 3)]
)
@pytest.mark.parametrize("layer", ["program", "transport"])
def test_the_backoff_is_one_two_four_seconds_with_jitter(
    pair: str, attempts: int, layer: str
) -> None:
    """The same rule for a program and for a request, three attempts in all."""
    policy = next(
        item for item in MODEL.policies if item.layer == layer and pair in item.applies_to
    )
    assert policy.attempts_max == attempts
    waits = [policy.backoff.nominal_ns(number) // SECOND_NS for number in (1, 2, 3, 4)]
    assert waits == [1, 2, 4, 4]
    assert policy.jitter.kind == "proportional"


@pytest.mark.parametrize(
    "code",
    ["provider_auth_error", "provider_not_found", "provider_permission_denied"],
)
def test_what_is_not_retryable_has_no_policy(code: str) -> None:
    """Auth, an invalid path and a loop of denials end the stage."""
    assert MODEL.policy_for("provider", code) is None


def test_a_timeout_is_retried_only_where_the_stage_may_be_done_twice() -> None:
    """The rule for a stage that may not stands before the one for all others."""
    rules = [rule for rule in MODEL.signals if rule.code == "provider_timeout"]
    assert rules[0].when.where == {"node.idempotent": False}
    assert [rule.disposition for rule in rules] == ["terminal", *["retry"] * (len(rules) - 1)]
    hung = next(rule for rule in MODEL.signals if rule.id == "command-timeout")
    assert (hung.code, hung.when.where) == ("test_failed", {"node.do": "command"})


def test_a_schema_is_regenerated_once_and_a_failed_test_goes_to_the_coder() -> None:
    """The two rows that are neither retried nor final."""
    for role in ("reviewer", "tester"):
        assert _rule(MODEL, "output_not_json", "", role).disposition == "regenerate_once"
    assert _consequence("stage/test_failed").then == "iterate_to_coder"


def test_the_operator_reads_the_documents_own_words() -> None:
    """Each text stands in a telling rule, for its own outcome and no other."""
    texts = {rule.text: rule.applies_to for rule in _told() if rule.text in UX.values()}
    assert {text: next(iter(pairs)).split("/")[1] for text, pairs in texts.items()} == {
        text: code for code, text in UX.items()
    }


def test_the_four_pills_and_the_three_actions_are_told_apart() -> None:
    """Section 4, whole."""
    pills: dict[str, set[str]] = {}
    for rule in _told():
        if rule.pill is not None:
            pills.setdefault(rule.pill, set()).update(rule.applies_to)
    assert pills == PILLS
    assert {action for rule in _told() for action in rule.actions} >= ACTIONS
    discussed = next(rule for rule in _told() if rule.actions == ("继续讨论",))
    assert discussed.where == {"node.role": "discussion"}


def test_five_things_are_kept_of_each_failed_stage() -> None:
    """Section 5: raw output, events, class, retries with the next action, message."""
    wanted = {f"MATRIX-LOG-0{number}" for number in range(1, 6)}
    for pairs in (("provider/*",), ("stage/*",)):
        rules = [rule for rule in MODEL.kept if rule.applies_to == pairs]
        assert {rule.requirement for rule in rules} >= wanted
        assert {rule.file for rule in rules} == {"*_raw.md", "*.events.jsonl", "*_meta.json"}
        fields = {name for rule in rules for name in rule.fields}
        assert fields >= {"error_class", "retry_count", "next_action", "operator_message"}
        told = [rule.fields.get("operator_message") for rule in rules]
        assert [rule.holds for rule in told if rule is not None] == ["shown"]
    following = next(item for item in MODEL.kept if item.id == "provider-retries-and-next-action")
    assert "none" in following.fields["next_action"].never


def test_what_a_row_is_told_kept_and_ended_by_is_named() -> None:
    """The command and what it wrote; a failed message; and no end that may carry anything."""
    texts = {rule.text for rule in _told() if rule.applies_to == ("stage/test_failed",)}
    assert texts == {"{command}", "{stderr}"}
    failed = next(rule for rule in MODEL.kept if rule.requirement == "MATRIX-PROP-02")
    assert failed.fields["status"].equals == "failed"
    assert _consequence("stage/test_failed").carries == ("stage/test_failed",)
    for rule in MODEL.consequences:
        assert rule.carries or rule.run == "goes_on", rule.id


def test_a_cancel_is_known_by_its_record() -> None:
    """Not only by what it is not recorded as."""
    checks = MODEL.requirement("MATRIX-CANCEL-01").checks
    assert set(checks) == {"cancel.audited", "ordering.canceled-on-record"}


def test_a_discussion_never_fails_the_thread_and_an_implementation_is_gated() -> None:
    """Section 2: what goes on there ends here."""
    for pair in ("stage/review_schema_invalid", "provider/provider_auth_error"):
        assert _consequence(pair, "discussion").run == "goes_on"
        assert _consequence(pair).run == "ends"
        assert _consequence(pair).carries == (pair,)
    assert _consequence("provider/provider_timeout", "discussion").then == "keep_recoverable"


def test_a_sentence_of_another_place_says_which() -> None:
    """A file of the system, whose sense is given in other words."""
    for requirement in MODEL.requirements:
        if requirement.document is not None:
            assert requirement.document.startswith('source file "'), requirement.id
            assert requirement.wording == "paraphrased", requirement.id


def _told() -> Iterator[TellingRule]:
    return (rule for rule in MODEL.telling if rule.audience == "operator")


def _consequence(pair: str, role: str = "coder") -> Consequence:
    class_name, code = pair.split("/")
    return next(
        rule
        for rule in MODEL.consequences
        if covers(rule.applies_to, (class_name, code))
        and rule.where.get("node.role", role) == role
        and "node.strict" not in rule.where
    )


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (
            "gemini-generate-content",
            {
                "code": 400,
                "message": "API key not valid.",
                "status": "INVALID_ARGUMENT",
                "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
            },
        ),
        ("openai-compatible", "Incorrect API key provided: na***ys."),
    ],
    ids=["Google", "xAI"],
)
def test_a_wrong_key_that_comes_with_a_400_is_an_auth_error(dialect: str, body: object) -> None:
    """Its row says 401, 403 or an invalid token, and those providers say the last of these."""
    facts = dialect_named(dialect).error_facts({"error": body})
    assert facts is not None
    code = facts["code"]
    told = Signal(
        kind="http_error",
        status=400,
        error_code=None if code is None else str(code),
        error_type=facts["type"],
        means=facts["means"],
    )
    assert classify(load_error_model("error-matrix"), told).pair == (
        "provider",
        "provider_auth_error",
    )
    other = replace(told, means=None)
    assert classify(load_error_model("error-matrix"), other).pair == (
        "provider",
        "provider_runtime_error",
    )
