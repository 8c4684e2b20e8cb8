"""Which recorded calls follow one another, and which overlapped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultclock.model.duration import MILLISECOND_NS
from faultclock.recordings.importing import Imported, Options, import_recording
from tests.recordings.builders import CHAT, dialects, imported, interaction

GOOD = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}


def asked(number: int) -> dict[str, Any]:
    """Return a request that no other call makes."""
    return {"model": "m", "messages": [{"role": "user", "content": f"Question {number}"}]}


def browsed(*calls: tuple[str, float, float], **options: Any) -> Imported:
    """Return what comes of a HAR file: start (seconds of a minute), wait and receive in ms."""
    entries = [
        {
            "startedDateTime": f"2026-03-02T10:00:{start}Z",
            "timings": {"wait": wait_ms, "receive": receive_ms},
            "request": {
                "method": "POST",
                "url": CHAT,
                "postData": {"text": json.dumps(asked(number))},
            },
            "response": {
                "status": 200,
                "headers": [{"name": "content-type", "value": "application/json"}],
                "content": {"text": json.dumps(GOOD)},
            },
        }
        for number, (start, wait_ms, receive_ms) in enumerate(calls)
    ]
    content = json.dumps({"log": {"entries": entries}}).encode()
    return import_recording(
        content, "a.har", family="recorded", dialects=dialects, options=Options(**options)
    )


def after(got: Imported) -> list[str | None]:
    """Return what each task comes after."""
    (written,) = got.scenarios
    return [task.after for task in written.scenario.tasks]


@pytest.mark.parametrize(
    "instants", [("10:00:00", "10:00:00"), ("10:00:00", "10:00:01"), (None, None)]
)
def test_calls_follow_one_another_where_a_recording_is_too_coarse(
    instants: tuple[str | None, str | None],
) -> None:
    """Equal seconds, other seconds, or none at all: nothing shows that they overlapped."""
    got = imported(
        *(
            interaction(200, GOOD, at=at, asked=asked(number))
            for number, at in enumerate((*instants, instants[-1]))
        )
    )
    assert after(got) == [None, "call-1", "call-2"]
    assert "does not show that any overlapped" in got.scenarios[0].text


def test_calls_of_one_second_follow_one_another_where_instants_show_it() -> None:
    """The one that ended last before a call began is the one that it comes after."""
    got = browsed(("01.000", 200, 100), ("01.100", 50, 10), ("01.400", 100, 0))
    assert after(got) == [None, None, "call-1"]
    (written,) = got.scenarios
    assert [task.at for task in written.scenario.tasks] == [
        0,
        100 * MILLISECOND_NS,
        400 * MILLISECOND_NS,
    ]
    assert "overlapped" not in written.text


def test_an_answer_that_still_arrives_has_not_ended() -> None:
    """A call that began while the body of another was being received overlapped with it."""
    assert after(browsed(("01.000", 100, 900), ("01.500", 10, 0))) == [None, None]
    assert after(browsed(("01.000", 100, 300), ("01.500", 10, 0))) == [None, "call-1"]
