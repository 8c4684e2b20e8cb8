"""A circuit breaker, without a clock of its own."""

from __future__ import annotations


class Breaker:
    """The circuit breaker of one provider, for one life of the process.

        closed -> open        five counted failures in a row
        open -> half-open     after thirty seconds; one probe is let through
        half-open -> closed   the probe was good
        half-open -> open     the probe failed with what counts

    What does not count, and a cancel, leaves it as it was: a probe that ends so makes room for
    the next one. Times are in seconds of any clock that only goes forward.

    Attributes:
        threshold: failures in a row that open it.
        cooldown_s: how long it refuses everything.
        probes_max: requests at a time that a half-open one lets through.
    """

    threshold = 5
    cooldown_s = 30.0
    probes_max = 1

    def __init__(self) -> None:
        self.failures = 0
        self.opened_s: float | None = None
        self.probes = 0

    @property
    def is_closed(self) -> bool:
        """Whether everything is let through."""
        return self.opened_s is None

    def admits(self, now_s: float) -> bool:
        """Return whether a request may be sent; if so, its end has to be reported here."""
        if self.opened_s is None:
            return True
        if now_s - self.opened_s < self.cooldown_s or self.probes >= self.probes_max:
            return False
        self.probes += 1
        return True

    def good(self) -> None:
        """A request that was let through was answered."""
        self.failures = 0
        self.opened_s = None
        self.probes = 0

    def failed(self, now_s: float, *, counts: bool) -> None:
        """A request that was let through failed."""
        if self.opened_s is not None:
            # Of the probe, or of one that was on its way when it opened.
            if self.probes == 0:
                return
            self.probes -= 1
            if counts:
                self.opened_s = now_s
            return
        if counts:
            self.failures += 1
            if self.failures >= self.threshold:
                self.opened_s = now_s

    def let_go(self) -> None:
        """A request that was let through was cancelled."""
        self.probes = max(0, self.probes - 1)
