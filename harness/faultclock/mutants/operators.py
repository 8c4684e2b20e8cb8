"""What an operator does at a step of a reference: a subclass with that one method changed.

A step is a method, async or not. One body serves both: a coroutine that has nothing to wait for is
driven to its end at once. So an operator adds no turn of the loop to a step.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import random
import re
import types
import typing
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from faultclock.mutants.paths import constant, holds, left_out, value_at, with_value
from faultclock.mutants.row import (
    Again,
    AtStep,
    Beside,
    Change,
    Delay,
    Raise,
    Return,
    Shield,
    Skip,
    Swallow,
    Tune,
    Where,
)

StepOperator = Skip | Return | Raise | Again | Delay | Swallow | Shield | Change


class Use:
    """One use of a step.

    Attributes:
        subject: the object whose step it is.
        arguments: by name, as they are handed on.
        result: what the step gave; None before that.
        error: what it raised.
    """

    def __init__(self, subject: Any, step: Any, bound: inspect.BoundArguments) -> None:
        bound.apply_defaults()
        self.subject = subject
        self.step = step
        self.arguments = bound.arguments
        self.result: Any = None
        self.error: BaseException | None = None
        self._bound = bound

    def at(self, path: str) -> Any:
        """Return what stands at a path: below an argument, `self`, `result` or `error`."""
        head, _, rest = path.partition(".")
        value = self._head(head)
        return value_at(value, rest) if rest else value

    def _head(self, name: str) -> Any:
        if name == "result" and name not in self.arguments:
            return self.result
        if name == "error" and name not in self.arguments:
            return self.error
        return self.arguments[name]

    def said(self, text: str) -> str:
        """Return a text with what stands at each path in braces."""
        return re.sub(r"\{([^{}]+)\}", lambda found: str(self.at(found[1])), text)

    def set(self, path: str, new: Any) -> None:
        """Put a value at a path; below what is None there is no place for one."""
        head, _, rest = path.partition(".")
        if rest and self._head(head) is None:
            return
        self._put(head, with_value(self._head(head), rest, new) if rest else new)

    def leave_out(self, path: str) -> None:
        """Leave out what stands at a path."""
        head, _, rest = path.partition(".")
        self._put(head, left_out(self._head(head), rest))

    def _put(self, head: str, value: Any) -> None:
        if head == "result" and head not in self.arguments:
            self.result = value
        elif head != "self":
            self.arguments[head] = value

    def is_given(self, path: str) -> bool:
        """Return whether a path begins with what the step gives, or raises."""
        head = path.partition(".")[0]
        return head in ("result", "error") and head not in self.arguments

    def holds(self, where: Where, *, before: bool = False) -> bool:
        """Return whether all conditions hold; with `before`, those on what the step takes."""
        return all(
            holds(condition, self.at(path))
            for path, condition in where.items()
            if not (before and self.is_given(path))
        )

    def begin(self) -> Any:
        """Take the step of the reference; that of an async one is returned to be awaited."""
        return self.step(*self._bound.args, **self._bound.kwargs)

    async def take(self) -> Any:
        """Take the step of the reference to its end, and return what it gives."""
        given = self.begin()
        self.result = await given if inspect.isawaitable(given) else given
        return self.result


Around = Callable[[Use], Coroutine[Any, Any, Any]]


def around(base: type[Any], step: str, body: Around) -> type[Any]:
    """Return a subclass whose `step` is carried out by `body`."""
    right = getattr(base, step)
    signature = inspect.signature(right)

    def use(*given: Any, **named: Any) -> Use:
        return Use(given[0], right, signature.bind(*given, **named))

    if inspect.iscoroutinefunction(right):

        @functools.wraps(right)
        async def wrong(*given: Any, **named: Any) -> Any:
            return await body(use(*given, **named))

    else:

        @functools.wraps(right)
        def wrong(*given: Any, **named: Any) -> Any:
            return _at_once(body(use(*given, **named)))

    return type(base.__name__, (base,), {step: wrong, "__doc__": base.__doc__})


def _at_once(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("an operator on a step that does not wait has nothing to wait for")


def applied(operator: StepOperator, base: type[Any], step: str) -> type[Any]:
    """Return `base` with the operator at its own `step`."""
    if isinstance(operator, Delay) and operator.until is not None:
        return _held(operator, base, step, operator.until)
    body = _BODIES[type(operator)]
    right = getattr(base, step)
    return around(base, step, lambda use: body(operator, use, right))


def tuned(operator: Tune, base: type[Any], name: str) -> type[Any]:
    """Return `base` with another value for its constant `name`."""
    assert hasattr(base, name), f"{base.__name__} has no constant {name}"
    return type(base.__name__, (base,), {name: constant(operator.value), "__doc__": base.__doc__})


# ---------------------------------------------------------------------- the operators


async def _skipped(operator: Skip, use: Use, _: Any) -> Any:
    return None if use.holds(operator.where) else await use.take()


async def _returned(operator: Return, use: Use, right: Any) -> Any:
    if not use.holds(operator.where):
        return await use.take()
    if operator.between is not None:
        return random.uniform(*operator.between)
    return made(operator.value, _returns(right))


async def _raised(operator: Raise, use: Use, _: Any) -> Any:
    if not use.holds(operator.where, before=True):
        return await use.take()
    if any(use.is_given(path) for path in operator.where):
        await use.take()
        if not use.holds(operator.where):
            return use.result
    raise made(operator.error, None)


async def _again(operator: Again, use: Use, _: Any) -> Any:
    if not use.holds(operator.where, before=True):
        return await use.take()
    expected = () if operator.upon is None else (errors()[operator.upon],)
    for _number in range(operator.times):
        try:
            result = await use.take()
        except expected as error:
            use.error = error
            if not use.holds(operator.where):
                raise
        else:
            if expected or not use.holds(operator.where):
                return result
        if operator.after_s:
            await asyncio.sleep(operator.after_s)
    return await use.take()


async def _delayed(operator: Delay, use: Use, right: Any) -> Any:
    if not use.holds(operator.where):
        return await use.take()
    assert operator.by_s is not None
    if inspect.iscoroutinefunction(right):
        await asyncio.sleep(operator.by_s)
        return await use.take()
    asyncio.get_running_loop().call_later(operator.by_s, use.begin)
    return None


async def _swallowed(operator: Swallow, use: Use, right: Any) -> Any:
    try:
        return await use.take()
    except errors()[operator.error] as error:
        use.error = error
        if not use.holds(operator.where):
            raise
        return made(operator.value, _returns(right))


async def _shielded(operator: Shield, use: Use, _: Any) -> Any:
    if not use.holds(operator.where):
        return await use.take()
    work = asyncio.ensure_future(use.begin())
    # What it raises when nothing waits for it any more is no error of the loop.
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(work)


async def _changed(operator: Change, use: Use, right: Any) -> Any:
    if not use.holds(operator.where, before=True):
        return await use.take()
    _edit(operator, use, after=False)
    await use.take()
    if use.holds(operator.where):
        _edit(operator, use, after=True, hint=_returns(right))
    return use.result


_BODIES: dict[type[AtStep], Callable[[Any, Use, Any], Coroutine[Any, Any, Any]]] = {
    Skip: _skipped,
    Return: _returned,
    Raise: _raised,
    Again: _again,
    Delay: _delayed,
    Swallow: _swallowed,
    Shield: _shielded,
    Change: _changed,
}


def accompanied(
    operator: Beside, base: type[Any], step: str, happens: Callable[[Use, dict[str, Any]], Any]
) -> type[Any]:
    """Return `base` where something happens beside its `step`.

    Args:
        happens: takes the use of the step, and what is taken from there; may be async where the
            step is.
    """

    async def happen(use: Use) -> None:
        if use.holds(operator.where):
            taken = {name: use.at(path) for name, path in operator.taken.items()}
            said = {name: use.said(text) for name, text in operator.say.items()}
            given = happens(use, {**taken, **said})
            if inspect.isawaitable(given):
                await given

    async def body(use: Use) -> Any:
        if operator.before is not None:
            await happen(use)
            return await use.take()
        if operator.upon is None:
            await use.take()
            await happen(use)
            return use.result
        try:
            return await use.take()
        except errors()[operator.upon] as error:
            use.error = error
            await happen(use)
            raise

    return around(base, step, body)


def _held(operator: Delay, base: type[Any], step: str, until: str) -> type[Any]:
    """Return `base` where what `step` is asked for waits until `until` is taken."""

    async def hold(use: Use) -> Any:
        if not use.holds(operator.where):
            return await use.take()
        _waiting(use.subject, step).append(use.begin)
        return None

    async def release(use: Use) -> Any:
        if not operator.behind:
            _let_go(use.subject, step)
        result = await use.take()
        if operator.behind:
            _let_go(use.subject, step)
        return result

    return around(around(base, step, hold), until, release)


def _waiting(subject: Any, step: str) -> list[Callable[[], Any]]:
    held: list[Callable[[], Any]] = vars(subject).setdefault(f"_held_{step}", [])
    return held


def _let_go(subject: Any, step: str) -> None:
    held = _waiting(subject, step)
    while held:
        held.pop(0)()


def _edit(operator: Change, use: Use, *, after: bool, hint: Any = None) -> None:
    def due(path: str) -> bool:
        is_late = use.is_given(path) or (operator.behind and path.startswith("self."))
        return is_late == after

    for path in filter(due, operator.less):
        use.leave_out(path)
    for path in filter(due, operator.set):
        new = operator.set[path]
        use.set(path, made(new, hint if path == "result" else None))
    for path in filter(due, operator.taken):
        use.set(path, use.at(operator.taken[path]))
    for path in filter(due, operator.say):
        use.set(path, use.said(operator.say[path]))
    for path in filter(due, operator.times):
        if (number := use.at(path)) is not None:
            product = number * operator.times[path]
            use.set(path, round(product) if isinstance(number, int) else product)
    for path in filter(due, operator.reverse):
        use.set(path, use.at(path)[::-1])
    for path in filter(due, operator.plus):
        if use.at(path.rpartition(".")[0] or path) is not None:
            use.set(path, use.at(path) + operator.plus[path])


# ---------------------------------------------------------------------- objects and errors


@functools.cache
def errors() -> dict[str, type[BaseException]]:
    """Return the exceptions that a row may name."""
    from faultclock.subjects.ports import TypedError
    from faultclock.subjects.reference_agents.matrix import StageFailed
    from faultclock.subjects.reference_agents.relavium_telling import RunError
    from faultclock.subjects.reference_agents.turn import Ended
    from faultclock.subjects.stud import AttemptError

    known: tuple[type[BaseException], ...] = (
        Exception,
        OSError,
        asyncio.CancelledError,
        AttemptError,
        Ended,
        RunError,
        StageFailed,
        TypedError,
    )
    return {error.__name__: error for error in known}


@functools.cache
def _returns(step: Any) -> Any:
    try:
        return typing.get_type_hints(step).get("return")
    except NameError:
        # A name that its module imports for type checkers alone.
        return None


def made(value: Any, hint: Any) -> Any:
    """Return a value of a row; a mapping becomes an object where a class is asked for.

    A mapping with the name of an exception as its one key becomes that exception.
    """
    wanted = _class_of(hint) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in errors():
        ((name, value),) = value.items()
        wanted = errors()[name]
    if wanted is None:
        return constant(value)
    hints = typing.get_type_hints(wanted if dataclasses.is_dataclass(wanted) else wanted.__init__)
    return wanted(**{name: made(item, hints.get(name)) for name, item in value.items()})


def _class_of(hint: Any) -> Any:
    """Return the class that a type hint has beside None; None for a mapping or a plain value."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    for item in typing.get_args(hint) if union else (hint,):
        if isinstance(item, type) and (
            dataclasses.is_dataclass(item) or issubclass(item, BaseException)
        ):
            return item
    return None
