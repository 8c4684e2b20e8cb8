"""The process that makes runs a second time. Run as `python -m faultclock.certify.levels.again`.

It reads one JSON object from its standard input: the subject, and the runs. It writes a line for
each run: its name, and the digest of its trace. What a subject prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys

from faultclock.model.scenario.scenario import written_scenario
from faultclock.run.prepare import hosted
from faultclock.run.suite import run_one


def main() -> None:
    """Do what standard input says."""
    out = os.dup(1)
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.buffer.read())
    binding = hosted(asked["subject"])
    for name, scenario, seed in asked["runs"]:
        written = written_scenario(scenario)
        trace = run_one(written, binding, seed, isolate=True)
        os.write(out, json.dumps([name, trace.footer.digest]).encode() + b"\n")


if __name__ == "__main__":
    main()
