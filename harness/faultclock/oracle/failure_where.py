"""Settings: what a rule of the model may make its application depend on, read from the scenario."""

from __future__ import annotations

from faultclock.model.failure_rules import Where
from faultclock.model.workflow_script import NodeScript
from faultclock.oracle.history import History

__all__ = ["setting_holds", "setting_of"]

Setting = str | bool | int


def setting_holds(
    history: History, node: NodeScript | None, tool: str | None, where: Where
) -> bool:
    """Return whether every setting has the value, or one of the values, that `where` asks for."""
    for name, wanted in where.items():
        value = setting_of(history, node, tool, name)
        if value not in wanted if isinstance(wanted, tuple) else value != wanted:
            return False
    return True


def setting_of(history: History, node: NodeScript | None, tool: str | None, name: str) -> Setting:
    """Return a setting: of the session, of the failure's node, or of its tool.

    A policy or a join that the scenario does not set is empty. What has no node counts as one
    without a role, what is no tool as one that is idempotent, required and no agent.
    """
    group, _, key = name.rpartition(".")
    if group == "policies":
        return {str(item): value for item, value in history.session.policies.items()}.get(key, "")
    if group == "node":
        plain: dict[str, Setting] = {"role": "", "do": "", "idempotent": True, "strict": True}
        return plain[key] if node is None else getattr(node, key)
    if group == "tool":
        usual: dict[str, Setting] = {"idempotent": True, "required": True, "agent": False}
        script = history.tool_scripts.get(tool or "")
        return usual[key] if script is None else getattr(script, key)
    scenario = history.trace.header.scenario
    of_the_run: dict[str, Setting] = {
        "chain": bool(scenario.fallbacks),
        "workflow": scenario.workflow is not None,
        "headless": history.session.headless,
        "mode": history.session.mode,
        "join": history.session.join,
    }
    return of_the_run[name]
