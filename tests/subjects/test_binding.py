"""How a function becomes a subject, and what is said when it cannot."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

import faultclock
from faultclock.errors import SubjectError
from faultclock.model.retry_policy import Backoff, RetryPolicy
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import Host, ProviderRequest


def test_the_public_names_are_those_of_the_ports() -> None:
    """`from faultclock import …` gives the same objects, and refuses others."""
    assert faultclock.provider_adapter is provider_adapter
    assert faultclock.ProviderRequest is ProviderRequest
    assert [name for name in faultclock.__all__ if getattr(faultclock, name, None) is None] == []
    assert sorted(faultclock.__all__) == sorted(faultclock._HOMES)
    with pytest.raises(AttributeError, match="nonsense"):
        faultclock.nonsense  # noqa: B018 - the access is the test


def test_a_bare_decorator_binds_async_and_sync(request_: ProviderRequest) -> None:
    """The style is found out; the function stays callable."""

    @provider_adapter
    async def one(request: Any) -> str:
        """Say one."""
        return "1"

    @provider_adapter
    def two(request: Any) -> str:
        return "2"

    assert (one.style, two.style) == ("async", "sync")
    assert (one.id, one.title) == ("test_binding:one", "Say one.")
    assert asyncio.run(one.invoke_async(request_)) == "1"
    assert two.invoke_sync(request_) == two(request_) == "2"


def test_options_are_kept() -> None:
    """Everything that is given can be read from the binding."""
    policy = RetryPolicy(
        id="mine",
        applies_to=("A/B",),
        attempts_max=2,
        backoff=Backoff(kind="fixed", base="1s"),  # type: ignore[arg-type]
    )

    @provider_adapter(
        id="mine",
        title="Mine",
        classify={ValueError: ("A", "B")},
        declares=("audit",),
        retry_policies=(policy,),
        inline=True,
        distributions=("openai",),
    )
    def subject(request: Any) -> str:
        return ""

    assert (subject.id, subject.title, subject.inline) == ("mine", "Mine", True)
    assert subject.declares == ("errors", "audit")
    assert subject.retry_policies == (policy,)
    assert subject.distributions == ("openai",)


class Client:
    """A client that knows whether it is closed."""

    def __init__(self, request: object = None) -> None:
        self.request = request
        self.closed = 0

    def close(self) -> None:
        """Be closed."""
        self.closed += 1


class AsyncClient(Client):
    """The same with an awaitable end."""

    async def aclose(self) -> None:
        """Be closed."""
        self.closed += 1


def test_a_client_is_made_for_each_call_and_closed_after_it(request_: ProviderRequest) -> None:
    """The subject gets it as its second parameter; also when it raises, it is closed."""
    made: list[Client] = []

    def factory(request: ProviderRequest) -> Client:
        made.append(Client(request))
        return made[-1]

    @provider_adapter(open=factory)
    def subject(request: Any, client: Client) -> str:
        assert client.closed == 0
        if len(made) == 2:
            raise ValueError("as planned")
        return "done"

    assert subject.invoke_sync(request_) == "done"
    with pytest.raises(ValueError, match="as planned"):
        subject.invoke_sync(request_)
    assert [(client.request, client.closed) for client in made] == [(request_, 1)] * 2


def test_an_async_client_is_closed_by_aclose(request_: ProviderRequest) -> None:
    """A class may be the factory; what it does not need it does not get."""

    @provider_adapter(open=AsyncClient)
    async def subject(request: Any, client: AsyncClient) -> AsyncClient:
        assert client.request is None
        return client

    assert asyncio.run(subject.invoke_async(request_)).closed == 1


class WithCall:
    """An object with an async call."""

    async def __call__(self, request: Any) -> str:
        """Answer."""
        return "ok"

    def method(self, request: Any) -> str:
        """Answer."""
        return "ok"


def test_objects_methods_and_partials_can_be_bound() -> None:
    """Whatever can be called with a request."""

    async def two(first: int, request: Any) -> str:
        return ""

    assert provider_adapter(WithCall()).style == "async"
    assert provider_adapter(WithCall().method).style == "sync"
    assert provider_adapter(partial(two, 1)).style == "async"


async def _async_generator(request: Any) -> Any:
    yield "part"


def _generator(request: Any) -> Any:
    yield "part"


def _nothing() -> None: ...


def _two(request: Any, client: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (WithCall, "is a class"),
        (7, "cannot be called"),
        (_nothing, "cannot be called as (request)"),
        (_two, "cannot be called as (request)"),
        (_generator, "is a generator function"),
        (_async_generator, "is a generator function"),
    ],
)
def test_what_cannot_be_bound_is_told_with_a_hint(function: Any, says: str) -> None:
    """A class, a number, wrong parameters, generators."""
    with pytest.raises(SubjectError) as raised:
        provider_adapter(function)
    assert says in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"open": 7}, "open is not callable"),
        ({"open": Client}, "cannot be called as (request, client)"),
        ({"classify": 7}, "neither a function nor a mapping"),
        ({"classify": {ValueError: "A/B"}}, "classify has"),
        ({"classify": {7: ("A", "B")}}, "classify has"),
        ({"declares": ("audits",)}, "unknown 'audits'"),
        ({"declares": "audit"}, "not a tuple"),
        ({"distributions": "openai"}, "not a tuple"),
        ({"retry_policies": (1,)}, "not a tuple of RetryPolicy"),
        ({"timer_granularity_ms": -1}, "timer_granularity_ms is -1"),
        ({"timer_granularity_ms": 50.1}, "timer_granularity_ms is 50.1"),
        ({"timer_granularity_ms": float("nan")}, "timer_granularity_ms is nan"),
        ({"timer_granularity_ms": True}, "timer_granularity_ms is True"),
        ({"timer_granularity_ms": "1"}, "timer_granularity_ms is '1'"),
        ({"id": "my subject"}, "is no id"),
        ({"style": "asink"}, "style is 'asink'"),
        ({"id": ""}, "is no id"),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], says: str) -> None:
    """Each option is checked when the binding is made."""
    with pytest.raises(SubjectError) as raised:
        provider_adapter(**options)(lambda request: "")
    assert says in raised.value.message


def test_a_binding_is_not_bound_again() -> None:
    """Two decorators are one too many."""
    bound = provider_adapter(lambda request: "")
    assert isinstance(bound, Binding)
    with pytest.raises(SubjectError, match="bound already"):
        provider_adapter(bound)


def test_a_request_does_not_print_its_key(request_: ProviderRequest, host: Any) -> None:
    """The key is kept out of reprs; the fake host is a Host."""
    assert request_.api_key not in repr(request_)
    assert isinstance(host, Host)


def test_the_trace_is_told_what_the_binding_says() -> None:
    """Sorted, with versions; a library that is not there is told."""
    subject = provider_adapter(
        id="mine",
        declares=("user", "audit"),
        distributions=("h11",),
        timer_granularity_ms=15.6,
        inline=True,
    )(lambda request: "")
    info = subject.info()
    assert (info.id, info.style, info.declares) == ("mine", "sync", ("audit", "user"))
    assert set(info.distributions) == {"h11"}
    assert info.timer_granularity_ns == 15_600_000
    missing = provider_adapter(distributions=("no-such-library",))(lambda request: "")
    with pytest.raises(SubjectError, match="not installed"):
        missing.info()


def test_an_option_that_is_none_is_refused_by_name() -> None:
    """A typo in an option would otherwise surface as an error of ours."""
    options: dict[str, Any] = {"inlin": True}
    with pytest.raises(SubjectError, match="@provider_adapter has no option 'inlin'"):
        provider_adapter(**options)(lambda request: "")
