"""Binding an extension: a class or factory whose object is walked through its lifecycle.

    from faultclock import extension

    @extension(kind="ContextProvider", contract_version="1.0.0")
    class Clock:
        def __init__(self, host): ...
        async def init(self): ...
        async def activate(self): ...
        async def deactivate(self): ...
        async def dispose(self): ...

It is given an `ExtensionHost`. What it declares of itself is its contract, by which it is judged.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, get_args, get_type_hints

from faultclock.errors import SubjectError
from faultclock.model.trace.trace import Declares
from faultclock.subjects.binding import Binding, bind
from faultclock.subjects.outcome import Classify
from faultclock.subjects.ports import ExtensionContract
from faultclock.subjects.schemas import check_schema, checked_fixtures

KINDS = (
    *("Provider", "Tool", "Hook", "UI", "Logger", "StateMachine", "Command", "SessionStore"),
    "ContextProvider",
)
_PHASES = ("init", "activate", "deactivate", "dispose")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_NAMES = ("lifecycle", "depends_on", "conflicts_with", "capabilities")


def extension(
    *,
    kind: str,
    contract_version: str,
    style: Literal["async", "sync"] | None = None,
    id: str | None = None,
    title: str | None = None,
    classify: Classify | None = None,
    declares: tuple[Declares, ...] = (),
    inline: bool = False,
    warm_in_place: bool = False,
    distributions: tuple[str, ...] = (),
    timer_granularity_ms: float = 0,
    **contract: Any,
) -> Callable[[Callable[..., Any]], Binding]:
    """Bind a class or factory `make(host)` as an extension under test.

    Args:
        kind: one of KINDS.
        contract_version: of that kind's contract, such as `1.0.0`.
        style: whether the phases are coroutine functions. Without it a class is async when one of
            its phases is; a factory is async, and what it makes may still have plain phases.
        contract: the other fields of `ExtensionContract`. The fixture `valid` is `{}` where the
            schema accepts that, `worst` is `valid` where it is not given, and `invalid` is made
            from the schema.

    Raises:
        SubjectError: the class or an option cannot be bound; the hint says what to write.
    """
    if not isinstance(kind, str):
        raise SubjectError(
            "@extension needs its kind and version",
            hint='write: @extension(kind="Tool", contract_version="1.0.0")',
        )
    declared = _contract(kind, contract_version, contract)
    return partial(
        _bound,
        style=style,
        contract=declared,
        id=id,
        title=title,
        classify=classify,
        declares=declares,
        inline=inline,
        warm_in_place=warm_in_place,
        distributions=distributions,
        timer_granularity_ms=timer_granularity_ms,
    )


def _bound(
    function: Callable[..., Any],
    *,
    style: Literal["async", "sync"] | None,
    contract: ExtensionContract,
    **options: Any,
) -> Binding:
    if inspect.isclass(function):
        phases = [getattr(function, name, None) for name in _PHASES]
        missing = [name for name, phase in zip(_PHASES, phases, strict=True) if not callable(phase)]
        if missing:
            raise SubjectError(
                f"{function.__qualname__} has no phase {missing[0]}",
                hint=f"an extension has all four: {', '.join(_PHASES)}",
            )
        if style is None:
            style = "async" if any(map(inspect.iscoroutinefunction, phases)) else "sync"
    return bind(
        function,
        role="extension",
        takes="host",
        style=style or "async",
        contract=contract,
        **options,
    )


def _contract(kind: str, contract_version: Any, given: dict[str, Any]) -> ExtensionContract:
    known = tuple(ExtensionContract.__dataclass_fields__)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise SubjectError(
            f"an extension has no option {unknown[0]!r}", hint=f"known: {', '.join(known)}"
        )
    if kind not in KINDS:
        raise SubjectError(f"{kind!r} is no kind of extension", hint=f"known: {', '.join(KINDS)}")
    if not isinstance(contract_version, str) or not _VERSION.fullmatch(contract_version):
        raise SubjectError(
            f"contract_version is {contract_version!r}", hint='write three numbers: "1.0.0"'
        )
    for name in _NAMES:
        if name in given:
            given[name] = _texts(name, given[name])
    _check_choices(given)
    if given.get("lifecycle", _PHASES) != _PHASES:
        raise SubjectError("lifecycle is not that of every extension", hint=", ".join(_PHASES))
    if kind == "SessionStore" and given.setdefault("active_cardinality", "one") != "one":
        raise SubjectError('a SessionStore has active_cardinality="one"')
    slot = given.get("state_slot")
    if slot is not None and (isinstance(slot, bool) or not isinstance(slot, int) or slot < 0):
        raise SubjectError(
            f"state_slot is {slot!r}", hint="give the version of its shape: 0 or more"
        )
    blank = ExtensionContract(kind=kind, contract_version=contract_version)
    schema = given.setdefault("config_schema", blank.config_schema)
    check_schema("config_schema", schema)
    if schema.get("additionalProperties") is not False:
        raise SubjectError(
            "config_schema accepts keys that it does not name",
            hint='add to it: "additionalProperties": False',
        )
    given["fixtures"] = _fixtures(schema, given.get("fixtures", {}))
    return ExtensionContract(kind=kind, contract_version=contract_version, **given)


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(item, str) for item in value):
        raise SubjectError(f"{name} is not a tuple of texts", hint=f'write: {name}=("…",)')
    return tuple(value)


def _check_choices(given: Mapping[str, Any]) -> None:
    hints = get_type_hints(ExtensionContract)
    for name in ("loaded_cardinality", "active_cardinality", "reload_behavior"):
        choices = get_args(hints[name])
        if name in given and given[name] not in choices:
            raise SubjectError(
                f"{name} is {given[name]!r}", hint=f"one of: {', '.join(map(str, choices))}"
            )


def _fixtures(schema: Mapping[str, Any], given: object) -> dict[str, Mapping[str, Any]]:
    fixtures = checked_fixtures(
        given,
        schema,
        schema_option="config_schema",
        what="configurations",
        fitting=("valid", "worst"),
    )
    fixtures.setdefault("worst", fixtures["valid"])
    if "invalid" not in fixtures:
        raise SubjectError(
            "no configuration was found that config_schema refuses",
            hint='write one: fixtures={"invalid": {…}}',
        )
    return fixtures
