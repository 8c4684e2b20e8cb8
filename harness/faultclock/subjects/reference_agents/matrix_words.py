"""What the operator reads of a failed stage, in the words of the Error Handling Matrix.

    pair of class and code -> Notice (message, pill, actions, next action)

The texts and labels are the document's own and stay as they are. Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultclock.subjects.reference_agents.turn import Pair

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What the operator is shown, and what is noted as the next action."""

    message: str
    pill: str | None
    actions: tuple[str, ...]
    next_action: str


def notice_of(failure: Failure) -> Notice:
    """Return what the operator is shown of `failure`."""
    actions = _actions(failure)
    code = "" if failure.pair is None else failure.pair[1]
    return Notice(
        message=_message(code, failure),
        pill=_PILLS.get(code),
        actions=actions,
        next_action=" / ".join(actions) or "none",
    )


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
    class_name, code = failure.pair
    actions: list[str] = []
    if code == "provider_permission_denied":
        actions.append(GRANT)
    if class_name in ("provider", "stage"):
        actions.append(RETRY_STAGE)
    if class_name == "provider":
        actions.append(SWITCH_PROVIDER)
    if failure.discussion:
        actions.append(CONTINUE)
    return tuple(actions)
