"""What a target does, in a few lines."""

from __future__ import annotations

from faultclock.check.traits import traits_of
from faultclock.model.report.inferred import (
    Ceiling,
    Deadline,
    HeaderReading,
    JitterSeen,
    Layer,
    Reaction,
    RetryProfile,
    Schedule,
    Told,
)
from faultclock.model.trace.trace import SubjectInfo


def _reaction(kind: str, attempts: int, *, bounded: bool = False) -> Reaction:
    told = Told[int](value=attempts, sure="bounded" if bounded else "exact")
    return Reaction(kind=kind, title=kind, attempts=told)


def _header(header: str, form: str, reading: str) -> HeaderReading:
    return HeaderReading.model_validate(
        {
            "header": header,
            "form": form,
            "value": "17",
            "kind": "status-429",
            "reading": reading,
            "text": "",
        }
    )


def _profile() -> RetryProfile:
    layer = Layer(
        number=1,
        jitter=JitterSeen(text="each wait is 75 % to 100 % of that, at random"),
        text="waits 1s x 2^n",
    )
    return RetryProfile(
        faultclock="1.0",
        subject=SubjectInfo(id="ask", role="provider_adapter", style="sync"),
        dialect="openai-chat",
        python="3.11",
        seeds=(0,),
        reactions=(
            *(_reaction(f"status-{status}", 3) for status in (429, 500, 501, 502)),
            _reaction("status-400", 1),
            _reaction("refused", 3),
            _reaction("dns", 3),
            _reaction("silence", 64, bounded=True),
            _reaction("stream-reset", 1),
        ),
        schedules=(Schedule(id="S1", kinds=("status-429",), layers=(layer,)),),
        headers=(
            _header("retry-after", "seconds", "honored"),
            _header("retry-after", "date", "ignored"),
            _header("x-ratelimit-reset", "seconds", "ignored"),
            _header("retry-after and retry-after-ms", "both", "honored"),
        ),
        ceilings=(
            Ceiling(
                header="retry-after",
                form="seconds",
                largest_ns=Told[int](value=120_000_000_000, sure="exact"),
                above=Told[str](value="gives up", sure="exact"),
            ),
        ),
        deadlines=(
            Deadline(what="silence before the answer", after_ns=Told[int](value=30_000_000_000)),
            Deadline(what="the whole call", after_ns=Told[int](reason="there is none up to 1m")),
        ),
    )


def test_each_trait_says_it_once() -> None:
    """Neighbouring statuses and kinds of one name are told together."""
    traits = {item.name: item.text for item in traits_of(_profile(), streams=True)}
    assert traits["attempts"] == (
        "at least 64 after silence; 3 after 429, 500-502, failed connections; "
        "1 after 400, cut streams"
    )
    assert traits["waits"] == "1s x 2^n"
    assert traits["jitter"] == "each wait is 75 % to 100 % of that, at random"
    assert traits["hints"] == "keeps to retry-after (seconds); ignores x-ratelimit-reset"
    assert traits["ceiling"] == "up to 2m; above it: gives up"
    assert traits["deadlines"] == "an attempt: 30s; the whole call: there is none up to 1m"


def test_nothing_is_said_of_streams_that_are_never_asked_for() -> None:
    """The battery asks in vain."""
    traits = {item.name: item.text for item in traits_of(_profile(), streams=False)}
    assert traits["attempts"].endswith("1 after 400")


def test_loops_in_loops_are_named() -> None:
    """Two layers multiply, and that is worth a line."""
    two = tuple(Layer(number=number, text="one attempt") for number in (1, 2))
    schedule = Schedule(id="S1", kinds=("status-429",), layers=two, product="3 x 5 = 15 attempts")
    profile = _profile().model_copy(update={"schedules": (schedule,)})
    traits = {item.name: item.text for item in traits_of(profile, streams=True)}
    assert traits["layers"] == "2, one in the other: 3 x 5 = 15 attempts"


def test_the_waits_of_a_loop_in_a_loop_are_not_all_listed() -> None:
    """`infer` has each of them, and no one reads a dozen."""
    profile = _profile()
    schedules = tuple(
        schedule.model_copy(
            update={"layers": (schedule.layers[0].model_copy(update={"text": f"waits {at}s"}),)}
        )
        for at in range(5)
        for schedule in profile.schedules
    )
    changed = profile.model_copy(update={"schedules": schedules})
    traits = {item.name: item.text for item in traits_of(changed, streams=True)}
    assert traits["waits"] == "0s; 1s; 2s; 2 more after other failures"


def test_failures_of_a_group_are_named_each_where_they_are_tried_again_differently() -> None:
    """To say of failed connections that they have two numbers of attempts says nothing."""
    kinds = (("refused", 9), ("dns", 9), ("closed-before-answer", 18), ("body-cut", 1))
    reactions = tuple(_reaction(kind, made) for kind, made in (*kinds, ("body-reset", 1)))
    profile = _profile().model_copy(update={"reactions": reactions})
    traits = {item.name: item.text for item in traits_of(profile, streams=True)}
    assert traits["attempts"] == (
        "18 after connections closed before an answer;"
        " 9 after refused connections, unknown host names; 1 after cut answers"
    )


def test_a_header_that_changes_a_wait_is_named_although_it_is_not_kept() -> None:
    """A client may cap what it is asked for."""
    capped = _header("x-amz-retry-after", "milliseconds", "other")
    unknown = _header("x-ratelimit-reset", "seconds", "other")
    readings = (capped.model_copy(update={"waited_ns": 5_000_000_000}), unknown)
    profile = _profile().model_copy(update={"headers": readings})
    traits = {item.name: item.text for item in traits_of(profile, streams=True)}
    assert traits["hints"] == "reads x-amz-retry-after, and waits another time than that asks for"
