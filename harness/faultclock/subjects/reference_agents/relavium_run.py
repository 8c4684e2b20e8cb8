"""One run of the Relavium model: its id, its numbered events, and what it has come to so far."""

from __future__ import annotations

import time
from typing import Any

from faultclock.subjects.ports import Host, Node


class Run:
    """One run.

    Attributes:
        seq: the number that the next event gets; numbers begin with 0 and have no gap.
        outputs: what each node that is done has come to, by its id.
        node: the node that is being done; `attempt`, its attempt (1-based).
        failed_node: id of the node that the run fails with.
        tool: name of the tool that failed; `cause`, what the error stands for.
    """

    def __init__(self, host: Host, id_: str, seq: int) -> None:
        self.host = host
        self.id = id_
        self.seq = seq
        self.outputs: dict[str, str] = {}
        self.node: Node | None = None
        self.attempt = 0
        self.failed_node: str | None = None
        self.tool = ""
        self.cause: dict[str, Any] = {}

    @property
    def node_id(self) -> str:
        """Id of the node that is being done; empty before the first."""
        return "" if self.node is None else self.node.id

    @property
    def correlation_id(self) -> str:
        """What joins the message for the person to the log; it says nothing by itself."""
        return f"corr-{self.id}"

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event of this run, with its envelope."""
        number, self.seq = self.seq, self.seq + 1
        stamp = round(time.time() * 1000)
        self.host.event(name, runId=self.id, sequenceNumber=number, timestamp=stamp, **fields)
