"""What an error object of a provider says where no status does: in a 200, or inside a stream.

A code decides, and a type where the code says nothing that is known. Some providers put the status
that they mean into the code. Which class a meaning has is for each document to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

Meaning = Literal["limit", "server", "overloaded", "timeout", "key", "request"]
T = TypeVar("T")


def by_word(words: Mapping[T, str]) -> dict[str, T]:
    """Return word to meaning, of meanings with their words as one text."""
    return {word: meaning for meaning, text in words.items() for word in text.split()}


_BY_CODE: dict[str, Meaning] = by_word(
    {
        "limit": "rate_limit_exceeded rate_limit_error insufficient_quota"
        " billing_hard_limit_reached credit_balance_exhausted organization_spend_limit_exceeded"
        " project_spend_limit_exceeded 1300",
        "server": "server_error internal_server_error internal_error service_unavailable"
        " server_is_overloaded slow_down",
        "overloaded": "overloaded_error",
        "key": "invalid_api_key",
        "request": "context_length_exceeded invalid_value unsupported_value unsupported_parameter"
        " missing_required_parameter model_not_found content_filter content_policy_violation",
    }
)
_BY_TYPE: dict[str, Meaning] = by_word(
    {
        "limit": "requests tokens rate_limit_error rate_limit_exceeded rate_limited"
        " ThrottlingException insufficient_quota exceeded_current_quota_error billing_error",
        "server": "server_error internal_server_error api_error service_unavailable"
        " service_unavailable_error InternalServerException ServiceUnavailableException",
        "overloaded": "overloaded_error",
        "timeout": "timeout_error",
        "key": "authentication_error permission_error",
        "request": "invalid_request_error",
    }
)


def said(
    code: str | int | None,
    type_: str | None,
    answers: Mapping[Meaning, T],
    by_status: Callable[[int], T | None],
) -> T | None:
    """Return the answer of a document to what an error object says, None where it has none.

    Args:
        answers: what the document says of a meaning.
        by_status: what it says of an HTTP status.
    """
    text = str(code)
    if text in _BY_CODE:
        return answers.get(_BY_CODE[text])
    if text.isdecimal():
        return by_status(int(text))
    meaning = _BY_TYPE.get(type_ or "")
    return None if meaning is None else answers.get(meaning)
