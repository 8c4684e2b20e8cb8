"""Which call a request belongs to: what the first part of its path says.

    /call/<task>-<copy>/v1/chat/completions   belongs to the call `<task>/<copy>`
    /v1/chat/completions                      belongs to the first call of the scenario

Each call is given a base URL of its own. A program that has but one needs to know nothing of this.
The prefix is taken off before the provider sees the request, and stands in no trace.
"""

from __future__ import annotations

import re

from msgspec import Struct

from faultclock.model.scenario.scenario import Scenario

_PREFIX = "/call/"
_REQUEST_LINE = re.compile(rb"[!-~]+ (?P<target>[!-~]+) HTTP/1\.[01]\r?\n")


class Routed(Struct, frozen=True, kw_only=True):
    """Where a request belongs.

    Attributes:
        call: None where its path names a call that the scenario does not have.
        target: the path and query without the prefix.
    """

    call: str | None
    target: str


def call_ids(scenario: Scenario) -> tuple[str, ...]:
    """Return the calls of `scenario`, such as `ask/1`, in order."""
    return tuple(
        f"{task.id}/{copy}" for task in scenario.tasks for copy in range(1, task.copies + 1)
    )


class Routes:
    """The calls of one scenario and the paths that lead to them.

    Attributes:
        calls: in order; what names none belongs to the first.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.calls = call_ids(scenario)

    def prefix(self, call: str) -> str:
        """Return what the paths of a call begin with, such as `/call/ask-1`."""
        task, _, copy = call.rpartition("/")
        return f"{_PREFIX}{task}-{copy}"

    def of_target(self, target: str) -> Routed:
        """Return where a request for `target` belongs.

        Example:
            >>> scenario = ProviderAdapterScenario(id="a/b", title="a", why="b")
            >>> Routes(scenario).of_target("/call/ask-1/v1/x?y=1")
            Routed(call='ask/1', target='/v1/x?y=1')
        """
        if not target.startswith(_PREFIX):
            return Routed(call=self.calls[0], target=target)
        name, slash, rest = target[len(_PREFIX) :].partition("/")
        task, _, copy = name.rpartition("-")
        call = f"{task}/{copy}"
        known = call if call in self.calls else None
        return Routed(call=known, target=f"{slash}{rest}" if slash else "/")

    def of_head(self, head: bytes) -> Routed | None:
        """Return where a request belongs whose first line `head` begins with.

        None where the line is no request line, or not all of it is there.
        """
        line = _REQUEST_LINE.match(head)
        return None if line is None else self.of_target(line["target"].decode("ascii"))
