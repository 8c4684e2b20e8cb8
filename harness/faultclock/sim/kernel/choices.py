"""All that one world leaves to chance: played from a tape, drawn, and noted on a tape again.

A world asks here for what is drawn from a named stream, and, while its order is explored, for which
of the things that are due comes next. Whatever is not what a blank tape would have given is noted,
so that the noted tape, played again, gives the same run.
"""

from __future__ import annotations

from faultclock.model.tape import BLANK, FIFO, SCENARIO_STREAMS, Schedule, Tape
from faultclock.sim.kernel.order import Order
from faultclock.sim.kernel.streams import Streams

#: What the streams of the order begin with.
_SCHEDULE = "schedule/"


class Choices:
    """The choices of one world, which is one life of its subject.

    Args:
        seed: of the run; it draws what the tape says nothing of.
        tape: what is played.
        schedule: how ties are broken.
        life: 1-based number of the subject's process.

    Attributes:
        streams: what the world draws from.
        order: decides between what is due at one instant; None is first in, first out.
    """

    def __init__(
        self, seed: int = 0, tape: Tape = BLANK, schedule: Schedule = FIFO, *, life: int = 1
    ) -> None:
        self.seed = seed
        self._tape = tape
        self._played = {
            stream: dict(chosen)
            for stream, chosen in tape.choices.items()
            if not stream.startswith((_SCHEDULE, *SCENARIO_STREAMS))
        }
        self._noted: dict[str, dict[int, int]] = {}
        self.streams = Streams(seed, self if self._played else None)
        prefix = f"{_SCHEDULE}{life}/"
        ordered = tape.about((prefix,))
        self.order = (
            None
            if schedule.kind == "fifo" and ordered.is_blank
            else Order(schedule, ordered, prefix)
        )

    def choose(self, stream: str, number: int, drawn: int) -> int:
        """Return what is drawn: what the tape says, or else `drawn`."""
        chosen = self._played.get(stream, {}).get(number, drawn)
        if chosen != drawn:
            self._noted.setdefault(stream, {})[number] = chosen
        return chosen

    def noted(self) -> Tape:
        """Return what was chosen so far and a blank tape would not have chosen."""
        noted = Tape.of(self._noted)
        return noted if self.order is None else noted.joined(self.order.noted())
