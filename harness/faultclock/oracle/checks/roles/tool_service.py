"""Tools: what a tool under test makes of its arguments and of what its service answers.

The trace shows what the service did to each thing that the tool asked; the model's `tool_signals`
say what that means for a tool; the contract that the tool declares says what it promised. What is
asked of each call by itself are rows of the ordering language, about the event `tool.run`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from faultclock.model.duration import MICROSECOND_NS, format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.role_rules import ToolRules
from faultclock.model.error_model.turn_rules import split
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import (
    Verdicts,
    also,
    broken,
    exercising,
    held,
    requirement_of,
    verdict,
)
from faultclock.oracle.checks.roles.executions import (
    Ask,
    ToolRun,
    classify_for_tool,
    retry_rule,
    rules_of,
    said,
    tool_check,
    tool_runs,
)
from faultclock.oracle.facts.history import History
from faultclock.oracle.leaks import leaks
from faultclock.oracle.wire.attempts import Attempt
from faultclock.oracle.wire.stops import NETWORK_ACTS

#: Where the document has no class for a failure, any typed error may stand for it.
_UNMAPPED = "any class"
#: Methods of which two are not as good as one: RFC 9110, 9.2.2, and RFC 5789 of PATCH.
_UNSAFE = ("POST", "PATCH")
#: Failures after which the service may have done what it was asked.
_UNKNOWN = (
    *("deadline", "connection_reset", "connection_closed"),
    *("body_cut", "stream_cut", "malformed_body"),
)
#: Statuses that a gateway gives when the service behind it may have done it all the same.
_UNKNOWN_STATUSES = (500, 502, 504)

_ASKED = "it asked its service all the same"

# ---------------------------------------------------------------------- each call by itself


def runs_over(history: History, model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `tool.run` for each call of a tool under test, with what was asked of it."""
    for run in tool_runs(history):
        rules, end = rules_of(model), run.call.end or run.call.start
        took_ns = end.at_ns - run.call.start.at_ns
        due, asked, fault, acts = _due(history, rules, run)
        payload = {
            "call": run.call.id,
            "cancelled": run.cancel is not None,
            "ended": run.ended,
            "due": due,
            "asked": asked,
            "right": not fault,
            "said": fault,
            "in_time": run.ended and end.at_ns <= run.deadline_ns + MICROSECOND_NS,
            "limit": format_duration(run.deadline_ns - run.call.start.at_ns),
            "late": rules.deadline or "an error",
            "took": f"it took {format_duration(took_ns)}" if run.ended else "it never ended",
            "value": ("part" if run.errors else "whole") if run.ok else None,
            "output_problem": None if run.reply is None else run.reply.output_problem,
            "malformed": rules.malformed_output or "an error",
            "classes": " or ".join(rules.classes) or "any",
            "untyped": _untyped(run, rules),
            **_messages(model, run),
            "shown_by": (*acts[:3], *run.seen),
        }
        yield TraceEvent(end.seq, end.at_ns, "oracle", "tool.run", payload)


def _due(
    history: History, rules: ToolRules, run: ToolRun
) -> tuple[str | None, str, str, list[int]]:
    """Return what its arguments and its service make due of a call, and what is wrong with it.

    Returns:
        `refusal`, `value` or None; that in words; what was observed instead, empty where nothing
        is wrong; and what a refused call asked its service.
    """
    if run.misfit is not None and run.ended:
        wanted = rules.invalid_input
        acts = [e.seq for e in history.of(*NETWORK_ACTS) if e.call == run.call.id]
        # An error without class and code is spoken of where replies have to be typed.
        other = wanted is not None and run.pair not in (None, split(wanted))
        fault = said(run) if run.ok or other else ""
        if acts:
            fault = f"{fault}, after it had asked its service" if fault else _ASKED
        return "refusal", f"{wanted or 'an error'}, and nothing is sent: {run.misfit}", fault, acts
    well = run.asks is not None and all(ask.last.outcome == "ok" for ask in run.asks)
    end = run.call.end
    if not well or run.misfit or run.cancel or end is None or end.at_ns >= run.deadline_ns:
        return None, "", "", []
    asked = "a whole value: the arguments fit, and every request was answered well"
    if any(attempt.failed for attempt in run.call.attempts):
        asked += " in the end"
    return "value", asked, said(run) if run.failed or run.errors else "", []


def _untyped(run: ToolRun, rules: ToolRules) -> str | None:
    """Return in words what of a reply has no class and code of a tool; None for nothing."""
    cancelled = (rules.cancelled or "").partition("/")[0]
    known = (*rules.classes, cancelled) if run.cancel is not None else rules.classes
    if run.stopped and run.cancel is not None:
        return None
    if run.reply is not None and run.reply.untyped:
        return run.reply.untyped
    if run.failed and run.pair is None:
        return said(run)
    if run.failed and run.pair is not None and run.pair[0] not in known:
        return f"{said(run)}, which is not a class of a tool"
    for error in run.errors:
        if error.get("class") not in rules.classes or not error.get("code"):
            return f"an entry of errors has the class {error.get('class')!r}"
    return None


def _messages(model: ErrorModel, run: ToolRun) -> dict[str, object]:
    """Return whether the errors of a call have messages for the model, and what leaks in them."""
    rule = next((rule for rule in model.audiences if rule.id == "model"), None)
    replied = () if run.reply is None else (run.reply.message,)
    raised = (link.get("message") for link in run.chain[:1])
    texts = (*(error.get("message") for error in run.errors), *replied, *raised)
    messages = [str(text) for text in texts if text]
    if rule is None or not messages:
        return {"has_message": False}
    found = " and ".join(leaks(rule, "\n".join(messages)))
    return {"has_message": True, "leak": f"{found}: {messages[0][:120]!r}" if found else None}


# ---------------------------------------------------------------------- what its service did


@tool_check(
    "tool.repeats",
    title="Nothing is done twice",
    says="A request that may have had its effect is not sent again without an idempotency key.",
    unjudged="no request that may have had its effect went unanswered",
)
def repeats(history: History, model: ErrorModel) -> Verdicts:
    """Judge that a lost answer is not taken for an act that was not done.

    A request whose method is not idempotent is sent again only with a key by which the service
    knows it, or where the tool's own contract says that it may be.
    """
    requirements = also(model, "tool.repeats")
    declared = retry_rule(history) is not None
    asked = ((item, ask) for item in tool_runs(history) for ask in item.asks or ())
    for run, ask in asked:
        if any(_may_have_acted(attempt) for attempt in ask.attempts):
            yield held(*requirements)
        pairs = () if declared else pairwise(ask.attempts)
        attempt, again = next((p for p in pairs if _may_have_acted(p[0])), (None, None))
        if attempt is not None and again is not None:
            yield broken(
                requirements,
                call=run.call.id,
                expected=f"an error that says that the outcome is unknown, after {attempt.signal}",
                observed="the same request was sent again, without an idempotency key",
                events=(*attempt.events, again.start.seq, *run.seen),
                hint="A lost answer does not say that nothing was done.",
            )


def _may_have_acted(attempt: Attempt) -> bool:
    """Return whether a failed request may have had an effect that a second one would repeat."""
    signal, asked = attempt.signal, attempt.asked
    if signal is None or asked is None or asked.method not in _UNSAFE:
        return False
    if any("idempoten" in name.lower() for name in asked.headers):
        return False
    return signal.kind in _UNKNOWN or signal.status in _UNKNOWN_STATUSES


@tool_check(
    "tool.upstream",
    title="A failure of the service is an error",
    says="A failure of the service becomes an error with the class and code of its signal.",
    unjudged="no execution failed because of its service",
)
def upstream(history: History, model: ErrorModel) -> Verdicts:
    """Judge what becomes of a service that fails."""
    for run in tool_runs(history):
        failed = run.failed_asks
        if run.cancel is not None or not run.ended or not failed:
            continue
        if len(failed) == len(run.asks or ()) and run.ok and not run.errors:
            yield broken(
                (requirement_of(model, "tool.success-shaped"),),
                call=run.call.id,
                expected="an error: every request of the tool to its service failed",
                observed=f"{said(run)}, after {_signals(failed)}",
                events=run.seen,
                hint="An error inside a value looks like a success to its reader.",
            )
        elif run.failed and run.pair is not None:
            yield from _judge_pair(model, run, failed)


def _judge_pair(model: ErrorModel, run: ToolRun, failed: list[Ask]) -> Verdicts:
    legal: dict[str, str | None] = {}
    for ask in failed:
        seen = classify_for_tool(model, ask.last)
        if seen is None or seen.pair is None:
            # The document has no class for this one, so any typed error may stand for it.
            return
        legal[str(seen)] = seen.requirement
    end = run.call.end
    if end is not None and end.at_ns >= run.deadline_ns - MICROSECOND_NS:
        late = rules_of(model).deadline or ""
        legal.setdefault(late, requirement_of(model, "tool.deadline"))
    own = "/".join(run.pair or ())
    yield verdict(
        (legal.get(own, next(iter(legal.values()))),),
        "" if own in legal else said(run),
        call=run.call.id,
        expected=f"{' or '.join(legal)} for {_signals(failed)}",
        events=(*failed[0].last.events, *run.seen),
        hint="Class and code follow the status; the words of an answer say nothing.",
    )


def _signals(failed: list[Ask]) -> str:
    return ", ".join(dict.fromkeys(str(ask.last.signal) for ask in failed))


@tool_check(
    "tool.partial",
    title="Partial results",
    says="Each failed item has an entry in `errors` with its class and code.",
    unjudged="no execution had both failed and good items",
)
def partial(history: History, model: ErrorModel) -> Verdicts:
    """Judge the errors of results of which some items failed."""
    requirement = requirement_of(model, "tool.partial")
    shape = requirement_of(model, "tool.success-shaped")
    for run in tool_runs(history):
        asks, failed, errors = run.asks or (), run.failed_asks, run.errors
        if not failed or len(failed) == len(asks) or not run.ok or run.cancel:
            continue
        wanted = Counter(ask.pair(model) or _UNMAPPED for ask in failed)
        found = Counter(f"{error.get('class')}/{error.get('code')}" for error in errors)
        named = {error.get("item") for error in errors}
        typed = all(error.get("class") and error.get("code") for error in errors)
        wrong = wanted.keys() - found.keys() - {_UNMAPPED} if typed else set()
        if len(errors) == len(failed) == len(named - {None}) and not wrong:
            yield held(requirement, shape)
            continue
        observed = f"errors: {_counted(found)} for {len(named - {None})} items"
        violation = broken(
            (requirement if errors else shape,),
            call=run.call.id,
            expected=f"a partial result with {len(failed)} errors, each with its item, class and"
            f" code: {_counted(wanted)}",
            observed=observed if errors else "the result looks whole",
            events=(*(ask.last.events[0] for ask in failed), *run.seen),
            hint=f"{len(failed)} of {len(asks)} requests to the service failed.",
        )
        yield exercising(violation, requirement, shape)


def _counted(pairs: Counter[str]) -> str:
    return ", ".join(f"{n} × {pair}" for pair, n in sorted(pairs.items()))
