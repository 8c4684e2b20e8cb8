"""Traits: what a target does and reasonable people do differently. Reported, never judged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from faultclock.model.duration import format_duration, format_roughly
from faultclock.model.report.checkup import Trait
from faultclock.model.report.inferred import Layer, Reaction, RetryProfile, Schedule

#: Neighbouring statuses are written as a range from so many on.
_RANGE_MIN = 3
#: What a kind of failure is called in a list: with all others of its group, and alone.
_NAMES = {
    "refused": ("failed connections", "refused connections"),
    "unanswered": ("failed connections", "unanswered connections"),
    "dns": ("failed connections", "unknown host names"),
    "reset-before-answer": ("failed connections", "connections reset before an answer"),
    "closed-before-answer": ("failed connections", "connections closed before an answer"),
    "body-reset": ("cut answers", "answers cut by a reset"),
    "body-cut": ("cut answers", "answers cut by a close"),
    "silence": ("silence", "silence"),
    "silence-in-answer": ("silence inside an answer", "silence inside an answer"),
    "broken-json": ("broken JSON", "broken JSON"),
    "error-in-200": ("an error in a 200", "an error in a 200"),
    "stream-status-503": ("503 to a stream", "503 to a stream"),
    "stream-reset": ("cut streams", "streams cut by a reset"),
    "stream-cut": ("cut streams", "streams cut by a close"),
    "stream-unfinished": ("unfinished streams", "unfinished streams"),
    "stream-error-first": ("errors in a stream", "errors at the start of a stream"),
    "stream-error-midway": ("errors in a stream", "errors within a stream"),
    "stream-silence": ("silent streams", "silent streams"),
}
#: What one layer has to say.
_Said = Callable[[Layer], str]
_STATUS = "status-"
#: So many waits are described: a loop in a loop has a dozen, and `faultclock infer` shows each.
_TEXTS_MAX = 3
#: The form that asks which of two headers comes first.
_BOTH = "both"
_OF_STREAMS = "stream-"
#: Deadlines that every client has or lacks; the others are in `faultclock infer`.
_DEADLINES = {"silence before the answer": "an attempt", "the whole call": "the whole call"}


def traits_of(profile: RetryProfile, *, streams: bool) -> tuple[Trait, ...]:
    """Return what a profile says, in about six lines.

    Args:
        streams: whether the target asks for streams; else nothing is said of them.
    """
    reactions = [
        item for item in profile.reactions if streams or not item.kind.startswith(_OF_STREAMS)
    ]
    rows = (
        ("attempts", _attempts(reactions)),
        ("waits", _of_schedules(profile.schedules, _waits)),
        ("jitter", _of_schedules(profile.schedules, lambda layer: layer.jitter.text)),
        ("layers", _products(profile.schedules)),
        ("hints", _hints(profile)),
        ("ceiling", _ceilings(profile)),
        ("deadlines", _deadlines(profile)),
    )
    return tuple(Trait(name=name, text=text) for name, text in rows if text)


def _attempts(reactions: Iterable[Reaction]) -> str:
    """Return how often it asks in all, after which failures; the most attempts first."""
    by_count: dict[tuple[int, bool], list[str]] = {}
    alike: dict[str, set[tuple[int, bool]]] = {}
    for reaction in reactions:
        made = reaction.attempts
        if made.value is not None:
            counted = (made.value, made.sure == "bounded")
            by_count.setdefault(counted, []).append(reaction.kind)
            alike.setdefault(_names(reaction.kind)[0], set()).add(counted)
    split = {name for name, counts in alike.items() if len(counts) > 1}
    return "; ".join(
        f"{'at least ' if is_bound else ''}{count} after {', '.join(_named(kinds, split))}"
        for (count, is_bound), kinds in sorted(by_count.items(), reverse=True)
    )


def _names(kind: str) -> tuple[str, str]:
    return _NAMES.get(kind, (kind, kind))


def _named(kinds: Sequence[str], split: Collection[str]) -> list[str]:
    """Return statuses as ranges, and each group by its name unless its kinds differ."""
    statuses = [int(kind.removeprefix(_STATUS)) for kind in kinds if kind.startswith(_STATUS)]
    others = [
        alone if together in split else together
        for together, alone in (_names(kind) for kind in kinds if not kind.startswith(_STATUS))
    ]
    return [*_ranges(statuses), *dict.fromkeys(others)]


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield `500-504` for neighbours, and single numbers."""
    rows: list[list[int]] = []
    for number in sorted(numbers):
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    for row in rows:
        if len(row) >= _RANGE_MIN:
            yield f"{row[0]}-{row[-1]}"
        else:
            yield from map(str, row)


def _waits(layer: Layer) -> str:
    jitter = layer.jitter.text
    return layer.text.removesuffix(jitter).rstrip(", ").removeprefix("waits ")


def _of_schedules(schedules: Iterable[Schedule], said: _Said) -> str:
    """Return what the layers of all schedules have to say, each thing once."""
    found = (said(layer) for schedule in schedules for layer in schedule.layers)
    texts = tuple(dict.fromkeys(text for text in found if text))
    more = (f"{len(texts) - _TEXTS_MAX} more after other failures",)
    return "; ".join(texts[:_TEXTS_MAX] + (more if len(texts) > _TEXTS_MAX else ()))


def _products(schedules: Iterable[Schedule]) -> str:
    shown = {it.product: len(it.layers) for it in schedules if len(it.layers) > 1 and it.product}
    return "; ".join(f"{count}, one in the other: {text}" for text, count in shown.items())


def _hints(profile: RetryProfile) -> str:
    """Return which headers that say when to ask again it keeps to, and which it ignores."""
    kept: dict[str, list[str]] = {}
    for reading in profile.headers:
        if reading.is_honored and reading.form != _BOTH:
            kept.setdefault(reading.header, []).append(reading.form)
    ignored = {
        reading.header: None
        for reading in profile.headers
        if reading.reading == "ignored" and reading.header not in kept and reading.form != _BOTH
    }
    otherwise = {
        reading.header: None
        for reading in profile.headers
        if reading.reading == "other" and reading.waited_ns is not None
    }
    parts = []
    if kept:
        forms = (f"{name} ({', '.join(dict.fromkeys(of))})" for name, of in kept.items())
        parts.append(f"keeps to {', '.join(forms)}")
    if odd := [name for name in otherwise if name not in {*kept, *ignored}]:
        parts.append(f"reads {', '.join(odd)}, and waits another time than that asks for")
    if ignored:
        parts.append(f"ignores {', '.join(ignored)}")
    return "; ".join(parts)


def _ceilings(profile: RetryProfile) -> str:
    texts: dict[str, list[str]] = {}
    for item in profile.ceilings:
        if item.largest_ns.value is not None:
            above = f"; above it: {item.above.value}" if item.above.value else ""
            text = f"up to {format_duration(item.largest_ns.value)}{above}"
        else:
            text = item.largest_ns.reason
        if text:
            texts.setdefault(text, []).append(item.header)
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in texts.items())


def _deadlines(profile: RetryProfile) -> str:
    parts = []
    for item in profile.deadlines:
        name = _DEADLINES.get(item.what)
        if name is None:
            continue
        value = item.after_ns.value
        known = item.after_ns.reason if value is None else format_roughly(value)
        parts.append(f"{name}: {known}" if known else "")
    return "; ".join(part for part in parts if part)
