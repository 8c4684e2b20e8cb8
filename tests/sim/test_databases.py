"""A database over the network is refused by name, so that nothing is judged without it."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from faultclock.sim.world import World


async def _open_a_stream() -> None:
    await asyncio.open_connection("db.internal", 5432)


@pytest.mark.parametrize(
    ("connect", "named"),
    [
        (lambda: socket.create_connection(("cache.internal", 6379)), "Redis at cache.internal"),
        (lambda: socket.create_connection(("127.0.0.1", 3306)), "MySQL at 127.0.0.1"),
        (lambda: asyncio.run(_open_a_stream()), "PostgreSQL at db.internal"),
    ],
    ids=["blocking", "literal", "async"],
)
def test_a_port_of_a_database_server_is_refused(connect: Callable[[], Any], named: str) -> None:
    """Also where a provider answers at every address: it speaks another language."""
    world = World()
    world.network.listen(None, None, lambda _endpoint: None)
    ending = world.run(connect)
    assert ending.reason == "escape"
    assert named in ending.detail[0]
    assert "use sqlite3" in ending.detail[0]


def test_a_server_of_the_subjects_own_may_use_such_a_port() -> None:
    """What listens at exactly that address is in the world."""

    def use() -> str:
        address = ("127.0.0.1", 6379)
        with (
            socket.create_server(address) as server,
            socket.create_connection(address) as client,
        ):
            client.sendall(b"ping")
            connection, _ = server.accept()
            with connection:
                return connection.recv(4).decode()

    assert World().run(use).value == "ping"


def test_a_driver_in_c_is_refused_where_it_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own sockets would only be seen by the kernel, without its name."""
    driver = ModuleType("psycopg2")
    monkeypatch.setattr(driver, "connect", lambda _where: "connected", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg2", driver)
    ending = World().run(lambda: driver.connect("host=db.internal"))
    assert ending.reason == "escape"
    assert "PostgreSQL by psycopg2" in ending.detail[0]
    assert driver.connect("host=db.internal") == "connected"
