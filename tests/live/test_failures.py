"""Exceptions of clients to kinds of failures."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import httpx2
import pytest
import urllib3.exceptions

from faultclock.live.record.agent.failures import kind_of


def _caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_caused(httpx2.ConnectError("x"), ConnectionRefusedError(111, "x")), "connect_refused"),
        (_caused(httpx2.ConnectError("x"), socket.gaierror(-2, "x")), "dns_failure"),
        (httpx2.ConnectTimeout("x"), "connect_timeout"),
        (_caused(httpx2.ReadError("x"), ConnectionResetError(104, "x")), "reset"),
        (httpx2.ReadTimeout("x"), "stall"),
        (httpx2.RemoteProtocolError("x"), "eof"),
        (aiohttp.ConnectionTimeoutError("x"), "connect_timeout"),
        (aiohttp.SocketTimeoutError("x"), "stall"),
        (aiohttp.ServerDisconnectedError(), "eof"),
        (aiohttp.ClientPayloadError("x"), "eof"),
        (_caused(urllib3.exceptions.ProtocolError("x"), ConnectionResetError()), "reset"),
        (urllib3.exceptions.ConnectTimeoutError(None, "x"), "connect_timeout"),
        (ExceptionGroup("all", [ConnectionRefusedError(111, "x")]), "connect_refused"),
        (TimeoutError(), "stall"),
        (asyncio.CancelledError(), "left"),
        (KeyboardInterrupt(), "left"),
        (ValueError("x"), "ValueError"),
    ],
)
def test_what_a_client_says_is_told_apart(error: BaseException, kind: str) -> None:
    """Each client has words of its own for what the system said."""
    assert kind_of(error) == kind


def test_a_chain_that_bites_its_tail_ends() -> None:
    """Exceptions that are raised again may name each other."""
    one, other = ValueError("one"), KeyError("other")
    one.__cause__, other.__context__ = other, one
    assert kind_of(one) == "ValueError"
