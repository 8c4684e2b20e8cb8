"""Traces of whole turns made by hand: tools, persons, the store, stages, crashes and cancels.

The facts are those that the world records, in their order, with the life and the call of each.
A conversation is kept: what the model asked for and what it was told stand in the next request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from faultclock.model.duration import parse_duration
from faultclock.model.scenario.scenario import scenario_digest, scenario_of
from faultclock.model.trace.trace import SubjectInfo, TraceHeader
from tests.oracle.trace_builder import REPLY, TraceBuilder, link, sha256

#: The tools of a scenario that says nothing else.
TOOLS: tuple[dict[str, Any], ...] = ({"name": "ls"}, {"name": "rm", "gated": True})


def digest(value: object) -> str:
    """Return the digest of a JSON value, as tools have it."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")))


def value(given: object = None, *errors: Mapping[str, Any]) -> str:
    """Return what the model is told of a good tool call, or of one that is good in part."""
    told: dict[str, Any] = {"value": {"done": True} if given is None else given}
    if errors:
        told["errors"] = list(errors)
    return json.dumps(told)


def error(pair: str, **more: Any) -> str:
    """Return what the model is told of a tool call that failed with `Class/Code`."""
    class_name, _, code = pair.partition("/")
    return json.dumps({"error": {"class": class_name, "code": code, "message": "no", **more}})


class TurnBuilder(TraceBuilder):
    """Writes a trace of a runtime, event by event, at the current time."""

    def __init__(
        self,
        *,
        declares: tuple[str, ...] = (),
        tasks: tuple[dict[str, Any], ...] = ({"id": "ask"},),
        tools: tuple[dict[str, Any], ...] = TOOLS,
        **scenario: Any,
    ) -> None:
        super().__init__()
        built = scenario_of(
            {
                "id": "tests/by-hand",
                "title": "A turn made by hand",
                "why": "It says what a check must find.",
                "role": "runtime",
                "tasks": list(tasks),
                "tools": list(tools),
                **scenario,
            }
        )
        self.header = TraceHeader(
            scenario=built,
            scenario_digest=scenario_digest(built),
            subject=SubjectInfo(id="by-hand", role="runtime", style="async", declares=declares),
            seed=0,
        )
        self.life = 1
        self.call = "ask/1"
        self.messages: list[dict[str, Any]] = []
        self.events.clear()
        self._executions = 0
        self._operations = 0
        self._asked: tuple[dict[str, Any], ...] = ()
        self._tokens: int | None = None

    def event(self, actor: str, kind: str, **payload: Any) -> int:
        """Write one fact of this life; a request has the conversation so far."""
        if hasattr(self, "life"):
            payload.setdefault("life", self.life)
        if kind == "http.request":
            messages = [dict(message) for message in self.messages]
            payload |= {"messages": messages, "body_sha256": digest(messages)}
        elif kind == "http.exchange_ended" and payload.get("finish_reason") is not None:
            payload |= {"tool_calls": [dict(item) for item in self._asked]}
            if self._tokens is not None:
                payload["usage"] = {"total_tokens": self._tokens}
        return super().event(actor, kind, **payload)

    # Lives and calls.

    def opens(self, *chain: str, resume: bool = False) -> Self:
        """Begin a process, whose start returns, or raises what `chain` says."""
        self.event("harness", "process.started", resume=resume, call=None)
        self.begins(f"start/{self.life}", "start")
        return self.ends(*chain)

    def begins(self, call: str, do: str = "turn", prompt: str = "Say hello.") -> Self:
        """Begin a call; a turn adds the user's message to the conversation."""
        self.call = call
        self.event(
            "harness", "call.started", call=call, task=call.split("/")[0], do=do, prompt=prompt
        )
        if do == "turn":
            self.messages.append({"role": "user", "content_sha256": sha256(prompt)})
        return self

    def turn(self, call: str = "ask/1") -> Self:
        """Begin a process and a turn in it."""
        return self.opens().begins(call)

    def ends(self, *chain: str, text: str = REPLY) -> Self:
        """End the open call with a reply, or with an error `Class/Code`."""
        if chain:
            self.raises(*(link(item) for item in chain), call=self.call)
        else:
            self.returns(text, call=self.call)
        return self

    def crashes(self, after: str = "1s") -> Self:
        """Kill the process, and let time pass; `opens` begins the next one."""
        self.event("harness", "process.crashed", crash="killed", call=None)
        self.event("harness", "call.crashed", call=self.call)
        self.life += 1
        return self.after(after)

    def after(self, duration: str) -> Self:
        """Let time pass."""
        self.now_ns += parse_duration(duration)
        return self

    def cancels(self, scope: str, target: str | None = None, cancel: str = "stop") -> Self:
        """Cancel something."""
        self.event(
            "harness", "cancel.requested", cancel=cancel, scope=scope, target=target, n=1, call=None
        )
        return self

    # The model.

    def says(self, text: str = REPLY) -> Self:
        """Let the model answer with a text."""
        self._asked = ()
        self.good(text, call=self.call)
        self.messages.append({"role": "assistant", "content_sha256": sha256(text)})
        return self

    def wants(self, *calls: str, tokens: int | None = None) -> Self:
        """Let the model ask for tools: `id name {"json": "arguments"}`, or `id name`."""
        self.will_want(*calls, tokens=tokens)
        connection = self.connect(self.call)
        exchange = self.ask(connection, self.call)
        self.answer(connection, exchange, call=self.call)
        self.end_exchange(
            connection, exchange, "complete", finish_reason="tool_calls", call=self.call
        )
        self.deliver(connection)
        self.close(connection)
        facts = [{"id": item["id"], "name": item["name"]} for item in self._asked]
        self.messages.append(
            {"role": "assistant", "content_sha256": sha256(""), "tool_calls": facts}
        )
        return self

    def will_want(self, *calls: str, tokens: int | None = None) -> Self:
        """Have each answer from here on ask for these tools."""
        asked = []
        for item in calls:
            id_, name, *rest = item.split(" ", 2)
            asked.append({"id": id_, "name": name, "arguments": rest[0] if rest else "{}"})
        self._asked, self._tokens = tuple(asked), tokens
        return self

    def tells(self, tool_call: str, content: str) -> Self:
        """Add a tool's result to the conversation."""
        self.messages.append(
            {
                "role": "tool",
                "tool_call_id": tool_call,
                "content": content,
                "content_sha256": sha256(content),
            }
        )
        return self

    # Tools.

    def calls(self, tool_call: str, tool: str = "ls", **arguments: Any) -> str:
        """Begin an execution and return its id."""
        self._executions += 1
        execution = f"t{self._executions}"
        self._tool("called", execution, tool_call, tool, arguments=arguments, agent=False)
        return execution

    def happens(self, execution: str, tool_call: str, tool: str = "ls", key: str = "k") -> None:
        """Let the effect of an execution happen."""
        before = [item for item in self.events if item.kind == "tool.effect"]
        count = 1 + sum(item.payload["key"] == key for item in before)
        self._tool("effect", execution, tool_call, tool, key=key, count=count)

    def replies(
        self,
        execution: str,
        tool_call: str,
        pair: str | None = None,
        *,
        tool: str = "ls",
        given: object = None,
        errors: tuple[Mapping[str, Any], ...] = (),
    ) -> None:
        """Let an execution reply: a value, or `Class/Code`."""
        class_name, _, code = (pair or "").partition("/")
        self._tool(
            "replied",
            execution,
            tool_call,
            tool,
            ok=pair is None,
            partial=bool(errors),
            errors=[dict(item) for item in errors],
            value_sha256=digest({"done": True} if given is None else given) if not pair else None,
            seen=True,
            **{"class": class_name or None, "code": code or None},
        )

    def stops(self, execution: str, tool_call: str, tool: str = "ls") -> None:
        """Stop an execution."""
        self._tool("stopped", execution, tool_call, tool)

    def runs(
        self, tool_call: str, pair: str | None = None, *, takes: str = "100ms", tool: str = "ls"
    ) -> Self:
        """Execute a tool that replies after a while."""
        execution = self.calls(tool_call, tool)
        self.after(takes)
        self.replies(execution, tool_call, pair, tool=tool)
        return self

    def _tool(
        self, kind: str, execution: str, tool_call: str, tool: str, /, **payload: Any
    ) -> None:
        self.event(
            "tool",
            f"tool.{kind}",
            execution=execution,
            tool=tool,
            tool_call=tool_call,
            call=self.call,
            **payload,
        )

    # The person.

    def shows(
        self,
        request: str,
        tool_call: str | None = "c1",
        *,
        kind: str = "Approve",
        deadline: str | None = "120s",
        interactor: str = "terminal",
    ) -> Self:
        """Show a request to an interactor."""
        self._interaction(
            "shown",
            request,
            tool_call,
            interactor,
            interaction_kind=kind,
            tool=None if tool_call is None else "rm",
            deadline_ns=None if deadline is None else parse_duration(deadline),
        )
        return self

    def answers(
        self,
        request: str,
        said: str = "approved",
        tool_call: str | None = "c1",
        *,
        refused: str | None = None,
        interactor: str = "terminal",
    ) -> Self:
        """Let the person answer; `refused` is what the runtime raises at them."""
        class_name, _, code = (refused or "").partition("/")
        self._interaction(
            "answered",
            request,
            tool_call,
            interactor,
            answer=said,
            accepted=refused is None,
            **{"class": class_name or None, "code": code or None},
        )
        return self

    def dismisses(
        self, request: str, tool_call: str | None = "c1", *, interactor: str = "terminal"
    ) -> Self:
        """Take a request off the screen."""
        self._interaction("dismissed", request, tool_call, interactor)
        return self

    def _interaction(
        self, kind: str, request: str, tool_call: str | None, interactor: str, /, **payload: Any
    ) -> None:
        self.event(
            "interactor",
            f"interaction.{kind}",
            interactor=interactor,
            request=request,
            tool_call=tool_call,
            call=self.call,
            **payload,
        )

    # The store, the stages, the extensions.

    def stores(
        self,
        operation: str = "write",
        pair: str | None = None,
        *,
        durable: bool = True,
        found: bool = True,
        owner: str | None = None,
    ) -> Self:
        """Let the store do an operation in 5 ms, or fail with `Class/Code`."""
        self._operations += 1
        facts: dict[str, Any] = {
            "op": f"s{self._operations}",
            "operation": operation,
            "session": "s1",
            "owner": owner,
            "call": self.call,
        }
        self.event("store", "store.asked", revision_sha256=None, **facts)
        self.after("5ms")
        if pair is None and operation in ("write", "append", "write_slot") and durable:
            self.event("store", "store.durable", torn=False, **facts)
        class_name, _, code = (pair or "").partition("/")
        answer = {"class": class_name or None, "code": code or None}
        self.event(
            "store",
            "store.answered",
            ok=pair is None,
            stale=False,
            found=found and pair is None,
            **answer,
            **facts,
        )
        return self

    def staged(
        self, phase: str, said: str, attempt: int = 1, *, stage: str = "a", tool: str | None = None
    ) -> Self:
        """Ask the state machine."""
        self.event(
            "stage",
            "stage.asked",
            stage=stage,
            attempt=attempt,
            phase=phase,
            answer=said,
            tool=tool,
            call=self.call,
        )
        return self

    def phase(self, extension: str, *phases: str, ok: bool = True) -> Self:
        """Bring an extension through phases."""
        for name in phases:
            self.event(
                "extension",
                "extension.phase",
                extension=extension,
                phase=name,
                ok=ok,
                how="done" if ok else "failed",
                call=self.call,
            )
        return self

    # What the runtime says of itself.

    def audits(self, pair: str, attempt: int | None = None) -> Self:
        """Add an error to the audit trail."""
        class_name, _, code = pair.partition("/")
        record = {"class": class_name, "code": code, "context": {"a": 1}, "attempt": attempt}
        self.event("subject", "declared.audit", call=self.call, record=record)
        return self

    def audits_event(self, name: str, **fields: Any) -> Self:
        """Add a record that is no error to the audit trail."""
        self.event("subject", "declared.audit_event", call=self.call, name=name, fields=fields)
        return self
