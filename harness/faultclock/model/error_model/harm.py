"""Harm: what a failure that is handled badly does to the people who run the software.

A small ordered scale, the worst first. Problems are shown in this order.
"""

from __future__ import annotations

from enum import StrEnum


class Harm(StrEnum):
    """One step of the scale. The order of the members is that of the scale, the worst first."""

    EFFECT = "tool run twice or without consent"
    DATA_LOST = "data lost"
    SECRET = "secret leaked"  # noqa: S105 - a harm, not a password
    HANG = "hang"
    LOOP = "endless loop"
    CRASH = "crash in the handler"
    WRONG_ANSWER = "wrong answer passed as right"
    STORM = "storm on the provider"
    NO_ANSWER = "user left without an answer"
    WAITING = "user kept waiting for nothing"
    DIAGNOSIS = "diagnosis lost"

    @property
    def rank(self) -> int:
        """0 for the worst harm; larger numbers are less harmful."""
        return list(Harm).index(self)
