"""Two tiny runtimes, one async and one blocking, that use everything that can be around them.

A turn does each node once, in order; whatever fails is declared and the turn goes on.
"""

from __future__ import annotations

import asyncio
import subprocess
from typing import Any

from faultclock.agents.adapter import reference, reference_sync
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.ports import (
    API_KEY,
    BASE_URL,
    MODEL,
    Node,
    ProviderRequest,
    ProviderTarget,
    Surroundings,
)


class _Both:
    """What both share."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.tools = {tool.contract.name: tool for tool in around.tools}
        first = ProviderTarget(id="", base_url=BASE_URL, model=MODEL)
        self.chain = (first, *around.fallbacks)

    @property
    def nodes(self) -> tuple[Node, ...]:
        assert self.around.workflow is not None
        return self.around.workflow.nodes

    def failed(self, what: str, error: BaseException) -> None:
        cause = getattr(error, "cause", None)
        self.around.host.event("Failed", id=what, type=type(error).__name__, cause=cause)

    def request(self, target: ProviderTarget, node: Node) -> ProviderRequest:
        return ProviderRequest(
            host=self.around.host,
            model=target.model,
            messages=[{"role": "user", "content": node.prompt}],
            base_url=target.base_url,
            api_key=API_KEY,
        )

    def allowed(self, node: Node) -> bool:
        assert self.around.policy is not None
        assert node.tool is not None
        return self.around.policy.decide(node.tool, node.arguments, call_id=node.id) == "allow"


class _Async(_Both):
    async def run_turn(self, text: str) -> str:
        for hook in self.around.hooks:
            await self.tried(hook.id, hook.run({"prompt": text}))
        for node in self.nodes:
            await self.tried(node.id, self.do(node))
        archive, telemetry, queue = self.around.archive, self.around.telemetry, self.around.queue
        assert archive is not None
        assert telemetry is not None
        assert queue is not None
        await archive.save("meta.json", '{"status": "completed"}')
        await self.tried("telemetry", telemetry.export("turn", {"nodes": len(self.nodes)}))
        await self.tried("queue", queue.push("turn-1", {"text": "done"}))
        return "done"

    async def tried(self, what: str, work: Any) -> None:
        try:
            await asyncio.wait_for(work, 5.0)
        except Exception as error:
            self.failed(what, error)

    async def do(self, node: Node) -> Any:
        workflow = self.around.workflow
        assert workflow is not None
        match node.do:
            case "expression":
                return await workflow.evaluate(node.id)
            case "handler":
                return await workflow.handle(node.id)
            case "tool":
                if self.allowed(node):
                    await self.tools[node.tool or ""].execute(node.arguments, call_id=node.id)
                return None
            case "agent":
                for target in self.chain:
                    await self.tried(f"provider {target.id}", reference(self.request(target, node)))
                return None
            case _:
                process = await asyncio.create_subprocess_exec(*node.argv)
                return await process.wait()


class _Blocking(_Both):
    def run_turn(self, text: str) -> str:
        for hook in self.around.hooks:
            self.tried(hook.id, hook.run, {"prompt": text})
        for node in self.nodes:
            self.tried(node.id, self.do, node)
        archive, telemetry, queue = self.around.archive, self.around.telemetry, self.around.queue
        assert archive is not None
        assert telemetry is not None
        assert queue is not None
        archive.save("meta.json", '{"status": "completed"}')
        self.tried("telemetry", telemetry.export, "turn", {"nodes": len(self.nodes)})
        self.tried("queue", queue.push, "turn-1", {"text": "done"})
        return "done"

    def tried(self, what: str, work: Any, *args: Any) -> None:
        try:
            work(*args)
        except Exception as error:
            self.failed(what, error)

    def do(self, node: Node) -> Any:
        workflow = self.around.workflow
        assert workflow is not None
        match node.do:
            case "expression":
                return workflow.evaluate(node.id)
            case "handler":
                return workflow.handle(node.id)
            case "tool":
                if self.allowed(node):
                    self.tools[node.tool or ""].execute(node.arguments, call_id=node.id)
                return None
            case "agent":
                for target in self.chain:
                    self.tried(f"provider {target.id}", reference_sync, self.request(target, node))
                return None
            case _:
                return subprocess.run(node.argv, check=False).returncode


workflow_runtime = runtime(id="workflow", declares=("errors", "events"))(_Async)
blocking_workflow_runtime = runtime(id="workflow-sync", declares=("errors", "events"))(_Blocking)
