"""The engine of all ports: what a subject is given in one life, its facts, its rules, its waits.

A tool, a person, a store, a hook or a program is a Port. It records facts as one actor, fires the
rules of its script, says at the end which were never met, and lets the subject wait in its style.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial, update_wrapper
from typing import Any, Literal

from faultclock.fakes.rules import NumberedRule, RulesMet, seal
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.promise import Promise

#: Of a subject: its methods are coroutine functions, or block the simulated thread.
Style = Literal["async", "sync"]


class Port:
    """One thing that a subject is given, in one life.

    Args:
        kernel: of the world of this life.
        life: 1-based.
        actor: of its facts, such as `tool`.
        of: whose the rules are, such as `tool write_file`.
        rules: of its script.
        met: those that have fired, over all lives; it is changed in place.
    """

    def __init__(
        self,
        kernel: Kernel,
        life: int,
        *,
        actor: str,
        of: str = "",
        rules: Iterable[NumberedRule] = (),
        met: RulesMet | None = None,
    ) -> None:
        self._kernel = kernel
        self._life = life
        self._actor = actor
        self._of = of
        self._rules = tuple(rules)
        self._met = RulesMet() if met is None else met

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        seal(
            self._kernel,
            self._rules,
            self._met,
            actor=self._actor,
            of=self._of,
            call=None,
            life=self._life,
        )

    def _enter(self) -> None:
        """Let the subject in, on its own thread or task.

        Raises:
            SimKilled: its process is dead, and what is left of it can use nothing.
        """
        make_room(self._kernel)
        if self._kernel.ending is not None:
            self._kernel.pause(0)

    def _record(self, kind: str, call: str | None, /, **payload: Any) -> None:
        self._kernel.record(self._actor, kind, **payload, call=call, life=self._life)

    def _fire(
        self, rule: NumberedRule, fault_kind: str, call: str | None, /, **payload: Any
    ) -> None:
        """Note that a rule makes its difference now."""
        self._met.fire(
            self._kernel,
            rule,
            fault_kind,
            actor=self._actor,
            of=self._of,
            **payload,
            call=call,
            life=self._life,
        )


def waiting(style: Style, begin: Callable[..., Promise]) -> Callable[..., Any]:
    """Return a function that begins something and waits for its end, in the subject's style."""

    def wait(*given: Any, **named: Any) -> Any:
        return begin(*given, **named).wait_sync()

    async def wait_async(*given: Any, **named: Any) -> Any:
        return await begin(*given, **named).wait_async()

    # A subject that looks at it sees the name and the arguments of the operation.
    operation = update_wrapper(wait if style == "sync" else wait_async, begin)
    operation.__name__ = operation.__name__.lstrip("_")
    return operation


#: What a subject waits for on its own task or thread: promises, and functions of its own.
Steps = Generator[Promise | Callable[[], Any], Any, Any]


def stepping(style: Style, steps: Callable[..., Steps]) -> Callable[..., Any]:
    """Return a function that takes steps one after another, in the subject's style.

    Each step that `steps` yields is waited for or called, and its value is sent back; what it
    raises is thrown in. The value of the generator is the function's.
    """
    if style == "sync":

        def take(*given: Any, **named: Any) -> Any:
            taken = steps(*given, **named)
            go_on: Callable[[], Any] = partial(next, taken)
            while True:
                try:
                    step = go_on()
                except StopIteration as over:
                    return over.value
                try:
                    value = step.wait_sync() if isinstance(step, Promise) else step()
                except BaseException as error:  # noqa: BLE001 - thrown in
                    go_on = partial(taken.throw, error)
                else:
                    go_on = partial(taken.send, value)

        return take

    async def take_async(*given: Any, **named: Any) -> Any:
        taken = steps(*given, **named)
        go_on: Callable[[], Any] = partial(next, taken)
        while True:
            try:
                step = go_on()
            except StopIteration as over:
                return over.value
            try:
                value = await (step.wait_async() if isinstance(step, Promise) else step())
            except BaseException as error:  # noqa: BLE001 - thrown in
                go_on = partial(taken.throw, error)
            else:
                go_on = partial(taken.send, value)

    return take_async
