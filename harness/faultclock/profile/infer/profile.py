"""The profile: what a battery has found, as one value; and the one function that makes it all.

Nothing is run here but by the battery, and nothing is judged but by `demands`.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping

from msgspec import Struct

import faultclock
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.inferred import (
    Layer,
    Reaction,
    Repetition,
    RetryProfile,
    Schedule,
    Told,
    TraceRef,
)
from faultclock.model.trace.trace import Trace
from faultclock.profile.infer.battery import Findings, Run, ask_everything
from faultclock.profile.infer.demands import differences
from faultclock.profile.infer.groups import Group
from faultclock.profile.infer.kinds import KINDS, kind_of
from faultclock.profile.infer.laws import SEEDS, Law, laws_of, published
from faultclock.profile.infer.layers import (
    alike,
    counted_rounds,
    counting_headers,
    loops_of,
    product_of,
)
from faultclock.profile.infer.probes import ATTEMPTS_ASKED, Asker
from faultclock.profile.infer.schedules import layer_of
from faultclock.profile.infer.seen import Seen
from faultclock.subjects.binding import Binding

#: What the simulated world cannot make happen.
_NO_TLS = "TLS failures: the simulated network has no handshake that could fail"
_KEY_HEADERS = ("idempotency", "request-id", "invocation-id", "client-token")
_SCRUBBED = "<scrubbed>"


class Inferred(Struct, frozen=True, kw_only=True):
    """A profile and the traces that it speaks of, by their names in it."""

    profile: RetryProfile
    traces: Mapping[str, Trace]


def infer_profile(binding: Binding, run: Run, model: ErrorModel | None = None) -> Inferred:
    """Ask everything and return what came of it.

    Args:
        run: makes the runs.
        model: what it is set beside; None: nothing.
    """
    return profile_of(binding, ask_everything(Asker(binding.role, binding.dialect), run), model)


def profile_of(binding: Binding, found: Findings, model: ErrorModel | None = None) -> Inferred:
    """Return what a battery has found as a profile, beside `model` where there is one."""
    schedules = tuple(_schedule(group, f"S{n}") for n, group in enumerate(found.groups, 1))
    by_kind = {
        kind: schedule.id
        for group, schedule in zip(found.groups, schedules, strict=True)
        for kind in (*group.kinds, *group.shorter)
    }
    traces = tuple(
        TraceRef(
            name=probe.name,
            asks=probe.asks,
            seed=probe.seed,
            digest=found.traces[probe.name].footer.digest,
            trouble=found.seen[probe.name].trouble,
        )
        for probe in found.asked
    )
    profile = RetryProfile(
        faultclock=faultclock.__version__,
        subject=binding.info(),
        dialect=binding.dialect,
        python=platform.python_version(),
        seeds=SEEDS,
        traces=traces,
        reactions=tuple(
            _reaction(kind, seen, by_kind.get(kind)) for kind, seen in found.persistent.items()
        ),
        schedules=schedules,
        headers=tuple(found.headers),
        honored_for=tuple(found.honored_for),
        ignored_for=tuple(found.ignored_for),
        precedence=found.precedence,
        ceilings=tuple(found.ceilings),
        deadlines=tuple(found.deadlines),
        repetition=_repetition(found),
        not_told=_not_told(found),
    )
    if model is not None:
        profile = profile.model_copy(
            update={
                "model": model.id,
                "model_revision": model.revision,
                "differences": differences(model, binding.info(), found, schedules),
            }
        )
    return Inferred(profile=profile, traces=found.traces)


def _reaction(id_: str, seen: Seen, schedule: str | None) -> Reaction:
    kind = kind_of(id_)
    evidence = (seen.whole,)
    known = Reaction(
        kind=id_,
        title=kind.title,
        stream=kind.stream,
        outcome=None if seen.trouble else seen.outcome,
        error=seen.error,
        schedule=schedule,
    )
    if seen.trouble or not seen.met:
        asks = "it asks for no stream" if kind.stream else "it asks in another way"
        reason = seen.trouble or f"the failure never reached the client: {asks}"
        return known.model_copy(update={"attempts": Told(reason=reason, evidence=evidence)})
    count = len(seen.attempts)
    attempts = Told[int](value=count, sure="exact", evidence=evidence)
    if count > ATTEMPTS_ASKED:
        attempts = Told[int](
            value=count,
            sure="bounded",
            reason=f"at least: the failure went away after {ATTEMPTS_ASKED} attempts",
            evidence=evidence,
        )
    elif seen.outcome == "never_ended":
        attempts = Told[int](
            value=count,
            sure="bounded",
            reason="at least: the call never ended",
            evidence=evidence,
        )
    retried = Told[bool](value=count > 1, sure="exact", evidence=evidence)
    return known.model_copy(update={"attempts": attempts, "retried": retried})


def _schedule(group: Group, id_: str) -> Schedule:
    laws = laws_of(group.runs)
    first = group.runs[0] if group.runs else None
    counted = None if first is None else counted_rounds(first)
    loops = loops_of(laws, counted)
    layers = tuple(layer_of(loop, number) for number, loop in enumerate(loops, 1))
    counts = {len(run.attempts) for run in group.runs}
    evidence = () if first is None else (first.whole,)
    attempts = Told[int](value=group.attempts, sure="exact", evidence=evidence)
    if len(counts) > 1:
        shown = ", ".join(map(str, sorted(counts)))
        attempts = Told[int](
            reason=f"it differs from seed to seed: {shown}; a deadline of the call does that",
            evidence=evidence,
        )
    return Schedule(
        id=id_,
        kinds=(*group.kinds, *group.shorter),
        attempts=attempts,
        layers=layers if attempts.value is not None else tuple(map(_uncounted, layers)),
        product=product_of([loop.attempts for loop in loops]) if attempts.value is not None else "",
        layers_note=_layers_note(first, layers, counted, group, laws_alike=_all_alike(laws)),
        waits=tuple(published(law) for law in laws),
    )


def _all_alike(laws: tuple[Law, ...]) -> bool:
    return len(laws) > 1 and all(alike(laws[0], law) for law in laws[1:])


def _uncounted(layer: Layer) -> Layer:
    reason = "a deadline of the call ends it before its attempts are used up"
    return layer.model_copy(update={"attempts": Told(reason=reason)})


def _layers_note(
    first: Seen | None,
    layers: tuple[Layer, ...],
    counted: int | None,
    group: Group,
    *,
    laws_alike: bool,
) -> str:
    names = () if first is None else counting_headers(first)
    if counted is not None:
        where = ", ".join(names)
        return f"the client numbers its attempts in {where}, and begins anew {_each(counted)}"
    if len(layers) > 1:
        return f"its waits begin anew {_each(layers[0].attempts.value or 0)}"
    if names:
        return f"one: the client numbers its attempts in {', '.join(names)}, up to the last one"
    if group.attempts == 2:
        return "one wait shows nothing of layers"
    if laws_alike:
        return "all waits are alike: loops within a loop would look the same"
    return "one: its waits never begin anew"


def _each(count: int) -> str:
    return f"with each {count} attempts"


def _repetition(found: Findings) -> Repetition:
    if not found.groups:
        return Repetition(
            body_same=Told(reason="nothing is retried"),
            idempotency_key=Told(reason="nothing is retried"),
        )
    runs = [found.persistent[kind] for group in found.groups for kind in group.kinds]
    run = next((run for run in runs if _asked_twice(run)), None)
    if run is None:
        reason = "no request of a retried attempt reached the provider"
        return Repetition(body_same=Told(reason=reason), idempotency_key=Told(reason=reason))
    asked = [attempt for attempt in run.attempts if attempt.headers]
    evidence = (run.whole,)
    names = sorted(set().union(*(attempt.headers for attempt in asked)))
    changed = [name for name in names if len({a.headers.get(name) for a in asked}) > 1]
    keys = [name for name in names if any(part in name.lower() for part in _KEY_HEADERS)]
    told = Told[str](value="none sent", sure="exact", evidence=evidence)
    if any(attempt.headers.get(name) == _SCRUBBED for attempt in asked for name in keys):
        told = Told(reason="its value is not kept in traces", evidence=evidence)
    elif keys:
        shown = "; ".join(
            f"{name}: {'new each time' if name in changed else 'reused'}" for name in keys
        )
        told = Told[str](value=shown, sure="exact", evidence=evidence)
    bodies = {attempt.body for attempt in asked}
    return Repetition(
        body_same=Told[bool](value=len(bodies) == 1, sure="exact", evidence=evidence),
        idempotency_key=told,
        changed_headers=tuple(changed),
        counted_by=counting_headers(run),
    )


def _asked_twice(run: Seen) -> bool:
    return sum(1 for attempt in run.attempts if attempt.headers) > 1


def _not_told(found: Findings) -> tuple[str, ...]:
    said = [_NO_TLS]
    if found.main is None:
        said.append("headers and deadlines of the call: no status is retried")
    for kind in KINDS:
        seen = found.persistent.get(kind.id)
        if seen is None:
            said.append(f"{kind.title}: it is not asked of a runtime")
        elif seen.trouble:
            said.append(f"{kind.title}: {seen.trouble}")
        elif not seen.met:
            said.append(f"{kind.title}: the failure never reached the client")
    return tuple(said)
