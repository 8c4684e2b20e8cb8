"""Flips bytes of a certificate, one at a time, and counts how many are detected and named.

    python -m tests.certify.flipping DIR [--key FILE.pub] [--each-below 20000] [--random 200]

Every byte of each file that is smaller than `--each-below` bytes is changed once, and `--random`
bytes of each larger one. A change counts as named if the fault is of that file and of no other.
Exits with 1 if one is not.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from faultclock.certify.intact import examined
from faultclock.certify.keys import PublicKey, load_public_key


@dataclass(slots=True)
class Count:
    """How many bytes were changed, and what came of it."""

    flipped: int = 0
    detected: int = 0
    named: int = 0


def flip_all(
    root: Path,
    trusted: PublicKey | None,
    *,
    each_below: int,
    random_each: int,
    seed: int = 0,
) -> Iterator[tuple[str, Count]]:
    """Change bytes of each file below `root` in turn; each is put back."""
    chance = random.Random(seed)
    for path in sorted(item for item in root.rglob("*") if item.is_file()):
        name = path.relative_to(root).as_posix()
        content = path.read_bytes()
        places: list[int] = list(range(len(content)))
        if len(content) >= each_below:
            places = sorted(chance.sample(places, min(random_each, len(content))))
        count = Count()
        for place in places:
            changed = bytearray(content)
            changed[place] ^= chance.randrange(1, 256)
            path.write_bytes(changed)
            faults = examined(root, trusted).faults
            count.flipped += 1
            count.detected += bool(faults)
            count.named += {fault.file for fault in faults} == {name}
        path.write_bytes(content)
        assert examined(root, trusted).faults == [], name
        yield name, count


def main(words: list[str]) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.certify.flipping")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--each-below", type=int, default=20_000)
    parser.add_argument("--random", type=int, default=200)
    options = parser.parse_args(words)
    trusted = load_public_key(options.key) if options.key is not None else None
    total, started_s = Count(), time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "certificate")
        shutil.copytree(options.folder, root)
        for name, count in flip_all(
            root, trusted, each_below=options.each_below, random_each=options.random
        ):
            total.flipped += count.flipped
            total.detected += count.detected
            total.named += count.named
            if count.named != count.flipped:
                sys.stdout.write(f"{name}: {count}\n")
    sys.stdout.write(
        f"{total.flipped} bytes flipped, {total.detected} detected, {total.named} of them with"
        f" the file's name, in {time.monotonic() - started_s:.0f} s\n"
    )
    return 0 if total.flipped == total.named else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
