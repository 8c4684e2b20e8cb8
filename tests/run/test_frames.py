"""What passes between two processes is a whole frame, or it is refused."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.run.process.frames import DamagedError, receive, send


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe: what is read, and what is written."""
    read, write = os.pipe()
    yield read, write
    for descriptor in (read, write):
        try:
            os.close(descriptor)
        except OSError:
            continue


@given(st.lists(st.binary(max_size=2_000), min_size=1, max_size=4))
def test_what_is_sent_is_received_in_order(contents: list[bytes]) -> None:
    """Each frame says where it ends."""
    read, write = os.pipe()
    with os.fdopen(read, "rb"), os.fdopen(write, "wb"):
        for content in contents:
            send(write, content)
        assert [receive(read) for _ in contents] == contents


def test_a_frame_may_be_larger_than_a_pipe(pipe: tuple[int, int]) -> None:
    """A trace has megabytes, and a pipe 64 kB."""
    read, write = pipe
    content = bytes(range(256)) * 8_192
    sender = threading.Thread(target=send, args=(write, content))
    sender.start()
    assert receive(read) == content
    sender.join()


@given(st.binary(min_size=40, max_size=400))
def test_what_is_no_frame_is_refused(noise: bytes) -> None:
    """No text that a subject writes has the digest of what follows, whatever length it says."""
    read, write = os.pipe()
    with os.fdopen(read, "rb"):
        with os.fdopen(write, "wb"):
            os.write(write, noise)
        with pytest.raises((DamagedError, EOFError)):
            receive(read)


def test_a_length_that_no_trace_has_is_refused_at_once(pipe: tuple[int, int]) -> None:
    """What a subject wrote must not keep the reader waiting for the rest."""
    read, write = pipe
    os.write(write, (1 << 40).to_bytes(8, "big") + bytes(32))
    with pytest.raises(DamagedError, match="length"):
        receive(read, time.monotonic() + 5)


def test_a_changed_byte_is_refused(pipe: tuple[int, int]) -> None:
    """The digest is that of what was sent."""
    read, write = pipe
    send(write, b"a result")
    frame = os.read(read, 1_000)
    os.write(write, frame[:-1] + b"x")
    with pytest.raises(DamagedError, match="digest"):
        receive(read)


def test_a_frame_that_was_cut_is_no_frame(pipe: tuple[int, int]) -> None:
    """The other side ended in the middle of it."""
    read, write = pipe
    send(write, b"a result")
    frame = os.read(read, 1_000)
    os.write(write, frame[:-1])
    os.close(write)
    with pytest.raises(EOFError):
        receive(read)


def test_a_deadline_ends_the_wait(pipe: tuple[int, int]) -> None:
    """A deadline that has passed already is met at once."""
    with pytest.raises(TimeoutError):
        receive(pipe[0], time.monotonic() - 1)
