"""What installed SDKs do about failures, by their own source, beside what is inferred of them.

`python -m tests.profile.truth` infers every profile and prints the table; a number that is inferred
and wrong ends it with exit code 1. The places are those of the versions that stand beside them: a
new version is read again before it is believed.
"""

# ruff: noqa: T201 - the table is what the program is for

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from faultclock.model.report.inferred import Layer, RetryProfile, Schedule
from faultclock.profile.infer.profile import infer_profile
from faultclock.profile.infer.running import Bench
from faultclock.run.prepare import prepare
from faultclock.run.process.hash_seed import ensure_hash_seed

_S, _MS = 1_000_000_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Fact:
    """One number that the source states.

    Attributes:
        name: of a reader below.
        value: times in nanoseconds.
        place: file and line within the distribution.
    """

    name: str
    value: Any
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the source of one subject says.

    Attributes:
        versions: of the distributions whose source was read.
        kind: of the failure whose schedule the facts speak of.
    """

    subject: str
    versions: Mapping[str, tuple[str, ...]]
    facts: tuple[Fact, ...]
    kind: str = "status-503"


@dataclass(frozen=True, slots=True)
class Compared:
    """One fact beside what was inferred; `told` None where it was said to be unknown."""

    fact: Fact
    told: Any
    reason: str

    @property
    def wrong(self) -> bool:
        """Whether something else was inferred."""
        return self.told is not None and self.told != self.fact.value


def compare(truth: Truth, profile: RetryProfile) -> tuple[Compared, ...]:
    """Return every fact of `truth` beside `profile`."""
    found = []
    for fact in truth.facts:
        told, reason = _READERS[fact.name](profile, truth.kind)
        found.append(Compared(fact, told, reason))
    return tuple(found)


# ---------------------------------------------------------------------- readers

_Reader = Callable[[RetryProfile, str], tuple[Any, str]]


def _schedule(profile: RetryProfile, kind: str) -> Schedule | None:
    return next((item for item in profile.schedules if kind in item.kinds), None)


def _of_layer(read: Callable[[Layer], Any], number: int = 1) -> _Reader:
    def reader(profile: RetryProfile, kind: str) -> tuple[Any, str]:
        schedule = _schedule(profile, kind)
        if schedule is None or len(schedule.layers) < number:
            return None, "it is not retried"
        told = read(schedule.layers[number - 1])
        return (told.value, told.reason) if hasattr(told, "sure") else (told, "")

    return reader


def _attempts(profile: RetryProfile, kind: str) -> tuple[Any, str]:
    told = next(item.attempts for item in profile.reactions if item.kind == kind)
    return told.value, told.reason


def _jitter(layer: Layer) -> tuple[float | None, float | None] | int | None:
    seen = layer.jitter
    if seen.kind.value == "additive":
        return seen.added_ns
    if seen.low is None or seen.high is None:
        return None
    return round(seen.low, 4), round(seen.high, 4)


def _statuses(profile: RetryProfile, _: str) -> tuple[Any, str]:
    names = [item.kind for item in profile.reactions if item.retried.value]
    return tuple(int(n.removeprefix("status-")) for n in names if n.startswith("status-")), ""


def _ceiling(form: str) -> _Reader:
    def reader(profile: RetryProfile, _: str) -> tuple[Any, str]:
        found = next((item for item in profile.ceilings if item.form == form), None)
        if found is None:
            return None, "no such header is honored"
        return found.largest_ns.value or found.largest_ns.reason, ""

    return reader


def _above(profile: RetryProfile, _: str) -> tuple[Any, str]:
    found = next((item for item in profile.ceilings if item.form == "seconds"), None)
    return (None, "there is no ceiling") if found is None else (found.above.value, "")


def _total(profile: RetryProfile, _: str) -> tuple[Any, str]:
    found = next(item for item in profile.deadlines if item.what == "the whole call")
    return found.after_ns.value, found.after_ns.reason


def _reading(form: str) -> _Reader:
    def reader(profile: RetryProfile, _: str) -> tuple[Any, str]:
        return next(item.reading for item in profile.headers if item.form == form), ""

    return reader


_READERS: Mapping[str, _Reader] = {
    "attempts": _attempts,
    "layers": lambda profile, kind: (
        (None, "") if (found := _schedule(profile, kind)) is None else (found.product, "")
    ),
    "base": _of_layer(lambda layer: layer.base_ns),
    "factor": _of_layer(lambda layer: layer.factor),
    "cap": _of_layer(lambda layer: layer.cap_ns),
    "jitter": _of_layer(_jitter),
    "outer base": _of_layer(lambda layer: layer.base_ns, 2),
    "outer factor": _of_layer(lambda layer: layer.factor, 2),
    "wait": lambda profile, kind: (
        (None, "it is not retried")
        if (found := _schedule(profile, kind)) is None
        else ((found.waits[0].low_ns, found.waits[0].high_ns), "")
    ),
    "statuses": _statuses,
    "Retry-After up to": _ceiling("seconds"),
    "dates up to": _ceiling("date"),
    "above": _above,
    "precedence": lambda profile, _: (profile.precedence.value, profile.precedence.reason),
    "Retry-After: 0": _reading("zero"),
    "Retry-After": _reading("seconds"),
    "retry-after-ms": _reading("milliseconds"),
    "x-should-retry: false": _reading("false"),
    "deadline of the call": _total,
    "mid-stream": lambda profile, _: (
        next(item.attempts.value for item in profile.reactions if item.kind == "stream-reset"),
        "",
    ),
}

# ---------------------------------------------------------------------- truths

_STAINLESS = (408, 409, 429, 500, 501, 502, 503, 504, 529)
_FIVES = (500, 502, 503, 504)
_NO_CEILING = "there is none up to 7d"


def _openai(subject: str, attempts: int) -> Truth:
    base, constants = "openai/_base_client.py", "openai/_constants.py"
    return Truth(
        subject=subject,
        versions={"openai": ("3.52.0", "3.54.0")},
        facts=(
            Fact("attempts", attempts, f"{constants}:8, or max_retries + 1"),
            Fact("base", 500 * _MS, f"{constants}:13"),
            Fact("factor", 2.0, f"{base}:915"),
            Fact("cap", 8 * _S, f"{constants}:14"),
            Fact("jitter", (0.75, 1.0), f"{base}:918"),
            Fact("statuses", _STAINLESS, f"{base}:943-961"),
            Fact("Retry-After up to", 120 * _S, f"{constants}:15, {base}:908"),
            Fact("dates up to", 120 * _S, f"{base}:874-885"),
            Fact("above", "gives up", f"{base}:924-930"),
            Fact("precedence", "retry-after-ms before retry-after", f"{base}:859"),
            Fact("Retry-After: 0", "ignored", f"{base}:908"),
            Fact("x-should-retry: false", "gave_up", f"{base}:939-941"),
            Fact("mid-stream", 1, f"{base}:1185-1234: only the request is within the loop"),
        ),
    )


def _anthropic(subject: str, attempts: int) -> Truth:
    base, constants = "anthropic/_base_client.py", "anthropic/_constants.py"
    return Truth(
        subject=subject,
        versions={"anthropic": ("2.12.0",)},
        facts=(
            Fact("attempts", attempts, f"{constants}:11, or max_retries + 1"),
            Fact("base", 500 * _MS, f"{constants}:14"),
            Fact("factor", 2.0, f"{base}:932"),
            Fact("cap", 8 * _S, f"{constants}:15"),
            Fact("jitter", (0.75, 1.0), f"{base}:935"),
            Fact("statuses", _STAINLESS, f"{base}:951-969"),
            Fact("Retry-After up to", _NO_CEILING, f"{base}:923-926: 49 days"),
            Fact("precedence", "retry-after-ms before retry-after", f"{base}:922"),
            Fact("Retry-After: 0", "ignored", f"{base}:923"),
            Fact("x-should-retry: false", "gave_up", f"{base}:947-949"),
        ),
    )


_GENAI = "google/genai/_api_client.py"
_COHERE = "cohere/core/http_client.py"
_BOTO = "botocore/retries/standard.py"
_URLLIB3 = "urllib3/util/retry.py"
_MISTRAL = "mistralai/client/utils/retries.py"
_OWN = "tests/profile/clients.py:"

#: What is compared, in the order of the table.
TRUTHS: tuple[Truth, ...] = (
    _openai("openai-async", 3),
    _openai("openai-sync", 3),
    _openai(f"{_OWN}openai_patient", 8),
    _anthropic("anthropic", 3),
    _anthropic(f"{_OWN}anthropic_patient", 8),
    Truth(
        subject="google-genai",
        versions={"google-genai": ("3.4.0",)},
        facts=(
            Fact("attempts", 1, f"{_GENAI}:816-817: no retry_options"),
            Fact("statuses", (), f"{_GENAI}:816-817"),
        ),
    ),
    Truth(
        subject="google-genai",
        versions={"google-genai": ("3.4.0",)},
        kind="refused",
        facts=(
            Fact("attempts", 2, f"{_GENAI}:2202-2206: aiohttp, once more"),
            Fact("wait", (_S, 10 * _S), f"{_GENAI}:2204: 1 + randint(0, 9)"),
        ),
    ),
    Truth(
        subject=f"{_OWN}genai_retrying",
        versions={"google-genai": ("3.4.0",), "tenacity": ("9.1.4",)},
        facts=(
            Fact("attempts", 9, f"{_GENAI}:820, as given"),
            Fact("base", _S, f"{_GENAI}:786"),
            Fact("factor", 2.0, f"{_GENAI}:788"),
            Fact("cap", 60 * _S, f"{_GENAI}:787"),
            Fact("jitter", _S, f"{_GENAI}:789, tenacity/wait.py:267"),
            Fact("statuses", (408, 429, *_FIVES), f"{_GENAI}:790-797"),
            Fact("Retry-After", "ignored", f"{_GENAI}:826-831"),
        ),
    ),
    Truth(
        subject=f"{_OWN}openai_in_tenacity",
        versions={"openai": ("3.52.0", "3.54.0"), "tenacity": ("9.1.4",)},
        facts=(
            Fact("attempts", 15, "tests/profile/clients.py"),
            Fact(
                "layers",
                "2 retries (3 attempts) x 4 retries (5 attempts) = 15 attempts",
                "tests/profile/clients.py",
            ),
            Fact("base", 500 * _MS, "openai/_constants.py:13"),
            Fact("outer base", 4 * _S, "tests/profile/clients.py"),
            Fact("outer factor", 2.0, "tenacity/wait.py:202"),
        ),
    ),
    Truth(
        subject=f"{_OWN}mistral_retrying",
        versions={"mistralai": ("3.7.0",)},
        facts=(
            Fact("base", 500 * _MS, "tests/profile/clients.py"),
            Fact("factor", 1.5, "tests/profile/clients.py"),
            Fact("cap", 10 * _S, "tests/profile/clients.py"),
            Fact("jitter", _S, f"{_MISTRAL}:197"),
            Fact("statuses", (429, *_FIVES), "mistralai/client/chat.py:288"),
            Fact("Retry-After up to", _NO_CEILING, f"{_MISTRAL}:185-190"),
            Fact("deadline of the call", 100 * _S, "tests/profile/clients.py: max_elapsed_time"),
        ),
    ),
    Truth(
        subject="cohere",
        versions={"cohere": ("7.3.0",)},
        facts=(
            Fact("attempts", 3, f"{_COHERE}: max_retries 2"),
            Fact("base", _S, f"{_COHERE}:22"),
            Fact("factor", 2.0, f"{_COHERE}:151"),
            Fact("jitter", (0.9, 1.1), f"{_COHERE}:24, 107-110"),
            Fact("statuses", _STAINLESS, f"{_COHERE}:161-162"),
            Fact("Retry-After up to", 60 * _S, f"{_COHERE}:23, 143"),
            Fact("dates up to", 60 * _S, f"{_COHERE}:143"),
            Fact("above", "cut down: it waits 1m", f"{_COHERE}:143"),
            Fact("retry-after-ms", "ignored", f"{_COHERE}:67: compares a text with 0"),
        ),
    ),
    Truth(
        subject=f"{_OWN}cohere_patient",
        versions={"cohere": ("7.3.0",)},
        facts=(
            Fact("attempts", 8, "tests/profile/clients.py"),
            Fact("factor", 2.0, f"{_COHERE}:151"),
            Fact("cap", 60 * _S, f"{_COHERE}:23"),
        ),
    ),
    Truth(
        subject="bedrock",
        versions={"botocore": ("1.44.5",)},
        facts=(
            Fact("attempts", 3, f"{_BOTO}:36"),
            Fact("base", 50 * _MS, f"{_BOTO}:352"),
            Fact("factor", 2.0, f"{_BOTO}:345"),
            Fact("cap", 20 * _S, f"{_BOTO}:346"),
            Fact("jitter", (0.0, 1.0), f"{_BOTO}:392"),
            Fact("statuses", (429, *_FIVES), f"{_BOTO}:469, 549"),
            Fact("Retry-After", "ignored", f"{_BOTO}:347: only x-amz-retry-after"),
        ),
    ),
    Truth(
        subject="bedrock",
        versions={"botocore": ("1.44.5",)},
        kind="status-429",
        facts=(Fact("attempts", 3, f"{_BOTO}:36"), Fact("base", _S, f"{_BOTO}:351")),
    ),
    Truth(
        subject="httpx2-tenacity",
        versions={"tenacity": ("9.1.4",)},
        facts=(
            Fact("attempts", 7, "harness/faultclock/subjects/clients/httpx2_tenacity.py"),
            Fact("base", _S, "tenacity/wait.py:202"),
            Fact("factor", 2.0, "tenacity/wait.py:202"),
            Fact("cap", 60 * _S, "harness/faultclock/subjects/clients/httpx2_tenacity.py"),
            Fact("jitter", (0.0, 1.0), "tenacity/wait.py:239"),
            Fact("Retry-After", "ignored", "tenacity reads no header"),
        ),
    ),
    Truth(
        subject="stamina",
        versions={"stamina": ("26.1.0",)},
        facts=(
            Fact("attempts", 10, "stamina/_core.py:121"),
            Fact("base", 100 * _MS, "stamina/_core.py:123"),
            Fact("factor", 2.0, "stamina/_core.py:126"),
            Fact("cap", 5 * _S, "stamina/_core.py:124"),
            Fact("jitter", _S, "stamina/_core.py:125"),
            Fact("deadline of the call", 45 * _S, "stamina/_core.py:122"),
        ),
    ),
    Truth(
        subject="requests-retry",
        versions={"urllib3": ("2.8.0",)},
        facts=(
            Fact("attempts", 4, "harness/faultclock/subjects/clients/requests_retry.py: total=3"),
            Fact("base", 200 * _MS, f"{_URLLIB3}:332-335: none, then 0.1 s * 2"),
            Fact("factor", 2.0, f"{_URLLIB3}:335"),
            Fact("cap", 120 * _S, f"{_URLLIB3}:213"),
            Fact("jitter", (1.0, 1.0), f"{_URLLIB3}:336"),
            Fact(
                "statuses", (502, 503, 504), "harness/faultclock/subjects/clients/requests_retry.py"
            ),
            Fact("Retry-After up to", 21_600 * _S, f"{_URLLIB3}:217"),
            Fact("dates up to", 21_600 * _S, f"{_URLLIB3}:356-357"),
            Fact("above", "cut down: it waits 6h", f"{_URLLIB3}:356-357"),
        ),
    ),
)

# ---------------------------------------------------------------------- the table


def infer(subject: str, jobs: int = 1) -> tuple[RetryProfile, int, float]:
    """Return the profile of a subject, its number of runs, and the seconds it took."""
    binding = prepare(subject)
    began_s = time.perf_counter()
    with Bench(binding, jobs=jobs) as bench:
        profile = infer_profile(binding, bench.run).profile
    return profile, bench.runs, time.perf_counter() - began_s


def main(chosen: Sequence[str]) -> int:
    """Print the table for the chosen subjects, or for all."""
    profiles: dict[str, RetryProfile] = {}
    wrong = told = 0
    for truth in TRUTHS:
        if chosen and not any(name in truth.subject for name in chosen):
            continue
        old = {n: version(n) for n, read in truth.versions.items() if version(n) not in read}
        if old:
            print(f"{truth.subject}: the source was read of {dict(truth.versions)}, not of {old}")
            wrong += 1
            continue
        if truth.subject not in profiles:
            profiles[truth.subject], runs, took_s = infer(truth.subject, jobs=2)
            print(f"\n{truth.subject} ({runs} runs, {took_s:.1f} s)")
        for item in compare(truth, profiles[truth.subject]):
            wrong, told = wrong + item.wrong, told + (item.told is not None)
            mark = "WRONG" if item.wrong else "unknown" if item.told is None else "equal"
            shown = item.reason if item.told is None else item.told
            name = f"{truth.kind} {item.fact.name}"
            print(f"  {mark:8}{name:32}{item.fact.value!s:36}{shown!s:36.90}  {item.fact.place}")
    print(f"\n{told} numbers told, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    ensure_hash_seed()
    sys.exit(main(sys.argv[1:]))
