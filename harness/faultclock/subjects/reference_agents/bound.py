"""How the reference runtimes are bound: all under one kind of id, and with the same to declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultclock.model.trace.trace import Declares
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding

#: What an agent declares beside what it does: everything that the models want to hear of.
DECLARES: tuple[Declares, ...] = ("errors", "audit", "events", "user", "model", "operator")


def reference(model: str, name: str) -> Callable[[Callable[..., Any]], Binding]:
    """Bind the reference runtime of a model.

    Args:
        model: id of the error model.
        name: what the model is called in a sentence.
    """
    return runtime(
        id=f"reference-{model}",
        title=f"Correct agent runtime of the {name} model, async",
        declares=DECLARES,
        inline=True,
    )
