"""What a message about a failure holds, compared with what the model says that it must hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.model.error_model.failure_rules import FieldRule, TellingRule
from faultclock.model.secrets import SECRET, without_secrets
from faultclock.oracle.facts.nodes import argv_of
from faultclock.oracle.failures.failure import Failure
from faultclock.oracle.rules.match import value_at
from faultclock.oracle.words import excerpt


def faults_in(
    fields: Mapping[str, FieldRule],
    said: object,
    failure: Failure,
    retryable: Mapping[str, bool] | None = None,
    shown: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return in words each field of `said` that is not as its rule asks.

    Args:
        retryable: code to the flag that it has, where that is not what its disposition says.
        shown: what the operator was shown of it; empty where that is not known, or nothing.
    """
    found = []
    for name, rule in fields.items():
        value = value_at(said, name)
        wanted = _fault(rule, value, failure, retryable or {}, shown)
        if wanted is None and _is_one_of(value, rule.never):
            wanted = f"something else than {value!r}"
        if wanted is not None:
            found.append(f"`{name}` is {wanted}")
    return tuple(found)


def _fault(
    rule: FieldRule,
    value: Any,
    failure: Failure,
    retryable: Mapping[str, bool],
    shown: Sequence[str],
) -> str | None:
    """Return what the value had to be; None where it is so."""
    class_name, code = failure.pair or ("", "")
    match rule.holds:
        case "":
            same = type(value) is type(rule.equals) and value == rule.equals
            return None if same else repr(rule.equals)
        case "text":
            return None if _is_text(value) else "some text"
        case "list":
            good = isinstance(value, list) and value and all(_is_text(item) for item in value)
            return None if good else "a list of texts, at least one"
        case "class":
            return None if value == class_name else repr(class_name)
        case "code":
            return None if value == code else repr(code)
        case "retryable":
            wanted = retryable.get(code, failure.disposition == "retry")
            return None if value is wanted else str(wanted).lower()
        case "retries":
            exact = type(value) is int and value == failure.retries
            return None if exact else str(failure.retries)
        case "message":
            return _unsaid(value, failure.message)
        case "shown":
            return _unshown(value, shown)


def _is_text(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_one_of(value: Any, texts: Sequence[str]) -> bool:
    return str(value).strip().casefold() in {text.casefold() for text in texts}


def _unshown(value: Any, shown: Sequence[str]) -> str | None:
    if not _is_text(value):
        return "some text"
    known = [_plain(text) for text in shown]
    if not known or _plain(str(value)) in known:
        return None
    return f"what the operator was shown, {' or '.join(map(excerpt, known))}"


def _plain(text: str) -> str:
    """Return `text` without what leaked into it; how its lines are broken is left to the file."""
    return " ".join(without_secrets(text).split())


def _unsaid(value: Any, message: str) -> str | None:
    if not _is_text(value):
        return "some text"
    wanted = without_secrets(message).strip()
    # What must stay secret has been taken out of it, and how is left to the subject.
    if not wanted or SECRET in wanted or wanted in without_secrets(str(value)):
        return None
    return f"what it said, {excerpt(wanted)}"


def worded(rule: TellingRule, failure: Failure) -> str | None:
    """Return the text that a message must contain; None for any.

    What is not known of the failure, such as the command line of what is none, is left out.
    """
    if rule.text is None:
        return None
    target = failure.names[0] if failure.layer in ("program", "command") else None
    known = {
        "{target}": target or failure.target,
        "{command}": _command(failure),
        "{stderr}": failure.message,
        "{message}": failure.message,
    }
    text = rule.text
    for name, value in known.items():
        text = text.replace(name, without_secrets(value))
    return text.strip()


def _command(failure: Failure) -> str:
    if failure.node is not None and failure.node.argv:
        return " ".join(failure.node.argv)
    begun = next((act for act in failure.acts if act.seq in failure.events), None)
    return "" if begun is None else " ".join(argv_of(begun))
