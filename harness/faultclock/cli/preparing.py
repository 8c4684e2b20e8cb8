"""Loads the subject that a command is about, in a process of its own; see `run.hosting`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultclock.cli.say import say

if TYPE_CHECKING:
    from faultclock.run.process.hosting import Host
    from faultclock.subjects.adopt import Adopted


def prepared(
    spec: str,
    *,
    as_: str | None = None,
    dialect: str | None = None,
    inline: bool = False,
    wall_limit_s: float | None = None,
    host: Host | None = None,
) -> Adopted:
    """Load the subject that `spec` names, and show on standard error what it prints meanwhile.

    Args:
        inline: its process keeps the terminal, for a debugger.
        host: the process; None: one that begins now.

    Raises:
        SubjectError: it cannot be loaded or bound.
    """
    # Imported here: `--help` should not load what makes runs.
    from faultclock.cli.options import memory_limit_bytes
    from faultclock.run.prepare import hosted_target
    from faultclock.run.process.hosting import Host

    host = host or Host(captures=not inline)
    try:
        return hosted_target(
            spec,
            as_=as_,
            dialect=dialect,
            host=host,
            wall_limit_s=wall_limit_s,
            memory_limit_bytes=memory_limit_bytes(),
        )
    finally:
        for line in host.printed():
            say(line, err=True)
