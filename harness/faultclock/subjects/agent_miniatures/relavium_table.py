"""How a miniature of the Relavium model is made."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.table import wrong_in

__all__ = ["relavium"]

relavium = wrong_in("relavium")
