"""Uses of something that a runtime calls on the way: each is numbered, takes its time, and ends.

A hook, a telemetry sink, a queue and a node of a workflow have this in common. It records the two
facts of a use and fires its rule; what is used, and what its rules mean, comes from the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from faultclock.fakes.port import Port
from faultclock.fakes.rules import RulesMet
from faultclock.model.scenario.rule import CountedRule
from faultclock.model.trace.events import ends_of
from faultclock.sim.kernel.kernel import Call, Kernel
from faultclock.sim.kernel.promise import Promise


class UsesState(Struct):
    """What one used thing remembers over the lives of the subject. Plain data: it is pickled.

    Attributes:
        count: uses so far.
        met: the rules that have fired.
    """

    count: int = 0
    met: RulesMet = field(default_factory=RulesMet)


class UseRule(Struct, frozen=True, kw_only=True):
    """What becomes of some uses; the first rule that matches decides.

    Attributes:
        rule: which uses these are, 1-based over the run.
        fault_kind: what it does, such as `raises`.
        make_error: returns what leaves the use, fresh each time; None: the use never ends.
        error: what the fact about its end says of that.
    """

    rule: CountedRule
    fault_kind: str
    make_error: Callable[[], Exception] | None
    error: Mapping[str, Any] | None = None


class Used(Struct, frozen=True, kw_only=True):
    """What is used.

    Attributes:
        actor: of its facts.
        of: whose the rules are, such as `hook audit`.
        begins: kind of the first fact; the catalogue has that of the second.
        stops: whether it stops when the task that awaits it is cancelled. What lies outside of the
            subject's process takes no notice.
    """

    actor: str
    of: str
    begins: str
    takes_ns: int
    stops: bool


class Uses(Port):
    """The uses of one thing in one life of the subject.

    A use that takes no time is over at once. One whose rule makes it hang is on record as begun,
    with its rule, and never ends.

    Args:
        state: over all lives; it is changed in place.
        life: 1-based.
    """

    def __init__(
        self, used: Used, rules: Iterable[UseRule], kernel: Kernel, state: UsesState, life: int
    ) -> None:
        self._use_rules = tuple(rules)
        super().__init__(
            kernel,
            life,
            actor=used.actor,
            of=used.of,
            rules=[item.rule for item in self._use_rules],
            met=state.met,
        )
        self._used = used
        (self._ends,) = ends_of(used.begins)
        self._state = state

    def begin(
        self, facts: Mapping[str, Any], value: object = None, also: Mapping[str, Any] | None = None
    ) -> Promise:
        """Begin a use on the subject's own thread or task; the promise is how it ends.

        Args:
            facts: what both facts say of it.
            value: what a good use returns.
            also: what only the first fact says.
        """
        self._enter()
        used = self._used
        self._state.count += 1
        told = {**facts, "n": self._state.count}
        rule = next((item for item in self._use_rules if item.rule.is_for(self._state.count)), None)
        due: Call | None = None

        def abandoned() -> None:
            if used.stops and due is not None:
                due.cancel()

        promise = Promise(self._kernel, used.of, abandoned)
        self._record(used.begins, promise.call, **told, **(also or {}))
        if rule is not None and rule.make_error is None:
            self._fire(rule.rule, rule.fault_kind, promise.call, n=told["n"])
        elif used.takes_ns:
            due = self._kernel.call_after(used.takes_ns, self._end, promise, told, rule, value)
        else:
            self._end(promise, told, rule, value)
        return promise

    def _end(
        self, promise: Promise, told: Mapping[str, Any], rule: UseRule | None, value: object
    ) -> None:
        if rule is None or rule.make_error is None:
            self._record(self._ends, promise.call, **told, ok=True, error=None)
            promise.resolve(value)
            return
        self._fire(rule.rule, rule.fault_kind, promise.call, n=told["n"])
        self._record(self._ends, promise.call, **told, ok=False, error=rule.error)
        promise.reject(rule.make_error())
