"""Rows: the checks that are ordering rules and no code, for every error model that names them.

Each rule is written as in a model's file; `docs/ordering.md` has the language. What it judges is
what the model's `rules` give the name of the check. It speaks of derived events, of calls that
ended: so a crash forgives nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from faultclock.model.error_model import ErrorModel
from faultclock.model.ordering import OrderingRule
from faultclock.oracle.check import Check, Verdicts
from faultclock.oracle.history import History

_OF_ALL = {"report": "every", "per": None, "scope": {"lives": "all"}}


class _Row(NamedTuple):
    """A check without code, and its rule."""

    check: Check
    rule: OrderingRule


def _no_code(_history: History, _model: ErrorModel) -> Verdicts:
    yield from ()


def _row(id_: str, title: str, says: str, unjudged: str, rule: dict[str, Any], **who: Any) -> _Row:
    """Return a row; `who` says for which subjects it is, as for a check."""
    named = {"id": id_.replace(".", "-"), "check": id_, "rules": id_, "says": says}
    return _Row(
        Check(id=id_, title=title, says=says, run=_no_code, unjudged=unjudged, **who),
        OrderingRule.model_validate({**named, **_OF_ALL, **rule}),
    )


_audited = partial(_row, role="runtime", declares=("audit",))
_phase = partial(_row, role="extension", section="extensions")

#: The checks of runtimes.
_OF_RUNTIMES = (
    _audited(
        "extensions.failure",
        "An extension that fails",
        "A phase that fails is in the audit trail, under the name that the document gives.",
        "no phase of an extension failed",
        {
            "pattern": "response",
            "event": {"kinds": ["phase.failed"]},
            "other": {"kinds": ["declared.audit"]},
            "same": {"record.class": "class", "record.code": "code"},
            "within": "within_ns",
            "expected": "the audit trail has the failure of {extension} in {phase} as {error}",
            "observed": "it has no such record",
            "hint": "Record each error that an extension raises, and go on with the session.",
        },
    ),
    _audited(
        "audit.attempts",
        "Failed attempts are audited",
        "Each failed attempt of a tool, a store or a stage has a record with its number.",
        "no tool, store or stage failed",
        {
            "pattern": "response",
            "event": {"kinds": ["try.failed"]},
            "other": {"kinds": ["declared.audit"]},
            "same": {
                "call": "call",
                "record.attempt": "attempt",
                "record.class": "class",
                "record.code": "code",
            },
            "optional": ["call", "class", "code"],
            "one_to_one": True,
            "within": "left_ns",
            "expected": "a record of attempt {attempt} of {what}, with {error}",
            "observed": "there is no such record before the call ends",
            "hint": "Call `host.audit(…, attempt=n)` for each attempt that fails, also the last.",
        },
    ),
    _audited(
        "audit.interactions",
        "Exchanges on error paths are audited",
        "Each request to a person that was refused or ran out has a record of the exchange.",
        "no request to a person came to a bad end",
        {
            "pattern": "response",
            "event": {
                "kinds": ["interaction.over"],
                "where": {"said": ["denied", "dismissed", "unanswered"]},
            },
            "other": {
                "kinds": ["declared.audit_event"],
                "where": {"name": "InteractionExchange"},
            },
            "same": {"fields.request": "request", "life": "lives"},
            "optional": ["life"],
            "expected": "a record InteractionExchange of {interaction_kind} {request}: {said}",
            "observed": "there is none",
            "hint": "Every exchange on an error path is audited, with its request and status.",
        },
    ),
)


def _asked(*phases: dict[str, Any], acts: bool = True) -> dict[str, Any]:
    """Return the rule that of these phases each ends as it has to, and acts only where it may."""
    right: dict[str, Any] = {"right": True} if acts else {"right": True, "acted": False}
    return {
        "pattern": "universality",
        "among": [{"kinds": ["phase.ended"], "where": where} for where in phases],
        "event": {"kinds": ["phase.ended"], "where": right},
        "expected": "{asked}",
        "observed": "{said}",
    }


#: The checks of an extension under test.
_OF_EXTENSIONS = (
    _phase(
        "extension.order-accepted",
        "The order of the phases",
        "Each phase works when the phases come in their order.",
        "no phase came in its order without a planned failure",
        _asked({"due": "works", "again": False, "disposed": False}),
    ),
    _phase(
        "extension.order-refused",
        "Another order is refused",
        "A phase out of order is refused with a typed error of the host.",
        "no phase came out of its order",
        _asked({"due": "refused"})
        | {"hint": "Keep the state, and look at it first in each phase."},
    ),
    _phase(
        "extension.failed-phase",
        "A phase that fails",
        "A phase that fails raises the host's error, and can be called again.",
        "no phase met a planned failure",
        _asked({"due": "may_fail"}, {"due": "works", "again": True}),
    ),
    _phase(
        "extension.dispose-twice",
        "dispose can be called twice",
        "A second dispose does nothing, and raises no error.",
        "nothing was disposed of twice",
        _asked({"due": "works", "disposed": True}, acts=False),
    ),
    _phase(
        "extension.config",
        "A wrong configuration",
        "An extension refuses a configuration that its schema refuses, before it acts.",
        "no configuration was wrong",
        _asked({"due": "bad_config"}, acts=False),
    ),
)

ROWS = tuple(row.rule for row in (*_OF_RUNTIMES, *_OF_EXTENSIONS))
RUNTIME_CHECKS = tuple(row.check for row in _OF_RUNTIMES)
EXTENSION_CHECKS = tuple(row.check for row in _OF_EXTENSIONS)
