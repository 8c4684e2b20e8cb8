"""`select`, `poll` and `epoll` over simulated sockets.

A call with a deadline parks the simulated thread until a socket is ready or the virtual
deadline passes. A descriptor of the operating system is refused by name, because waiting for
it would take real time.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterable
from typing import Any

from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.net.network import current_network
from faultclock.sim.net.sockets import SimSocket
from faultclock.sim.net.watchers import park_until, timeout_to_ns

_ALWAYS_REPORTED = select.POLLERR | select.POLLHUP
_READ_EVENTS = select.POLLIN | select.POLLHUP | select.POLLERR
_WRITE_EVENTS = select.POLLOUT | select.POLLERR

Pollable = Any
"""A simulated descriptor, or an object whose `fileno()` is one."""


def _descriptor_of(pollable: Pollable) -> int:
    descriptor = pollable if isinstance(pollable, int) else pollable.fileno()
    if not isinstance(descriptor, int):
        raise TypeError("argument must be an int, or have a fileno() method.")
    if descriptor < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({descriptor})")
    return descriptor


def _socket_of(descriptor: int, api: str) -> SimSocket | None:
    """Return the open socket behind `descriptor`, None if it has been closed since."""
    network = current_network()
    if not network.is_simulated_descriptor(descriptor):
        refuse(f"{api} on a real file descriptor")
    sock = network.descriptors.get(descriptor)
    return sock if sock is not None and sock.fileno() == descriptor else None


class SimPoll:
    """Stands in for `select.poll()` objects; the delay is in milliseconds."""

    _api = "select.poll"

    def __init__(self) -> None:
        self._masks: dict[int, int] = {}

    def register(
        self, fd: Pollable, eventmask: int = select.POLLIN | select.POLLPRI | select.POLLOUT
    ) -> None:
        """Watch a descriptor; a second time replaces its mask."""
        descriptor = _descriptor_of(fd)
        _socket_of(descriptor, self._api)
        self._masks[descriptor] = eventmask

    def modify(self, fd: Pollable, eventmask: int) -> None:
        """Replace the mask of a watched descriptor.

        Raises:
            FileNotFoundError: it is not watched.
        """
        descriptor = _descriptor_of(fd)
        if descriptor not in self._masks:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        self._masks[descriptor] = eventmask

    def unregister(self, fd: Pollable) -> None:
        """Forget a descriptor.

        Raises:
            KeyError: it is not watched.
        """
        del self._masks[_descriptor_of(fd)]

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        """Return (descriptor, events) of what is ready within `timeout` milliseconds."""
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        return self._poll(seconds)

    def _poll(self, timeout_s: float | None) -> list[tuple[int, int]]:
        sockets = {fd: _socket_of(fd, self._api) for fd in self._masks}
        ready: list[tuple[int, int]] = []

        def look() -> bool:
            ready.clear()
            for descriptor, mask in self._masks.items():
                sock = sockets[descriptor]
                if sock is None or sock.fileno() != descriptor:
                    events = self._closed_events
                else:
                    events = sock.readiness() & (mask | _ALWAYS_REPORTED)
                if events:
                    ready.append((descriptor, events))
            return bool(ready)

        watched = [sock for sock in sockets.values() if sock is not None]
        kernel = current_network().kernel
        park_until(kernel, watched, look, timeout_to_ns(timeout_s), self._api)
        return ready

    _closed_events = select.POLLNVAL


class SimEpoll(SimPoll):
    """Stands in for `select.epoll()` objects, level-triggered; the delay is in seconds."""

    _api = "select.epoll"
    # A closed descriptor silently leaves an epoll set.
    _closed_events = 0

    def __init__(self, sizehint: int = -1, flags: int = 0) -> None:
        super().__init__()
        self.closed = False

    def __enter__(self) -> SimEpoll:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def register(self, fd: Pollable, eventmask: int = select.EPOLLIN | select.EPOLLOUT) -> None:
        """Watch a descriptor.

        Raises:
            FileExistsError: it is watched already.
        """
        if eventmask & (select.EPOLLET | select.EPOLLONESHOT):
            refuse("select.epoll edge-triggered or one-shot")
        if _descriptor_of(fd) in self._masks:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        super().register(fd, eventmask)

    def unregister(self, fd: Pollable) -> None:
        """Forget a descriptor.

        Raises:
            FileNotFoundError: it is not watched.
        """
        if self._masks.pop(_descriptor_of(fd), None) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
        """Return (descriptor, events) of what is ready within `timeout` seconds."""
        ready = self._poll(None if timeout is None or timeout < 0 else timeout)
        return ready if maxevents < 0 else ready[:maxevents]

    def fileno(self) -> int:
        """Refuse: an epoll inside another poll is not simulated."""
        refuse("select.epoll.fileno on a simulated epoll")

    def close(self) -> None:
        """Forget everything."""
        self.closed = True
        self._masks.clear()


def sim_select(
    rlist: Iterable[Pollable],
    wlist: Iterable[Pollable],
    xlist: Iterable[Pollable],
    timeout: float | None = None,
) -> tuple[list[Pollable], list[Pollable], list[Pollable]]:
    """Do what `select.select` does; `timeout` is in seconds, None waits for ever.

    Raises:
        ValueError: the delay or a descriptor is negative.
        OSError: EBADF, a socket has been closed.
    """
    if timeout is not None and timeout < 0:
        raise ValueError("timeout must be non-negative")
    wanted: list[tuple[Pollable, SimSocket, int, int]] = []
    for position, (group, events) in enumerate(
        ((rlist, _READ_EVENTS), (wlist, _WRITE_EVENTS), (xlist, select.POLLPRI))
    ):
        for pollable in group:
            sock = _socket_of(_descriptor_of(pollable), "select.select")
            if sock is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            wanted.append((pollable, sock, events, position))
    answer: tuple[list[Pollable], list[Pollable], list[Pollable]] = ([], [], [])

    def look() -> bool:
        for pollable, sock, events, position in wanted:
            if sock.readiness() & events:
                answer[position].append(pollable)
        return any(answer)

    watched = {id(sock): sock for _, sock, _, _ in wanted}.values()
    kernel = current_network().kernel
    park_until(kernel, watched, look, timeout_to_ns(timeout), "select.select")
    return answer
