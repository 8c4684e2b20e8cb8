"""Drives a tool under test as a runtime would: arguments in, a result out, within its deadline.

Each task is one call; its copies, and tasks that begin at the same time, are executed together.
What the tool does to the world is recorded by the world, what it replies is recorded here. What
fits which schema is a fact of this room: a value is whole here, and cut to size in a trace.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from faultclock.errors import InputError
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario import Scenario, Task
from faultclock.model.tape import PLAIN, Chance
from faultclock.run.calls import SETTLE_NS
from faultclock.run.cancels import Cancels
from faultclock.run.happened import Happened
from faultclock.run.host import RecordingHost, plain
from faultclock.run.notes import note_raised
from faultclock.run.one_world import in_one_world
from faultclock.run.tool_reply import NO_TEXT, describe_tool_reply
from faultclock.sim.context import CALL_ID
from faultclock.sim.escapes import SimEscape, SimKilled
from faultclock.sim.kernel import Kernel
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_exception, describe_reply
from faultclock.subjects.ports import CancelSignal, ToolContract, ToolRequest
from faultclock.subjects.schemas import misfit

__all__ = ["FIXTURE", "simulate_tool"]

#: The key of a task's arguments that stands for the arguments of that name in the contract.
FIXTURE = "$fixture"
_TIMEOUT_DEFAULT = Task.model_fields["timeout"].default


def simulate_tool(
    scenario: Scenario, binding: Binding, seed: int, chance: Chance = PLAIN
) -> Happened:
    """Execute the tool once for each task and copy, and return what happened.

    Raises:
        InputError: the scenario asks a tool for something that no tool can do.
    """
    for task in scenario.tasks:
        if task.do != "call":
            raise InputError(f"task {task.id!r}: a tool is called, not asked to {task.do}")

    def make_main(kernel: Kernel, cancels: Cancels) -> Callable[[], Any]:
        driver = _Driver(kernel, cancels, binding, scenario)
        return driver.run_async if binding.style == "async" else driver.run_blocking

    return in_one_world(scenario, binding, seed, chance, make_main)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    id: str
    copy: int
    task: Task
    execution: str

    @property
    def tool_call(self) -> str:
        """The id that the model would have given it."""
        return f"call_{self.task.id.replace('-', '_')}_{self.copy}"


class _Driver:
    def __init__(
        self, kernel: Kernel, cancels: Cancels, binding: Binding, scenario: Scenario
    ) -> None:
        self.kernel = kernel
        self.cancels = cancels
        self.binding = binding
        self.contract: ToolContract = binding.contract
        self.host = RecordingHost(kernel)
        pairs = [(task, copy) for task in scenario.tasks for copy in range(1, task.copies + 1)]
        self.calls = [
            _Call(id=f"{task.id}/{copy}", copy=copy, task=task, execution=f"t{number}")
            for number, (task, copy) in enumerate(pairs, start=1)
        ]

    async def run_async(self) -> None:
        """Execute all calls on the running loop."""
        loop = asyncio.get_running_loop()
        self._declare_contract()
        self.cancels.start_async()
        await asyncio.gather(*(loop.create_task(self._one_async(call)) for call in self.calls))
        await asyncio.sleep(SETTLE_NS / SECOND_NS)

    def run_blocking(self) -> None:
        """Execute each call on a simulated thread, or here when there is just one."""
        self._declare_contract()
        self.cancels.start_blocking()
        if len(self.calls) == 1:
            contextvars.copy_context().run(self._one_blocking, self.calls[0])
        else:
            threads = [
                threading.Thread(target=self._one_blocking, args=(call,), name=f"call {call.id}")
                for call in self.calls
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.kernel.pause(SETTLE_NS)

    async def _one_async(self, call: _Call) -> None:
        CALL_ID.set(call.id)
        if call.task.at:
            await asyncio.sleep(call.task.at / SECOND_NS)
        request = self._begun(call, is_async=True)
        try:
            value = await self.binding.invoke_async(request)  # type: ignore[arg-type]
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            self._raised(call, request, error)
        else:
            self._replied(call, value)

    def _one_blocking(self, call: _Call) -> None:
        CALL_ID.set(call.id)
        if call.task.at:
            self.kernel.pause(call.task.at)
        request = self._begun(call, is_async=False)
        try:
            value = self.binding.invoke_sync(request)  # type: ignore[arg-type]
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            self._raised(call, request, error)
        else:
            self._replied(call, value)

    # ------------------------------------------------------------------ what is recorded

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
        self.kernel.record(
            "harness",
            "contract.declared",
            call=None,
            contract=plain({**contract, "timeout_ns": timeout_ns, "retry": retry}),
        )

    def _begun(self, call: _Call, *, is_async: bool) -> ToolRequest:
        arguments = self._arguments(call)
        wrong = misfit(self.contract.input_schema, arguments)
        own_s = self.contract.timeout_s
        asked_ns = call.task.timeout
        timeout_s = own_s if asked_ns == _TIMEOUT_DEFAULT else asked_ns / SECOND_NS
        signal = CancelSignal()
        self.cancels.entered(
            call.id, (call.task.id, call.tool_call, self.contract.name), signal, is_async=is_async
        )
        self.kernel.record(
            "harness",
            "call.started",
            call=call.id,
            task=call.task.id,
            copy=call.copy,
            stream=False,
            prompt="",
            do="call",
            life=1,
            arguments=plain(arguments),
            input_problem=plain(wrong),
            timeout_ns=round(timeout_s * SECOND_NS),
        )
        self._record(call, "tool.called", arguments=plain(arguments), agent=self.contract.agent)
        return ToolRequest(
            host=self.host,
            arguments=arguments,
            call_id=call.tool_call,
            timeout_s=timeout_s,
            signal=signal,
        )

    def _arguments(self, call: _Call) -> dict[str, Any]:
        given: Mapping[str, Any] = call.task.arguments
        if given and set(given) != {FIXTURE}:
            return dict(given)
        name = str(given.get(FIXTURE, "valid"))
        fixture = self.contract.fixtures.get(name)
        if fixture is None:
            # What the scenario is about cannot be shown with this tool: the run proves nothing.
            self.kernel.record(
                "harness",
                "fault.unmet",
                fault=f"fixture {name}",
                optional=False,
                of="contract",
                call=call.id,
            )
            fixture = self.contract.fixtures["valid"]
        # A copy of its own: a tool may change what it is given.
        return dict(json.loads(json.dumps(fixture)))

    def _replied(self, call: _Call, value: object) -> None:
        self.cancels.left(call.id)
        text, facts = describe_tool_reply(value, self.contract.output_schema)
        self._record(call, "tool.replied", **facts)
        shown = NO_TEXT if text is None else describe_reply(text)
        self.kernel.record("harness", "call.returned", call=call.id, do="call", life=1, **shown)

    def _raised(self, call: _Call, request: ToolRequest, error: BaseException) -> None:
        # The world ends a call that never did by closing its coroutine: that is no outcome.
        if issubclass(type(error), (SimEscape, SimKilled, GeneratorExit)):
            raise error
        self.cancels.left(call.id)
        chain = describe_exception(error, self.binding.classify, secrets=(request.api_key,))
        stopped = request.signal.cancelled and issubclass(type(error), asyncio.CancelledError)
        if stopped:
            self._record(call, "tool.stopped")
        else:
            self._record(call, "tool.raised", type=chain[0]["type"])
        note_raised(call.id, error, chain)
        self.kernel.record("harness", "call.raised", call=call.id, do="call", life=1, chain=chain)

    def _record(self, call: _Call, kind: str, **payload: Any) -> None:
        self.kernel.record(
            "tool",
            kind,
            execution=call.execution,
            tool=self.contract.name,
            tool_call=call.tool_call,
            call=call.id,
            life=1,
            **payload,
        )
