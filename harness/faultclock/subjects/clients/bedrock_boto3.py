"""boto3 on Amazon Bedrock's Converse, exactly as it is: its own retries, its own errors.

Defaults, left as they are (botocore 1.44.5, configprovider.py and retries/standard.py; the mode is
`standard`): 3 attempts in all, for 500, 502, 503, 504, throttling exceptions, a 429 or an exception
that the service's model calls retryable, and failures of the connection; waits of
random(0, 1) * min(20 s, scale * 2**(attempt - 1)), where the scale is 1 s for throttling and 50 ms
for all else; `x-amz-retry-after` (milliseconds) raises a wait by 5 s at most, and Retry-After is
not read at all. What breaks inside a stream is never retried, and a stream that ends early is
simply over. A body that is shorter than its Content-Length is taken for whole (httpsession.py,
`enforce_content_length=False`), and one that is no JSON for an answer without members (parsers.py).

What a user has to choose: keys and region, which are given here, so that no file and no service of
the machine is asked for them; and the deadline (the default is 60 s), which counts for each connect
and each read by itself.
"""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config
from botocore.session import Session

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest, Reply, ToolCall
from faultclock.subjects.reading import reply_of

#: The files in which a machine keeps its own keys and settings: none of them is read.
_NO_FILES = dict.fromkeys(("config_file", "credentials_file"), (None, None, None, None))


def _client(request: ProviderRequest) -> Any:
    session = boto3.Session(
        botocore_session=Session(session_vars=_NO_FILES),
        aws_access_key_id="nobody",
        aws_secret_access_key=request.api_key,
        region_name="us-east-1",
    )
    deadlines = Config(connect_timeout=request.timeout_s, read_timeout=request.timeout_s)
    return session.client("bedrock-runtime", endpoint_url=request.base_url, config=deadlines)


@provider_adapter(
    id="bedrock",
    title="boto3 on Bedrock Converse as it is, blocking",
    dialect="bedrock-converse",
    open=_client,
    warm_in_place=True,
    distributions=("boto3", "botocore", "urllib3"),
)
def bedrock(request: ProviderRequest, client: Any) -> Any:
    """Ask once through boto3; it retries as it likes."""
    given = _arguments(request)
    if request.stream:
        return _reply_of_events(client.converse_stream(**given)["stream"])
    return reply_of(client.converse(**given))


def _arguments(request: ProviderRequest) -> dict[str, Any]:
    given: dict[str, Any] = {
        "modelId": request.model,
        "messages": [
            {"role": message["role"], "content": [{"text": message["content"]}]}
            for message in request.messages
        ],
    }
    if request.tools:
        functions = [tool["function"] for tool in request.tools]
        given["toolConfig"] = {
            "tools": [
                {
                    "toolSpec": {
                        "name": function["name"],
                        "inputSchema": {"json": function.get("parameters", {"type": "object"})},
                    }
                }
                for function in functions
            ]
        }
    return given


def _reply_of_events(events: Any) -> Reply:
    """Return what has arrived when the events end, put together as most programs do it."""
    texts: list[str] = []
    calls: dict[int, list[str]] = {}
    reason: str | None = None
    for event in events:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            calls[start["contentBlockIndex"]] = [start["start"]["toolUse"]["name"], ""]
        elif "contentBlockDelta" in event:
            told = event["contentBlockDelta"]
            if "toolUse" in told["delta"]:
                calls[told["contentBlockIndex"]][1] += told["delta"]["toolUse"]["input"]
            else:
                texts.append(told["delta"].get("text", ""))
        elif "messageStop" in event:
            reason = event["messageStop"].get("stopReason")
    return Reply("".join(texts), tuple(ToolCall(*calls[index]) for index in sorted(calls)), reason)
