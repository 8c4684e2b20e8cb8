"""Mending: what names a thing that was taken away goes with it, so that one step takes both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_Data = dict[str, Any]


def mend(data: _Data, before: _Data) -> None:
    """Take out of `data` what names something that `before` has and `data` has not.

    Args:
        data: a scenario as plain data; changed in place.
        before: what it was made from.
    """
    tasks = _gone(data, before, "tasks", "id")
    tools = _gone(data, before, "tools", "name")
    for provider in (data.get("provider", {}), *data.get("fallbacks", ())):
        _drop(provider, "faults", lambda rule: rule.get("when", {}).get("task") in tasks)
        _mend_replies(provider, tools)
    for interactor in data.get("interactors", ()):
        _drop(interactor, "rules", lambda rule: rule.get("when", {}).get("tool") in tools)
    for holder in (data.get("store"), data.get("disk")):
        if isinstance(holder, dict):
            _drop(holder, "rules", lambda rule: rule.get("when", {}).get("task") in tasks)
    _mend_session(data, tools)
    _mend_workflow(data, before, tools)
    stages = _gone(data.get("session") or {}, before.get("session") or {}, "stages", "id")
    stages |= _gone(data.get("workflow") or {}, before.get("workflow") or {}, "nodes", "id")
    _drop(data, "cancels", lambda rule: rule.get("target") in tools | stages)


def _mend_replies(provider: _Data, tools: set[str]) -> None:
    if not tools:
        return
    _drop(provider, "tool_calls", lambda call: call["name"] in tools)
    for reply in provider.get("replies", ()):
        _drop(reply, "tool_calls", lambda call: call["name"] in tools)
    _drop(provider, "replies", lambda reply: not reply.get("text") and not reply["tool_calls"])


def _mend_session(data: _Data, tools: set[str]) -> None:
    session = data.get("session")
    if not session:
        return
    allowlist = [name for name in session.get("allowlist", ()) if name not in tools]
    session["allowlist"] = allowlist if session.get("mode") == "allowlist" else []
    if session.get("join") != "quorum":
        session.pop("quorum", None)
    stages = session.get("stages", [])
    known = {stage["id"] for stage in stages}
    for stage in stages:
        stage["allowed_tools"] = [name for name in stage["allowed_tools"] if name not in tools]
        stage["next"] = stage["next"] if stage["next"] in known else None
    if session.get("entry_stage") not in known or not stages:
        session["entry_stage"] = stages[0]["id"] if stages else None


def _mend_workflow(data: _Data, before: _Data, tools: set[str]) -> None:
    workflow = data.get("workflow")
    if not workflow:
        return
    programs = _gone(data, before, "programs", "name")
    _drop(
        workflow,
        "nodes",
        lambda node: node.get("tool") in tools or (node.get("argv") or [""])[0] in programs,
    )
    known = {node["id"] for node in workflow["nodes"]}
    for node in workflow["nodes"]:
        node["needs"] = [name for name in node["needs"] if name in known]


def _gone(data: _Data, before: _Data, section: str, key: str) -> set[str]:
    return {item[key] for item in before.get(section, ())} - {
        item[key] for item in data.get(section, ())
    }


def _drop(holder: _Data, section: str, unwanted: Callable[[_Data], bool]) -> None:
    if section in holder:
        holder[section] = [item for item in holder[section] if not unwanted(item)]
