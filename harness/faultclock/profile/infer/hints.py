"""Hints: what a client makes of a header that says when, or whether, to retry.

A reading follows from one wait, beside the wait of the same client under the same seed without
the header. Where `honored` and `ignored` could be mistaken for each other, it is said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.report.inferred import HeaderReading
from faultclock.profile.infer.header_forms import Form
from faultclock.profile.infer.laws import Law
from faultclock.profile.infer.seen import Seen
from faultclock.profile.infer.times import EXACT_NS, close, said

_INSTANTS = ("instant", "seconds since 1970")
#: An HTTP-date has whole seconds, and the answer takes its time.
_DATE_SLACK_NS = SECOND_NS
#: A wait that is shorter is none.
_AT_ONCE_NS = MILLISECOND_NS


def never_retried(form: Form, kind: str, seen: Seen) -> HeaderReading:
    """Return whether a header made the client retry what it does not retry without it."""
    again = len(seen.attempts) > 1
    waited = seen.waits_ns[0] if seen.waits_ns else None
    text = "never retried, with it or without it"
    if again:
        text = f"retried because of it, after {said(waited)}"
    return HeaderReading(
        header=form.header,
        form=form.form,
        value=form.value,
        kind=kind,
        reading="retried" if again else "same",
        asked_ns=form.asked_ns,
        waited_ns=waited,
        text=text,
        evidence=(seen.whole,),
    )


def reading_of(
    form: Form,
    kind: str,
    seen: Seen,
    own_ns: int | None,
    *,
    coarse: bool = True,
    later: Sequence[int | None] = (),
) -> HeaderReading:
    """Return what the client made of `form`.

    Args:
        seen: the run whose first answer carried it.
        own_ns: the first wait of its own schedule, under the same seed.
        coarse: whether a date counts as kept by who is off by less than a second.
        later: the further waits of its own schedule.
    """
    if form.form == "date" and seen.asked_ns is not None:
        form = replace(form, asked_ns=seen.asked_ns)
    elif form.form in _INSTANTS and form.asked_ns and seen.attempts and seen.attempts[0].known_ns:
        # They are counted from the start of the run.
        form = replace(form, asked_ns=form.asked_ns - seen.attempts[0].known_ns)
    waited = seen.waits_ns[0] if seen.waits_ns else None
    reading, text = _read(form, seen, waited, own_ns, coarse=coarse)
    if reading == "other" and waited is not None:
        number = next(
            (n for n, wait in enumerate(later, 2) if wait is not None and close(wait, waited)), None
        )
        if number is not None:
            reading = "passed_on"
            text = f"waited {said(waited)}, as before retry {number}: an inner loop gave up"
    return HeaderReading.model_validate(
        {
            "header": form.header,
            "form": form.form,
            "value": form.value,
            "kind": kind,
            "reading": reading,
            "asked_ns": form.asked_ns,
            "waited_ns": waited,
            "text": text,
            "evidence": (seen.at_wait(1) if waited is not None else seen.whole,),
        }
    )


def with_law(reading: HeaderReading, law: Law) -> HeaderReading:
    """Return a reading of more than was asked for, with how much more over many seeds."""
    asked = reading.asked_ns or 0
    low, high = law.low_ns - asked, law.high_ns - asked
    return reading.model_copy(
        update={"text": f"waited for it, and {said(low)} to {said(high)} more ({law.text})"}
    )


def precedence_of(reading: HeaderReading, form: Form, kept: Collection[str]) -> str | None:
    """Return which of two headers was honored; None where neither was.

    Args:
        kept: the forms that are honored where they come alone.
    """
    waited = reading.waited_ns
    if form.other_ns is not None and not {"seconds", "milliseconds"} <= {*kept}:
        only = "of retry-after and retry-after-ms, only retry-after is read"
        return only if "seconds" in kept else None
    if waited is None or form.asked_ns is None or form.other_ns is None:
        return None
    if close(waited, form.other_ns):
        return "retry-after-ms before retry-after"
    if close(waited, form.asked_ns):
        return "retry-after before retry-after-ms"
    return None


def _read(
    form: Form, seen: Seen, waited: int | None, own_ns: int | None, *, coarse: bool
) -> tuple[str, str]:
    if len(seen.attempts) < 2:
        return "gave_up", "gave up: no further attempt"
    if waited is None:
        return "other", "retried after an unknown wait"
    ignored = own_ns is not None and close(waited, own_ns)
    is_date = form.form in ("date", *_INSTANTS)
    slack = _DATE_SLACK_NS if is_date and coarse else 0
    if form.other_ns is not None and close(waited, form.other_ns):
        return "honored", f"waited {said(waited)}: retry-after-ms was kept"
    if form.asked_ns and abs(waited - form.asked_ns) <= slack + EXACT_NS:
        which = ": retry-after was kept" if form.other_ns is not None else ""
        same = "; its own schedule would be the same" if ignored else ""
        return "honored", f"waited {said(waited)}, as asked{which}{same}"
    if ignored:
        return "ignored", f"waited {said(waited)}, as it does without it"
    if waited < _AT_ONCE_NS:
        return "at_once", "retried at once"
    if form.asked_ns and form.asked_ns < waited <= 2 * form.asked_ns:
        return "honored_with_more", f"waited {said(waited)}: as asked, and more"
    return "other", f"waited {said(waited)}, neither as asked nor as it does without it"
