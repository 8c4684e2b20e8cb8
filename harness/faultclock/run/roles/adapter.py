"""A provider adapter: the calls of a scenario, each with a client of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.task import Task
from faultclock.run.agenda import Agenda, Call
from faultclock.run.program import SETTLE_NS, Asked, Clock, Program, Setting, Step
from faultclock.run.roles.service import Service
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_reply
from faultclock.subjects.ports import API_KEY, ProviderRequest


class Calls(Program):
    """What an adapter is asked, in any world.

    Args:
        base_urls: id of each call to where it finds its provider; others find the usual one.
        settle_ns: how long the world goes on after the last call.
    """

    replies = True

    def __init__(
        self,
        kernel: Clock,
        binding: Binding,
        scenario: Scenario,
        agenda: Agenda,
        cancelled: dict[str, None],
        *,
        base_urls: Mapping[str, str] | None = None,
        settle_ns: int = SETTLE_NS,
    ) -> None:
        super().__init__(kernel, binding, scenario, agenda, cancelled)
        endpoint = scenario.provider.endpoint
        self._where = {} if endpoint is None else endpoint.model_dump()
        self._base_urls = base_urls or {}
        self._settle_ns = settle_ns

    def calls(self) -> tuple[Call, ...]:
        """Return all calls of the scenario, in order."""
        return tuple(
            self.agenda.call(task.id, "call", task, at_ns=task.at, after=task.after)
            for task in self.scenario.tasks
            for _ in range(task.copies)
        )

    def steps(self) -> Iterator[Step]:
        """Yield all calls at once: each begins at its time."""
        yield Asked(self.calls())
        yield from self.settling(self._settle_ns)

    def ask(self, call: Call) -> Generator[Callable[[], Any], Any, Any]:
        """Ask for one answer."""
        request = self.request(call.of_task)
        if call.id in self._base_urls:
            request = replace(request, base_url=self._base_urls[call.id])
        return (yield partial(self.binding.invoke, request))

    def request(self, task: Task) -> ProviderRequest:
        """Return what the adapter is given for a call of `task`."""
        return ProviderRequest(
            **self._where,
            api_key=API_KEY if task.key is None else _key_named(task.key),
            messages=[{"role": "user", "content": task.prompt}],
            stream=task.stream,
            timeout_s=task.timeout / SECOND_NS,
            host=self.host,
        )

    def place(self, call: Call) -> dict[str, Any]:
        """Return the call alone: an adapter has one life, and is asked one thing."""
        return {"call": call.id}

    def begin(self, call: Call, /, **facts: Any) -> None:
        """Record that a call begins."""
        task = call.of_task
        self.can_cancel(call, task.id)
        super().begin(call, stream=task.stream, prompt=task.prompt, **facts)

    def returned(self, call: Call, value: object, /, **facts: Any) -> None:
        """Record what a call returned."""
        super().returned(call, value, **describe_reply(value), **facts)


class AdapterProgram(Calls):
    """An adapter in a simulated world, with its provider."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(*setting.usual)
        self._provider = Service(setting)

    def steps(self) -> Iterator[Step]:
        """Yield the calls."""
        self._record("run.started")
        yield from super().steps()

    def seal(self) -> None:
        """Record the faults that no call met."""
        self._provider.seal()


def _key_named(name: str) -> str:
    """Return the key that a scenario calls `name`, in the shape of a real one."""
    return f"sk-simulated-{hashlib.sha256(name.encode()).hexdigest()[:20]}"
