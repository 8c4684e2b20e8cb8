"""Binding a tool: a function that is called as a runtime calls it.

    from faultclock import tool

    @tool(input_schema={"required": ["city"]}, fixtures={"valid": {"city": "Ulm"}})
    async def weather(call): ...

It returns a `ToolResult` or any JSON-able value. What it declares of itself (schemas, the retry
policy, how long it may take) is its contract, by which it is judged.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Unpack, overload

from faultclock.errors import SubjectError
from faultclock.subjects.binding import Binding, Options, bind
from faultclock.subjects.ports import ToolContract, ToolRetryRule
from faultclock.subjects.schemas import check_schema, checked_fixtures

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BACKOFFS = ("fixed", "linear", "exponential")


@overload
def tool(function: Callable[..., Any], /) -> Binding: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    retry: ToolRetryRule | None = None,
    gated: bool = False,
    destructive: bool = False,
    timeout_s: float = 30.0,
    fixtures: Mapping[str, Mapping[str, Any]] | None = None,
    service: Any = None,
    **options: Unpack[Options],
) -> Callable[[Callable[..., Any]], Binding]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Bind a sync or async function `call_tool(call)` as a tool under test.

    Use it bare, or with the fields of `ToolContract` and the options that `Binding` describes.
    The name is the function's own unless it is given. The fixture `valid` is `{}` where the input
    schema accepts that; `invalid` is made from the schema where it is not given.

    Raises:
        SubjectError: the function or an option cannot be bound; the hint says what to write.
    """
    if function is None:
        return partial(_bound, **options)
    return _bound(function, **options)


def _bound(function: Callable[..., Any], **options: Any) -> Binding:
    of_binding = {name: options.pop(name) for name in Options.__annotations__ if name in options}
    if "open" in options:
        raise SubjectError(
            "a tool takes no open=…", hint="make its clients in the function, where it needs them"
        )
    contract = None if isinstance(function, Binding) else _contract(function, options)
    return bind(function, role="tool", takes="call", contract=contract, **of_binding)


def _contract(function: Callable[..., Any], options: dict[str, Any]) -> ToolContract:
    known = ToolContract.__dataclass_fields__
    unknown = [name for name in options if name not in known]
    if unknown:
        raise SubjectError(
            f"a tool has no option {unknown[0]!r}", hint=f"known: {', '.join(known)}"
        )
    options = {name: value for name, value in options.items() if value is not None}
    name = options.setdefault("name", getattr(function, "__name__", "tool").strip("_").lower())
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SubjectError(
            f"{name!r} is no name of a tool",
            hint="lower-case letters, digits and underscores: @tool(name='weather')",
        )
    lines = (inspect.getdoc(function) or "").strip().splitlines()
    options.setdefault("description", lines[0] if lines else name)
    for option in ("input_schema", "output_schema"):
        check_schema(option, options.setdefault(option, {}))
    _check_retry(options.get("retry"))
    _check_timeout(options.get("timeout_s", 30.0))
    _check_service(options.get("service"))
    if bool(options.get("destructive")) and not options.get("gated"):
        raise SubjectError("destructive goes with gated=True")
    options["fixtures"] = checked_fixtures(
        options.get("fixtures", {}),
        options["input_schema"],
        schema_option="input_schema",
        what="arguments",
        fitting=("valid", "batch"),
    )
    return ToolContract(**options)


def _check_retry(retry: object) -> None:
    if retry is None:
        return
    if not isinstance(retry, ToolRetryRule):
        raise SubjectError(
            f"retry is a {type(retry).__name__}",
            hint='write: retry=ToolRetryRule(attempts_max=3, backoff="exponential", base_s=1.0)',
        )
    if retry.backoff not in _BACKOFFS:
        raise SubjectError(
            f"retry has the unknown backoff {retry.backoff!r}",
            hint=f"known: {', '.join(_BACKOFFS)}",
        )
    numbers: tuple[Any, ...] = (retry.attempts_max, retry.factor, retry.jitter_percent)
    whole = all(type(number) is int for number in numbers)
    if (
        not whole
        or retry.attempts_max < 1
        or retry.factor < 1
        or retry.base_s < 0
        or not 0 <= retry.jitter_percent <= 100
    ):
        raise SubjectError(
            "retry cannot be kept: it needs attempts_max of 1 or more, base_s of 0 or more, factor"
            " of 1 or more and jitter_percent from 0 to 100; all but base_s are whole numbers"
        )


def _check_timeout(timeout_s: object) -> None:
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or timeout_s <= 0:
        raise SubjectError(f"timeout_s is {timeout_s!r}", hint="give seconds above 0")


def _check_service(service: object) -> None:
    try:
        json.dumps(service)
    except (TypeError, ValueError) as problem:
        raise SubjectError(f"service is no JSON: {problem}", hint="give what it answers") from None
