"""What fails by the Error Handling Matrix: class and code, and what the operator is shown.

    a failed request over HTTP -> pair of class and code -> Notice (message, pill, actions)

A status decides, or the code (then the type) of an error object where no status does. The words of
a message decide nothing. For a rate limit or a quota the document has no row. The texts and labels
of the notices are the document's own and stay as they are.
"""

from __future__ import annotations

from msgspec import Struct

from faultclock.agents.core import classified
from faultclock.agents.turn import Pair, code_of
from faultclock.subjects.provider_words import Meaning
from faultclock.subjects.stud import AttemptError

NOT_FOUND = ("provider", "provider_not_found")
TIMEOUT = ("provider", "provider_timeout")
DENIED = ("provider", "provider_permission_denied")
AUTH = ("provider", "provider_auth_error")
NETWORK = ("provider", "provider_network_error")
RUNTIME = ("provider", "provider_runtime_error")
REVIEW_SCHEMA = ("stage", "review_schema_invalid")
TESTER_SCHEMA = ("stage", "tester_schema_invalid")
TEST_FAILED = ("stage", "test_failed")
CANCELED = ("run", "canceled")

_KEY_CODES = frozenset({"invalid_api_key", "invalid_token"})
#: For what has no row.
_NO_ROW = ("", "")
_BY_MEANING: dict[Meaning, Pair] = {
    "limit": _NO_ROW,
    "server": NETWORK,
    "overloaded": NETWORK,
    "timeout": NETWORK,
    "key": AUTH,
}
_BY_KIND = {"network": NETWORK, "cut": NETWORK, "deadline": TIMEOUT, "malformed": RUNTIME}
RETRY_STAGE = "重试当前阶段"
SWITCH_PROVIDER = "切换 Provider 重试"
CONTINUE = "继续讨论"
GRANT = "授予权限"

_PILLS = {
    "provider_network_error": "network error",
    "provider_auth_error": "auth error",
    "review_schema_invalid": "schema invalid",
    "tester_schema_invalid": "schema invalid",
    "canceled": "canceled",
}


class Failure(Struct, frozen=True, kw_only=True):
    """A stage that failed for good.

    Attributes:
        pair: class and code; None where the document has no row.
        stage: id of the stage.
        argv: of its program or command; empty where it asked a model over HTTP.
        said: the last line that it wrote to its error output, or what the connection did.
        raw: everything that the provider said.
        retries: how often it was done again before it failed for good.
    """

    pair: Pair | None
    stage: str
    discussion: bool = False
    argv: tuple[str, ...] = ()
    said: str = ""
    raw: str = ""
    retries: int = 0


class Notice(Struct, frozen=True, kw_only=True):
    """What the operator is shown."""

    message: str
    pill: str | None
    actions: tuple[str, ...]

    @property
    def next_action(self) -> str:
        """What is noted as the next action."""
        return " / ".join(self.actions) or "none"


def notice_of(failure: Failure) -> Notice:
    """Return what the operator is shown of `failure`."""
    code = code_of(failure.pair) or ""
    message, actions = _message(code, failure), _actions(failure)
    return Notice(message=message, pill=_PILLS.get(code), actions=actions)


def _message(code: str, failure: Failure) -> str:
    program = failure.argv[0] if failure.argv else "the provider"
    texts = {
        "provider_network_error": "网络断流，可重试",
        "provider_timeout": f"timeout: {failure.stage} did not complete in time",
        "provider_auth_error": "鉴权失败，检查 token",
        "provider_not_found": f"{program} was not found: install it, or add its folder to PATH",
        "review_schema_invalid": "评审输出格式错误",
        "tester_schema_invalid": "测试输出格式错误",
        "test_failed": f"test command failed: {' '.join(failure.argv)}\n{failure.said}",
        "provider_permission_denied": f"{program} is denied a permission again and again",
        "canceled": "canceled by the operator",
    }
    return texts.get(code, f"{failure.stage} failed: {failure.said or 'runtime error'}")


def _actions(failure: Failure) -> tuple[str, ...]:
    if failure.pair is None:
        return (RETRY_STAGE,)
    class_name = failure.pair[0]
    offered = {
        GRANT: failure.pair == DENIED,
        RETRY_STAGE: class_name in ("provider", "stage"),
        SWITCH_PROVIDER: class_name == "provider",
        CONTINUE: failure.discussion,
    }
    return tuple(action for action, is_offered in offered.items() if is_offered)


def wire_pair(seen: AttemptError) -> Pair | None:
    """Return class and code of a failed attempt, None where the document has no row for it."""
    if str(seen.provider_code) in _KEY_CODES:
        return AUTH
    found = classified(seen, _BY_KIND, _by_status, _BY_MEANING) or RUNTIME
    return None if found == _NO_ROW else found


def _by_status(status: int) -> Pair:
    if status in (401, 403):
        return AUTH
    if status in (408, 429):
        return _NO_ROW
    return NETWORK if 500 <= status <= 599 else RUNTIME
