"""What a server of the Model Context Protocol says to one message, whatever carries it.

The facts are those of the specification, https://modelcontextprotocol.io/specification/2025-11-25
(basic/lifecycle, basic/utilities/ping, server/tools; read 2026-11-28), and of the official Python
SDK, mcp 2.3.0. The version 2026-07-28 needs no handshake; a client that tries it first is told,
as servers of before tell it, that there is no such method, and begins the handshake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from faultclock.model.scenario.mcp_server import McpServer, McpTool

#: Versions that begin with a handshake, the newest last.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
#: JSON-RPC 2.0, section 5.1.
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

Message = Mapping[str, Any]


def is_request(message: Message) -> bool:
    """Return whether a message wants an answer: a notification has no id, an answer no method."""
    return "method" in message and message.get("id") is not None


def name_of(message: Message) -> tuple[str, ...]:
    """Return what a message is called in a script: `tools/call`, and with the tool's name."""
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        return ()
    tool = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
    return (f"{method} {tool}", method) if isinstance(tool, str) else (method,)


def answer_to(server: McpServer, message: Message) -> dict[str, Any]:
    """Return the answer to a request."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    match message.get("method"):
        case "initialize":
            return _result(message, _initialized(params))
        case "ping":
            return _result(message, {})
        case "tools/list":
            return _result(message, {"tools": [_listed(tool) for tool in server.tools]})
        case "tools/call":
            tool = next((tool for tool in server.tools if tool.name == params.get("name")), None)
            if tool is None:
                # server/tools, error handling: an unknown tool is an error of the protocol.
                return failure(message, INVALID_PARAMS, f"Unknown tool: {params.get('name')}")
            return _result(message, _called(tool))
    return failure(message, METHOD_NOT_FOUND, "Method not found")


def failure(message: Message, code: int, text: str) -> dict[str, Any]:
    """Return the error that answers a message; one that cannot be read has no id."""
    error = {"code": code, "message": text}
    return {"jsonrpc": "2.0", "id": message.get("id"), "error": error}


def _result(message: Message, result: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}


def _initialized(params: Mapping[str, Any]) -> dict[str, Any]:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "simulated", "version": "1.0.0"},
    }


def _listed(tool: McpTool) -> dict[str, Any]:
    said = {"readOnlyHint": tool.reads, "idempotentHint": tool.idempotent}
    hints = {name: True for name, holds in said.items() if holds}
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        **({"annotations": hints} if hints else {}),
    }


def _called(tool: McpTool) -> dict[str, Any]:
    if isinstance(tool.result, str):
        return {"content": [{"type": "text", "text": tool.result}], "isError": False}
    text = json.dumps(tool.result, sort_keys=True)
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": False}
    # Structured content is a JSON object.
    return result | ({"structuredContent": tool.result} if isinstance(tool.result, dict) else {})
