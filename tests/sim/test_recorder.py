"""The recorder numbers and stamps facts, and nothing else."""

from __future__ import annotations

from faultclock.sim.kernel.recorder import Fact, Recorder, WatchedRecorder


def test_facts_are_numbered_from_one_and_stamped_with_the_clock() -> None:
    """A fact is (number, time, actor, kind, payload)."""
    times = iter([0, 7])
    recorder = Recorder(lambda: next(times))
    assert recorder.record("harness", "run.started") == 1
    assert recorder.record("network", "net.sent", connection="c1", bytes_count=3) == 2
    assert recorder.events == [
        (1, 0, "harness", "run.started", {}),
        (2, 7, "network", "net.sent", {"connection": "c1", "bytes_count": 3}),
    ]


def test_a_payload_may_use_the_names_of_the_arguments() -> None:
    """`actor` and `kind` are free to be payload keys."""
    recorder = Recorder()
    recorder.record("harness", "leak", actor="a", kind="k")
    assert recorder.events[0][4] == {"actor": "a", "kind": "k"}


def test_facts_of_a_later_life_are_numbered_on() -> None:
    """One run is one trace, however many processes it takes."""
    recorder = Recorder(before=41)
    assert recorder.record("harness", "process.started") == 42


def test_a_watched_recorder_shows_each_fact_when_it_is_recorded() -> None:
    """Whoever looks sees it in its place; what they raise reaches the one who recorded it."""
    shown: list[Fact] = []
    recorder = WatchedRecorder(shown.append, before=7)
    assert recorder.record("tool", "tool.called", tool="a") == 8
    assert shown == recorder.events == [(8, 0, "tool", "tool.called", {"tool": "a"})]
