"""How fast one answer goes out: delays drawn from named streams, as a Tempo for `delivery`.

A stream waits between its chunks; a whole answer waits for its last token, as it does at a real
provider. Delays are whole nanoseconds, and computed in decimal arithmetic whose results do not
depend on the machine's mathematics library.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from itertools import pairwise
from statistics import NormalDist

from msgspec import Struct

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.delivery import Tempo
from faultclock.fakes.wire.said import tokens_of
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.provider_limits import Constant, Delay, LogNormal, Pareto, Uniform
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.sim.kernel.streams import DRAW_BITS, Streams

#: Correctly rounded in every operation, exp and ln included, on every machine.
_EXACT = Context(prec=28)
_NORMAL = NormalDist()
#: Digits of a quantile that are kept: the last ones differ between mathematics libraries.
_QUANTILE_DIGITS = 9
_P99 = Decimal("2.326347874")
_LN_100 = _EXACT.ln(Decimal(100))


def delay_of(delay: Delay, drawn: int) -> int:
    """Return the delay in nanoseconds that `drawn`, of 0 to 2 ** DRAW_BITS - 1, stands for.

    It grows with `drawn`; the middle one stands for the median.
    """
    match delay:
        case Constant():
            return delay.value
        case Uniform():
            return delay.low + (drawn * (delay.high - delay.low + 1) >> DRAW_BITS)
        case LogNormal():
            return min(delay.cap, _lognormal(delay, drawn))
        case Pareto():
            return min(delay.cap, _pareto(delay, drawn))


def _lognormal(delay: LogNormal, drawn: int) -> int:
    """median * (p99 / median) ** (z / z99), where z is a standard normal quantile."""
    # 53 bits are what a float holds; half a step keeps it off 0 and 1.
    chance = ((drawn >> (DRAW_BITS - 52)) + 0.5) / 2**52
    z = Decimal(f"{_NORMAL.inv_cdf(chance):.{_QUANTILE_DIGITS}f}")
    return _stretched(delay.median, delay.p99, _EXACT.divide(z, _P99))


def _pareto(delay: Pareto, drawn: int) -> int:
    """minimum * (p99 / minimum) ** (-ln(1 - chance) / ln(100))."""
    left = _EXACT.divide(Decimal(2**DRAW_BITS - drawn), Decimal(2**DRAW_BITS))
    return _stretched(delay.minimum, delay.p99, _EXACT.divide(-_EXACT.ln(left), _LN_100))


def _stretched(from_ns: int, p99_ns: int, steps: Decimal) -> int:
    ratio = _EXACT.ln(_EXACT.divide(Decimal(p99_ns), Decimal(from_ns)))
    factor = _EXACT.exp(_EXACT.multiply(ratio, steps))
    return int(_EXACT.multiply(Decimal(from_ns), factor))


def tokens_in(answer: Answer) -> int:
    """Return how many tokens a good answer has, roughly, and at least one."""
    texts = [call["arguments"] for call in answer.tool_calls] or [answer.text or ""]
    return max(1, sum(map(tokens_of, texts)))


class Pacing(Struct, frozen=True, kw_only=True):
    """Draws the tempo of each answer of one provider.

    Attributes:
        script: what it is to be like.
        streams: of the run.
        provider: what its streams are called after.
    """

    script: ProviderScript
    streams: Streams
    provider: str

    @property
    def steady(self) -> Tempo:
        """The tempo of an answer for which the model did nothing, and of all without a pace."""
        script = self.script
        return Tempo(think_ns=script.think_time, chunk_interval_ns=script.chunk_interval)

    def tempo(self, answer: Answer, number: int) -> Tempo:
        """Return the tempo of a good answer.

        Args:
            number: which answer of this provider it is, 0-based.
        """
        pace = self.script.pace
        if pace is None:
            return self.steady
        think_ns = self.script.think_time
        if pace.first_token is not None:
            name = f"pace/{self.provider}/first-token"
            think_ns = delay_of(pace.first_token, self.streams.draw(name, number))
        gap = self._gap(number)
        if gap is None:
            return Tempo(think_ns=think_ns, chunk_interval_ns=self.script.chunk_interval)
        if not answer.stream:
            think_ns += sum(map(gap, range(tokens_in(answer) - 1)))
            return Tempo(think_ns=think_ns, chunk_interval_ns=self.script.chunk_interval)
        gaps_ns = tuple(gap(place) for place, _ in enumerate(pairwise(answer.chunks)))
        return Tempo(think_ns=think_ns, chunk_interval_ns=gap(len(gaps_ns)), gaps_ns=gaps_ns)

    def _gap(self, number: int) -> Callable[[int], int] | None:
        pace = self.script.pace
        if pace is None or (pace.token is None and pace.tokens_per_second is None):
            return None
        if pace.tokens_per_second is not None:
            steady_ns = SECOND_NS // pace.tokens_per_second
            return lambda _: steady_ns
        delay, name = pace.token, f"pace/{self.provider}/token/{number}"
        assert delay is not None, "one of the two is given"
        return lambda place: delay_of(delay, self.streams.draw(name, place))
