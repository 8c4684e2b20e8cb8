"""Traces of turns with several providers, made by hand."""

from __future__ import annotations

from typing import Any, Self

from tests.oracle.turn_builder import TurnBuilder


def turn_name(number: int) -> str:
    """Return the call of the turn `number` (1-based): the first one is that of the scenario."""
    return "ask/1" if number == 1 else f"ask{number}/1"


class ChainBuilder(TurnBuilder):
    """Writes the turns of a runtime that has the providers "", `second` and `third`."""

    def __init__(self, *, attempts: tuple[int, int, int] = (1, 1, 1), **scenario: Any) -> None:
        super().__init__(
            attempts_per_provider=attempts[0],
            fallbacks=[
                {"id": "second", "attempts_max": attempts[1]},
                {"id": "third", "attempts_max": attempts[2]},
            ],
            **scenario,
        )
        self._host = "api.openai.com"

    def at(self, provider: str = "") -> Self:
        """Go to a provider from now on; the first one is empty."""
        self._host = f"{provider}.example.com" if provider else "api.openai.com"
        return self

    def event(self, actor: str, kind: str, **payload: Any) -> int:
        """Write one fact; a connection goes to the provider of now."""
        if kind == "net.connect":
            payload["host"] = self._host
        return super().event(actor, kind, **payload)

    def bad(self, *statuses: int) -> Self:
        """Let attempts at the provider fail, one second apart."""
        for place, status in enumerate(statuses):
            if place:
                self.after("1s")
            self.fails(status, call=self.call)
        return self

    def another(self, number: int) -> Self:
        """Begin another turn of the same process."""
        return self.begins(turn_name(number))

    def cut(self, pieces: int) -> Self:
        """Let a streamed answer stop after so many of its pieces."""
        self.stream = True
        connection = self.connect(self.call)
        exchange = self.ask(connection, self.call)
        self.answer(connection, exchange, call=self.call)
        for _ in range(pieces):
            self.deliver(connection)
        self.end_exchange(connection, exchange, "eof", call=self.call)
        self.deliver(connection, "net.eof")
        self.close(connection)
        self.stream = False
        return self

    def results(self, state: str, pair: str | None = None) -> Self:
        """End the open call with a result of the run."""
        class_name, _, code = (pair or "").partition("/")
        self.event(
            "harness",
            "call.returned",
            call=self.call,
            text="",
            text_sha256=None,
            tool_calls=[],
            result={
                "state": state,
                "class": class_name or None,
                "code": code or None,
                "recoverable": False,
            },
        )
        return self
