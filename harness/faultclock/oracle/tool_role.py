"""The checks of tools: whether a tool under test keeps its contract when its service fails."""

from __future__ import annotations

from dataclasses import replace

from faultclock.oracle import tool_ends, tool_retries, tool_service
from faultclock.oracle.check import Check, checks_in

CHECKS: tuple[Check, ...] = (
    *checks_in(tool_service),
    *(replace(item, role="tool", section="tools") for item in checks_in(tool_retries)),
    *checks_in(tool_ends),
)
