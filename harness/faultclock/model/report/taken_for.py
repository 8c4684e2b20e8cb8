"""TakenFor: what a target is, as it is handed over by whoever loads it."""

from __future__ import annotations

from faultclock.model._base import Value


class TakenFor(Value):
    """What the target was taken for, and how to say otherwise."""

    target: str
    """As it was named on the command line."""
    kind: str
    """In plain words, such as `an async function of a prompt`."""
    because: str
    """What shows it, such as `its first parameter is called prompt`."""
    otherwise: str
    """What to write where that is wrong."""
    dialect: str = ""
    """The provider API that it speaks, such as `openai-chat`; empty where it asks no model."""
