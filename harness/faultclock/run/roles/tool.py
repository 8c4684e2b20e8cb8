"""A tool: executed as a runtime would do it, with arguments in, a result out, and a deadline.

Each task is one call; its copies, and tasks that begin at the same time, are executed together.
What the tool does to the world is recorded by the world, what it replies is recorded here. What
fits which schema is a fact of this room: a value is whole here, and cut to size in a trace.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from faultclock.errors import InputError
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.task import Task
from faultclock.run.agenda import Call
from faultclock.run.host import plain
from faultclock.run.program import NO_TEXT, Asked, Program, Setting, Step
from faultclock.run.roles.service import Service
from faultclock.run.roles.tool_reply import describe_tool_reply
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_exception, describe_reply
from faultclock.subjects.ports import CancelSignal, ToolContract, ToolRequest
from faultclock.subjects.schemas import misfit

#: The key of a task's arguments that stands for the arguments of that name in the contract.
FIXTURE = "$fixture"
_TIMEOUT_DEFAULT = Task.model_fields["timeout"].default


class ToolProgram(Program):
    """A tool, and the service that it asks."""

    replies = True

    def __init__(self, setting: Setting) -> None:
        super().__init__(*setting.usual)
        self.contract: ToolContract = self.binding.contract
        self._service = Service(setting)
        self._requests: dict[str, ToolRequest] = {}
        self._executions: dict[str, str] = {}

    @classmethod
    def check(cls, scenario: Scenario, binding: Binding) -> None:
        """Check that the scenario asks for nothing but calls."""
        for task in scenario.tasks:
            if task.do != "call":
                raise InputError(f"task {task.id!r}: a tool is called, not asked to {task.do}")

    def steps(self) -> Iterator[Step]:
        """Yield all calls at once: each begins at its time."""
        self._record("run.started")
        self._declare_contract()
        calls = tuple(
            self.agenda.call(task.id, "call", task, at_ns=task.at)
            for task in self.scenario.tasks
            for _ in range(task.copies)
        )
        self._executions = {call.id: f"t{number}" for number, call in enumerate(calls, start=1)}
        yield Asked(calls)
        yield from self.settling()

    def seal(self) -> None:
        """Record the faults that no request of the tool met."""
        self._service.seal()

    # ------------------------------------------------------------------ a call

    def begin(self, call: Call, /, **facts: Any) -> None:
        """Record that the tool is called, as a runtime and as the world sees it."""
        arguments = self._arguments(call)
        wrong = misfit(self.contract.input_schema, arguments)
        own_s, asked_ns = self.contract.timeout_s, call.of_task.timeout
        timeout_s = own_s if asked_ns == _TIMEOUT_DEFAULT else asked_ns / SECOND_NS
        request = self._requests[call.id] = ToolRequest(
            host=self.host,
            arguments=arguments,
            call_id=_tool_call(call),
            timeout_s=timeout_s,
            signal=CancelSignal(),
        )
        names = (call.name, request.call_id, self.contract.name)
        self.can_cancel(call, *names, signal=request.signal)
        super().begin(
            call,
            arguments=plain(arguments),
            input_problem=plain(wrong),
            timeout_ns=round(timeout_s * SECOND_NS),
            **facts,
        )
        self._fact(call, "tool.called", arguments=plain(arguments), agent=self.contract.agent)

    def ask(self, call: Call) -> Generator[Callable[[], Any], Any, Any]:
        """Execute the tool once."""
        request: Any = self._requests[call.id]
        return (yield partial(self.binding.invoke, request))

    def returned(self, call: Call, value: object, /, **facts: Any) -> None:
        """Record what the tool replied."""
        text, reply = describe_tool_reply(value, self.contract.output_schema)
        shown = NO_TEXT if text is None else describe_reply(text)
        self._over(call)
        self._fact(call, "tool.replied", **reply)
        super().returned(call, value, **shown, **facts)

    def chain_of(self, call: Call, error: BaseException) -> list[dict[str, Any]]:
        """Return the chain of what the tool raised, without the key that it was given."""
        secrets = (self._requests[call.id].api_key,)
        return describe_exception(error, self.binding.classify, secrets=secrets)

    def failed(self, call: Call, error: BaseException, chain: list[dict[str, Any]]) -> None:
        """Record that the tool has stopped, if it was cancelled, or what left it."""
        cancelled = self._requests[call.id].signal.cancelled
        if cancelled and issubclass(type(error), asyncio.CancelledError):
            self._fact(call, "tool.stopped")
        else:
            self._fact(call, "tool.raised", type=chain[0]["type"])

    def _declare_contract(self) -> None:
        contract = asdict(self.contract)
        for name in ("fixtures", "service"):
            del contract[name]
        timeout_ns = round(contract.pop("timeout_s") * SECOND_NS)
        retry = contract.pop("retry")
        if retry is not None:
            for name in ("base_s", "cap_s"):
                seconds = retry.pop(name)
                retry[f"{name[:-2]}_ns"] = None if seconds is None else round(seconds * SECOND_NS)
        contract.update(timeout_ns=timeout_ns, retry=retry)
        self._record("contract.declared", call=None, contract=plain(contract))

    def _arguments(self, call: Call) -> dict[str, Any]:
        given: Mapping[str, Any] = call.of_task.arguments
        if given and set(given) != {FIXTURE}:
            return dict(given)
        name = str(given.get(FIXTURE, "valid"))
        fixture = self.contract.fixtures.get(name)
        if fixture is None:
            # What the scenario is about cannot be shown with this tool: the run proves nothing.
            what = f"fixture {name}"
            self._record("fault.unmet", fault=what, optional=False, of="contract", call=call.id)
            fixture = self.contract.fixtures["valid"]
        # A copy of its own: a tool may change what it is given.
        return dict(json.loads(json.dumps(fixture)))

    def _fact(self, call: Call, kind: str, **payload: Any) -> None:
        self.kernel.record(
            "tool",
            kind,
            execution=self._executions[call.id],
            tool=self.contract.name,
            tool_call=_tool_call(call),
            call=call.id,
            life=1,
            **payload,
        )


def _tool_call(call: Call) -> str:
    """Return the id that the model would have given it."""
    return f"call_{call.name.replace('-', '_')}_{call.number}"
