"""A retry profile as text, as JSON and as a page: pure, and equal bytes for equal profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from faultclock.model.duration import format_duration
from faultclock.model.report.inferred import (
    Ceiling,
    Deadline,
    Difference,
    HeaderReading,
    Layer,
    Reaction,
    RetryProfile,
    Schedule,
    Told,
)
from faultclock.render.json_text import canonical_digest
from faultclock.render.page import environment, frame
from faultclock.render.wording import count

#: Of what is demanded, the gravest first.
_LEVELS = ("MUST", "SHOULD", "MAY", None)
#: Waits of one schedule that the text shows; all of them are in the JSON.
_WAITS_MAX = 12


def profile_page(profile: RetryProfile) -> str:
    """Return `profile` as one self-contained HTML document."""
    return (
        environment()
        .get_template("inferred.html.j2")
        .render(
            profile=profile,
            said=_said,
            layer_rows=_layer_rows,
            reacted=_reacted,
            differing=_differing(profile),
            agreeing=[item for item in profile.differences if not item.differs],
            ceiling_text=_ceiling_text,
            deadline_text=_deadline_text,
            **frame("census.css"),
            digest=canonical_digest(profile),
        )
    )


def profile_text(profile: RetryProfile) -> Iterator[str]:
    """Yield the lines of `profile`, for a terminal."""
    versions = ", ".join(f"{name} {v}" for name, v in profile.subject.distributions.items())
    yield f"{profile.subject.id}{f' ({versions})' if versions else ''}"
    for schedule in profile.schedules:
        yield ""
        yield from _schedule_lines(schedule)
    if not profile.schedules:
        yield ""
        yield "It retries nothing."
    yield from _reaction_lines(profile.reactions)
    yield from _header_lines(profile)
    yield from _deadline_lines(profile.deadlines)
    again = profile.repetition
    yield ""
    yield "In each attempt"
    yield f"  same body: {_said(again.body_same)}; idempotency key: {_said(again.idempotency_key)}"
    if again.changed_headers:
        yield f"  headers that change: {', '.join(again.changed_headers)}"
    yield ""
    yield "What stays unknown"
    for line in profile.not_told:
        yield f"  {line}"
    if profile.model is not None:
        yield ""
        yield from _difference_lines(profile)


def _said(told: Told[Any], *, is_time: bool = False) -> str:
    """Return an answer in words, an unknown one with its reason.

    Args:
        is_time: whether it is one, in nanoseconds.
    """
    if told.value is None:
        return f"unknown ({told.reason})" if told.reason else "unknown"
    value = told.value
    if is_time:
        text = format_duration(int(value))
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{text} ({told.reason})" if told.reason and told.sure == "bounded" else text


def _layer_rows(layer: Layer) -> tuple[tuple[str, str], ...]:
    """Return the answers about one layer, with their names."""
    kind = _said(layer.jitter.kind)
    return (
        ("attempts", _said(layer.attempts)),
        ("growth", _said(layer.growth)),
        ("base", _said(layer.base_ns, is_time=True)),
        ("factor", _said(layer.factor)),
        ("cap", _said(layer.cap_ns, is_time=True)),
        ("jitter", f"{kind}: {layer.jitter.text}" if layer.jitter.text != kind else kind),
    )


def _reacted(reaction: Reaction) -> str:
    """Return what became of one kind of failure, in words."""
    made = reaction.attempts
    if made.value is None:
        return _said(made)
    least = "at least " if made.sure == "bounded" else ""
    tries = f"{least}{count(made.value, 'attempt')}"
    came = {"returned": "returned", "raised": f"raised {reaction.error}", None: ""}.get(
        reaction.outcome, "never ended"
    )
    return f"{tries}, {came}"


def _ceiling_text(ceiling: Ceiling) -> str:
    """Return up to where a header is honored, in words."""
    if ceiling.largest_ns.value is None:
        return ceiling.largest_ns.reason
    top = format_duration(ceiling.largest_ns.value)
    return f"honored up to {top}; above it: {_said(ceiling.above)}"


def _deadline_text(deadline: Deadline) -> str:
    """Return one deadline in words."""
    if deadline.after_ns.value is None:
        return deadline.after_ns.reason
    text = _said(deadline.after_ns, is_time=True)
    return f"{text}: {deadline.text}" if deadline.text else text


def _differing(profile: RetryProfile) -> list[Difference]:
    """Return the points that differ, what must be before what should."""
    found = [item for item in profile.differences if item.differs]
    return sorted(found, key=lambda item: _LEVELS.index(item.level))


def _schedule_lines(schedule: Schedule) -> Iterator[str]:
    product = f": {schedule.product}" if schedule.product else ""
    yield f"Schedule {schedule.id}: attempts {_said(schedule.attempts)}{product}"
    for layer in schedule.layers:
        if len(schedule.layers) > 1:
            yield f"  layer {layer.number}: {layer.attempts.value} attempts, {layer.text}"
        else:
            yield f"  {layer.text}"
        reasons: dict[str, str] = {}
        for name, value in _layer_rows(layer):
            if value.startswith("unknown"):
                reasons[value] = f"{reasons[value]}, {name}" if value in reasons else name
        for value, names in reasons.items():
            yield f"    {names}: {value}"
    yield f"  layers: {schedule.layers_note}"
    for law in schedule.waits[:_WAITS_MAX]:
        yield f"  wait {law.retry}: {law.text}"
    if len(schedule.waits) > _WAITS_MAX:
        yield f"  and {len(schedule.waits) - _WAITS_MAX} more"
    yield f"  for {', '.join(schedule.kinds)}"


def _reaction_lines(reactions: Sequence[Reaction]) -> Iterator[str]:
    yield ""
    yield "Failures that never go away"
    widest = max((len(item.title) for item in reactions), default=0)
    for item in reactions:
        yield f"  {item.title.ljust(widest)}  {_reacted(item)}"


def _header_lines(profile: RetryProfile) -> Iterator[str]:
    if not profile.headers:
        return
    yield ""
    yield "Headers"
    rows = [(f"{item.header}: {item.value}", item) for item in profile.headers]
    widest = max(len(name) for name, _ in rows)
    for name, item in rows:
        yield f"  {name.ljust(widest)}  {_reading(item)}"
    if profile.precedence.value is not None:
        yield f"  precedence: {profile.precedence.value}"
    if profile.honored_for and profile.ignored_for:
        yield f"  Retry-After is honored for {', '.join(profile.honored_for)}"
        yield f"  and not for {', '.join(profile.ignored_for)}"
    for ceiling in profile.ceilings:
        yield f"  {ceiling.header} ({ceiling.form}): {_ceiling_text(ceiling)}"


def _reading(reading: HeaderReading) -> str:
    return f"{reading.kind}: {reading.text}"


def _deadline_lines(deadlines: Sequence[Deadline]) -> Iterator[str]:
    yield ""
    yield "Deadlines"
    widest = max((len(item.what) for item in deadlines), default=0)
    for item in deadlines:
        yield f"  {item.what.ljust(widest)}  {_deadline_text(item)}"


def _difference_lines(profile: RetryProfile) -> Iterator[str]:
    found = _differing(profile)
    agreed = len(profile.differences) - len(found)
    yield f"Beside {profile.model} (revision {profile.model_revision})"
    differ, agree = count(len(found), "demand"), count(agreed, "other")
    yield f"  not met: {differ}; met: {agree}"
    for item in found:
        level = f"{item.level} " if item.level else ""
        after = f" after {', '.join(item.after)}" if item.after else ""
        yield f"  {item.what}{after}"
        yield f"    demanded: {item.demanded}  [{level}{item.requirement or 'unstated'}]"
        yield f"    observed: {item.observed}"
