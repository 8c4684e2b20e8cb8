"""One small agent in five APIs, each asked through its official SDK as its guide has it.

The agent asks the person, saves its session after each step, and closes what a crash left open.
What is said to the model is kept as that API wants it back, so each of them differs only in how it
asks (`ask`), and in how it adds a result (`done`).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

from faultclock.model.scenario.port_values import InteractionAnswer, InteractionRequest
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import Surroundings, TypedError

_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model asks for."""

    id: str
    name: str
    arguments: dict[str, Any]


class Agent:
    """What the agents share. `talk` is plain JSON, and `open` are calls without a result."""

    def __init__(self, world: Surroundings) -> None:
        self.world = world
        self.tools = {tool.contract.name: tool for tool in world.tools}
        self.talk: list[dict[str, Any]] = []
        self.open: list[dict[str, Any]] = []
        self.last: str | None = None
        self.turn: asyncio.Task[Any] | None = None

    async def ask(self) -> tuple[str, list[Call]]:
        """Ask the model, note what it says, and return its text or its calls."""
        raise NotImplementedError

    def said(self, text: str) -> None:
        """Add a message of the user."""
        self.talk.append({"role": "user", "content": text})

    def done(self, call: Call, result: Any) -> None:
        """Add the result of a call."""
        raise NotImplementedError

    async def start(self) -> None:
        """Open the session; a call that a crash left open has an unknown outcome."""
        if not self.world.resume:
            await self.save()
            return
        kept = await self.world.store.read(self.world.session_id)
        if kept is None:
            raise TypedError("Session", "NoSnapshot", "there is no such session")
        self.talk, self.open, self.last = kept["talk"], kept["open"], kept["last"]
        for call in [Call(**item) for item in self.open]:
            await self.closed(call, {"error": "interrupted: whether it was done is not known"})

    async def save(self) -> None:
        """Keep the session as it is."""
        kept = {"sessionId": self.world.session_id, "talk": self.talk, "open": self.open}
        await self.world.store.write(self.world.session_id, {**kept, "last": self.last})

    async def closed(self, call: Call, result: Any) -> None:
        """Add a result, and keep it."""
        self.done(call, result)
        self.open = [item for item in self.open if item["id"] != call.id]
        await self.save()

    async def run_turn(self, text: str) -> str:
        """Ask until the model has no more tools to call."""
        self.turn = asyncio.current_task()
        self.said(text)
        while True:
            answer, calls = await self.ask()
            self.open = [{"id": it.id, "name": it.name, "arguments": it.arguments} for it in calls]
            await self.save()
            if not calls:
                return answer
            for call in calls:
                await self.closed(call, await self.called(call))

    async def called(self, call: Call) -> Any:
        """Return what the model is to know of a call."""
        tool = self.tools.get(call.name)
        if tool is None:
            return {"error": f"there is no tool {call.name}"}
        if tool.contract.gated and not await self.approved(call):
            return {"error": "denied by the user"}
        try:
            async with asyncio.timeout(tool.contract.timeout_s):
                result = await tool.execute(call.arguments, call_id=call.id)
        except TimeoutError:
            return {"error": "timeout: whether it was done is not known"}
        except Exception as error:
            return {"error": type(error).__name__}
        return result.value if result.problem is None else {"error": result.problem.code}

    async def approved(self, call: Call) -> bool:
        """Ask the person; no answer in time is a no."""
        answered: asyncio.Future[InteractionAnswer] = asyncio.get_running_loop().create_future()

        def answer(given: InteractionAnswer) -> None:
            if not answered.done():
                answered.set_result(given)

        request = InteractionRequest(
            id=f"approve/{call.id}",
            kind="Approve",
            prompt=f"Run {call.name}?",
            deadline_s=_DEADLINE_S,
            tool=call.name,
            tool_call=call.id,
            arguments=call.arguments,
        )
        self.world.interactors[0].show(request, answer)
        try:
            return (await asyncio.wait_for(answered, _DEADLINE_S)).status == "accepted"
        except TimeoutError:
            self.world.interactors[0].dismiss(request.id)
            return False

    def cancel(self, scope: str, target: str | None) -> None:
        """Give the turn up."""
        del scope, target
        if self.turn is not None:
            self.turn.cancel()


class ChatAgent(Agent):
    """OpenAI's chat completions."""

    async def ask(self) -> tuple[str, list[Call]]:
        """Ask, and note the answer."""
        world = self.world
        offered = [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in self.tools
        ]
        async with openai.AsyncOpenAI(api_key=world.api_key, timeout=world.timeout_s) as client:
            answer = await client.chat.completions.create(
                model=world.model, messages=self.talk, tools=offered or openai.omit
            )
        message = answer.choices[0].message
        self.talk.append(message.to_dict())
        return message.content or "", [
            Call(it.id, it.function.name, json.loads(it.function.arguments))
            for it in message.tool_calls or ()
        ]

    def done(self, call: Call, result: Any) -> None:
        """Add the result as this API wants it."""
        self.talk.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


class ResponsesAgent(Agent):
    """OpenAI's responses, streamed, with the whole conversation in each request."""

    stream = True

    async def ask(self) -> tuple[str, list[Call]]:
        """Ask, and note the answer."""
        answer = await self.response(input=self.talk, store=False)
        self.talk += [item.to_dict() for item in answer.output]
        return _said(answer)

    async def response(self, **asked: Any) -> Any:
        """Return a whole response."""
        world = self.world
        asked["tools"] = [
            {"type": "function", "name": name, "strict": False, "parameters": {"type": "object"}}
            for name in self.tools
        ]
        async with openai.AsyncOpenAI(api_key=world.api_key, timeout=world.timeout_s) as client:
            create = client.responses.create
            if not self.stream:
                return await create(model=world.model, **asked)
            events = [
                event async for event in await create(model=world.model, stream=True, **asked)
            ]
        if events[-1].type != "response.completed":
            raise RuntimeError(f"the stream ended with {events[-1].type}")
        return events[-1].response

    def done(self, call: Call, result: Any) -> None:
        """Add the result as this API wants it."""
        output = json.dumps(result)
        told = {"type": "function_call_output", "call_id": call.id, "output": output}
        self.talk.append(told)


class ChainedAgent(ResponsesAgent):
    """OpenAI's responses, whole, each of which goes on from the one before."""

    stream = False

    async def ask(self) -> tuple[str, list[Call]]:
        """Ask, and note the answer."""
        answer = await self.response(input=self.talk, previous_response_id=self.last)
        self.talk, self.last = [], answer.id
        return _said(answer)


class MessagesAgent(Agent):
    """Anthropic's messages, streamed."""

    async def ask(self) -> tuple[str, list[Call]]:
        """Ask, and note the answer."""
        world = self.world
        offered = [{"name": name, "input_schema": {"type": "object"}} for name in self.tools]
        async with (
            anthropic.AsyncAnthropic(api_key=world.api_key, timeout=world.timeout_s) as client,
            client.messages.stream(
                model=world.model, max_tokens=1_000, messages=self.talk, tools=offered
            ) as stream,
        ):
            answer = await stream.get_final_message()
        content = [block.to_dict() for block in answer.content]
        self.talk.append({"role": "assistant", "content": content})
        text = "".join(block.text for block in answer.content if block.type == "text")
        used = [block for block in answer.content if block.type == "tool_use"]
        return text, [Call(it.id, it.name, it.input) for it in used]

    def done(self, call: Call, result: Any) -> None:
        """Add the result as this API wants it."""
        told = {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(result)}
        if self.talk[-1]["role"] == "assistant":
            self.talk.append({"role": "user", "content": []})
        self.talk[-1]["content"].append(told)


class ContentsAgent(Agent):
    """Gemini's generateContent, which answers a call by its name, as Google's guide does."""

    async def ask(self) -> tuple[str, list[Call]]:
        """Ask, and note the answer."""
        world = self.world
        declared = [
            types.FunctionDeclaration(name=name, parameters_json_schema={"type": "object"})
            for name in self.tools
        ]
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declared)] if declared else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        milliseconds = int(world.timeout_s * 1_000)
        options = types.HttpOptions(
            timeout=milliseconds, retry_options=types.HttpRetryOptions(attempts=3)
        )
        client = genai.Client(api_key=world.api_key, http_options=options)
        answer = await client.aio.models.generate_content(
            model=world.model, contents=self.talk, config=config
        )
        content = answer.candidates[0].content
        self.talk.append(content.model_dump(mode="json", exclude_none=True))
        calls = [Call(it.id, it.name, dict(it.args or {})) for it in answer.function_calls or ()]
        return "" if calls else answer.text or "", calls

    def said(self, text: str) -> None:
        """Add a content of the user."""
        self.talk.append({"role": "user", "parts": [{"text": text}]})

    def done(self, call: Call, result: Any) -> None:
        """Add the result as this API wants it."""
        response = {"name": call.name, "response": {"result": json.dumps(result)}}
        if self.talk[-1]["role"] == "model":
            self.talk.append({"role": "user", "parts": []})
        self.talk[-1]["parts"].append({"function_response": response})


def _said(answer: Any) -> tuple[str, list[Call]]:
    asked = [item for item in answer.output if item.type == "function_call"]
    calls = [Call(it.call_id, it.name, json.loads(it.arguments)) for it in asked]
    return answer.output_text, calls


def _bound(kind: type[Agent], name: str) -> Binding:
    return runtime(id=f"spoken-{name}", classify={TypedError: ("Session", "NoSnapshot")})(kind)


#: Each by the API that it speaks, which its binding does not say.
AGENTS: dict[str, tuple[Binding, str]] = {
    "chat": (_bound(ChatAgent, "chat"), "openai-chat"),
    "responses": (_bound(ResponsesAgent, "responses"), "openai-responses"),
    "chained": (_bound(ChainedAgent, "chained"), "openai-responses"),
    "messages": (_bound(MessagesAgent, "messages"), "anthropic-messages"),
    "contents": (_bound(ContentsAgent, "contents"), "gemini-generate-content"),
}
