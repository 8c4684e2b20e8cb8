"""Each miniature is wrong in its one way, and right where that way does not lead."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from faultclock.mutants.registry import MUTANTS
from faultclock.subjects.ports import ProviderRequest, Reply, TypedError


def answer(status: int, body: bytes = b"{}", **headers: str) -> bytes:
    """Return a whole HTTP answer."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *lines, "", ""]
    return "\r\n".join(head).encode() + body


def refused(code: str, message: str = "m") -> bytes:
    """Return an error body."""
    return json.dumps({"error": {"code": code, "message": message}}).encode()


GOOD = answer(200, b'{"choices": [{"message": {"content": "Hello"}}]}')
LIMITED = answer(429, refused("rate_limit_exceeded", "Rate limit reached"))
ASKED = answer(429, refused("rate_limit_exceeded", "Rate limit reached"), Retry_After="100")
QUOTA = answer(429, refused("insufficient_quota", "You exceeded your quota"))
WINDOW = answer(400, refused("context_length_exceeded"))
BROKEN = answer(500)
CUT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 500\r\n\r\n"
    b'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'
)


MINIATURES = {
    id_: item
    for id_, item in MUTANTS.items()
    if item.binding.role == "provider_adapter" and item.model == "stud-cli"
}


class Run:
    """What one call of a miniature did."""

    def __init__(self, host: Any, slept: list[float], writers: list[Any]) -> None:
        self.host = host
        self.slept = slept
        self.writers = writers
        self.value: object = None
        self.error: BaseException | None = None

    @property
    def attempts(self) -> int:
        """How many connections it made."""
        return len(self.writers)

    @property
    def typed(self) -> TypedError:
        """The typed error that it raised."""
        assert isinstance(self.error, TypedError)
        return self.error


@pytest.fixture
def run(
    request_: ProviderRequest,
    host: Any,
    connections: Callable[..., list[Any]],
    slept: list[float],
) -> Callable[..., Run]:
    """Return a function that calls a miniature with planned answers."""

    def run(name: str, *answers: bytes, stream: bool = False) -> Run:
        done = Run(host, slept, connections(*answers))
        binding = MINIATURES[f"mini-{name}"].binding
        try:
            done.value = asyncio.run(binding.invoke_async(replace(request_, stream=stream)))
        except Exception as error:
            done.error = error
        return done

    return run


#: Those whose defect a good answer already shows.
_ALWAYS_WRONG = {"mini-never-calls"}


@pytest.mark.parametrize("id_", sorted(set(MINIATURES) - _ALWAYS_WRONG))
def test_a_good_answer_is_returned_by_every_miniature(id_: str, run: Callable[..., Run]) -> None:
    """A defect in failure handling shows in failures only."""
    assert run(id_.removeprefix("mini-"), GOOD).value == Reply("Hello")


@pytest.mark.parametrize(
    ("name", "lowest_s", "highest_s"),
    [
        ("ignores-retry-after", 4.0, 6.0),
        ("sleeps-short", 95.0, 95.0),
        ("jitters-retry-after", 100.0, 110.0),
        ("no-jitter", 100.0, 100.0),
    ],
)
def test_waits_where_retry_after_asks_100_s(
    run: Callable[..., Run], name: str, lowest_s: float, highest_s: float
) -> None:
    """The last one is right here."""
    assert lowest_s <= run(name, ASKED, GOOD).slept[0] <= highest_s


@pytest.mark.parametrize(
    ("name", "lowest_s", "highest_s"),
    [
        ("no-jitter", 5.0, 5.0),
        ("one-sided-jitter", 5.0, 6.0),
        ("waits-too-long", 4.0, 10.0),
        ("sleeps-short", 4.0, 6.0),
    ],
)
def test_waits_where_nothing_is_asked(
    run: Callable[..., Run], name: str, lowest_s: float, highest_s: float
) -> None:
    """The last one is right here."""
    assert lowest_s <= run(name, LIMITED, GOOD).slept[0] <= highest_s


def test_some_waits_are_too_long(run: Callable[..., Run]) -> None:
    """Of a hundred first waits some are longer than any legal one, and none is too short."""
    first = [run("waits-too-long", LIMITED, GOOD).slept[-1] for _ in range(100)]
    assert 4.0 <= min(first) < 5.0
    assert max(first) > 6.0


@pytest.mark.parametrize(
    ("name", "received", "attempts"),
    [
        ("one-attempt-less", LIMITED, 5),
        ("one-attempt-more", LIMITED, 7),
        ("429-is-terminal", LIMITED, 1),
        ("429-is-terminal", BROKEN, 3),
        ("matches-nothing", BROKEN, 1),
        ("matches-message-text", LIMITED, 6),
        ("matches-message-text", QUOTA, 1),
        ("retries-400", WINDOW, 3),
        ("wrong-code", BROKEN, 3),
        ("loses-cause", BROKEN, 3),
    ],
)
def test_the_number_of_attempts(
    run: Callable[..., Run], name: str, received: bytes, attempts: int
) -> None:
    """Retried as often as its defect says, and no more."""
    done = run(name, *[received] * attempts)
    assert done.attempts == attempts
    assert done.error is not None


def test_what_the_last_error_says(run: Callable[..., Run]) -> None:
    """A wrong code, a lost class, a hidden cause."""
    assert run("wrong-code", *[BROKEN] * 3).typed.code == "NetworkTimeout"
    lost = run("loses-code-on-wrapping", *[BROKEN] * 3).error
    assert isinstance(lost, RuntimeError)
    assert isinstance(lost.__cause__, TypedError)
    hidden = run("loses-cause", *[BROKEN] * 3).typed
    assert hidden.code == "Provider5xx"
    assert hidden.__cause__ is None
    assert hidden.__suppress_context__


def test_what_each_audience_is_told(run: Callable[..., Run], request_: ProviderRequest) -> None:
    """A secret, a stack, a record without its code, no record."""
    assert request_.api_key in run("leaks-secret-to-user", WINDOW).host.of("user")[-1]
    assert "Traceback" in run("stack-to-model", WINDOW).host.of("model")[-1]["message"]
    record = run("audit-without-code", WINDOW).host.of("audit")[-1]
    assert record == ("ProviderCapability", None, 1)


def test_a_retry_without_a_word(run: Callable[..., Run]) -> None:
    """Nothing is audited when the second attempt is good."""
    assert run("unaudited-retry", LIMITED, GOOD).host.told == []


def test_failures_that_pass_for_answers(run: Callable[..., Run]) -> None:
    """An empty text, half a text, a text from nobody."""
    assert run("swallows-error", *[BROKEN] * 3).value == Reply("")
    assert run("accepts-cut-stream", CUT, stream=True).value == Reply("Hel")
    assert run("never-calls").value == Reply("Hello from nobody.")


def test_a_task_goes_on_after_the_call(
    request_: ProviderRequest, connections: Callable[..., list[Any]], slept: list[float]
) -> None:
    """It connects once more after it has raised."""
    writers = connections(*[BROKEN] * 4)

    async def call() -> None:
        with contextlib.suppress(TypedError):
            await MINIATURES["mini-retries-after-the-end"].binding.invoke_async(request_)
        assert len(writers) == 3
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others)

    asyncio.run(call())
    assert len(writers) == 4


def test_an_attempt_without_a_deadline(
    request_: ProviderRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that asks for no time at all is answered all the same."""
    reader = asyncio.StreamReader

    async def open_connection(*_: Any, **__: Any) -> Any:
        stream = reader()
        asyncio.get_running_loop().call_later(0, stream.feed_data, GOOD)
        return stream, type("Writer", (), {"write": print, "close": print})

    monkeypatch.setattr(asyncio, "open_connection", open_connection)
    binding = MINIATURES["mini-never-ends"].binding
    request = replace(request_, timeout_s=0.0)
    assert asyncio.run(binding.invoke_async(request)) == Reply("Hello")
