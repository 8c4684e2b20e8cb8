"""The waits between the attempts at a tool, a stage and the store: this runtime's own arithmetic.

    fixed          base
    linear         base * n                        n is the 1-based number of the failure
    exponential    base * factor ** (n - 1)
                   each at most `cap`, and anywhere within ± jitter

What judges these waits has its own arithmetic, so that both cannot be wrong in the same way.
"""

from __future__ import annotations

import random


def wait_s(
    backoff: str | None,
    base_s: float,
    failures: int,
    *,
    factor: int = 2,
    cap_s: float | None = None,
    jitter_percent: int = 0,
) -> float:
    """Return how long to wait after the `failures`-th failure (1-based), in seconds.

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
        # 64 doublings are longer than anybody waits; more would overflow a float.
        nominal_s = base_s * float(factor ** min(failures - 1, 64))
    else:
        nominal_s = base_s
    if cap_s is not None:
        nominal_s = min(nominal_s, cap_s)
    if not jitter_percent:
        return nominal_s
    width = jitter_percent / 100
    return nominal_s * random.uniform(1 - width, 1 + width)
