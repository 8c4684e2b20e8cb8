"""The recorder's end of the socket."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.live.record.agent.channel import Channel
from faultclock.live.record.listener import Listener


def test_messages_of_several_connections_are_kept_and_half_ones_are_counted() -> None:
    """A process that is killed in the middle of a line loses that line."""
    with Listener() as listener:
        channel = Channel(listener.address)
        channel.send({"kind": "hello"})
        for line in (b'{"kind":"x"}\n{"ki', b"nonsense\n[1]\n"):
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(listener.address)
                other.sendall(line)
        channel.renew()
        listener.settle()
        assert sorted(message["kind"] for message in listener.messages) == ["hello", "x"]
        assert listener.broken == 2


def test_a_message_within_a_message_waits_for_its_end() -> None:
    """The garbage collector may end an exchange while another one is being told."""
    with Listener() as listener:
        channel = Channel(listener.address)
        with channel._lock:
            channel.send({"kind": "inner"})
        assert listener.messages == []
        channel.send({"kind": "outer"})
        channel.end_all()
        listener.settle()
        assert [message["kind"] for message in listener.messages] == ["inner", "outer"]


def test_nobody_else_can_enter_and_nothing_is_left() -> None:
    """What is told holds secrets."""
    with Listener() as listener:
        folder = Path(listener.address).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [path.is_socket() for path in folder.iterdir()] == [True]
    assert not folder.exists()


def test_an_agent_without_a_recorder_does_nothing(tmp_path: Path) -> None:
    """The program goes on when the recorder is gone."""
    channel = Channel(str(tmp_path / "gone"))
    channel.send({"kind": "hello"})
    channel.send({"kind": "hello"})


def test_a_place_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable that names another."""
    # A long path would not do for a socket, and another folder be taken.
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(InputError, match="the recorder's socket cannot be made here"), Listener():
        raise AssertionError("there is no such folder")
