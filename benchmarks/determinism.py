"""Byte-equal traces: every shipped scenario x subject, over processes with other hash seeds.

    python -m benchmarks.determinism [processes] [--load]

`--load` keeps both cores busy beside it. Prints one digest a process; all must be equal.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

SUBJECTS = ("reference", "openai-async", "openai-sync", "openai-stud")


def digest_of_everything() -> str:
    """Return one digest over the traces of all shipped scenarios and client subjects."""
    from harness.load.payloads import load_payloads
    from harness.load.scenario import find_scenarios
    from harness.run.prepare import prepare
    from harness.run.suite import run_one
    from harness.subjects.registry import shipped_ids

    payloads = load_payloads("openai-chat")
    digest = hashlib.sha256()
    for subject in shipped_ids():
        binding = prepare(subject, payloads)
        for found in find_scenarios(()):
            trace = run_one(found.scenario, binding, found.scenario.seed, payloads, isolate=True)
            digest.update(f"{subject} {found.scenario.id} {trace.footer.digest}\n".encode())
            if os.environ.get("FAULTCLOCK_DIGESTS"):
                print(subject, found.scenario.id, trace.footer.digest, file=sys.stderr)
    return digest.hexdigest()


def main() -> int:
    """Run the processes and compare."""
    if os.environ.get("FAULTCLOCK_CHILD"):
        print(digest_of_everything())
        return 0
    arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    processes = int(arguments[0]) if arguments else 20
    burners = (
        [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count() or 2)
        ]
        if "--load" in sys.argv
        else []
    )
    seen: dict[str, list[int]] = {}
    try:
        for hash_seed in range(1, processes + 1):
            environment = dict(os.environ, PYTHONHASHSEED=str(hash_seed), FAULTCLOCK_CHILD="1")
            child = subprocess.run(
                [sys.executable, "-m", "benchmarks.determinism"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            seen.setdefault(child.stdout.strip(), []).append(hash_seed)
            print(f"PYTHONHASHSEED={hash_seed}: {child.stdout.strip()[:16]}", flush=True)
    finally:
        for burner in burners:
            burner.kill()
    print(f"{len(seen)} different digest(s) over {processes} processes")
    return 0 if len(seen) == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
