"""`python -m tests.docs PAGE…`: follow pages, and show what each command really prints.

With `--write`, the output that a page shows is replaced by the real one where they differ.
Without pages, all of them are followed.
"""

# ruff: noqa: T201 - it prints for whoever writes a page

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.architecture.source_tree import PROJECT
from tests.docs.matching import fits
from tests.docs.page import PAGES, Command, read_page
from tests.docs.reading import follow
from tests.docs.session import Ended, Session
from tests.warm.client import Server


def main(words: list[str]) -> int:
    """Follow the pages, tell what differs, and return 1 if anything does."""
    write = "--write" in words
    names = [word for word in words if word != "--write"] or PAGES
    server = Server()
    problems = 0
    try:
        for name in names:
            problems += _follow(name, server, write=write, loud=len(names) == 1)
    finally:
        server.close()
    return 1 if problems else 0


def _follow(name: str, server: Server, *, write: bool, loud: bool) -> int:
    last_s = began_s = time.monotonic()

    def tell(command: Command, ended: Ended) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if loud:
            print(f"$ {command.text}   [exit {ended.code}, {now_s - last_s:.1f} s]")
            print(ended.output, end="")
        last_s = now_s

    page = read_page(name)
    with tempfile.TemporaryDirectory() as folder:
        followed = follow(page, Session(Path(folder), server), tell)
    counts = ", ".join(f"{count} {what}" for what, count in followed.done.items())
    print(f"==> {name}: {counts} ({time.monotonic() - began_s:.1f} s)")
    for problem in followed.problems:
        print(f"  differs: {problem}")
    if write:
        _write(name, followed.ended)
    return len(followed.problems)


def _write(name: str, ended: dict[int, Ended]) -> None:
    lines = (PROJECT / name).read_text("utf-8").splitlines()
    commands = [command for block in read_page(name).blocks for command in block.commands]
    for command in reversed(commands):
        if command.output is None or command.line not in ended:
            continue
        printed = ended[command.line].output
        if not fits(command.output, printed):
            start = command.line + command.text.count("\n")
            lines[start : start + len(command.output)] = printed.rstrip().splitlines()
    (PROJECT / name).write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
