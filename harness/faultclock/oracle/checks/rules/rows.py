"""Rows: the checks that are ordering rules and no code, for every error model that names them.

Each rule is written as in a model's file; `docs/ordering.md` has the language. What it judges is
what the model's `rules` give the name of the check. Most rules speak of derived events, which say
themselves what a crash forgives, so the lives of a process are one.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.ordering import OrderingRule
from faultclock.oracle.check import Check, Verdicts
from faultclock.oracle.facts.history import History

_Fields = dict[str, Any]
_Rule = dict[str, Any]
_OF_ALL = {"report": "every", "per": None, "scope": {"lives": "all"}}


class _Row(NamedTuple):
    """A check without code, and its rules."""

    check: Check
    rules: tuple[OrderingRule, ...]


def _no_code(_history: History, _model: ErrorModel) -> Verdicts:
    yield from ()


def _row(
    id_: str, title: str, says: str, unjudged: str, *rules: dict[str, Any], **who: Any
) -> _Row:
    """Return a row; `who` says for which subjects it is, as for a check."""
    check = Check(id=id_, title=title, says=says, run=_no_code, unjudged=unjudged, **who)
    return _Row(check, tuple(_rule(id_, {"says": says, **rule}) for rule in rules))


def _rule(check: str, rule: _Rule) -> OrderingRule:
    """Return a rule that is a part of a check."""
    named = {"id": check.replace(".", "-"), "check": check, "rules": check}
    return OrderingRule.model_validate({**named, **_OF_ALL, **rule})


def _each(kind: str, among: _Fields | tuple[_Fields, ...], right: _Fields, **more: str) -> _Rule:
    """Return the rule that each event of a kind which is `among` these has what is `right`."""
    sets = among if isinstance(among, tuple) else (among,)
    return {
        "pattern": "universality",
        "among": [{"kinds": [kind], "where": where} for where in sets],
        "event": {"kinds": [kind], "where": right},
        **more,
    }


_audited = partial(_row, role="runtime", declares=("audit",))
_phase = partial(_row, role="extension", section="extensions")
_tool = partial(_row, role="tool", section="tools")
_phases = partial(_each, "phase.ended", expected="{asked}", observed="{said}")
_runs = partial(_each, "tool.run")
_cancelled = partial(_each, "call.cancelled", {}, {"right": True}, observed="{said}")
_fitting = partial(
    _runs,
    right={"output_problem": None},
    expected="a value that fits the declared output schema, or {malformed}",
    observed="the value does not fit: {output_problem}",
)

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


#: Rules that stand beside the code of a check.
_PARTS = (
    _rule(
        "budgets.kept",
        {
            "id": "turn-cap",
            "rules": "budgets.kept.turn_cap",
            "says": "An attempt of a stage gets no more answers than its cap.",
            "pattern": "at_most",
            "report": "first",
            "scope": {
                "after": {"kinds": ["stage.asked"], "where": {"phase": "check_gate"}},
                "before": {"kinds": ["stage.asked"]},
                "until_end": True,
                "lives": "all",
            },
            "event": {"kinds": ["attempt.started"], "where": {"good": True}},
            "limit": "scenario.session.stages.{stage}.turn_cap",
            "per": "call",
            "observed": "the provider was asked for one answer more",
            "hint": "Count the answers of an attempt anew at each gate.",
        },
    ),
)

#: The checks of a tool under test.
_OF_TOOLS = (
    _tool(
        "tool.answers",
        "A good answer of the service becomes a value",
        "An execution returns a value when its arguments and all its answers are good.",
        "no execution ran without a failure",
        _runs({"due": "value"}, {"right": True}, expected="{asked}", observed="{said}"),
    ),
    _tool(
        "tool.input",
        "Arguments that do not fit",
        "Arguments that do not fit the input schema are refused, and nothing is sent.",
        "no call had arguments that do not fit the input schema",
        _runs({"due": "refusal"}, {"right": True}, expected="{asked}", observed="{said}"),
    ),
    _tool(
        "tool.output",
        "The declared output shape",
        "A value, whole or partial, fits the output schema that the tool declares.",
        "no execution replied a value",
        _fitting({"value": "whole"}),
        _fitting({"value": "part"}) | {"id": "partial-shape", "rules": "tool.partial-shape"},
    ),
    _tool(
        "tool.deadline",
        "The tool's own deadline",
        "An execution ends within the time that it may take.",
        "every execution was cancelled",
        _runs(
            {"cancelled": False},
            {"in_time": True},
            expected="an end within {limit}, by {late} if need be",
            observed="{took}",
            hint="Deadlines of single attempts add up; the execution has one of its own.",
        ),
    ),
    _tool(
        "tool.cancel",
        "A cancel stops a tool",
        "A cancelled execution ends promptly, as cancelled, and sends nothing more.",
        "no execution was cancelled",
        _cancelled(
            expected="{asked} of the cancel, and nothing more is sent",
            hint="End every wait and every request when the signal comes.",
        ),
    ),
    _tool(
        "tool.typed-reply",
        "Replies are typed",
        "Every execution ends with a value or an error that has a tool's class and a code.",
        "no execution has ended",
        _runs(
            {"ended": True},
            {"untyped": None},
            expected="a value, a ToolResult, or an error with class and code ({classes})",
            observed="{untyped}",
            hint="Return ToolResult(problem=ToolProblem(…)); let no exception out.",
        ),
    ),
    _tool(
        "tool.leaks",
        "No internals in errors",
        "No error of a tool holds a stack, a secret or a path.",
        "no execution ended with an error",
        _runs(
            {"has_message": True},
            {"leak": None},
            expected="errors in the tool's own words: the model reads them",
            observed="a message holds {leak}",
        ),
    ),
)

#: The checks of an extension under test.
_OF_EXTENSIONS = (
    _phase(
        "extension.order-accepted",
        "The order of the phases",
        "Each phase works when the phases come in their order.",
        "no phase came in its order without a planned failure",
        _phases({"due": "works", "again": False, "disposed": False}, {"right": True}),
    ),
    _phase(
        "extension.order-refused",
        "Another order is refused",
        "A phase out of order is refused with a typed error of the host.",
        "no phase came out of its order",
        _phases(
            {"due": "refused"},
            {"right": True},
            hint="Keep the state, and look at it first in each phase.",
        ),
    ),
    _phase(
        "extension.failed-phase",
        "A phase that fails",
        "A phase that fails raises the host's error, and can be called again.",
        "no phase met a planned failure",
        _phases(({"due": "may_fail"}, {"due": "works", "again": True}), {"right": True}),
    ),
    _phase(
        "extension.dispose-twice",
        "dispose can be called twice",
        "A second dispose does nothing, and raises no error.",
        "nothing was disposed of twice",
        _phases({"due": "works", "disposed": True}, {"right": True, "acted": False}),
    ),
    _phase(
        "extension.config",
        "A wrong configuration",
        "An extension refuses a configuration that its schema refuses, before it acts.",
        "no configuration was wrong",
        _phases({"due": "bad_config"}, {"right": True, "acted": False}),
    ),
    _phase(
        "extension.cancel",
        "A cancelled phase",
        "A phase that is cancelled ends promptly, as cancelled, and sends nothing more.",
        "no phase was cancelled",
        _cancelled(expected="{asked}, and nothing more is sent"),
    ),
)

_CHECKS = (*_OF_RUNTIMES, *_OF_TOOLS, *_OF_EXTENSIONS)
ROWS = (*_PARTS, *(rule for row in _CHECKS for rule in row.rules))
RUNTIME_CHECKS = tuple(row.check for row in _OF_RUNTIMES)
TOOL_CHECKS = tuple(row.check for row in _OF_TOOLS)
EXTENSION_CHECKS = tuple(row.check for row in _OF_EXTENSIONS)
