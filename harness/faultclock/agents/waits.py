"""The waits of the references: one arithmetic for all of them.

    fixed          base
    linear         base * n                        n is the 1-based number of the failure
    exponential    base * factor ** (n - 1)
                   each at most `cap`, and anywhere within ± jitter

What judges these waits has its own arithmetic, so that both cannot be wrong in the same way.
"""

from __future__ import annotations

import random

from faultclock.subjects.ports import Stage, ToolRetryRule


def wait_s(
    backoff: str | None,
    base_s: float,
    failures: int,
    *,
    factor: int = 2,
    cap_s: float | None = None,
    jitter: float = 0.0,
) -> float:
    """Return how long to wait after the `failures`-th failure (1-based), in seconds.

    Args:
        backoff: `fixed`, `linear` or `exponential`; None: no wait.
        jitter: half width around the wait, as a fraction of it.

    Example:
        >>> [wait_s("linear", 2.0, failures) for failures in (1, 2)]
        [2.0, 4.0]
        >>> [wait_s("exponential", 1.0, failures, cap_s=3.0) for failures in (1, 2, 3)]
        [1.0, 2.0, 3.0]
        >>> wait_s(None, 5.0, 1)
        0.0
    """
    if backoff is None:
        return 0.0
    if backoff == "linear":
        nominal_s = base_s * failures
    elif backoff == "exponential":
        # 64 doublings are longer than any wait; more would overflow a float.
        nominal_s = base_s * float(factor ** min(failures - 1, 64))
    else:
        nominal_s = base_s
    if cap_s is not None:
        nominal_s = min(nominal_s, cap_s)
    return nominal_s * random.uniform(1 - jitter, 1 + jitter) if jitter else nominal_s


def rule_wait_s(rule: ToolRetryRule | Stage, failures: int) -> float:
    """Return how long a contract or a stage waits after the `failures`-th failure, in seconds."""
    return wait_s(
        rule.backoff,
        rule.base_s,
        failures,
        factor=rule.factor,
        cap_s=rule.cap_s,
        jitter=rule.jitter_percent / 100,
    )
