"""What a tool makes of a service that fails it, for everything that it asked or for some of it."""

from __future__ import annotations

from collections import Counter

from faultclock.model.duration import MICROSECOND_NS
from faultclock.model.error_model import ErrorModel
from faultclock.model.role_rules import ToolRules
from faultclock.oracle.check import Check, Verdicts, exercising, held, otherwise
from faultclock.oracle.executions import (
    Ask,
    Execution,
    classify_for_tool,
    executions,
    requirement_of,
    said,
    violation,
)
from faultclock.oracle.history import History

__all__ = ["CHECKS"]

#: Where the document has no class for a failure, any typed error may stand for it.
_UNMAPPED = "any class"


def _upstream(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no execution failed because of its service")
    rules = model.tools
    for execution in executions(history) if rules is not None else ():
        if rules is None or execution.cancel is not None or not execution.ended:
            continue
        failed = [ask for ask in execution.asks or () if ask.last.failed]
        whole = bool(failed) and len(failed) == len(execution.asks or ())
        if whole and execution.ok and not execution.errors:
            requirement = requirement_of(model, "tool.success-shaped")
            yield held(requirement)
            yield violation(
                requirement,
                execution,
                "an error: every request of the tool to its service failed",
                f"{said(execution)}, after {_signals(failed)}",
                hint="An error inside a value looks like a success to its reader.",
            )
        elif failed and execution.failed and execution.pair is not None:
            yield from _judge_pair(model, rules, execution, failed)


def _judge_pair(
    model: ErrorModel, rules: ToolRules, execution: Execution, failed: list[Ask]
) -> Verdicts:
    legal: dict[str, str | None] = {}
    for ask in failed:
        signal = ask.last.signal
        seen = None if signal is None else classify_for_tool(model, signal)
        if seen is None or seen.pair is None:
            # The document has no class for this one, so any typed error may stand for it.
            return
        legal["/".join(seen.pair)] = seen.requirement
    end = execution.call.end
    if end is not None and end.at_ns >= execution.deadline_ns - MICROSECOND_NS:
        legal.setdefault(rules.deadline or "", requirement_of(model, "tool.deadline"))
    own = "/".join(execution.pair or ())
    requirement = legal.get(own, next(iter(legal.values())))
    yield held(requirement)
    if own not in legal:
        yield violation(
            requirement,
            execution,
            f"{' or '.join(legal)} for {_signals(failed)}",
            said(execution),
            events=failed[0].last.events,
            hint="Class and code follow the status; the words of an answer say nothing.",
        )


def _signals(failed: list[Ask]) -> str:
    return ", ".join(dict.fromkeys(str(ask.last.signal) for ask in failed))


def _partial(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no execution had both failed and good items")
    rules = model.tools
    requirement = requirement_of(model, "tool.partial")
    shape = requirement_of(model, "tool.success-shaped")
    for execution in executions(history) if rules is not None else ():
        asks = execution.asks or ()
        failed = [ask for ask in asks if ask.last.failed]
        if not failed or len(failed) == len(asks) or not execution.ok or execution.cancel:
            continue
        yield held(requirement, shape)
        wanted = _wanted(model, failed)
        found = Counter(f"{error.get('class')}/{error.get('code')}" for error in execution.errors)
        named = {error.get("item") for error in execution.errors}
        if execution.errors and len(execution.errors) == len(failed):
            typed = all(error.get("class") and error.get("code") for error in execution.errors)
            wrong = wanted.keys() - found.keys() - {_UNMAPPED} if typed else set()
            if None not in named and len(named) == len(failed) and not wrong:
                continue
        missing = not execution.errors
        yield exercising(
            violation(
                shape if missing else requirement,
                execution,
                f"a partial result with {len(failed)} errors, each with its item, class and code: "
                f"{', '.join(f'{n} × {pair}' for pair, n in sorted(wanted.items()))}",
                "the result looks whole"
                if missing
                else f"errors: {', '.join(f'{n} × {pair}' for pair, n in sorted(found.items()))}"
                f" for {len(named - {None})} items",
                events=tuple(ask.last.events[0] for ask in failed),
                hint=f"{len(failed)} of {len(asks)} requests to the service failed.",
            ),
            requirement,
            shape,
        )


def _wanted(model: ErrorModel, failed: list[Ask]) -> Counter[str]:
    wanted: Counter[str] = Counter()
    for ask in failed:
        signal = ask.last.signal
        seen = None if signal is None else classify_for_tool(model, signal)
        wanted[_UNMAPPED if seen is None or seen.pair is None else "/".join(seen.pair)] += 1
    return wanted


CHECKS: tuple[Check, ...] = (
    Check(
        id="tool.upstream",
        title="A failure of the service is an error",
        says="A failure of the service becomes an error with the class and code of its signal.",
        run=_upstream,
    ),
    Check(
        id="tool.partial",
        title="Partial results",
        says="Each failed item has an entry in `errors` with its class and code.",
        run=_partial,
    ),
)
