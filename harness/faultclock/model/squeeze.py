"""Makes a short text shorter, to the same bytes on every machine.

A general compressor gives other bytes with each of its versions, so a token would not be the same
everywhere, and each has a header that is longer than most of our texts. This is an arithmetic
coder: each bit is coded by how likely it is after the two bytes before it, as far as what came
before and a few words that all our texts are made of show. Integers only.

The words, and every number here, are part of what a token is: they must never change.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

__all__ = ["squeezed", "unsqueezed"]

#: What texts are made of, so that the first of it is cheap already. The likeliest stands last.
_WORDS = (
    b"openai-async openai-sync anthropic-async reference-agent mini- crash after event "
    b"session-store/ resume-drift/ approvals/ cancellation/ tools/ state-machine/ shared/ "
    b"provider-limits/ provider-transient/ exploration/ rate-limits/retry-after- reference "
    b"latency/c1/client latency/c2/server pace/first/token/ overload/first lacks/ "
    b"vary/provider.faults. .when.attempts .delay vary/crashes. vary/cancels. "
    b"schedule/2/timer/1/Task-1\x00\x01 schedule/1/deadline/0\x00\x01 schedule/1/world\x00\x01 "
    b"schedule/1/net/c1/client\x01\x00\x01\x00\x01 2/connect\x01\x00\x01 schedule/1/thread/1\x01 "
    b"schedule/1/loop/1\x01\x00\x01\x01\x01\x00\x02\x01\x01 schedule/1/timer/1/Task-1\x01\x00\x01"
)
#: Probabilities have 16 bits, and never say that something is impossible.
_ONE = 1 << 16
_EVEN = _ONE // 2
_LEAST = 32
#: How much of an error is made good, by how often the place was seen: fast first.
_RATES = tuple(2 * _ONE // (2 * seen + 3) for seen in range(12))
_LAST = len(_RATES) - 1
_WHOLE = 0xFFFFFFFF
_TOP = 0xFF000000


#: What stands behind so many bytes, and the bits of this one so far: [probability, times seen].
_Places = dict[int, list[int]]


class _Model:
    """How likely the next bit is a 1, after one byte and after two."""

    def __init__(self, after_one: _Places, after_two: _Places) -> None:
        self._after_one = after_one
        self._after_two = after_two
        self._before = 0
        self._node = 1
        self._places: tuple[list[int], list[int]]
        self._look_up()

    @classmethod
    def fresh(cls) -> _Model:
        """Return one that knows the words, and nothing else."""
        return cls(*({key: [*place] for key, place in known.items()} for known in _learnt()))

    def read(self, data: bytes) -> None:
        """Learn a whole text."""
        for byte in data:
            for shift in range(7, -1, -1):
                self.learn(byte >> shift & 1)

    def likely(self) -> int:
        """Return the probability of a 1, in 65,536ths."""
        one, two = self._places
        # Two bytes tell more than one, as soon as they have been seen at all.
        weight = 3 if two[1] else 0
        chance = (one[0] + weight * two[0]) // (1 + weight)
        return min(max(chance, _LEAST), _ONE - _LEAST)

    def learn(self, bit: int) -> None:
        """Note what the bit was."""
        for place in self._places:
            wanted = _ONE - 1 if bit else 0
            place[0] += (wanted - place[0]) * _RATES[place[1]] >> 16
            if place[1] < _LAST:
                place[1] += 1
        self._node = self._node << 1 | bit
        if self._node >= 256:
            self._before = (self._before << 8 | self._node & 255) & 0xFFFF
            self._node = 1
        self._look_up()

    def _look_up(self) -> None:
        one = (self._before & 255) << 8 | self._node
        two = self._before << 8 | self._node
        self._places = (
            self._after_one.setdefault(one, [_EVEN, 0]),
            self._after_two.setdefault(two, [_EVEN, 0]),
        )


@cache
def _learnt() -> tuple[_Places, _Places]:
    known: tuple[_Places, _Places] = ({}, {})
    _Model(*known).read(_WORDS)
    return known


def squeezed(data: bytes) -> bytes:
    """Return `data`, shorter where that is possible; `unsqueezed` needs its length, too."""
    model = _Model.fresh()
    low, high = 0, _WHOLE
    out = bytearray()
    for byte in data:
        for shift in range(7, -1, -1):
            bit = byte >> shift & 1
            middle = low + (high - low) * model.likely() // _ONE
            if bit:
                high = middle
            else:
                low = middle + 1
            model.learn(bit)
            while not (low ^ high) & _TOP:
                out.append(high >> 24)
                low = low << 8 & _WHOLE
                high = high << 8 & _WHOLE | 255
    out += _within(low, high)
    # The reader goes on with zeros.
    return bytes(out).rstrip(b"\x00")


def unsqueezed(data: bytes, length: int) -> bytes:
    """Return the `length` bytes that `squeezed` made `data` of; anything gives something."""
    model = _Model.fresh()
    low, high = 0, _WHOLE
    source = _padded(data)
    value = 0
    for _ in range(4):
        value = value << 8 | next(source)
    out = bytearray()
    for _ in range(length):
        node = 1
        while node < 256:
            middle = low + (high - low) * model.likely() // _ONE
            bit = int(value <= middle)
            if bit:
                high = middle
            else:
                low = middle + 1
            model.learn(bit)
            node = node << 1 | bit
            while not (low ^ high) & _TOP:
                low = low << 8 & _WHOLE
                high = high << 8 & _WHOLE | 255
                value = value << 8 & _WHOLE | next(source)
        out.append(node & 255)
    return bytes(out)


def _padded(data: bytes) -> Iterator[int]:
    yield from data
    while True:
        yield 0


def _within(low: int, high: int) -> bytes:
    """Return the shortest bytes that, with zeros behind them, lie between two numbers."""
    for count in range(5):
        unit = 1 << 8 * (4 - count)
        number = -(-low // unit) * unit
        if number <= high:
            return number.to_bytes(5, "big")[1 : 1 + count]
    raise AssertionError("no number is between itself and itself")
