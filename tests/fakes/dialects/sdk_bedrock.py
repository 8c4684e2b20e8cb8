"""boto3 on Bedrock's Converse. It has no async client."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing
from typing import Any, cast

import boto3
from botocore.config import Config

from faultclock.fakes.wire.answer import Answer
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.bedrock_model import message_problems, output_problems, stream_of
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Way

_TOOL = {
    "toolSpec": {
        "name": "weather",
        "description": "The weather of a city.",
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
                "required": ["city", "unit"],
            }
        },
    }
}
#: botocore 1.44.5, data/bedrock-runtime/2023-09-30/service-2.json: the exceptions of the service.
_MODELLED = frozenset(
    {
        "AccessDeniedException",
        "InternalServerException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ModelStreamErrorException",
        "ModelTimeoutException",
        "ResourceNotFoundException",
        "ServiceQuotaExceededException",
        "ServiceUnavailableException",
        "ThrottlingException",
        "ValidationException",
    }
)


class BedrockSdk:
    """boto3 with a client of bedrock-runtime. See `driver.Sdk`."""

    dialect = "bedrock-converse"
    distribution = "botocore"
    client_name = "boto3"
    ways: tuple[Way, ...] = ("sync",)
    places: tuple[Place, ...] = ("answer", "stream")
    finish_words = {  # noqa: RUF012 - never changed
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "content_filtered",
        "error": "malformed_model_output",
    }

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a client with retries off, which is given keys of nobody."""
        session = boto3.Session(
            aws_access_key_id="nobody", aws_secret_access_key="nothing", region_name="us-east-1"
        )
        once = Config(retries={"total_max_attempts": 1})
        return closing(session.client("bedrock-runtime", endpoint_url=base_url, config=once))

    def async_client(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """Refuse: there is none."""
        raise NotImplementedError(f"boto3 is blocking, also for {base_url}")

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask; a stream is put together from its events."""
        given: dict[str, Any] = {
            "modelId": ask.model,
            "messages": [{"role": "user", "content": [{"text": "Say hello."}]}],
        }
        if ask.tools:
            given["toolConfig"] = {"tools": [_TOOL]}
        if ask.stream:
            return _reply_of_events(list(client.converse_stream(**given)["stream"]))
        answer = client.converse(**given)
        blocks = answer["output"]["message"]["content"]
        return Reply(
            text="".join(block.get("text", "") for block in blocks),
            tool_calls=tuple(
                (block["toolUse"]["name"], block["toolUse"]["input"])
                for block in blocks
                if "toolUse" in block
            ),
            finish_reason=answer["stopReason"],
        )

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Refuse: there is no async client."""
        raise NotImplementedError(f"{client!r} cannot be awaited for {ask!r}")

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the SDK is to raise."""
        del name
        if place == "stream":
            return Expected(
                error="botocore.EventStreamError",
                because="botocore 1.44.5, eventstream.py: every exception of a stream",
                differs="an exception inside a stream has no class of its own: only its code, "
                "with a small first letter where the service models it",
            )
        kind = payload.headers.get("x-amzn-errortype", "").partition(":")[0]
        if kind in _MODELLED:
            because = "botocore 1.44.5, bedrock-runtime/service-2.json and errorfactory.py"
            return Expected(error=f"botocore.{kind}", because=because)
        because = "botocore 1.44.5, client.py: ClientError for what the service does not model"
        return Expected(error="botocore.ClientError", because=because)

    def status_told(self, error: BaseException) -> int | None:
        """Return the status in the exception's response."""
        metadata = getattr(error, "response", {}).get("ResponseMetadata", {})
        return cast("int | None", metadata.get("HTTPStatusCode"))

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what the service's model objects to."""
        body = b"".join(answer.chunks) + answer.end_marker
        if not ask.stream:
            return output_problems("Converse", body)
        messages = list(stream_of(body))
        if len(messages) < len(answer.chunks):
            return [f"botocore finds {len(messages)} messages in {len(answer.chunks)} chunks"]
        return [problem for message in messages for problem in message_problems(message)]


def _reply_of_events(events: list[Any]) -> Reply:
    calls: dict[int, list[str]] = {}
    texts: list[str] = []
    reason = None
    for event in events:
        for name, value in event.items():
            if name == "contentBlockStart":
                calls[value["contentBlockIndex"]] = [value["start"]["toolUse"]["name"], ""]
            elif name == "contentBlockDelta" and "text" in value["delta"]:
                texts.append(value["delta"]["text"])
            elif name == "contentBlockDelta":
                calls[value["contentBlockIndex"]][1] += value["delta"]["toolUse"]["input"]
            elif name == "messageStop":
                reason = value["stopReason"]
    return Reply(
        text="".join(texts),
        tool_calls=tuple((name, json.loads(arguments)) for name, arguments in calls.values()),
        finish_reason=reason,
    )


SDKS = (BedrockSdk(),)
