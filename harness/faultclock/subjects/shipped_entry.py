"""What is known of a shipped subject before it is imported."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from faultclock.model.scenario.scenario import Role


class Shipped(Struct, frozen=True):
    """A subject that is not imported yet.

    Attributes:
        place: `module:name`, below `faultclock`.
        model: id of the error model that a reference is right by. It is no command's default.
        needs: modules that it imports; a client of one needs it, and a reference needs none.
        extra: of the distribution that installs them.
        dialect: the API that it speaks, as its binding says it, too.
        cannot: what it does in the real world and not in the simulated one, a sentence each.
    """

    place: str
    title: str
    role: Role = "provider_adapter"
    model: str = "stud-cli"
    needs: tuple[str, ...] = ()
    extra: str | None = None
    dialect: str = "openai-chat"
    cannot: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["client", "reference"]:
        """What it is, by what it needs: only a real client needs a library."""
        return "client" if self.needs else "reference"
