"""What a tool replied, as plain data for the trace: ok, partial or failed, and whether it is typed.

A reply may be hostile like any value of a subject: what cannot be read is reported, never raised.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from faultclock.run.host import plain
from faultclock.sim.kernel.escapes import SimEscape, SimKilled
from faultclock.subjects.ports import ToolProblem, ToolResult
from faultclock.subjects.schemas import misfit


def describe_tool_reply(
    value: object, output_schema: Mapping[str, Any]
) -> tuple[str | None, dict[str, Any]]:
    """Return the canonical JSON of the reply's value (None: it has none), and facts about it.

    The facts are `ok`, `partial`, `class`, `code`, `message`, `errors` (each `item`, `class`,
    `code`, `message`), `value_sha256`, `output_problem` (why the value does not fit the output
    schema) and `untyped` (why this is no reply that a runtime can use).
    """
    try:
        return _described(value, output_schema)
    except (SimEscape, SimKilled):
        raise
    except BaseException as failure:  # noqa: BLE001 - what is handed over may raise anything
        name = type(failure).__name__
        return None, _facts(ok=False, untyped=f"the reply cannot be read: {name}")


def _described(value: object, schema: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    result = value if isinstance(value, ToolResult) else ToolResult(value=value)
    problem = result.problem
    if problem is not None:
        if not isinstance(problem, ToolProblem):
            return None, _facts(ok=False, untyped="problem is no ToolProblem")
        return None, _facts(ok=False, problem=problem, errors=result.errors)
    try:
        text = json.dumps(result.value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None, _facts(ok=True, untyped=f"a {type(result.value).__name__} is no JSON value")
    return text, _facts(
        ok=True,
        errors=result.errors,
        value_sha256=hashlib.sha256(text.encode()).hexdigest(),
        # As it arrives at its reader: a tuple is a list there.
        output_problem=plain(misfit(schema, json.loads(text))),
    )


def _facts(
    *,
    ok: bool,
    problem: ToolProblem | None = None,
    errors: tuple[ToolProblem, ...] = (),
    value_sha256: str | None = None,
    output_problem: str | None = None,
    untyped: str | None = None,
) -> dict[str, Any]:
    listed = list(errors)
    if untyped is None and not all(isinstance(error, ToolProblem) for error in listed):
        untyped, listed = "an entry of errors is no ToolProblem", []
    return {
        "ok": ok,
        "partial": ok and bool(listed),
        "class": None if problem is None else plain(problem.error_class),
        "code": None if problem is None else plain(problem.code),
        "message": None if problem is None else plain(problem.message),
        "errors": [
            {
                "item": plain(error.item),
                "class": plain(error.error_class),
                "code": plain(error.code),
                "message": plain(error.message),
            }
            for error in listed
        ],
        "value_sha256": value_sha256,
        "output_problem": output_problem,
        "untyped": untyped,
    }
