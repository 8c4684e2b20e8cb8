"""The recorder numbers and stamps facts, and nothing else."""

from __future__ import annotations

from harness.sim.recorder import Recorder


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
