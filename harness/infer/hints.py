"""Hints: what a client makes of a header that says when, or whether, to retry.

A reading is told from one wait, beside the wait of the same client under the same seed without
the header. The value that is asked for is longer than any first wait that a schedule has, so that
`honored` and `ignored` cannot be mistaken for each other; where they would be, it is said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from harness.infer.laws import Law, close, rounded
from harness.infer.seen import Seen
from harness.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from harness.model.inferred import HeaderReading
from harness.model.trace import WALL_EPOCH_NS

__all__ = [
    "ALWAYS",
    "FORMS",
    "Form",
    "never_retried",
    "persuading",
    "precedence_of",
    "reading_of",
    "with_law",
]

_ASKED_S = 17
_INSTANTS = ("instant", "seconds since 1970")
_OTHER_MS = 11_250
#: An HTTP-date has whole seconds, and the answer takes its time.
_DATE_SLACK_NS = SECOND_NS
#: A wait that is shorter is none.
_AT_ONCE_NS = MILLISECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One header in one form.

    Attributes:
        asked_ns: the wait that it asks for; None where it asks for none that can be kept.
        other_ns: what a second header of it asks for.
    """

    slug: str
    header: str
    form: str
    headers: Mapping[str, Any]
    asked_ns: int | None = None
    other_ns: int | None = None

    @property
    def value(self) -> str:
        """What was sent, in words."""
        return ", ".join(
            f"now {item['http_date']}" if isinstance(item, dict) else str(item)
            for item in self.headers.values()
        )


def _instant() -> str:
    at = datetime.fromtimestamp(WALL_EPOCH_NS / SECOND_NS, UTC) + timedelta(seconds=_ASKED_S)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


_ASKED_NS = _ASKED_S * SECOND_NS
_OTHER_NS = _OTHER_MS * MILLISECOND_NS
_RETRY_AFTER = "retry-after"
#: The one that is asked about for every kind of failure.
ALWAYS = Form(
    slug="seconds",
    header=_RETRY_AFTER,
    form="seconds",
    headers={_RETRY_AFTER: str(_ASKED_S)},
    asked_ns=_ASKED_NS,
)
#: All that is asked about for one kind, in the order of a profile.
FORMS: tuple[Form, ...] = (
    ALWAYS,
    Form(
        slug="fraction",
        header=_RETRY_AFTER,
        form="fraction of seconds",
        headers={_RETRY_AFTER: f"{_ASKED_S}.5"},
        asked_ns=_ASKED_NS + SECOND_NS // 2,
    ),
    Form(slug="zero", header=_RETRY_AFTER, form="zero", headers={_RETRY_AFTER: "0"}, asked_ns=0),
    Form(slug="negative", header=_RETRY_AFTER, form="negative", headers={_RETRY_AFTER: "-17"}),
    Form(slug="garbage", header=_RETRY_AFTER, form="no number", headers={_RETRY_AFTER: "soon"}),
    Form(
        slug="date",
        header=_RETRY_AFTER,
        form="date",
        headers={_RETRY_AFTER: {"http_date": f"+{_ASKED_S}s"}},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="past-date",
        header=_RETRY_AFTER,
        form="past date",
        headers={_RETRY_AFTER: {"http_date": "-60s"}},
    ),
    Form(
        slug="milliseconds",
        header="retry-after-ms",
        form="milliseconds",
        headers={"retry-after-ms": str(_OTHER_MS)},
        asked_ns=_OTHER_NS,
    ),
    Form(
        slug="both",
        header="retry-after and retry-after-ms",
        form="both",
        headers={_RETRY_AFTER: str(_ASKED_S), "retry-after-ms": str(_OTHER_MS)},
        asked_ns=_ASKED_NS,
        other_ns=_OTHER_NS,
    ),
    Form(
        slug="amazon",
        header="x-amz-retry-after",
        form="milliseconds (Amazon)",
        headers={"x-amz-retry-after": str(_OTHER_MS)},
        asked_ns=_OTHER_NS,
    ),
    Form(
        slug="should-not-retry",
        header="x-should-retry",
        form="false",
        headers={"x-should-retry": "false"},
    ),
    Form(
        slug="reset-requests",
        header="x-ratelimit-reset-requests",
        form="duration",
        headers={"x-ratelimit-reset-requests": f"{_ASKED_S}s"},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="reset-seconds",
        header="x-ratelimit-reset",
        form="seconds",
        headers={"x-ratelimit-reset": str(_ASKED_S)},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="reset-epoch",
        header="x-ratelimit-reset",
        form="seconds since 1970",
        headers={"x-ratelimit-reset": str(WALL_EPOCH_NS // SECOND_NS + _ASKED_S)},
        asked_ns=_ASKED_NS,
    ),
    Form(
        slug="reset-instant",
        header="anthropic-ratelimit-requests-reset",
        form="instant",
        headers={"anthropic-ratelimit-requests-reset": _instant()},
        asked_ns=_ASKED_NS,
    ),
)
#: For failures that are not retried: whether a header changes that.
_PERSUADING = (ALWAYS, next(form for form in FORMS if form.slug == "milliseconds"))


def persuading() -> tuple[Form, ...]:
    """Return the forms that may make a client retry what it otherwise does not."""
    should = Form(
        slug="should-retry",
        header="x-should-retry",
        form="true",
        headers={"x-should-retry": "true"},
    )
    return (*_PERSUADING, should)


def never_retried(form: Form, kind: str, seen: Seen) -> HeaderReading:
    """Return whether a header made the client retry what it does not retry without it."""
    again = len(seen.attempts) > 1
    waited = seen.waits_ns[0] if seen.waits_ns else None
    said = "never retried, with it or without it"
    if again:
        said = f"retried because of it, after {_said(waited)}"
    return HeaderReading(
        header=form.header,
        form=form.form,
        value=form.value,
        kind=kind,
        reading="retried" if again else "same",
        asked_ns=form.asked_ns,
        waited_ns=waited,
        text=said,
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
            text = f"waited {_said(waited)}, as before retry {number}: an inner loop gave up"
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
        update={"text": f"waited for it, and {_said(low)} to {_said(high)} more ({law.text})"}
    )


def precedence_of(reading: HeaderReading, form: Form, kept: Collection[str]) -> str | None:
    """Return which of two headers was honored; None where neither was.

    Args:
        kept: the forms that are honored where they come alone.
    """
    waited = reading.waited_ns
    if form.other_ns is not None and not {"seconds", "milliseconds"} <= {*kept}:
        return "only retry-after is read" if "seconds" in kept else None
    if waited is None or form.asked_ns is None or form.other_ns is None:
        return None
    if _kept(waited, form.other_ns):
        return "retry-after-ms before retry-after"
    if _kept(waited, form.asked_ns):
        return "retry-after before retry-after-ms"
    return None


def _read(
    form: Form, seen: Seen, waited: int | None, own_ns: int | None, *, coarse: bool
) -> tuple[str, str]:
    if len(seen.attempts) < 2:
        return "gave_up", "gave up: no further attempt"
    if waited is None:
        return "other", "retried; how long it waited cannot be told"
    ignored = own_ns is not None and close(waited, own_ns)
    is_date = form.form in ("date", *_INSTANTS)
    slack = _DATE_SLACK_NS if is_date and coarse else 0
    if form.other_ns is not None and _kept(waited, form.other_ns):
        return "honored", f"waited {_said(waited)}: retry-after-ms was kept"
    if form.asked_ns and -slack - 3_000 <= waited - form.asked_ns <= slack + 3_000:
        which = ": retry-after was kept" if form.other_ns is not None else ""
        same = "; its own schedule would be the same" if ignored else ""
        return "honored", f"waited {_said(waited)}, as asked{which}{same}"
    if ignored:
        return "ignored", f"waited {_said(waited)}, as it does without it"
    if waited < _AT_ONCE_NS:
        return "at_once", "retried at once"
    if form.asked_ns and form.asked_ns < waited <= 2 * form.asked_ns:
        return "honored_with_more", f"waited {_said(waited)}: as asked, and more"
    return "other", f"waited {_said(waited)}, neither as asked nor as it does without it"


def _kept(waited: int, asked: int) -> bool:
    return close(waited, asked)


def _said(time_ns: float | None) -> str:
    return "an unknown time" if time_ns is None else format_duration(rounded(time_ns))
