"""Ceilings: up to which value a Retry-After is honored, and what becomes of larger ones.

A coarse row of values is asked first; between the last that is honored and the first that is not,
the row is made finer until they are neighbours. That every value below a ceiling is honored is
taken from the row; where the row itself is not of one piece, no ceiling is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from faultclock.model.duration import SECOND_NS, format_duration, format_roughly
from faultclock.model.report.inferred import Ceiling, Evidence, HeaderReading, Told
from faultclock.profile.infer.groups import first_wait_ns
from faultclock.profile.infer.header_forms import Form
from faultclock.profile.infer.hints import reading_of
from faultclock.profile.infer.kinds import Kind
from faultclock.profile.infer.probes import Asker, Probe
from faultclock.profile.infer.seen import Seen
from faultclock.profile.infer.times import close

#: Usual ceilings and their neighbours, in seconds; a week is the end of the question.
_ROW_S = (20, 30, 31, 45, 60, 61, 90, 120, 121, 180, 240, 300, 301, 600, 601, 900, 1_800, 3_600)
_ROW_LONG_S = (3_601, 7_200, 21_600, 43_200, 86_400, 86_401, 604_800)
#: For a client that does not wait as long as the one probe asks: its ceiling may lie below that.
_ROW_LOW_S = (2, 3, 5, 8, 10, 13, 17)
#: Values that are asked at once between two that are known.
_SPLIT = 7

#: By form: how a number of seconds is said.
CEILED: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "seconds": lambda value: {"retry-after": str(value)},
    "date": lambda value: {"retry-after": {"http_date": f"+{value}s"}},
    "milliseconds": lambda value: {"retry-after-ms": str(value * 1_000)},
}

Questions = Generator[Sequence[Probe], Sequence[Seen], Ceiling]


def find_ceiling(
    asker: Asker,
    kind: Kind,
    form: Form,
    own: Seen,
    *,
    coarse: bool,
    like: Ceiling | None = None,
    low: bool = False,
) -> Questions:
    """Ask until the ceiling of one form is known; return it.

    Args:
        like: of another form of the same header: most likely the same, so that fewer values do.
        low: whether the ceiling, if there is one, lies below the wait that was asked for.
        own: what became of the same failure without a header, under the same seed.
        coarse: whether it keeps a date only to the second.
    """
    readings: dict[int, HeaderReading] = {}
    own_ns = first_wait_ns(own)

    def asked(values: Sequence[int]) -> Generator[Sequence[Probe], Sequence[Seen], None]:
        said = CEILED[form.form]
        forms = [
            Form(
                slug=f"{form.slug}-{value}s",
                header=form.header,
                form=form.form,
                headers=said(value),
                asked_ns=value * SECOND_NS,
            )
            for value in values
        ]
        runs = yield [asker.hinted(kind, item.slug, item.headers) for item in forms]
        for value, item, run in zip(values, forms, runs, strict=True):
            # What it waits anyway says nothing of what it reads.
            if not (low and own_ns is not None and close(value * SECOND_NS, own_ns)):
                readings[value] = reading_of(
                    item, kind.id, run, own_ns, coarse=coarse, later=own.waits_ns[1:]
                )

    row = _ROW_LOW_S if low else (*_ROW_S, *_ROW_LONG_S)
    yield from asked(row if like is None else _row_beside(like))
    known = 0
    while len(readings) > known:
        known = len(readings)
        bounds = _bounds(form, readings)
        if isinstance(bounds, Ceiling):
            return bounds
        read, ignored = bounds
        if ignored - read <= 1:
            break
        step = max(1, (ignored - read) // (_SPLIT + 1))
        yield from asked(
            [read + step * n for n in range(1, _SPLIT + 1) if read + step * n < ignored]
        )
    return Ceiling(
        header=form.header,
        form=form.form,
        largest_ns=Told[int](
            value=read * SECOND_NS,
            sure="exact",
            reason=f"{format_duration(ignored * SECOND_NS)} is not",
            evidence=_evidence(readings, read, ignored),
        ),
        above=_above(readings, read, ignored),
    )


def _row_beside(like: Ceiling) -> tuple[int, ...]:
    known = like.largest_ns.value
    near = () if known is None else (known // SECOND_NS, known // SECOND_NS + 1)
    return tuple(sorted({_ROW_S[0], *near, _ROW_S[-1], _ROW_LONG_S[-1]}))


def _bounds(form: Form, readings: Mapping[int, HeaderReading]) -> tuple[int, int] | Ceiling:
    """Return the last value that is honored, and the first that is not; or why there are none."""
    honored = [value for value in sorted(readings) if _follows(readings, value)]
    refused = [value for value in sorted(readings) if value not in honored]
    if not honored:
        above = "no value of the row was honored"
        largest = Told[int](reason=above)
    elif not refused:
        top = honored[-1]
        above = "no longer value was asked for"
        largest = Told[int](
            reason=f"there is none up to {format_duration(top * SECOND_NS)}",
            evidence=readings[top].evidence,
        )
    elif honored[-1] > refused[0]:
        shown = ", ".join(format_duration(value * SECOND_NS) for value in refused[:4])
        above = "there is no one ceiling"
        largest = Told[int](
            reason=f"not of one piece: {shown} and others are not honored, and longer ones are",
            evidence=_evidence(readings, refused[0], honored[-1]),
        )
    else:
        return honored[-1], refused[0]
    return Ceiling(header=form.header, form=form.form, above=Told(reason=above), largest_ns=largest)


def _follows(readings: Mapping[int, HeaderReading], value: int) -> bool:
    """Return whether a wait is for what was asked, and would have been another for another value.

    A client that gives up, and waits longer than asked for a reason of its own, follows nothing.
    """
    reading = readings[value]
    if reading.reading != "honored_with_more":
        return reading.is_honored
    others = (item.waited_ns for number, item in readings.items() if number != value)
    return not any(_same(reading.waited_ns, other) for other in others)


def _same(waited_ns: int | None, other_ns: int | None) -> bool:
    return waited_ns is not None and other_ns is not None and close(waited_ns, other_ns)


def _evidence(readings: Mapping[int, HeaderReading], *values: int) -> tuple[Evidence, ...]:
    return tuple(item for value in values for item in readings[value].evidence)


def _above(readings: Mapping[int, HeaderReading], low: int, high: int) -> Told[str]:
    first, last = readings[high], readings[max(readings)]
    if first is not last and first.is_honored and _same(first.waited_ns, last.waited_ns):
        assert first.waited_ns is not None
        text = f"it waits {format_roughly(first.waited_ns)}, however much longer is asked"
        return Told[str](value=text, sure="exact", evidence=(*first.evidence, *last.evidence))
    words = [_word(reading, low) for reading in (first, last)]
    evidence = (*first.evidence, *last.evidence)
    if words[0] == words[1]:
        return Told[str](value=words[0], sure="exact", evidence=evidence)
    top = format_duration(max(readings) * SECOND_NS)
    return Told[str](value=f"{words[0]}; at {top}: {words[1]}", sure="exact", evidence=evidence)


def _word(reading: HeaderReading, low: int) -> str:
    if reading.reading == "ignored":
        return "ignored: it waits as it does without the header"
    if reading.reading == "gave_up":
        return "gives up"
    waited = reading.waited_ns
    if waited is not None and abs(waited - low * SECOND_NS) <= SECOND_NS:
        return f"cut down: it waits {format_duration(low * SECOND_NS)}"
    return reading.text
