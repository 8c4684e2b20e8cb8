"""The process in which runs are made a second time. Run as `python -m harness.conformance.again`.

It reads one JSON object from its standard input: the subject, and the runs. It writes a line for
each run: its name, and the digest of its trace. What a subject prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys

from harness.model.scenario import Scenario
from harness.run.prepare import prepare
from harness.run.suite import run_one

__all__ = ["main"]


def main() -> None:
    """Do what standard input says."""
    out = os.dup(1)
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.buffer.read())
    binding = prepare(asked["subject"])
    for name, scenario, seed in asked["runs"]:
        written = Scenario.model_validate_json(json.dumps(scenario), strict=True)
        trace = run_one(written, binding, seed, isolate=True)
        os.write(out, json.dumps([name, trace.footer.digest]).encode() + b"\n")


if __name__ == "__main__":
    main()
