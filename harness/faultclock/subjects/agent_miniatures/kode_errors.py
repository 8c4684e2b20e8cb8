"""Miniatures of KODE SDK agents: the events of an error, and their shape."""

from __future__ import annotations

__all__: list[str] = []

# Is it emitted at all?


# The shape of the two events.
