"""The reference runtime as a subject."""

from __future__ import annotations

from faultclock.model.trace.trace import Declares
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime

#: What it says about itself on the way: all that its checks need.
DECLARES: tuple[Declares, ...] = ("errors", "audit", "events", "user", "model")

reference_runtime = runtime(
    id="reference-runtime",
    title="Correct agent runtime of the stud-cli model, async",
    declares=DECLARES,
    inline=True,
)(ReferenceRuntime)
