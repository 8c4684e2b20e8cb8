"""The situations of the parity check: small, short, and of every kind that a socket can play.

Times are short because the real half really waits. A situation is portable: it names no dialect,
so each client meets it in the words of its own provider.
"""

from __future__ import annotations

from typing import Any

from faultclock.model.scenario.scenario import Scenario, scenario_of

_QUICK = {"think_time": "20ms", "chunk_interval": "5ms", "latency": "2ms"}
_FIRST = {"attempts": 1}


def _situation(
    name: str,
    *faults: dict[str, Any],
    stream: bool = False,
    deadline: str = "10s",
) -> Scenario:
    rules = [{"id": f"f{number}", **fault} for number, fault in enumerate(faults, start=1)]
    return scenario_of(
        {
            "id": f"parity/{name}",
            "title": name.replace("-", " ").capitalize(),
            "why": "The simulated world and the real one must come to the same.",
            "provider": {**_QUICK, "faults": rules},
            "tasks": [{"id": "ask", "stream": stream, "timeout": deadline}],
            "limits": {"wall_time": "20s"},
        }
    )


def _status(
    status: int, error: str, when: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {"when": when or {}, "then": _then("http_error", status=status, error=error, **more)}


def _then(kind: str, **values: Any) -> dict[str, Any]:
    return {"kind": kind, **values}


#: Simulated and real, each client comes to the same in each of them.
SITUATIONS: tuple[Scenario, ...] = (
    _situation("good"),
    _situation("good-stream", stream=True),
    _situation(
        "limited-with-seconds",
        _status(429, "rate_limit_exceeded", _FIRST, headers={"retry-after": "1"}),
    ),
    _situation(
        "limited-with-milliseconds",
        _status(429, "rate_limit_exceeded", _FIRST, headers={"retry-after-ms": "150"}),
    ),
    _situation("server-error-once", _status(500, "server_error", _FIRST)),
    _situation("server-error-twice", _status(500, "server_error", {"attempts": "1-2"})),
    _situation("unavailable-and-closed", _status(503, "service_unavailable", _FIRST, close=True)),
    _situation("bad-key", _status(401, "invalid_api_key")),
    _situation("bad-request", _status(400, "invalid_request")),
    _situation("reset-before-answer", {"when": _FIRST, "then": _then("reset_before_response")}),
    _situation(
        "closed-before-answer",
        {"when": _FIRST, "then": _then("reset_before_response", how="eof")},
    ),
    _situation(
        "body-cut",
        {"when": _FIRST, "then": _then("truncate", how="eof", after_body_bytes=40)},
    ),
    _situation(
        "stream-closed-midway",
        {"when": _FIRST, "then": _then("truncate", how="eof", after_chunks=2)},
        stream=True,
    ),
    _situation(
        "stream-reset-midway",
        {"when": _FIRST, "then": _then("truncate", how="reset", after_chunks=2)},
        stream=True,
    ),
    _situation(
        "stream-ends-early",
        {"when": _FIRST, "then": _then("truncate", how="clean_end", after_chunks=2)},
        stream=True,
    ),
    _situation(
        "error-in-stream",
        {"when": _FIRST, "then": _then("stream_error", error="server_error", after_chunks=1)},
        stream=True,
    ),
    _situation(
        "slow-drip", {"when": _FIRST, "then": _then("slow_drip", bytes_per_step=64, every="4ms")}
    ),
    _situation(
        "error-in-a-good-status",
        {"when": _FIRST, "then": _then("ok_with_error_body", error="server_error")},
    ),
    _situation("garbled-body", {"when": _FIRST, "then": _then("corrupt_body", at_byte=5)}),
    _situation("stall", {"when": _FIRST, "then": _then("stall")}, deadline="1200ms"),
    _situation(
        "stall-in-stream",
        {"when": _FIRST, "then": _then("stall", after_chunks=2)},
        stream=True,
        deadline="1200ms",
    ),
)
